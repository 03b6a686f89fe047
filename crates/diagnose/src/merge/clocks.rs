//! The difference of two capture clocks, from segments that passed both taps (capture points).
//!
//! The measured time from one tap to the other is the delay of the path, plus the difference of the
//! clocks in one direction and minus it in the other. Queues only lengthen delays, so the smallest
//! times are used.
//!
//! Rule: half of the smallest round trip between the taps is assumed for each direction, because no
//! capture shows how it is divided. A drift is accepted only if it makes the smallest round trip
//! larger by more than [`SHOWN`], because a wrong drift makes the round trip smaller.

/// Largest drift between two clocks: 1,000 parts per million.
const MOST_DRIFT: f64 = 1e-3;
/// Share of the smallest round trip, and nanoseconds, by which a drift must lengthen it.
const SHOWN: f64 = 0.02;
const SHOWN_NS: f64 = 20_000.0;
/// Share of this gain: drifts whose gain is smaller by at most this share explain the times as
/// well.
const AS_WELL: f64 = 0.02;
/// Steps of a search; each step shortens the range to two thirds or less.
const STEPS: u32 = 60;
/// Fewest segments of each direction that a comparison needs.
const FEWEST: usize = 3;

/// A segment at both taps: its time at the first clock, and the second clock's time minus the first
/// clock's, negated for the way back; in nanoseconds.
pub type Passed = (f64, f64);

/// The difference of two clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockDifference {
    /// Nanoseconds by which the second clock is ahead when the first clock shows 0.
    pub ahead_ns: f64,
    /// Nanoseconds by which the second clock gains per nanosecond of the first; 0 if no drift
    /// shows.
    pub drift: f64,
    /// Smallest round trip between the taps; negative if the first tap is not the nearer one.
    pub round_trip_ns: f64,
}

/// Compares the clocks. Segments `there` pass the first tap first, segments `back` pass it last.
/// Returns `None` with fewer than three of either.
pub fn compare(there: &[Passed], back: &[Passed]) -> Option<ClockDifference> {
    if there.len().min(back.len()) < FEWEST {
        return None;
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
        // Every drift between `low` and `high` explains the times: take the middle, unless 0 is
        // among them.
        if low * high > 0.0 {
            drift = f64::midpoint(low, high);
        }
    }
    Some(ClockDifference {
        ahead_ns: (there.least(drift) - back.least(-drift)) / 2.0,
        drift,
        round_trip_ns: round_trip(drift),
    })
}

/// Returns the argument between `low` and `high` at which the concave function `of` is largest.
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

/// Returns the argument nearest to `edge` at which the concave function `of` is at least `enough`.
/// At `inside` it is.
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

/// The lower convex hull of points. Only its points can be smallest for some drift.
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

    /// The smallest time after subtracting `drift`.
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
