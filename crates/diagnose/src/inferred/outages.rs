//! Outages: times in which every frame was lost.
//!
//! Rule: an outage is a run of consecutive losses. An outage lasts several round trips and at least
//! three times as long as any other run, so it is not just a burst of losses.

use super::matching::Matched;
use super::values::Outage;

/// Smallest number of frames lost in an outage.
const FEWEST: usize = 3;
/// Smallest length of an outage in round trips.
const ROUND_TRIPS: f64 = 4.0;
/// Smallest length of an outage, in nanoseconds.
const SHORTEST_NS: u64 = 50_000_000;
/// An outage lasts at least this number of times as long as any other run of losses.
const LONGER: u64 = 3;

/// Consecutive lost frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostRun {
    /// Index of the first lost frame.
    pub first: usize,
    /// Index of the last lost frame.
    pub last: usize,
}

/// Returns the outages of both directions, and for each direction the frames that were lost in
/// outages. `lost` has the indices of the lost frames of each direction.
pub fn find(
    matched: [&Matched<'_>; 2],
    lost: [&[usize]; 2],
    round_trip_ns: f64,
) -> (Vec<Outage>, [Vec<LostRun>; 2]) {
    let runs = lost.map(runs);
    let mut outages: Vec<Outage> = Vec::new();
    for way in 0..2 {
        for run in of_direction(matched[way], &runs[way], round_trip_ns) {
            let from_ns = matched[way].sent[run.first].at_ns;
            let next = matched[way].sent.get(run.last + 1);
            let until_ns = next.map_or(u64::MAX, |next| next.at_ns);
            let known = outages
                .iter_mut()
                .find(|known| known.from_ns < until_ns && from_ns < known.until_ns);
            match known {
                Some(known) => {
                    known.from_ns = known.from_ns.min(from_ns);
                    known.until_ns = known.until_ns.max(until_ns);
                }
                None => outages.push(Outage {
                    from_ns,
                    until_ns,
                    lost: [0; 2],
                }),
            }
        }
    }
    outages.sort_by_key(|outage| outage.from_ns);
    let mut within = [Vec::new(), Vec::new()];
    for outage in &mut outages {
        for way in 0..2 {
            if let Some(run) = longest_within(matched[way], &runs[way], outage) {
                outage.lost[way] = (run.last - run.first + 1) as u64;
                within[way].push(run);
            }
        }
    }
    (outages, within)
}

/// Groups consecutive losses into runs.
fn runs(lost: &[usize]) -> Vec<LostRun> {
    let mut runs: Vec<LostRun> = Vec::new();
    for &place in lost {
        match runs.last_mut() {
            Some(run) if run.last + 1 == place => run.last = place,
            Some(_) | None => runs.push(LostRun {
                first: place,
                last: place,
            }),
        }
    }
    runs
}

/// The longest run of at least two frames of this direction that were lost during `outage`.
fn longest_within(matched: &Matched<'_>, runs: &[LostRun], outage: &Outage) -> Option<LostRun> {
    let at = |place: usize| matched.sent[place].at_ns;
    let own = runs.iter().filter(|run| {
        run.first < run.last && outage.from_ns <= at(run.first) && at(run.last) < outage.until_ns
    });
    own.max_by_key(|run| run.last - run.first).copied()
}

/// Returns the runs of losses that are outages.
fn of_direction(matched: &Matched<'_>, runs: &[LostRun], round_trip_ns: f64) -> Vec<LostRun> {
    let length = |run: &LostRun| matched.sent[run.last].at_ns - matched.sent[run.first].at_ns;
    let mut lengths: Vec<u64> = runs.iter().map(length).collect();
    lengths.sort_unstable();
    let usual = lengths
        .len()
        .checked_sub(2)
        .map_or(0, |place| lengths[place]);
    let least = (round_trip_ns * ROUND_TRIPS) as u64;
    let least = least.max(SHORTEST_NS).max(usual * LONGER);
    let is_outage = |run: &&LostRun| run.last - run.first + 1 >= FEWEST && length(run) >= least;
    runs.iter().filter(is_outage).copied().collect()
}
