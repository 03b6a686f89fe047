//! The difference of two capture clocks, from segments that passed both taps (capture points).
//!
//! The measured time from the first tap to the second is the path's delay plus the difference of
//! the clocks. In the other direction it is the path's delay minus this difference. Queues only
//! lengthen delays, so the smallest times are used.
//!
//! Rule: half of the smallest round trip between the taps is assumed for each direction, because no
//! capture shows the true division. A wrong drift makes the smallest round trip shorter, so a drift
//! is accepted only if it lengthens that round trip by more than [`SHOWN`] and [`SHOWN_NS`].

use super::failure::MergeFailure;

/// Largest drift between two clocks: 1,000 parts per million.
const MOST_DRIFT: f64 = 1e-3;
/// A drift is accepted only if it lengthens the smallest round trip by more than this share of the
/// round trip.
const SHOWN: f64 = 0.02;
/// A drift is accepted only if it lengthens the smallest round trip by more than this, in
/// nanoseconds.
const SHOWN_NS: f64 = 20_000.0;
/// The gain of a drift is the time by which the drift lengthens the smallest round trip. A drift
/// counts as possible if its gain is smaller than the largest gain by at most this share.
const AS_WELL: f64 = 0.02;
/// The true drift may be larger than [`MOST_DRIFT`] if the best drift is above this share of
/// [`MOST_DRIFT`].
const NEARLY: f64 = 0.99;
/// Number of steps of a search. Each step shortens the range to two thirds of its length or less.
const STEPS: u32 = 60;
/// Smallest number of segments of each direction that a comparison needs.
const FEWEST: usize = 3;

/// A segment at both taps: its time by the first clock, and the second clock's time minus the first
/// clock's, both in nanoseconds. For segments from the second tap to the first, the difference is
/// negated.
pub type Passed = (f64, f64);

/// The difference of two clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockDifference {
    /// Nanoseconds by which the second clock is ahead when the first clock shows 0.
    pub ahead_ns: f64,
    /// Nanoseconds that the second clock gains per nanosecond of the first clock; 0 if the segments
    /// show no drift.
    pub drift: f64,
    /// Smallest round trip between the taps. It is negative if the taps were given in the wrong
    /// order, so that segments of `there` pass the second tap first.
    pub round_trip_ns: f64,
}

/// Compares the clocks. Segments of `there` pass the first tap before the second; segments of
/// `back` pass the second tap before the first.
///
/// # Errors
/// Fails if either list has fewer than three segments, or if the drift may be larger than 1,000
/// parts per million.
pub fn compare(there: &[Passed], back: &[Passed]) -> Result<ClockDifference, MergeFailure> {
    if there.len().min(back.len()) < FEWEST {
        return Err(MergeFailure::NothingInCommon);
    }
    let there = Floor::of(there);
    let back = Floor::of(back);
    let round_trip = |drift: f64| there.least(drift) + back.least(-drift);
    let best = highest(&round_trip, -MOST_DRIFT, MOST_DRIFT);
    let (least, most) = (round_trip(0.0), round_trip(best));
    let gain = most - least;
    let mut drift = 0.0;
    if gain > SHOWN_NS.max(SHOWN * most.abs()) {
        let enough = most - AS_WELL * gain;
        let edges = [-MOST_DRIFT, MOST_DRIFT].map(|edge| boundary(&round_trip, best, edge, enough));
        let [low, high] = edges;
        // Every drift between `low` and `high` is possible: keep 0 if it is among them, otherwise
        // take the middle.
        if low * high > 0.0 {
            drift = f64::midpoint(low, high);
        }
        if drift != 0.0 && best.abs() > NEARLY * MOST_DRIFT {
            return Err(MergeFailure::LargeDrift);
        }
    }
    Ok(ClockDifference {
        ahead_ns: (there.least(drift) - back.least(-drift)) / 2.0,
        drift,
        round_trip_ns: round_trip(drift),
    })
}

/// Returns the argument between `low` and `high` for which the concave function `of` is largest.
fn highest(of: &dyn Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..STEPS {
        let third = (high - low) / 3.0;
        let [left, right] = [low + third, high - third];
        match of(left) < of(right) {
            true => low = left,
            false => high = right,
        }
    }
    f64::midpoint(low, high)
}

/// Returns the argument between `inside` and `edge` that is nearest to `edge` and for which the
/// concave function `of` is at least `enough`. `of(inside)` must be at least `enough`.
fn boundary(of: &dyn Fn(f64) -> f64, mut inside: f64, mut edge: f64, enough: f64) -> f64 {
    for _ in 0..STEPS {
        let middle = f64::midpoint(inside, edge);
        match of(middle) >= enough {
            true => inside = middle,
            false => edge = middle,
        }
    }
    inside
}

/// The lower convex hull of points. Only a point of the hull can have the smallest time for some
/// drift.
struct Floor(Vec<Passed>);

impl Floor {
    fn of(points: &[Passed]) -> Self {
        let mut sorted = points.to_vec();
        sorted.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        let mut hull: Vec<Passed> = Vec::new();
        for point in sorted {
            while let [.., first, second] = hull.as_slice()
                && is_above(*first, *second, point)
            {
                hull.pop();
            }
            hull.push(point);
        }
        Self(hull)
    }

    /// The smallest time of all points after `drift` is subtracted.
    fn least(&self, drift: f64) -> f64 {
        let times = self.0.iter().map(|(at, time)| time - drift * at);
        times.fold(f64::INFINITY, f64::min)
    }
}

/// Returns true if `middle` is on or above the line from `first` to `last`.
fn is_above(first: Passed, middle: Passed, last: Passed) -> bool {
    let rise = (middle.1 - first.1) * (last.0 - first.0);
    rise >= (last.1 - first.1) * (middle.0 - first.0)
}

#[cfg(test)]
mod tests;
