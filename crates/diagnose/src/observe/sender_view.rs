//! Times at which the sender sent a segment and received an ACK, computed from times at the tap
//! (the place of the capture).
//!
//! All computed times are later than the true ones by the same constant, the time from the sender
//! to the tap. The constant cancels in every difference. The time of sending is the time at the tap
//! minus the wait in queues before the tap. The time of receiving an ACK is the time at the tap
//! plus the round-trip time between tap and sender.
//!
//! The round-trip time of the handshake may be longer than later ones, because its segments are
//! longer than ACKs or because it met a queue. An ACK would then seem to arrive after the payload
//! that it released. Echoes of timestamps correct the round-trip time: a sender that echoes a TSval
//! has received a segment with this TSval.
//!
//! Rule: only the sender's timestamps show a wait before the tap, with the resolution of a tick,
//! about a millisecond. Without timestamps, segments keep the tap's times. At most [`STAMPS`]
//! TSvals wait for their echo; if there are more, the oldest is dropped.

use std::collections::VecDeque;

/// Largest number of TSvals between tap and sender whose echo is awaited.
const STAMPS: usize = 4_096;
/// Nanoseconds of a timestamp tick. Clocks with another tick are ignored.
const TICK: i64 = 1_000_000;
/// Number of ticks after which the rate of the timestamp clock is checked.
const CHECKED_AFTER: i64 = 20;
/// Queues stretch or compress times, so the rate of the clock may seem to differ by up to this
/// factor.
const MOST_FASTER: i64 = 4;

/// The clock of a sender's timestamps, as it appears at the tap.
#[derive(Clone, Copy, Debug, Default)]
struct TickClock {
    first: Option<(i64, u32)>,
    /// Smallest difference between the time at the tap and the time of the TSval.
    least: i64,
    /// True if the clock's ticks are not milliseconds.
    is_other_rate: bool,
}

/// The receiver's TSvals that passed the tap and that the sender has not echoed yet.
#[derive(Clone, Debug, Default)]
struct Echoes {
    newest: Option<u32>,
    /// The TSvals that the sender has not echoed, each with the time of its first segment at the
    /// tap.
    awaited: VecDeque<(u32, u64)>,
    /// Smallest time from a TSval to its echo.
    least: Option<u64>,
}

/// The times at which the sender of one direction sent and received.
#[derive(Clone, Debug, Default)]
pub struct SenderView {
    /// Smallest round-trip time from the tap to the sender and back.
    pub to_sender: u64,
    clock: TickClock,
    echoes: Echoes,
    last_sent: u64,
}

impl SenderView {
    /// Creates the times for a tap whose round-trip time to the sender is `to_sender` nanoseconds.
    pub fn new(to_sender: u64) -> Self {
        Self {
            to_sender,
            ..Self::default()
        }
    }

    /// Takes the TSval of a segment of the receiver that passed the tap at `at`.
    pub fn on_stamp(&mut self, at: u64, tsval: u32) {
        if self.to_sender > 0 {
            self.echoes.on_stamp(at, tsval);
        }
    }

    /// Takes the TSecr of a segment of the sender that passed the tap at `at`. The tap may have
    /// missed the first segment with a TSval, so a single short time to an echo does not count.
    pub fn on_echo(&mut self, at: u64, tsecr: u32) {
        let Some(sample) = self.echoes.take(at, tsecr) else {
            return;
        };
        if let Some(least) = self.echoes.least {
            // Zero would mean that the tap is at the sender.
            self.to_sender = self.to_sender.min(sample.max(least).max(1));
        }
        self.echoes.least = Some(self.echoes.least.map_or(sample, |least| least.min(sample)));
    }

    /// Returns true if echoes of timestamps have measured the round trip to the sender, or if there
    /// is none.
    pub const fn is_corrected(&self) -> bool {
        self.to_sender == 0 || self.echoes.least.is_some()
    }

    /// Time at which the sender received an ACK that passed the tap at `at`.
    pub const fn received_at(&self, at: u64) -> u64 {
        at + self.to_sender
    }

    /// Time at which the sender sent a segment that passed the tap at `at` and has this `tsval`.
    pub fn sent_at(&mut self, at: u64, tsval: Option<u32>) -> u64 {
        let mut sent = at;
        if let Some(tsval) = tsval.filter(|_| self.to_sender > 0) {
            sent = self.clock.latest(at as i64, tsval).min(at as i64).max(0) as u64;
        }
        self.last_sent = self.last_sent.max(sent);
        self.last_sent
    }

    /// Returns true if the time of sending is unknown for segments that waited before the tap. Such
    /// segments keep the tap's times.
    pub const fn is_blurred(&self) -> bool {
        self.to_sender > 0 && (self.clock.first.is_none() || self.clock.is_other_rate)
    }
}

impl Echoes {
    fn on_stamp(&mut self, at: u64, tsval: u32) {
        let is_newer = |newest: u32| (tsval.wrapping_sub(newest) as i32) > 0;
        // Skip the first TSval: earlier segments with it may have passed before the capture.
        let is_next = self.newest.is_some_and(is_newer);
        if self.newest.is_none() || is_next {
            self.newest = Some(tsval);
        }
        if is_next {
            if self.awaited.len() >= STAMPS {
                self.awaited.pop_front();
            }
            self.awaited.push_back((tsval, at));
        }
    }

    /// Removes the TSvals up to `tsecr`. Returns the time since `tsecr` passed the tap, if this is
    /// its first echo.
    fn take(&mut self, at: u64, tsecr: u32) -> Option<u64> {
        let mut last = None;
        let is_past = |(tsval, _): &mut (u32, u64)| (tsecr.wrapping_sub(*tsval) as i32) >= 0;
        while let Some(past) = self.awaited.pop_front_if(is_past) {
            last = Some(past);
        }
        let (_, since) = last.filter(|(tsval, _)| *tsval == tsecr)?;
        Some(at.saturating_sub(since))
    }
}

impl TickClock {
    /// Latest time at which the segment may have been sent: the end of its TSval's tick.
    fn latest(&mut self, at: i64, tsval: u32) -> i64 {
        let (begin, first) = *self.first.get_or_insert((at, tsval));
        let ticks = i64::from(tsval.wrapping_sub(first) as i32);
        let past = at - begin - ticks * TICK;
        self.least = self.least.min(past);
        let span = at - begin;
        if span / TICK > CHECKED_AFTER {
            let is_near = ticks * TICK < span * MOST_FASTER && span < ticks * TICK * MOST_FASTER;
            self.is_other_rate |= !is_near;
        }
        if self.is_other_rate {
            return at;
        }
        begin + self.least + (ticks + 1) * TICK
    }
}
