//! Times at which the sender sent a segment and received an ACK, computed from times at the tap
//! (the place of the capture).
//!
//! All computed times are later than the true ones by the same constant, the time from the sender
//! to the tap. The constant cancels in every difference. The time of sending is the time at the tap
//! minus the wait in queues before the tap. The time of receiving an ACK is the time at the tap
//! plus the round-trip time between tap and sender.
//!
//! Rule: only the sender's timestamps show a wait before the tap, with the resolution of a tick,
//! about a millisecond. Without timestamps, segments keep the tap's times.

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

/// The times at which the sender of one direction sent and received.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderView {
    /// Smallest round-trip time from the tap to the sender and back.
    pub to_sender: u64,
    clock: TickClock,
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
