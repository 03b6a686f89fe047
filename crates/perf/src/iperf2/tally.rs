//! What one stream moved: bytes, datagrams, what is missing of them, jitter.
//!
//! Rule: counting is arithmetic on values; clocks belong to the callers. A
//! datagram is lost from the moment a later one arrives until it arrives
//! itself, which makes it out of order instead (as iperf counts).

use std::time::Duration;

/// Datagrams that a receiver missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Datagrams that never came.
    pub lost: u64,
    /// Datagrams that the sender numbered.
    pub total: u64,
    /// Datagrams that came after a later one.
    pub out_of_order: u64,
    /// Smoothed difference of transit times (RFC 1889 §6.3.1).
    pub jitter: Duration,
}

/// What was moved between two moments of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Since the stream's start.
    pub start: Duration,
    /// Since the stream's start.
    pub end: Duration,
    /// Bytes of payload.
    pub bytes: u64,
    /// Datagrams missed; all zero for TCP and for senders.
    pub loss: Loss,
}

/// The running totals of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Bytes of payload.
    pub bytes: u64,
    /// Datagrams sent, or received in any order.
    pub datagrams: u64,
    highest_id: i64,
    missed: u64,
    out_of_order: u64,
    jitter_s: f64,
    last_transit_s: Option<f64>,
}

impl Tally {
    /// Counts bytes of a TCP stream, or a datagram sent.
    pub fn moved(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.datagrams += 1;
    }

    /// Counts a datagram received. `id` counts from 1; `transit_s` is the
    /// receiver's clock minus the sender's stamp, in seconds, and need not be
    /// positive: only its changes matter.
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

    fn loss(&self) -> Loss {
        Loss {
            lost: self.missed.saturating_sub(self.out_of_order),
            total: self.highest_id.unsigned_abs(),
            out_of_order: self.out_of_order,
            jitter: Duration::from_secs_f64(self.jitter_s.clamp(0.0, 1e6)),
        }
    }

    /// Everything from the stream's start to `end`.
    pub fn whole(&self, end: Duration) -> Span {
        self.since(&Self::default(), Duration::ZERO, end)
    }

    /// What came on top of `earlier`, between `start` and `end`.
    pub fn since(&self, earlier: &Self, start: Duration, end: Duration) -> Span {
        let (now, before) = (self.loss(), earlier.loss());
        // A datagram that was lost in an earlier interval may have come since.
        Span {
            start,
            end,
            bytes: self.bytes - earlier.bytes,
            loss: Loss {
                lost: now.lost.saturating_sub(before.lost),
                total: now.total.saturating_sub(before.total),
                out_of_order: now.out_of_order - before.out_of_order,
                jitter: now.jitter,
            },
        }
    }
}

impl Span {
    /// Adds another stream's span: the earliest start, the latest end. Jitter
    /// has no sum.
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
