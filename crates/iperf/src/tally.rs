//! Counts of one stream: bytes, datagrams, losses and jitter.
//!
//! Rule: no clock is read here; times are arguments. As in iperf, a missing datagram counts as
//! lost once a later one has arrived. If the missing datagram arrives later, it counts as out of
//! order instead.

use core::time::Duration;

/// Losses, reordering and jitter of received datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramLoss {
    /// Missing datagrams, minus those that arrived out of order.
    pub lost: u64,
    /// Known number of datagrams that the sender sent: the highest sequence number received, or
    /// the increase of that number over an interval.
    pub total: u64,
    /// Datagrams whose number is not above the highest number received so far: late datagrams and
    /// duplicates, as in iperf.
    pub out_of_order: u64,
    /// Smoothed difference of transit times (RFC 1889 §6.3.1).
    pub jitter: Duration,
}

/// Counts of a stream over an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Start of the interval, since the stream's start.
    pub start: Duration,
    /// End of the interval, since the stream's start.
    pub end: Duration,
    /// Bytes of payload.
    pub bytes: u64,
    /// Losses; all zero for TCP and for senders.
    pub loss: DatagramLoss,
}

/// The running totals of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Bytes of payload.
    pub bytes: u64,
    /// Datagrams sent or received; for TCP, writes or reads.
    pub datagrams: u64,
    highest_id: i64,
    missed: u64,
    out_of_order: u64,
    jitter_s: f64,
    last_transit_s: Option<f64>,
}

impl Tally {
    /// Counts bytes of a TCP stream, or a datagram that was sent.
    pub fn moved(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.datagrams += 1;
    }

    /// Counts a received datagram. `id` starts at 1. `transit_s` is the receiver's clock minus the
    /// sender's timestamp, in seconds. The clocks need not agree, so the value may be negative:
    /// jitter depends only on its changes.
    pub fn received(&mut self, id: i64, bytes: usize, transit_s: Option<f64>) {
        self.moved(bytes);
        if id > self.highest_id {
            self.missed += (id - self.highest_id - 1).unsigned_abs();
            self.highest_id = id;
        } else {
            self.out_of_order += 1;
        }
        if let Some(transit_s) = transit_s {
            if let Some(last) = self.last_transit_s {
                self.jitter_s += ((transit_s - last).abs() - self.jitter_s) / 16.0;
            }
            self.last_transit_s = Some(transit_s);
        }
    }

    fn loss(&self) -> DatagramLoss {
        DatagramLoss {
            lost: self.missed.saturating_sub(self.out_of_order),
            total: self.highest_id.unsigned_abs(),
            out_of_order: self.out_of_order,
            jitter: Duration::from_secs_f64(self.jitter_s.clamp(0.0, 1e6)),
        }
    }

    /// Returns the counts from the stream's start to `end`.
    pub fn whole(&self, end: Duration) -> Span {
        self.since(&Self::default(), Duration::ZERO, end)
    }

    /// Returns the counts since `earlier`, as a span from `start` to `end`.
    pub fn since(&self, earlier: &Self, start: Duration, end: Duration) -> Span {
        let (now, before) = (self.loss(), earlier.loss());
        // Saturate, because a datagram that counted as lost in `earlier` may have arrived since.
        Span {
            start,
            end,
            bytes: self.bytes - earlier.bytes,
            loss: DatagramLoss {
                lost: now.lost.saturating_sub(before.lost),
                total: now.total.saturating_sub(before.total),
                out_of_order: now.out_of_order - before.out_of_order,
                jitter: now.jitter,
            },
        }
    }
}

impl Span {
    /// Adds the counts of another span; the result covers both intervals. Jitter is not
    /// added.
    pub fn add(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.bytes += other.bytes;
        self.loss.lost += other.loss.lost;
        self.loss.total += other.loss.total;
        self.loss.out_of_order += other.loss.out_of_order;
    }
}

#[cfg(test)]
mod tests;
