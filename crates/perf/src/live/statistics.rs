//! Statistics of a link in real time: one line for each report, and JSON.
//!
//! Rule: the JSON is a stable interface, like the JSON of experiments (`docs/json.md`). Renaming or
//! removing a field, or changing its meaning, needs a new version. The name of a quantity ends with
//! its unit.

use std::{collections::BTreeMap, time::Duration};

use fullpipe_pool::Duration as LinkTime;
use fullpipe_sim::link::{FrameLoss, LinkCounters};
use serde::Serialize;

/// Widths of the lateness classes below and above 10 ms, in microseconds.
const CLASS_US: [u64; 2] = [10, 1_000];
/// Lateness from which on classes are 1 ms wide, in microseconds.
const WIDE_US: u64 = 10_000;
/// Smallest lateness of the last class, which has no upper end, in microseconds.
const LAST_US: u64 = 1_000_000;
/// Number of classes below [`WIDE_US`].
const NARROW: u64 = WIDE_US / CLASS_US[0];
/// Number of classes.
const CLASSES: u64 = NARROW + (LAST_US - WIDE_US) / CLASS_US[1] + 1;

/// Returns the class of a lateness.
fn class_of(late_us: u64) -> u64 {
    match late_us.checked_sub(WIDE_US) {
        None => late_us / CLASS_US[0],
        Some(over_us) => (NARROW + over_us / CLASS_US[1]).min(CLASSES - 1),
    }
}

/// Returns the end of a class in microseconds; `None` for the last class.
fn end_of(class: u64) -> Option<u64> {
    match class.checked_sub(NARROW) {
        None => Some((class + 1) * CLASS_US[0]),
        Some(wide) => (class + 1 < CLASSES).then_some(WIDE_US + (wide + 1) * CLASS_US[1]),
    }
}

/// Lateness of written frames.
#[derive(Clone, Debug)]
pub struct Lateness {
    classes: Vec<u64>,
    frames: u64,
    max: LinkTime,
}

/// Summary of the lateness of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Late {
    /// Median lateness, in microseconds.
    pub median_us: u64,
    /// Lateness that 99 % of frames do not exceed, in microseconds.
    pub p99_us: u64,
    /// Largest lateness, in microseconds.
    pub max_us: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            classes: vec![0; CLASSES as usize],
            frames: 0,
            max: LinkTime::ZERO,
        }
    }
}

impl Lateness {
    /// Records a frame that was written `late` after its due time.
    pub fn note(&mut self, late: LinkTime) {
        self.classes[class_of(late.as_micros()) as usize] += 1;
        self.frames += 1;
        self.max = self.max.max(late);
    }

    /// Returns the upper ends of the classes of the median and the 99th percentile, and the exact
    /// maximum. Classes are 10 µs wide below 10 ms and 1 ms wide above. The last class begins at 1
    /// s and ends at the maximum.
    pub fn quantiles(&self) -> Late {
        let max_us = self.max.as_micros();
        let quantile = |percent: u64| {
            let wanted = (self.frames * percent).div_ceil(100);
            let mut seen = 0;
            let class = self.classes.iter().position(|frames| {
                seen += frames;
                seen >= wanted
            });
            let end_us = class.and_then(|class| end_of(class as u64));
            end_us.map_or(max_us, |end_us| end_us.min(max_us))
        };
        Late {
            median_us: quantile(50),
            p99_us: quantile(99),
            max_us,
        }
    }
}

/// Counts of the frames of one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveDirection {
    /// Name of the sending end.
    pub from: String,
    /// Name of the receiving end.
    pub to: String,
    /// Frames read from the sending end.
    pub offered: u64,
    /// Frames due at the receiving end, including duplicates and `refused` frames.
    pub delivered: u64,
    /// Bytes of the frames in `delivered`, including link headers.
    pub delivered_bytes: u64,
    /// Frames lost at random.
    pub lost: u64,
    /// Frames lost in a burst.
    pub lost_in_burst: u64,
    /// Frames for which the queue or the token bucket had no space, and frames without ECN that
    /// arrived while the queue was above the ECN threshold.
    pub dropped_by_queue: u64,
    /// Frames dropped by CoDel.
    pub dropped_by_codel: u64,
    /// Frames marked with CE.
    pub marked: u64,
    /// Frames longer than the link's MTU allows.
    pub dropped_too_long: u64,
    /// All frames that the link lost, by the name of the reason.
    pub lost_by_reason: BTreeMap<&'static str, u64>,
    /// Frames delayed by the reordering impairment; later frames may have overtaken them.
    pub reordered: u64,
    /// Frames delivered twice.
    pub duplicated: u64,
    /// Frames delivered with flipped bits.
    pub corrupted: u64,
    /// Largest number of frames that waited in the queue.
    pub longest_queue: usize,
    /// Frames that the receiving end's device refused.
    pub refused: u64,
    /// Lateness of the written frames.
    pub late: Late,
}

impl LiveDirection {
    /// Creates the counts of the direction from `from` to `to`.
    pub fn new(
        [from, to]: [&String; 2],
        counters: &LinkCounters,
        refused: u64,
        late: Late,
    ) -> Self {
        let sum = |reasons: &[FrameLoss]| -> u64 {
            let frames = reasons.iter().map(|reason| counters.lost.frames(*reason));
            frames.sum()
        };
        let by_reason = counters.lost.iter().filter(|(_, frames, _)| *frames > 0);
        Self {
            from: from.clone(),
            to: to.clone(),
            offered: counters.offered,
            delivered: counters.delivered,
            delivered_bytes: counters.delivered_bytes,
            lost: sum(&[FrameLoss::Random]),
            lost_in_burst: sum(&[FrameLoss::Burst]),
            dropped_by_queue: sum(&[
                FrameLoss::Queue,
                FrameLoss::TokenBucket,
                FrameLoss::EcnThreshold,
            ]),
            dropped_by_codel: sum(&[FrameLoss::Codel]),
            marked: counters.marked,
            dropped_too_long: sum(&[
                FrameLoss::TooLong,
                FrameLoss::PacketTooBig,
                FrameLoss::BlackHole,
            ]),
            lost_by_reason: by_reason
                .map(|(reason, frames, _)| (reason.name(), frames))
                .collect(),
            reordered: counters.reordered,
            duplicated: counters.duplicated,
            corrupted: counters.corrupted,
            longest_queue: counters.longest_queue,
            refused,
            late,
        }
    }

    fn text(&self, before: Option<&Self>, seconds: f64) -> String {
        let since = |now: u64, then: fn(&Self) -> u64| now - before.map_or(0, then);
        let bytes = since(self.delivered_bytes, |then| then.delivered_bytes);
        let lost = since(self.lost + self.lost_in_burst, |then| {
            then.lost + then.lost_in_burst
        });
        let dropped = since(self.dropped_by_queue + self.dropped_by_codel, |then| {
            then.dropped_by_queue + then.dropped_by_codel
        });
        format!(
            "{} > {} {:7.2} Mbit/s {:6} frames {lost:4} lost {dropped:4} dropped",
            self.from,
            self.to,
            bytes as f64 * 8.0 / seconds / 1e6,
            since(self.delivered, |then| then.delivered),
        )
    }
}

/// Counts of a link so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveReport {
    /// Time since the link was created, in seconds.
    pub seconds: f64,
    /// Both directions; the frames from the first end come first.
    pub directions: [LiveDirection; 2],
}

impl LiveReport {
    /// Describes the change since `before`, or since the start, in one line.
    pub fn line(&self, before: Option<&Self>) -> String {
        let length = self.seconds - before.map_or(0.0, |before| before.seconds);
        let length = length.max(Duration::from_millis(1).as_secs_f64());
        let [there, back] = [0, 1].map(|place| {
            let before = before.map(|before| &before.directions[place]);
            self.directions[place].text(before, length)
        });
        format!("{:7.1} s  {there}   {back}", self.seconds)
    }

    /// Returns this report as JSON, indented. `schema` is the version of the keys
    /// (`docs/json.md`).
    pub fn json(&self, schema: u32) -> String {
        #[derive(Serialize)]
        struct Versioned<'a> {
            schema: u32,
            #[serde(flatten)]
            report: &'a LiveReport,
        }
        let versioned = Versioned {
            schema,
            report: self,
        };
        serde_json::to_string_pretty(&versioned).expect("string keys and finite numbers")
    }
}
