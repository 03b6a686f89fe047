//! The rate of the path, inferred from trains of ACKs. A train is several ACKs in a row.
//!
//! If segments left faster than their ACKs came back, the bottleneck spread the segments, so the
//! spacing of the ACKs shows the rate of the bottleneck. While the path has a queue, the spacing of
//! every train shows this rate.
//!
//! Rule: a train shows the rate of the path if the bottleneck spread its segments, or if the path
//! had a queue. If fewer than [`FEWEST`] trains show the rate, the result is only a lower bound.

use crate::trace::{Sent, Trace};

/// Number of ACKs after the first ACK of a train: in a long train, and in a short train. Even a
/// short flight gives short trains.
const ACKS: [usize; 2] = [4, 2];
/// If at least this many trains agree on a rate, the rate is trusted.
const STRONG: usize = 8;
/// The bottleneck spread the segments of a train if the time from the first to the last ACK exceeds
/// this many times the time in which the segments left.
const SPREAD: f64 = 1.5;
/// The path has a queue if a round trip is more than this many times the smallest one.
const QUEUED: f64 = 1.25;
/// A train is ignored if one of its ACKs covers more than this many times the median number of
/// bytes, because such an ACK ended a recovery.
const JUMP: u64 = 2;
/// Nanoseconds of a tick of the timestamp clock.
const TICK: u64 = 1_000_000;
/// Smallest number of trains that show a rate.
const FEWEST: usize = 2;
/// If the ACKs of a train came back in less than this share of the time in which their segments
/// left, the ACKs had queued behind each other.
const COMPRESSED: f64 = 0.9;
/// Smallest ratio of the path's rate to the goodput.
const OF_GOODPUT: f64 = 0.95;
/// Smallest ratio of the path's rate to the second-highest rate of a train.
const OF_HIGHEST: f64 = 0.5;
/// Smallest number of trains of equal rate that show the path's rate.
const CLUSTER: usize = 3;
/// Smallest share of the trains that a group of equal rates must contain.
const CLUSTER_SHARE: f64 = 0.003;
/// Only rates of at least this share of the rate of the fastest group are considered. A group has
/// nearly equal rates, and is large enough ([`CLUSTER`] and [`CLUSTER_SHARE`]).
const NEAR_FASTEST: f64 = 0.75;
/// Half width of a range of equal rates, relative to the rate.
const NEAR: f64 = 0.06;

/// A rate of payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathRate {
    /// Bits of payload per second.
    pub payload_bps: f64,
    /// False if the rate is only a lower bound.
    pub is_seen: bool,
}

/// Rate of the path in the direction of the payload; `None` if there are too few ACKs.
pub fn forward(trace: &Trace, mss: u32) -> Option<PathRate> {
    let [long, short] = ACKS.map(|acks| by_trains(trace, mss, acks));
    let short = short.filter(|(rate, count)| rate.is_seen && *count >= STRONG);
    let (rate, count) = long.or(short)?;
    // Prefer short trains if they show a much faster rate: a gap makes a long train slower. Also
    // prefer them if few long trains show the rate. Otherwise prefer long trains, because jitter
    // makes some short trains faster.
    let better = short.filter(|(short, _)| {
        let is_much_faster = short.payload_bps * NEAR_FASTEST > rate.payload_bps;
        !rate.is_seen || count < STRONG || is_much_faster
    });
    Some(better.map_or(rate, |(rate, _)| rate))
}

/// The rate that trains with `acks` ACKs after the first ACK show, and the number of trains with
/// this rate.
fn by_trains(trace: &Trace, mss: u32, acks: usize) -> Option<(PathRate, usize)> {
    let (mut shown, mut all) = trains(trace, mss, acks);
    all.sort_by(f64::total_cmp);
    let high = *all.get(all.len().checked_sub(FEWEST)?)?;
    let seconds = trace.done.saturating_sub(trace.begin).max(1) as f64 / 1e9;
    let carried = trace.bytes as f64 * 8.0 / seconds;
    // Ignore trains slower than the goodput, because the path's rate is at least the goodput. Also
    // ignore trains much slower than the fastest ones.
    shown.retain(|bps| *bps >= (OF_HIGHEST * high).max(OF_GOODPUT * carried));
    let is_seen = shown.len() >= FEWEST;
    let (payload_bps, count) = if is_seen {
        settled(&mut shown)
    } else {
        (high, 0)
    };
    let rate = PathRate {
        payload_bps,
        is_seen,
    };
    Some((rate, count))
}

/// The rates of the trains that show the path's rate, and the rates of all trains that are not
/// ignored.
fn trains(trace: &Trace, mss: u32, acks: usize) -> (Vec<f64>, Vec<f64>) {
    let progress: Vec<_> = trace.acks.iter().filter(|acked| acked.bytes > 0).collect();
    let mut sizes: Vec<u64> = progress.iter().map(|acked| acked.bytes).collect();
    sizes.sort_unstable();
    let usual = sizes.get(sizes.len() / 2).copied().unwrap_or(0);
    let base = trace.rtts.iter().map(|(_, rtt)| *rtt).min().unwrap_or(0);
    let mut rtts = trace.rtts.iter().peekable();
    let (mut shown, mut all) = (Vec::new(), Vec::new());
    let mut sends = Sends::new(trace);
    for train in progress.windows(acks + 1) {
        let (first, last) = (train[0], train[acks]);
        let span = last.at - first.at;
        let has_jump = train[1..].iter().any(|acked| acked.bytes > JUMP * usual);
        let Some(sent) = sends.span(first.ack, last.ack) else {
            continue;
        };
        // Ignore ACKs that came faster than their segments left: they had queued behind each other.
        let is_compressed = (span as f64) < COMPRESSED * sent as f64;
        if span == 0 || has_jump || is_compressed {
            continue;
        }
        let mut rtt = base;
        while let Some((_, sample)) = rtts.next_if(|(at, _)| *at <= last.at) {
            rtt = *sample;
        }
        let bps = (last.ack - first.ack) as f64 * 8e9 / span as f64;
        all.push(bps);
        // Segments whose sending took longer than a round trip were not sent together, so the
        // bottleneck did not spread them.
        let is_spread = span as f64 > SPREAD * sent as f64 && sent < base;
        // Ignore partial segments, because their ACKs may be delayed ACKs.
        let is_full = last.ack - first.ack >= u64::from(mss) * acks as u64;
        let is_queued = is_full && rtt as f64 > QUEUED * base as f64;
        if is_spread || is_queued {
            shown.push(bps);
        }
    }
    (shown, all)
}

/// The mean rate of the largest group of trains with nearly equal rates, and the number of trains
/// in this group. Groups far below the fastest group are ignored, because gaps between segments
/// make trains slower. A group with few trains does not count as the fastest, because jitter makes
/// a few trains faster.
fn settled(rates: &mut [f64]) -> (f64, usize) {
    rates.sort_by(f64::total_cmp);
    let enough = CLUSTER.max((rates.len() as f64 * CLUSTER_SHARE) as usize);
    let fast = ranges(rates).rev().find(|range| range.len() >= enough);
    let least = fast.map_or(0.0, |range| range[0] * NEAR_FASTEST);
    let rates = &rates[rates.partition_point(|bps| *bps < least)..];
    let most = ranges(rates).max_by_key(|range| range.len());
    let most = most.unwrap_or(rates);
    let count = most.len().max(1);
    (most.iter().sum::<f64>() / count as f64, count)
}

/// Every range of nearly equal rates, from the slowest to the fastest.
fn ranges(sorted: &[f64]) -> impl DoubleEndedIterator<Item = &[f64]> {
    (0..sorted.len()).map(|begin| {
        let most = sorted[begin] * (1.0 + 2.0 * NEAR);
        let end = sorted.partition_point(|bps| *bps <= most);
        &sorted[begin..end]
    })
}

/// The segments of trains, searched in the order of the capture.
struct Sends<'a> {
    sent: &'a [Sent],
    /// Positions of retransmissions, sorted.
    again: Vec<u64>,
    from: usize,
}

impl<'a> Sends<'a> {
    fn new(trace: &'a Trace) -> Self {
        let again = trace.sent.iter().filter(|sent| !sent.is_new);
        let mut again: Vec<u64> = again.map(|sent| sent.start).collect();
        again.sort_unstable();
        Self {
            sent: &trace.sent,
            again,
            from: 0,
        }
    }

    /// Upper bound on the time in which the bytes between two positions left the sender; `None` if
    /// some of these bytes were retransmitted.
    fn span(&mut self, from: u64, to: u64) -> Option<u64> {
        while self.sent.get(self.from)?.end <= from {
            self.from += 1;
        }
        // Ignore retransmitted bytes: the ACK of a retransmission covers segments that arrived long
        // before.
        let next = self.again.partition_point(|start| *start < from);
        if self.again.get(next).is_some_and(|start| *start < to) {
            return None;
        }
        let own = self.sent[self.from..].iter();
        let own = own.take_while(|sent| sent.start < to || !sent.is_new);
        let (mut first, mut last): (Option<&Sent>, Option<&Sent>) = (None, None);
        for sent in own {
            if !sent.is_new {
                return None;
            }
            first = first.or(Some(sent));
            last = Some(sent);
        }
        let (first, last) = first.zip(last)?;
        let at_tap = last.at - first.at;
        let ticks = first.tsval.zip(last.tsval);
        let by_clock = ticks.map(|(from, to)| (u64::from(to.wrapping_sub(from)) + 1) * TICK);
        Some(at_tap.min(by_clock.unwrap_or(u64::MAX)))
    }
}
