//! The rate of a direction, and the time that each frame waited in its queues.
//!
//! Rule: a frame's delay is the sum of a constant, its serialisation time, and the wait in queues.
//! The rate is inferred from frames that were sent close together and arrive further apart. If
//! delays vary although no queue can exist, the variation is noise: other traffic, jitter, a radio,
//! or a processor.

use super::matching::Matched;
use super::values::{Confidence, Inferred, Unknown};

/// Smallest number of gaps between arrivals from which a rate is inferred.
const FEWEST_GAPS: usize = 8;
/// Each gap gives a rate. For high confidence, at least this share of these rates must agree with
/// their median; for low confidence, a third of this share.
const AGREEMENT: f64 = 0.5;
/// A rate agrees with the median if their relative difference is at most this.
const TOLERANCE: f64 = 0.03;

/// A rate is trusted if frames that find the path empty wait for at most this time on average. The
/// unit is the serialisation time of the longest frame.
const NOISY: f64 = 0.5;

/// Two arrivals are too close for a constant rate if their distance is below this share of the
/// serialisation time.
const CLOSER: f64 = 0.8;
/// The bottleneck lets bursts pass if more than this share of arrivals is too close.
const BURSTY: f64 = 0.01;

/// The delays of one direction.
#[derive(Debug)]
pub struct Delays {
    /// Rate of the bottleneck, in bits per second, link headers included.
    pub rate_bps: Inferred<f64>,
    /// Smallest delay of a frame, without its serialisation time.
    pub base_ns: f64,
    /// For each frame sent, the time that it waited. The time is `None` for a frame that did not
    /// arrive, was overtaken by a later frame, or equals another frame.
    pub wait_ns: Vec<Option<f64>>,
    /// Mean wait of frames that found the path empty. This wait is noise.
    pub noise_ns: f64,
    /// True if some frames arrived closer together than the rate allows, as behind a full token
    /// bucket.
    pub is_bursty: bool,
}

impl Delays {
    /// Infers the delays of `matched`.
    pub fn of(matched: &Matched<'_>) -> Self {
        let delays = Self::at(matched, rate(matched));
        let full = matched.sent.iter().map(|frame| frame.len).max();
        let full_ns = delays.on_wire_ns(full.unwrap_or(0));
        match delays.rate_bps {
            // Distrust the rate: even frames that find the path empty are delayed, so the cause of
            // the spread of arrivals may be something other than a queue.
            Inferred::Known(..) if delays.noise_ns > NOISY * full_ns => {
                Self::at(matched, Inferred::Unknown(Unknown::Noise))
            }
            Inferred::Known(..) | Inferred::Unknown(_) => delays,
        }
    }

    /// The delays of `matched` at the rate `rate_bps`.
    fn at(matched: &Matched<'_>, rate_bps: Inferred<f64>) -> Self {
        // Skip overtaken frames, because they did not wait in the same queue, and frames that equal
        // others, because they may be mistaken for each other.
        let overtaken = matched.overtaken();
        let without_wire = |place: usize| {
            if overtaken[place] || matched.is_alike[place] {
                return None;
            }
            let delay = matched.delay_ns(place)? as f64;
            Some(delay - on_wire_ns(rate_bps, matched.sent[place].len))
        };
        let rest: Vec<_> = (0..matched.sent.len()).map(without_wire).collect();
        let base_ns = rest.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let base_ns = if base_ns.is_finite() { base_ns } else { 0.0 };
        let wait_ns: Vec<_> = rest
            .iter()
            .map(|rest| rest.map(|rest| rest - base_ns))
            .collect();
        Self {
            noise_ns: noise(matched, &wait_ns),
            is_bursty: is_bursty(matched, rate_bps),
            rate_bps,
            base_ns,
            wait_ns,
        }
    }

    /// Serialisation time of a frame of `len` bytes at the bottleneck; 0 if the rate is unknown.
    pub fn on_wire_ns(&self, len: u32) -> f64 {
        on_wire_ns(self.rate_bps, len)
    }

    /// For each frame sent, the time that it would wait behind earlier frames. Only earlier frames
    /// that arrived count.
    pub fn backlog_ns(&self, matched: &Matched<'_>) -> Vec<f64> {
        let mut left_ns = f64::NEG_INFINITY;
        let mut backlog = Vec::with_capacity(matched.sent.len());
        for (place, frame) in matched.sent.iter().enumerate() {
            let sent_ns = frame.at_ns as f64;
            backlog.push((left_ns - sent_ns).max(0.0));
            if let Some(arrived) = matched.arrived(place) {
                left_ns = left_ns.max(arrived.at_ns as f64 - self.base_ns);
            }
        }
        backlog
    }

    /// For each frame sent, a wait that is interpolated between the known waits of two other
    /// frames: of the nearest frame sent before it, and of the nearest frame sent after it. The
    /// frame's own wait is ignored, so that lost frames and frames that arrived are treated alike.
    pub fn around_ns(&self, matched: &Matched<'_>) -> Vec<f64> {
        let count = matched.sent.len();
        let at = |place: usize| (matched.sent[place].at_ns as f64, self.wait_ns[place]);
        let mut before: Vec<Option<(f64, f64)>> = vec![None; count];
        let mut last = None;
        for (place, before) in before.iter_mut().enumerate() {
            *before = last;
            if let (at_ns, Some(wait_ns)) = at(place) {
                last = Some((at_ns, wait_ns));
            }
        }
        let mut after = None;
        let mut backlog = vec![0.0; count];
        for place in (0..count).rev() {
            let (at_ns, own) = at(place);
            backlog[place] = between(before[place], after, at_ns);
            if let Some(wait_ns) = own {
                after = Some((at_ns, wait_ns));
            }
        }
        backlog
    }
}

/// Interpolates linearly at `at_ns` between two points of time and value.
fn between(before: Option<(f64, f64)>, after: Option<(f64, f64)>, at_ns: f64) -> f64 {
    match (before, after) {
        (Some((from, first)), Some((until, last))) if until > from => {
            first + (last - first) * (at_ns - from) / (until - from)
        }
        (Some((_, first)), Some((_, last))) => f64::midpoint(first, last),
        (Some((_, only)), None) | (None, Some((_, only))) => only,
        (None, None) => 0.0,
    }
}

fn on_wire_ns(rate_bps: Inferred<f64>, len: u32) -> f64 {
    match rate_bps {
        Inferred::Known(bps, _) => f64::from(len) * 8e9 / bps,
        Inferred::Unknown(_) => 0.0,
    }
}

/// Infers the rate from frames that arrive further apart than they were sent.
fn rate(matched: &Matched<'_>) -> Inferred<f64> {
    let mut gaps: Vec<(u32, f64)> = Vec::new();
    for place in 1..matched.sent.len() {
        let [before, own] = [place - 1, place].map(|place| matched.arrived(place));
        let (Some(before), Some(own)) = (before, own) else {
            continue;
        };
        let sent_ns = matched.sent[place].at_ns - matched.sent[place - 1].at_ns;
        let Some(arrived_ns) = own.at_ns.checked_sub(before.at_ns) else {
            continue;
        };
        if arrived_ns > sent_ns + sent_ns / 10 {
            gaps.push((own.len, f64::from(own.len) * 8e9 / arrived_ns as f64));
        }
    }
    let longest = gaps.iter().map(|(len, _)| *len).max().unwrap_or(0);
    let full = gaps
        .iter()
        .filter(|(len, _)| *len >= longest - longest / 10);
    let mut rates: Vec<f64> = full.map(|(_, rate)| *rate).collect();
    if rates.len() < FEWEST_GAPS {
        return Inferred::Unknown(Unknown::NoQueue);
    }
    rates.sort_by(f64::total_cmp);
    let median = rates[rates.len() / 2];
    let agree = rates
        .iter()
        .filter(|rate| (**rate - median).abs() <= TOLERANCE * median);
    let share = agree.count() as f64 / rates.len() as f64;
    if share >= AGREEMENT {
        Inferred::Known(median, Confidence::High)
    } else if share >= AGREEMENT / 3.0 {
        Inferred::Known(median, Confidence::Low)
    } else {
        Inferred::Unknown(Unknown::Noise)
    }
}

/// Returns true if frames arrive closer together than the rate allows.
fn is_bursty(matched: &Matched<'_>, rate_bps: Inferred<f64>) -> bool {
    let (mut closer, mut all) = (0.0, 0.0);
    for place in 1..matched.sent.len() {
        let [before, own] = [place - 1, place].map(|place| matched.arrived(place));
        if let (Some(before), Some(own)) = (before, own)
            && let Some(apart_ns) = own.at_ns.checked_sub(before.at_ns)
        {
            all += 1.0;
            let least_ns = CLOSER * on_wire_ns(rate_bps, own.len);
            closer += f64::from(u8::from((apart_ns as f64) < least_ns));
        }
    }
    closer > BURSTY * all
}

/// Mean wait of the frames that were sent when all earlier frames had arrived. Short frames are
/// ignored, because a token bucket delays them less than their length suggests.
fn noise(matched: &Matched<'_>, wait_ns: &[Option<f64>]) -> f64 {
    let mut all_arrived_ns = 0;
    let (mut sum, mut count) = (0.0, 0.0);
    let longest = matched.sent.iter().map(|frame| frame.len).max();
    let least = longest.unwrap_or(0) / 2;
    for (place, frame) in matched.sent.iter().enumerate() {
        if let Some(wait) = wait_ns[place]
            && frame.len >= least
            && frame.at_ns > all_arrived_ns
            && all_arrived_ns > 0
        {
            sum += wait;
            count += 1.0;
        }
        if let Some(arrived) = matched.arrived(place) {
            all_arrived_ns = all_arrived_ns.max(arrived.at_ns);
        }
    }
    if count > 0.0 { sum / count } else { 0.0 }
}
