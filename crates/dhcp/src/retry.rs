//! The retransmission times of one exchange.
//!
//! Rule: in a broadcast exchange, each interval is twice the previous one, at most 64 s, with a
//! random offset of at most one second, so that hosts that start together do not stay synchronised
//! (RFC 2131 §4.1). A request for a longer lease is repeated after half of the remaining time.
//! Before T2, this is the time until T2; after T2, it is the time until the end of the lease. The
//! interval is at least a minute.

use fullpipe::{Duration, Instant, Rng};

/// First interval.
const FIRST: Duration = Duration::from_secs(4);
/// Largest interval.
const LARGEST: Duration = Duration::from_secs(64);
/// Shortest interval between requests for a longer lease. RFC 2131 §4.4.5.
const RENEWAL_MIN: Duration = Duration::from_secs(60);

/// One request and its retransmissions.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    /// Transaction id, which answers repeat.
    pub(crate) xid: u32,
    /// Time of the first transmission.
    pub(crate) since: Instant,
    /// Number of transmissions.
    pub(crate) sent: u32,
    /// Time of the next transmission.
    pub(crate) next: Instant,
}

impl Exchange {
    /// Returns an exchange whose first transmission is due at `now`.
    pub(crate) fn new(rng: &mut Rng, now: Instant) -> Self {
        Self {
            xid: rng.next_u64() as u32,
            since: now,
            sent: 0,
            next: now,
        }
    }

    /// Notes a transmission of a broadcast exchange, and chooses the time of the next one.
    pub(crate) fn on_sent(&mut self, rng: &mut Rng, now: Instant) {
        let interval = FIRST * (1 << self.sent.min(8));
        let jitter = Duration::from_millis(rng.between(0, 2_000));
        self.next = now + interval.min(LARGEST) + jitter - Duration::from_secs(1);
        self.sent += 1;
    }

    /// Notes a transmission of a request for a longer lease, and chooses the time of the next one:
    /// after half of the time that is left until `end`, but not before a minute has passed.
    pub(crate) fn on_renewal_sent(&mut self, end: Instant, now: Instant) {
        self.next = now + (end.since(now) / 2).max(RENEWAL_MIN);
        self.sent += 1;
    }
}
