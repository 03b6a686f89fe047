//! The settings of a connection in packed form, because every connection has them and few
//! applications change them.
//!
//! Rule: applications see [`Tuning`]; this file only packs and unpacks it.

use fullpipe_pool::{
    Duration,
    record::{Record, RecordReader, RecordWriter},
};

use super::Tuning;
use crate::{TcpConfig, congestion::CongestionChoice, tuned::TunedSize};

#[cfg(test)]
mod tests;

/// A time in milliseconds, at most 49 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Millis(u32);

impl Millis {
    /// Rounds `time` up, so that a short time does not become 0, which means no limit.
    pub(super) fn new(time: Duration) -> Self {
        Self(time.as_nanos().div_ceil(1_000_000).min(u32::MAX.into()) as u32)
    }

    /// Returns the time.
    pub(super) const fn get(self) -> Duration {
        Duration::from_millis(self.0 as u64)
    }
}

/// Settings of one connection: the fields of [`Tuning`], and `reads_closed`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) send_buffer: u32,
    pub(super) send_buffer_max: u32,
    pub(super) receive_buffer: u32,
    pub(super) receive_buffer_max: u32,
    pub(super) send_low_water: u32,
    pub(super) unsent_low_water: u32,
    pub(super) receive_low_water: u32,
    pub(super) unacknowledged: u32,
    pub(super) out_of_order: u32,
    pub(super) keepalive_time: Millis,
    pub(super) keepalive_interval: Millis,
    pub(super) user_timeout: Millis,
    pub(super) congestion: CongestionChoice,
    pub(super) mss_max: u16,
    pub(super) keepalive_probes: u8,
    pub(super) syn_retries: u8,
    pub(super) nagle: bool,
    pub(super) corked: bool,
    pub(super) quick_ack: bool,
    /// The application reads no more: payload that arrives is discarded.
    pub(super) reads_closed: bool,
}

/// Bits of the flags in [`Settings::numbers`].
const FLAGS: [u32; 4] = [1, 2, 4, 8];

/// Applications change few settings, so the others are usual numbers.
impl Record for Settings {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        self.congestion.pack(to);
        for number in self.numbers() {
            to.usual(number);
        }
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        let congestion = Record::unpack(from);
        let numbers = core::array::from_fn(|_| from.usual());
        Self::from_numbers(numbers, congestion)
    }
}

impl Settings {
    /// Length of [`numbers`](Self::numbers).
    pub(super) const NUMBERS: usize = 16;

    /// Packs `tuning`, which the caller has checked. `congestion` replaces the algorithm that
    /// `tuning` names.
    pub(super) fn new(tuning: &Tuning, congestion: CongestionChoice) -> Self {
        Self {
            send_buffer: tuning.send_buffer,
            send_buffer_max: tuning.send_buffer_max,
            receive_buffer: tuning.receive_buffer,
            receive_buffer_max: tuning.receive_buffer_max,
            send_low_water: tuning.send_low_water,
            unsent_low_water: tuning.unsent_low_water,
            receive_low_water: tuning.receive_low_water,
            unacknowledged: tuning.unacknowledged,
            out_of_order: tuning.out_of_order,
            keepalive_time: Millis::new(tuning.keepalive_time),
            keepalive_interval: Millis::new(tuning.keepalive_interval),
            user_timeout: Millis::new(tuning.user_timeout),
            congestion,
            mss_max: tuning.mss_max.min(u16::MAX.into()) as u16,
            keepalive_probes: tuning.keepalive_probes.min(u8::MAX.into()) as u8,
            syn_retries: tuning.syn_retries.min(u8::MAX.into()) as u8,
            nagle: tuning.nagle,
            corked: tuning.corked,
            quick_ack: tuning.quick_ack,
            reads_closed: false,
        }
    }

    /// Returns all settings but the congestion control.
    pub(super) fn numbers(&self) -> [u32; Self::NUMBERS] {
        let flags = [self.nagle, self.corked, self.quick_ack, self.reads_closed];
        let flags = flags.iter().zip(FLAGS).filter(|(is_set, _)| **is_set);
        [
            self.send_buffer,
            self.send_buffer_max,
            self.receive_buffer,
            self.receive_buffer_max,
            self.send_low_water,
            self.unsent_low_water,
            self.receive_low_water,
            self.unacknowledged,
            self.out_of_order,
            self.keepalive_time.0,
            self.keepalive_interval.0,
            self.user_timeout.0,
            self.mss_max.into(),
            self.keepalive_probes.into(),
            self.syn_retries.into(),
            flags.map(|(_, flag)| flag).sum(),
        ]
    }

    /// Returns the settings of which [`numbers`](Self::numbers) returned these numbers.
    fn from_numbers(numbers: [u32; Self::NUMBERS], congestion: CongestionChoice) -> Self {
        let [
            send_buffer,
            send_buffer_max,
            receive_buffer,
            receive_buffer_max,
            send_low_water,
            unsent_low_water,
            receive_low_water,
            unacknowledged,
            out_of_order,
            keepalive_time,
            keepalive_interval,
            user_timeout,
            mss_max,
            keepalive_probes,
            syn_retries,
            flags,
        ] = numbers;
        let [nagle, corked, quick_ack, reads_closed] = FLAGS.map(|flag| flags & flag != 0);
        Self {
            send_buffer,
            send_buffer_max,
            receive_buffer,
            receive_buffer_max,
            send_low_water,
            unsent_low_water,
            receive_low_water,
            unacknowledged,
            out_of_order,
            keepalive_time: Millis(keepalive_time),
            keepalive_interval: Millis(keepalive_interval),
            user_timeout: Millis(user_timeout),
            congestion,
            mss_max: mss_max as u16,
            keepalive_probes: keepalive_probes as u8,
            syn_retries: syn_retries as u8,
            nagle,
            corked,
            quick_ack,
            reads_closed,
        }
    }

    /// Returns the present and the largest size of the send buffer, in bytes of payload.
    pub(super) const fn send_size(&self, config: &TcpConfig) -> TunedSize {
        let (limit, share) = (config.send_buffer_limit, config.send_payload_share);
        TunedSize::for_payload(self.send_buffer, self.send_buffer_max, limit, share)
    }

    /// Returns the present and the largest size of the receive buffer, in bytes of payload.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(super) const fn receive_size(&self, config: &TcpConfig) -> TunedSize {
        receive_size(self.receive_buffer, self.receive_buffer_max, config)
    }

    /// Unpacks the settings.
    pub(super) fn tuning(&self) -> Tuning {
        Tuning {
            send_buffer: self.send_buffer,
            send_buffer_max: self.send_buffer_max,
            receive_buffer: self.receive_buffer,
            receive_buffer_max: self.receive_buffer_max,
            send_low_water: self.send_low_water,
            unsent_low_water: self.unsent_low_water,
            receive_low_water: self.receive_low_water,
            unacknowledged: self.unacknowledged,
            out_of_order: self.out_of_order,
            mss_max: self.mss_max.into(),
            nagle: self.nagle,
            corked: self.corked,
            quick_ack: self.quick_ack,
            keepalive_time: self.keepalive_time.get(),
            keepalive_interval: self.keepalive_interval.get(),
            keepalive_probes: self.keepalive_probes.into(),
            syn_retries: self.syn_retries.into(),
            user_timeout: self.user_timeout.get(),
            congestion: Some(self.congestion),
        }
    }
}

/// Returns the present and the largest size, in bytes of payload, of a receive buffer of `bytes`
/// that may grow to `max` bytes if the knobs allow growth.
pub(super) const fn receive_size(bytes: u32, max: u32, config: &TcpConfig) -> TunedSize {
    let (limit, share) = (config.receive_buffer_limit, config.receive_payload_share);
    let max = if config.receive_tuning { max } else { 0 };
    TunedSize::for_payload(bytes, max, limit, share)
}
