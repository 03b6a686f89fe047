//! Fits a policer: a token bucket that drops frames for which it has no tokens.
//!
//! Rule: for each candidate rate, the bucket's level is computed from frame to frame; frames that
//! passed take tokens. A rate fits if losses, and hardly any arrivals, found the bucket empty. The
//! method is that of Flach et al., "An Internet-Wide Analysis of Traffic Policing" (SIGCOMM 2016).

use super::matching::Matched;

/// Smallest number of losses from which a bucket is fitted.
const FEWEST: usize = 5;
/// A fitted bucket must be empty at this share of the losses or more.
const CAUGHT: f64 = 0.8;
/// Among the frames that found the bucket empty, at least this share must be lost.
const PURE: f64 = 0.6;
/// For each number n of this list, a rate is computed between each loss and the n-th loss after it.
const APART: [usize; 7] = [1, 3, 10, 30, 100, 300, 1_000];
/// Quantiles of the computed rates that are tried as the bucket's rate.
const QUANTILES: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
/// Number of rates that are tried on each side of the best computed rate.
const FINE: i32 = 20;
/// Distance between the rates that [`FINE`] counts, as a share of the best computed rate.
const STEP: f64 = 0.001;

/// A bucket that explains losses.
#[derive(Debug)]
pub struct Bucket {
    /// Rate of the bucket in bytes per nanosecond.
    pub bytes_ns: f64,
    /// Frames were lost when at least this number of bytes was missing from a full bucket.
    pub burst_bytes: f64,
    /// For each frame sent, the bytes that are missing from a full bucket if this frame takes its
    /// tokens.
    pub missing: Vec<f64>,
}

/// Returns the bucket that explains the losses `lost` best; `None` if no bucket explains them.
pub fn fit(matched: &Matched<'_>, lost: &[usize]) -> Option<Bucket> {
    if lost.len() < FEWEST {
        return None;
    }
    let rates = rates(matched, lost);
    let purity = |rate: f64| purity(matched, lost, &missing(matched, rate)).0;
    let best = |rates: &[f64]| {
        let scored = rates.iter().map(|&rate| (purity(rate), rate));
        scored.max_by(|one, other| one.0.total_cmp(&other.0))
    };
    let (_, coarse) = best(&rates)?;
    let fine = (-FINE..=FINE).map(|step| coarse * (1.0 + STEP * f64::from(step)));
    let (pure, bytes_ns) = best(&fine.collect::<Vec<_>>())?;
    if pure < PURE {
        return None;
    }
    let missing = missing(matched, bytes_ns);
    let (_, burst_bytes) = self::purity(matched, lost, &missing);
    Some(Bucket {
        bytes_ns,
        burst_bytes,
        missing,
    })
}

/// Quantiles of the rates at which frames passed between two losses, in bytes per nanosecond. If
/// the bucket was never full between the two losses, this is the rate of the bucket.
fn rates(matched: &Matched<'_>, lost: &[usize]) -> Vec<f64> {
    let mut passed = Vec::with_capacity(lost.len());
    let (mut bytes, mut place) = (0_u64, 0);
    for &next in lost {
        for own in place..next {
            let len = u64::from(matched.sent[own].len);
            bytes += if matched.arrival[own].is_some() {
                len
            } else {
                0
            };
        }
        place = next;
        passed.push((bytes as f64, matched.sent[next].at_ns as f64));
    }
    let mut rates = Vec::new();
    for apart in APART.into_iter().chain([lost.len() - 1]) {
        let pairs = passed.windows(apart + 1);
        let between = pairs.map(|pair| (pair[apart].0 - pair[0].0, pair[apart].1 - pair[0].1));
        let mut own: Vec<f64> = between
            .filter(|(bytes, time)| *bytes > 0.0 && *time > 0.0)
            .map(|(bytes, time)| bytes / time)
            .collect();
        own.sort_by(f64::total_cmp);
        let last = own.len().saturating_sub(1) as f64;
        let chosen = QUANTILES.map(|quantile| own.get((quantile * last) as usize).copied());
        rates.extend(chosen.into_iter().flatten());
    }
    rates
}

/// For each frame sent, the bytes that are missing from a full bucket of this rate if this frame
/// takes its tokens. Only frames that arrived really take tokens.
fn missing(matched: &Matched<'_>, bytes_ns: f64) -> Vec<f64> {
    let (mut level, mut at_ns) = (0.0_f64, 0);
    let mut missing = Vec::with_capacity(matched.sent.len());
    for (place, frame) in matched.sent.iter().enumerate() {
        level = (level - (frame.at_ns - at_ns) as f64 * bytes_ns).max(0.0);
        at_ns = frame.at_ns;
        let with_own = level + f64::from(frame.len);
        missing.push(with_own);
        if matched.arrival[place].is_some() {
            level = with_own;
        }
    }
    missing
}

/// Finds a threshold of missing bytes that four fifths of the losses reach. Returns the share of
/// losses among the frames that reach the threshold, and the threshold.
fn purity(matched: &Matched<'_>, lost: &[usize], missing: &[f64]) -> (f64, f64) {
    let mut at_losses: Vec<f64> = lost.iter().map(|&place| missing[place]).collect();
    at_losses.sort_by(f64::total_cmp);
    let threshold = at_losses[((1.0 - CAUGHT) * (at_losses.len() - 1) as f64) as usize];
    let caught = at_losses.len() - at_losses.partition_point(|own| *own < threshold);
    let arrived = matched.arrival.iter().zip(missing);
    let passed = arrived.filter(|(arrival, own)| arrival.is_some() && **own >= threshold);
    (caught as f64 / (caught + passed.count()) as f64, threshold)
}
