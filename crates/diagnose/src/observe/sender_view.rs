//! Times at which the sender sent a segment and received an ACK, computed from the tap's times.
//!
//! All these times include the constant time from the sender to the tap, which cancels in every
//! difference. The time of sending is the time at the tap minus the wait in queues before the tap.
//! The time of receiving an ACK is the time at the tap plus the round-trip time between tap and
//! sender.
//!
//! Rule: a wait before the tap is known only from the sender's timestamps, with the resolution of a
//! tick, about a millisecond. Without timestamps, segments keep the tap's times.

/// Nanoseconds of a timestamp tick; clocks with another tick are ignored.
const TICK: i64 = 1_000_000;
/// Ticks of capture time after which the timestamp clock's rate is checked.
const CHECKED_AFTER: i64 = 20;
/// Factor by which the clock's rate may seem to differ, because queues stretch or compress times.
const MOST_FASTER: i64 = 4;

/// The clock of a sender's timestamps, as the tap sees it.
#[derive(Clone, Copy, Debug, Default)]
struct TickClock {
    first: Option<(i64, u32)>,
    /// Smallest difference between the time at the tap and the TSval.
    least: i64,
    is_other_rate: bool,
}

/// The times at which the sender of one direction sent and received.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderView {
    /// Smallest time from the tap to the sender and back.
    pub to_sender: u64,
    clock: TickClock,
    last_sent: u64,
}

impl SenderView {
    /// Creates the view from a tap whose round-trip time to the sender is `to_sender` nanoseconds.
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

    /// Time at which the sender sent a segment that passed the tap at `at` with `tsval`.
    pub fn sent_at(&mut self, at: u64, tsval: Option<u32>) -> u64 {
        let mut sent = at;
        if let Some(tsval) = tsval.filter(|_| self.to_sender > 0) {
            sent = self.clock.latest(at as i64, tsval).min(at as i64).max(0) as u64;
        }
        self.last_sent = self.last_sent.max(sent);
        self.last_sent
    }

    /// Returns true if segments that waited before the tap keep the tap's times.
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
