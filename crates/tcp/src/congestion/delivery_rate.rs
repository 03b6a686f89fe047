//! The delivery rate: one rate sample per ACK. draft-ietf-ccwg-bbr-06 §4.1 (formerly
//! draft-cheng-iccrg-delivery-rate-estimation).
//!
//! ```text
//! send_elapsed = sent_at(P) − first_sent_at(P)            time to send the flight that P ends
//! ack_elapsed  = delivered_at(now) − delivered_at(P)      time to acknowledge this flight
//! rate         = (delivered(now) − delivered(P)) / max(send_elapsed, ack_elapsed)
//! ```
//!
//! P is the most recently sent of the ranges that this ACK reports. The rate divides by
//! the longer of the two times, because neither compressed ACKs nor a burst of this
//! sender can make the network faster than it is.
//!
//! Rule: each byte counts once, when it is SACKed or cumulatively acknowledged. This file
//! keeps no ranges, smooths nothing and decides nothing.

use fullpipe_pool::{Duration, Instant, record};

/// Flag in [`Snapshot::in_flight`]: sent while the application limited the
/// sender.
const APP_LIMITED: u32 = 1 << 31;

/// State of the estimator when a range left; kept with the range.
///
/// The snapshot takes 20 bytes: counters are modulo 2^32 and times are microseconds modulo 71
/// minutes, because only differences over one flight are ever taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    delivered: u32,
    lost: u32,
    delivered_at_us: u32,
    first_sent_at_us: u32,
    /// Bytes in flight, this range included, and the flag [`APP_LIMITED`].
    in_flight: u32,
}

record!(Snapshot {
    delivered,
    lost,
    delivered_at_us,
    first_sent_at_us,
    in_flight
});

impl Snapshot {
    /// Returns the bytes in flight after the range left, the range included; below 2 GiB.
    pub const fn tx_in_flight(&self) -> u32 {
        self.in_flight & !APP_LIMITED
    }

    /// Returns true if the application limited the sender when the range left.
    pub const fn is_app_limited(&self) -> bool {
        self.in_flight & APP_LIMITED != 0
    }
}

/// The rate sample of one ACK. Bytes and microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered during `interval_us`.
    pub delivered: u32,
    /// Length of the sample; 0 if the sample is not reliable.
    pub interval_us: u32,
    /// Time since the newest reported range was sent; `None` if the ACK may be for an earlier copy
    /// of that range.
    pub rtt_us: Option<u32>,
    /// The application limited the sender, so the sample is a lower bound of the path's
    /// rate.
    pub app_limited: bool,
    /// The newest reported range left after the last round trip ended: a new round trip begins.
    pub round_start: bool,
    /// Bytes that this ACK reports for the first time.
    pub newly_acked: u32,
    /// Bytes newly considered lost since the last sample.
    pub newly_lost: u32,
    /// Bytes in flight after the newest range left, this range included.
    pub tx_in_flight: u32,
    /// Bytes lost since the newest range left.
    pub lost: u32,
    /// Bytes delivered over the connection's lifetime before the newest range
    /// left.
    pub prior_delivered: u64,
    /// Bytes delivered over the connection's lifetime, this ACK included.
    pub total_delivered: u64,
}

impl RateSample {
    /// Returns the delivery rate in bytes per second; 0 if the sample is not reliable.
    pub fn rate(&self) -> u64 {
        rate_of(self.delivered, self.interval_us)
    }
}

/// The fastest rate sample of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastestSample {
    /// Bytes delivered during `interval_us`.
    pub delivered: u32,
    /// Length of the sample in microseconds; 0 if there is none.
    pub interval_us: u32,
    /// Round-trip time of the sample in microseconds.
    pub rtt_us: u32,
}

record!(FastestSample {
    delivered,
    interval_us,
    rtt_us
});

impl FastestSample {
    /// Returns the rate in bytes per second.
    pub fn rate(&self) -> u64 {
        rate_of(self.delivered, self.interval_us)
    }

    fn take(&mut self, sample: &RateSample) {
        if let Some(rtt_us) = sample.rtt_us
            && sample.rate() > self.rate()
        {
            *self = Self {
                delivered: sample.delivered,
                interval_us: sample.interval_us,
                rtt_us,
            };
        }
    }
}

/// Returns `bytes` in `interval_us` as bytes per second; 0 if the time is 0.
fn rate_of(bytes: u32, interval_us: u32) -> u64 {
    let scaled = u64::from(bytes) * 1_000_000;
    scaled
        .checked_div(u64::from(interval_us))
        .unwrap_or_default()
}

/// A range that is newly considered lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostRange {
    /// Time at which the loss was found.
    pub now: Instant,
    /// Length of the range.
    pub bytes: u32,
    /// Bytes in flight after the range left, the range included.
    pub tx_in_flight: u32,
    /// Bytes lost since the range left, the range included.
    pub lost: u32,
    /// The application limited the sender when the range left.
    pub app_limited: bool,
    /// Bytes delivered over the connection's lifetime.
    pub total_delivered: u64,
}

/// The newest of the ranges that the present ACK reports.
#[derive(Clone, Copy, Debug)]
struct Newest {
    /// Send time in microseconds modulo 71 minutes.
    sent_at_us: u32,
    snapshot: Snapshot,
    rtt_us: Option<u32>,
}

record!(Newest {
    sent_at_us,
    snapshot,
    rtt_us
});

/// The estimator of one connection.
///
/// For each ACK, call [`on_delivered`](Self::on_delivered) for each range,
/// oldest first, then [`on_lost`](Self::on_lost) for each loss found, then
/// [`sample`](Self::sample) once.
#[derive(Clone, Debug)]
pub struct DeliveryRate {
    delivered: u64,
    /// Bytes lost over the connection's lifetime, modulo 2^32.
    lost: u32,
    delivered_at: Instant,
    /// Send time of the first range in the flight that is being measured.
    first_sent_at: Instant,
    /// Samples are application-limited until more than this many bytes are delivered; 0 if samples
    /// are not application-limited.
    app_limited_until: u64,
    next_round_delivered: u64,
    newly_acked: u32,
    newly_lost: u32,
    newest: Option<Newest>,
    fastest: FastestSample,
    /// Bytes and microseconds of the last sample that [`latest`](Self::latest) reports,
    /// and its application-limited flag.
    latest: (u32, u32, bool),
}

record!(DeliveryRate {
    delivered,
    lost,
    delivered_at,
    first_sent_at,
    app_limited_until,
    next_round_delivered,
    newly_acked,
    newly_lost,
    newest,
    fastest,
    latest
});

impl Default for DeliveryRate {
    fn default() -> Self {
        Self::new()
    }
}

impl DeliveryRate {
    /// Creates an estimator before anything was sent.
    pub const fn new() -> Self {
        Self {
            delivered: 0,
            lost: 0,
            delivered_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            app_limited_until: 0,
            next_round_delivered: 0,
            newly_acked: 0,
            newly_lost: 0,
            newest: None,
            fastest: FastestSample {
                delivered: 0,
                interval_us: 0,
                rtt_us: 0,
            },
            latest: (0, 0, false),
        }
    }

    /// Returns the rate of the last sample that counts, in bytes per second; 0 before the first. A
    /// reliable sample counts unless it is application-limited and slower than the last sample that
    /// counted.
    pub fn latest(&self) -> u64 {
        let (delivered, interval_us, _) = self.latest;
        rate_of(delivered, interval_us)
    }

    /// Returns true if [`latest`](Self::latest) is application-limited.
    pub const fn latest_is_app_limited(&self) -> bool {
        self.latest.2
    }

    /// Returns the fastest sample so far.
    pub const fn fastest(&self) -> FastestSample {
        self.fastest
    }

    /// Returns the bytes delivered over the connection's lifetime.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Notes that `bytes` leave while `in_flight` bytes are in flight. Returns the
    /// snapshot to keep with the range.
    pub fn on_sent(&mut self, bytes: u32, in_flight: u32, now: Instant) -> Snapshot {
        if in_flight == 0 {
            // Nothing is in flight: a new flight begins.
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let app_limited = if self.app_limited_until == 0 {
            0
        } else {
            APP_LIMITED
        };
        Snapshot {
            delivered: self.delivered as u32,
            lost: self.lost,
            delivered_at_us: wrapped_us(self.delivered_at),
            first_sent_at_us: wrapped_us(self.first_sent_at),
            in_flight: in_flight.saturating_add(bytes).min(!APP_LIMITED) | app_limited,
        }
    }

    /// Notes that `bytes` of a range last sent at `sent_at` are reported for the first
    /// time. `ambiguous` means that the range was retransmitted and that the report may
    /// be for any of its copies.
    pub fn on_delivered(
        &mut self,
        bytes: u32,
        sent_at: Instant,
        snapshot: Snapshot,
        ambiguous: bool,
        now: Instant,
    ) {
        self.delivered += u64::from(bytes);
        self.delivered_at = now;
        self.newly_acked = self.newly_acked.saturating_add(bytes);
        if self.newest.is_some() && sent_at < self.first_sent_at {
            return;
        }
        self.newest = Some(Newest {
            sent_at_us: wrapped_us(sent_at),
            snapshot,
            rtt_us: (!ambiguous).then(|| micros(now.since(sent_at))),
        });
        self.first_sent_at = sent_at;
    }

    /// Notes that `bytes` of a range that left with `snapshot` are lost.
    pub fn on_lost(&mut self, bytes: u32, snapshot: Snapshot, now: Instant) -> LostRange {
        self.lost = self.lost.wrapping_add(bytes);
        self.newly_lost = self.newly_lost.saturating_add(bytes);
        LostRange {
            now,
            bytes,
            tx_in_flight: snapshot.tx_in_flight(),
            lost: self.lost.wrapping_sub(snapshot.lost),
            app_limited: snapshot.is_app_limited(),
            total_delivered: self.delivered,
        }
    }

    /// Marks samples as application-limited until the bytes in flight now are delivered.
    ///
    /// The caller checks before each write, ACK and timer that the application limits the sender:
    /// window and pacing rate allow more, and less than a segment waits to be sent.
    pub fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// Completes the sample of the present ACK. `min_rtt_us` is the connection's smallest
    /// round-trip time, this ACK included; a sample over a shorter interval is not reliable.
    pub fn sample(&mut self, min_rtt_us: u32) -> RateSample {
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let mut sample = RateSample {
            newly_acked: core::mem::take(&mut self.newly_acked),
            newly_lost: core::mem::take(&mut self.newly_lost),
            total_delivered: self.delivered,
            prior_delivered: self.delivered,
            ..RateSample::default()
        };
        let Some(newest) = self.newest.take() else {
            return sample;
        };
        let snapshot = newest.snapshot;
        let send_elapsed_us = newest.sent_at_us.wrapping_sub(snapshot.first_sent_at_us);
        let ack_elapsed_us = wrapped_us(self.delivered_at).wrapping_sub(snapshot.delivered_at_us);
        let interval_us = send_elapsed_us.max(ack_elapsed_us);
        sample.delivered = (self.delivered as u32).wrapping_sub(snapshot.delivered);
        sample.prior_delivered = self.delivered - u64::from(sample.delivered);
        sample.interval_us = if interval_us < min_rtt_us {
            // The sample is not reliable: an earlier copy of the range was delivered, so the time
            // is too short by a round trip.
            0
        } else {
            interval_us
        };
        sample.rtt_us = newest.rtt_us;
        sample.app_limited = snapshot.is_app_limited();
        sample.tx_in_flight = snapshot.tx_in_flight();
        sample.lost = self.lost.wrapping_sub(snapshot.lost);
        sample.round_start = sample.prior_delivered >= self.next_round_delivered;
        if sample.round_start {
            self.next_round_delivered = self.delivered;
        }
        self.fastest.take(&sample);
        if sample.interval_us > 0 && (!sample.app_limited || sample.rate() >= self.latest()) {
            self.latest = (sample.delivered, sample.interval_us, sample.app_limited);
        }
        sample
    }
}

fn wrapped_us(at: Instant) -> u32 {
    at.as_micros() as u32
}

/// Returns whole microseconds, at most 71 minutes.
fn micros(time: Duration) -> u32 {
    time.as_micros().min(u32::MAX.into()) as u32
}

#[cfg(test)]
mod tests;
