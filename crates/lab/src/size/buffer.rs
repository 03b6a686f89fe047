//! Payload that fits into a host's buffers, computed from all knobs (settings of the host) that
//! affect it.
//!
//! Rule: a buffer with autotuning grows to its maximum. A buffer without autotuning has the size
//! that was set, limited by the cap. Payload may use only a part of the buffer; a knob sets the
//! percentage.

use fullpipe_scenario::experiment::HostPlan;

/// A send or a receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The size that was set, in bytes.
    pub set: u64,
    /// Maximum size; `None` without autotuning.
    pub tuned_to: Option<u64>,
    /// Cap on the size that may be set.
    pub limit: u64,
    /// Percentage of the buffer that payload may use.
    share: u64,
    /// Names of the buffer's knobs.
    pub knobs: Knobs,
}

/// The knobs of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// Knob of the size.
    pub set: &'static str,
    /// Knob of the maximum.
    pub max: &'static str,
    /// Knob of the cap on what may be set.
    pub limit: &'static str,
}

impl Buffer {
    /// Returns the send buffer of `host`.
    pub fn sending(host: &HostPlan) -> Self {
        let tcp = &host.config.tcp;
        let max = Some(tcp.send_buffer_max).filter(|max| *max > tcp.send_buffer);
        Self {
            set: tcp.send_buffer.into(),
            tuned_to: max.map(u64::from),
            limit: tcp.send_buffer_limit.into(),
            share: tcp.send_payload_share.into(),
            knobs: Knobs {
                set: "tcp.send_buffer",
                max: "tcp.send_buffer_max",
                limit: "tcp.send_buffer_limit",
            },
        }
    }

    /// Returns the receive buffer of `host`.
    pub fn receiving(host: &HostPlan) -> Self {
        let tcp = &host.config.tcp;
        let tuned = tcp.receive_tuning && tcp.receive_buffer_max > tcp.receive_buffer;
        Self {
            set: tcp.receive_buffer.into(),
            tuned_to: tuned.then_some(tcp.receive_buffer_max.into()),
            limit: tcp.receive_buffer_limit.into(),
            share: tcp.receive_payload_share.into(),
            knobs: Knobs {
                set: "tcp.receive_buffer",
                max: "tcp.receive_buffer_max",
                limit: "tcp.receive_buffer_limit",
            },
        }
    }

    /// Largest payload that fits into the buffer, in bytes.
    pub fn text(&self) -> u64 {
        self.text_of(self.tuned_to.unwrap_or(self.set.min(self.limit)))
    }

    /// Returns the buffer size for `text` bytes of payload. If `text` is the largest payload within
    /// the cap, returns the cap without rounding.
    pub fn size_for(&self, text: u64) -> u64 {
        if text == self.text_of(self.limit) {
            return self.limit;
        }
        (text * 100).div_ceil(self.share)
    }

    fn text_of(&self, size: u64) -> u64 {
        size * self.share / 100
    }
}
