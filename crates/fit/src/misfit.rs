//! Comparison of a capture with its twin, the simulated copy of the captured connection.
//!
//! Rule: the results of capture and twin are computed in the same way, from segments at the same
//! place. A difference between the results is therefore a difference between the connection and its
//! twin, and not between two methods. The constants below decide if there is advice. No constant
//! was fitted to a result.

use fullpipe_diagnose::observe::{ObservedConnection, SeenLimit};
use fullpipe_tcp::Limit;
use serde::Serialize;

use crate::trace::Trace;

/// A twin reproduces its capture only if the relative difference in goodput is at most this.
const GOODPUT: f64 = 0.2;
/// A twin reproduces its capture only if the limits of twin and capture differ for at most this
/// share of the time.
const ACCOUNT: f64 = 0.3;
/// A twin reproduces its capture only if the larger of the two median round trips is at most this
/// many times the smaller one.
const ROUND_TRIPS: f64 = 1.5;

/// Results of a connection, computed from segments at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Payload that was acknowledged, in bytes.
    pub bytes: u64,
    /// Time from the end of the handshake to the ACK of the last byte, in seconds.
    pub seconds: f64,
    /// `bytes` divided by `seconds`, in Mbit/s.
    pub goodput_mbps: f64,
    /// Smallest round trip, in milliseconds.
    pub base_rtt_ms: f64,
    /// Median of the round trips, in milliseconds.
    pub median_rtt_ms: f64,
    /// 95th percentile of the round trips, in milliseconds.
    pub high_rtt_ms: f64,
    /// Share of retransmissions among segments with payload.
    pub retransmitted_share: f64,
    /// Share of the time for each limit of the sender, the largest first.
    pub shares: Vec<(&'static str, f64)>,
    #[serde(skip)]
    account: Account,
}

/// Share of the time for each group of limits. Limits that look alike in a capture are in one
/// group.
type Account = [f64; GROUPS];
/// Number of groups.
const GROUPS: usize = 9;
/// The group of pacing.
const PACING: usize = 6;
/// The groups of limits that bound the bytes in flight.
const BOUNDS: std::ops::RangeInclusive<usize> = 1..=5;

/// The group of a limit; `None` for the time before and after the transfer.
const fn group(limit: SeenLimit) -> Option<usize> {
    let SeenLimit::Known(limit) = limit else {
        return Some(8);
    };
    Some(match limit {
        Limit::Handshake | Limit::Closing => return None,
        Limit::Application => 0,
        Limit::SendBuffer => 1,
        Limit::ReceiveWindow | Limit::ZeroWindow => 2,
        Limit::CwndSlowStart | Limit::CwndAfterIdle => 3,
        Limit::CwndSteady | Limit::CwndAfterMark => 4,
        Limit::CwndAfterLoss | Limit::Recovery => 5,
        Limit::Pacing | Limit::Device => 6,
        Limit::Nagle => 7,
        Limit::Memory | Limit::Processor => 8,
    })
}

impl Figures {
    /// The results of the first `bytes` bytes of a connection.
    pub fn of(observed: &ObservedConnection, trace: &Trace, bytes: u64) -> Self {
        let reached = trace.acks.iter().find(|acked| acked.ack >= bytes);
        let (bytes, done) = match reached {
            Some(acked) => (bytes, acked.at),
            None => (trace.bytes, trace.done),
        };
        let seconds = done.saturating_sub(trace.begin) as f64 / 1e9;
        let mut rtts: Vec<u64> = trace
            .rtts
            .iter()
            .filter(|(at, _)| *at <= done)
            .map(|one| one.1)
            .collect();
        rtts.sort_unstable();
        let rtt_ms = |share: f64| {
            let place = (rtts.len() as f64 * share) as usize;
            rtts.get(place.min(rtts.len().saturating_sub(1)))
                .map_or(0.0, |ns| *ns as f64 / 1e6)
        };
        let sent = trace.sent.iter().take_while(|sent| sent.at <= done);
        let (all, again) = sent.fold((0, 0), |(all, again), sent| {
            (all + 1, again + u32::from(!sent.is_new))
        });
        let mut times = vec![0.0; SeenLimit::COUNT];
        let mut account = [0.0; GROUPS];
        let mut flight = None;
        for band in observed.bands.iter().filter(|band| band.at_ns < done) {
            let length = (band.end_ns.min(done) - band.at_ns) as f64;
            let place = SeenLimit::ALL.iter().position(|known| *known == band.limit);
            times[place.expect("every limit is in the list")] += length;
            let own = group(band.limit);
            // A pacing rate derives from the limit that bounds the bytes in flight, so time limited
            // by pacing is charged to that limit.
            let place = match own {
                Some(PACING) => flight.or(own),
                own => own,
            };
            if let Some(place) = place {
                account[place] += length;
            }
            if own.is_some_and(|own| BOUNDS.contains(&own)) {
                flight = own;
            }
        }
        let whole: f64 = account.iter().sum::<f64>().max(1.0);
        account.iter_mut().for_each(|part| *part /= whole);
        let all_times: f64 = times.iter().sum::<f64>().max(1.0);
        let named = SeenLimit::ALL.iter().zip(&times);
        let mut shares: Vec<_> = named
            .map(|(limit, time)| (limit.name(), time / all_times))
            .filter(|(_, share)| *share > 0.0)
            .collect();
        shares.sort_by(|one, other| other.1.total_cmp(&one.1));
        Self {
            bytes,
            seconds,
            goodput_mbps: bytes as f64 * 8e-6 / seconds.max(1e-9),
            base_rtt_ms: rtt_ms(0.0),
            median_rtt_ms: rtt_ms(0.5),
            high_rtt_ms: rtt_ms(0.95),
            retransmitted_share: f64::from(again) / f64::from(all.max(1)),
            shares,
            account,
        }
    }
}

impl Figures {
    /// The means of runs that differ only in their seeds; `shares` are those of the first run.
    pub fn mean(runs: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        let mut account = [0.0; GROUPS];
        for (place, part) in account.iter_mut().enumerate() {
            *part = runs.iter().map(|run| run.account[place]).sum::<f64>() / runs.len() as f64;
        }
        Self {
            bytes: runs[0].bytes,
            seconds: mean(|run| run.seconds),
            goodput_mbps: mean(|run| run.goodput_mbps),
            base_rtt_ms: mean(|run| run.base_rtt_ms),
            median_rtt_ms: mean(|run| run.median_rtt_ms),
            high_rtt_ms: mean(|run| run.high_rtt_ms),
            retransmitted_share: mean(|run| run.retransmitted_share),
            shares: runs[0].shares.clone(),
            account,
        }
    }

    /// Share of the transfer's time limited by the send buffer.
    pub const fn send_buffer_share(&self) -> f64 {
        self.account[1]
    }
}

/// The differences between a twin and its capture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Goodput of the twin divided by goodput in the capture, minus 1.
    pub goodput_error: f64,
    /// Share of the time in which the twin has another limit than the capture, from 0 to 1.
    pub account_error: f64,
    /// Median round trip of the twin divided by the median in the capture, minus 1.
    pub rtt_error: f64,
    /// Decision about the twin.
    pub verdict: Verdict,
}

/// Decision about a twin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The twin reproduces the capture.
    Reproduces,
    /// The twin's goodput differs by more than 20 %.
    GoodputDiffers,
    /// The twin has another limit for more than 30 % of the time.
    LimitDiffers,
    /// The twin's median round trip differs by more than a factor of 1.5.
    RoundTripDiffers,
}

impl Compared {
    /// Compares a twin with its capture.
    pub fn of(capture: &Figures, twin: &Figures) -> Self {
        let ratio = |twin: f64, capture: f64| match capture > 0.0 {
            true => twin / capture,
            false => 1.0,
        };
        let goodput = ratio(twin.goodput_mbps, capture.goodput_mbps);
        let rtt = ratio(twin.median_rtt_ms, capture.median_rtt_ms);
        let pairs = twin.account.iter().zip(&capture.account);
        let account_error = pairs.map(|(one, other)| (one - other).abs()).sum::<f64>() / 2.0;
        let is_rtt_near = (1.0 / ROUND_TRIPS..=ROUND_TRIPS).contains(&rtt);
        let verdict = match () {
            () if (goodput - 1.0).abs() > GOODPUT => Verdict::GoodputDiffers,
            () if account_error > ACCOUNT => Verdict::LimitDiffers,
            () if !is_rtt_near => Verdict::RoundTripDiffers,
            () => Verdict::Reproduces,
        };
        Self {
            goodput_error: goodput - 1.0,
            account_error,
            rtt_error: rtt - 1.0,
            verdict,
        }
    }

    /// Sum of the differences, for the choice between candidates; 0 for a perfect twin.
    pub fn score(&self) -> f64 {
        let log = |error: f64| (1.0 + error).max(1e-3).ln().abs();
        log(self.goodput_error) + self.account_error + 0.5 * log(self.rtt_error)
    }

    /// Returns true if the twin reproduces the capture, so its advice applies to the connection.
    pub fn is_reproduced(&self) -> bool {
        self.verdict == Verdict::Reproduces
    }
}
