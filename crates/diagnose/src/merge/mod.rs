//! One connection in two captures, from both sides of its path.
//!
//! [`merge`] finds the difference of the captures' clocks, compares the segments at both taps (the
//! places of the captures), and returns one observation. The sender's times come from the tap near
//! the sender; arrivals come from the other tap. [`infer`] finds the losses and queues between the
//! taps.
//!
//! | step | file |
//! | --- | --- |
//! | the difference of the clocks | `clocks` |
//! | payload that only one capture has, and payload that arrived twice | `arrived` |
//!
//! Rule: a connection is recognised by its addresses, its ports and both initial sequence numbers.
//! A segment that passed only the first tap on its path was lost between the taps. There are two
//! exceptions: the other capture was not running at that time, or the payload was sent only once
//! and the receiver acknowledged it.

mod arrived;
mod clocks;
mod failure;
mod frames;

use serde::Serialize;

use crate::{
    capture::{Analysis, End, Segment},
    facts::{Connection, captured_end, mark_lost},
    inferred::{DirectionInference, EndFrames, Inferred, LossReason, SeenFrame, infer},
    observe::{Followed, Follower, Noted, ObservedConnection, SegmentLog},
};
pub use failure::MergeFailure;

use arrived::{Arrived, Missed};
use clocks::{ClockDifference, Passed, compare};
use frames::Cutting;

/// Two taps are at different places if the smallest round trip between them is at least this, in
/// nanoseconds.
const APART_NS: f64 = 2_000.0;
/// Nanoseconds that are added to each delay if the taps are close together, because an error of the
/// clocks could otherwise make delays negative.
const NEAR_NS: u64 = 100_000;
/// Bytes of the timestamps option. The payloads of full segments may differ by this number.
const TIMESTAMPS: u32 = 12;
/// Largest number of losses that are listed.
const LOSSES: usize = 10_000;

/// A connection in one capture.
#[derive(Clone, Copy, Debug)]
pub struct Tap<'a> {
    /// The connection.
    pub observed: &'a ObservedConnection,
    /// The segments of the connection.
    pub log: &'a SegmentLog,
}

/// The facts that two captures show together.
#[derive(Clone, Debug, Serialize)]
pub struct MergeFacts {
    /// Index of the capture that is nearer to the sender: 0 or 1.
    pub near: usize,
    /// Nanoseconds by which the clock of the other capture is ahead of the near capture's clock
    /// when the connection begins.
    pub clock_ahead_ns: i64,
    /// Parts per million by which the other clock is faster than the near capture's clock; absent
    /// if the segments show no drift.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_ppm: Option<f64>,
    /// Smallest round trip between the taps; half of it is assumed for each direction.
    pub round_trip_ns: u64,
    /// Passage from the tap near the sender to the other tap.
    pub forward: PassageFacts,
    /// Passage from the other tap to the tap near the sender.
    pub back: PassageFacts,
    /// Segments with payload that were lost between the taps and then retransmitted; at most 10,000
    /// are listed.
    pub losses: Vec<LostSegment>,
    /// Number of retransmissions whose bytes had all arrived before.
    pub needless: u64,
    /// Payload in bytes that only the other capture contains.
    pub filled_bytes: u64,
}

/// Counts and delays between the taps in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PassageFacts {
    /// Segments that passed the first tap, without those in `uncaptured`. Segments that an offload
    /// joined are counted as on the wire.
    pub segments: u64,
    /// Segments that passed the first tap and not the second.
    pub lost: u64,
    /// Segments that the capture of the second tap lacks, although they arrived: the receiver
    /// acknowledged their payload, which was sent only once. These segments do not count as lost.
    pub uncaptured: u64,
    /// Losses by inferred reason.
    pub reasons: Vec<(&'static str, u64)>,
    /// Segments that passed the second tap more often than the first.
    pub duplicated: u64,
    /// Segments that passed the second tap after a segment that was sent later.
    pub reordered: u64,
    /// Segments that passed only the second tap.
    pub unseen: u64,
    /// Rate of the bottleneck between the taps, in bits per second, headers included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<f64>,
    /// Mean time in queues between the taps, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_mean_ms: Option<f64>,
    /// Longest time in queues between the taps, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_largest_ms: Option<f64>,
}

/// A segment that passed the tap near the sender and did not reach the other tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LostSegment {
    /// Time at the tap near the sender, in nanoseconds from the first segment.
    pub at_ns: u64,
    /// Sequence number of the segment's first byte, counted from the initial sequence number.
    pub seq: u64,
    /// Payload in bytes.
    pub payload: u32,
}

/// One connection from two captures.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The connection, with the times of the capture near the sender.
    pub observed: ObservedConnection,
    /// The segments of the capture near the sender, and those that only the other capture contains.
    pub log: SegmentLog,
    /// The segments of the other capture, with times by the clock of the capture near the sender.
    far_log: SegmentLog,
    /// Facts that only both captures together show.
    pub facts: MergeFacts,
}

impl Merged {
    /// Both ends, each with the times of the tap near it. Lost segments are marked.
    pub fn ends(&self) -> Connection {
        let seen = &self.observed;
        let receiver = seen.sender.other();
        let mut connection = Connection {
            first: captured_end(&self.log, seen, seen.sender, 0),
            second: Some(captured_end(&self.far_log, seen, receiver, 1)),
        };
        mark_lost(&mut connection);
        connection
    }
}

/// Merges a connection in two captures.
///
/// # Errors
/// Fails if the captures show different connections, have too few segments in common, or were made
/// at the same place, or if their clocks cannot be compared.
pub fn merge(taps: [Tap<'_>; 2]) -> Result<Merged, MergeFailure> {
    let [first, second] = taps.map(|tap| tap.log.initial());
    if first != second || first.contains(&None) {
        return Err(MergeFailure::NotTheSame);
    }
    let [sender, other] = taps.map(|tap| (tap.observed.data().payload_bytes, tap.observed.sender));
    let sender = sender.max(other).1;
    let clocks = compared(taps, sender)?;
    let near = usize::from(clocks.round_trip_ns < 0.0);
    let [near_tap, far_tap] = [taps[near], taps[1 - near]];
    let clocks = match near {
        0 => clocks,
        _ => compared([near_tap, far_tap], sender)?,
    };
    if clocks.round_trip_ns < -APART_NS {
        return Err(MergeFailure::ClockWasSet);
    }
    if clocks.round_trip_ns < APART_NS {
        return Err(MergeFailure::SamePlace);
    }
    let far_log = far_tap.log.with_times(|at_ns| {
        let own = at_ns.saturating_sub(far_tap.observed.begin_ns) as f64;
        let near_ns = (own - clocks.ahead_ns) / (1.0 + clocks.drift);
        near_tap.observed.begin_ns.saturating_add(near_ns as i64)
    });
    let begin_ns = near_tap.observed.begin_ns;
    let far_begin_ns = far_tap.observed.begin_ns;
    let pair = Pair {
        near: near_tap.log,
        far: &far_log,
        sender,
        cutting: cutting(taps),
        round_trip_ns: clocks.round_trip_ns as u64,
    };
    let (forward, back) = pair.passages();
    if forward.lost * 2 > forward.segments {
        return Err(MergeFailure::NotTheSame);
    }
    let arrived = Arrived::of(pair.near, pair.far, sender);
    let filled_bytes = arrived
        .filled
        .iter()
        .map(|one| u64::from(one.payload))
        .sum();
    let Followed { observed, log } = pair.joined(near_tap, &arrived.filled);
    let mut merged = Merged {
        observed,
        log: log.unwrap_or_default(),
        facts: MergeFacts {
            near,
            clock_ahead_ns: far_begin_ns
                .saturating_sub(begin_ns)
                .saturating_add(clocks.ahead_ns as i64),
            drift_ppm: (clocks.drift != 0.0).then_some(clocks.drift * 1e6),
            round_trip_ns: pair.round_trip_ns,
            needless: arrived.again.saturating_sub(forward.duplicated),
            forward,
            back,
            losses: Vec::new(),
            filled_bytes,
        },
        far_log,
    };
    merged.facts.losses = losses(&merged.ends(), merged.decided_ns());
    merged.correct(far_tap.observed);
    Ok(merged)
}

/// Returns the rules by which the segments of both taps become comparable frames.
fn cutting(taps: [Tap<'_>; 2]) -> Cutting {
    Cutting {
        mss: mss(taps),
        is_without_options: taps.iter().any(|tap| tap.log.has_cut_options()),
    }
}

/// For each end, returns the largest payload of its segments on the wire, or 0 if no offload joined
/// segments. The payload is taken from the tap without joined segments. If both taps have joined
/// segments, the payload is taken from the options of the handshake.
fn mss(taps: [Tap<'_>; 2]) -> [u32; 2] {
    End::BOTH.map(|end| {
        let longest = taps.map(|tap| {
            let own = tap.log.segments().iter().filter(|one| one.from == end);
            own.map(|one| one.payload).max().unwrap_or(0)
        });
        let agreed = taps.map(|tap| tap.observed.directions[end.index()].segment_bytes);
        let agreed = agreed[0].min(agreed[1]);
        let is_joined = |bytes: u32| bytes > agreed + TIMESTAMPS;
        let shorter = longest[0].min(longest[1]);
        match longest.iter().any(|bytes| is_joined(*bytes)) {
            true if !is_joined(shorter) && shorter > 0 => shorter,
            true => agreed,
            false => 0,
        }
    })
}

/// Compares the clocks of two taps. The first tap is assumed to be nearer to the sender. Times
/// count from each capture's first segment.
fn compared(taps: [Tap<'_>; 2], sender: End) -> Result<ClockDifference, MergeFailure> {
    let cutting = cutting(taps);
    let common = |from: End| {
        let [first, second] = taps.map(|tap| {
            let at = |one: &Noted| since(one, tap.observed.begin_ns);
            frames::frames(tap.log, from, cutting, &at)
        });
        frames::common(&first, &second)
    };
    let passed = |pairs: Vec<(u64, u64)>, sign: f64| -> Vec<Passed> {
        let of =
            |(first, second): (u64, u64)| (first as f64, sign * (second as f64 - first as f64));
        pairs.into_iter().map(of).collect()
    };
    let there = passed(common(sender), 1.0);
    let back = passed(common(sender.other()), -1.0);
    compare(&there, &back)
}

fn since(segment: &Noted, begin_ns: i64) -> u64 {
    segment.at_ns.saturating_sub(begin_ns).max(0) as u64
}

/// Two logs of one connection, with times of one clock.
struct Pair<'a> {
    near: &'a SegmentLog,
    far: &'a SegmentLog,
    sender: End,
    cutting: Cutting,
    round_trip_ns: u64,
}

impl Pair<'_> {
    /// Counts and delays between the taps while both captures were running: first forward, then
    /// back.
    fn passages(&self) -> (PassageFacts, PassageFacts) {
        let spans = [self.near, self.far].map(span);
        let begin = spans[0].0.min(spans[1].0);
        let late_ns = match self.round_trip_ns / 2 {
            short if short < NEAR_NS => NEAR_NS,
            _ => 0,
        };
        let at = |one: &Noted| since(one, begin);
        let list = |log, from: End| frames::frames(log, from, self.cutting, &at);
        // Count a segment only if the other capture was running when the segment should have
        // reached the other tap.
        let trip = (self.round_trip_ns / 2) as i64;
        let sent = |log, from: End, other: (i64, i64)| {
            let [from_ns, until_ns] = [other.0.saturating_sub(trip + trip / 4), other.1]
                .map(|at| at.saturating_sub(begin).max(0) as u64);
            let mut all: Vec<SeenFrame> = list(log, from);
            all.retain(|frame| (from_ns..=until_ns).contains(&frame.at_ns));
            all
        };
        let received = |log, from: End| {
            let mut all = list(log, from);
            all.iter_mut().for_each(|frame| frame.at_ns += late_ns);
            all
        };
        let (own, other) = (self.sender, self.sender.other());
        let mut payload = sent(self.near, own, spans[1]);
        let all = payload.len();
        let mut missed = Missed::of(self.near, self.far, own);
        payload.retain(|frame| match frames::payload(frame) {
            Some((seq, bytes)) => !missed.has(seq, bytes),
            None => true,
        });
        let uncaptured = (all - payload.len()) as u64;
        let near = EndFrames {
            sent: payload,
            received: received(self.near, other),
        };
        let far = EndFrames {
            sent: sent(self.far, other, spans[0]),
            received: received(self.far, own),
        };
        let end_ns = spans[0].1.min(spans[1].1).saturating_sub(begin).max(0) as u64;
        let path = infer([&near, &far], end_ns + late_ns);
        let forward = PassageFacts {
            uncaptured,
            ..passage(&path.forward)
        };
        (forward, passage(&path.back))
    }

    /// The connection of the near capture, completed with the segments `filled`, which only the far
    /// capture contains.
    fn joined(&self, near: Tap<'_>, filled: &[Segment]) -> Followed {
        if filled.is_empty() {
            return Followed {
                observed: near.observed.clone(),
                log: Some(near.log.clone()),
            };
        }
        let earlier = (self.round_trip_ns / 2) as i64;
        let moved = filled.iter().map(|segment| Segment {
            at_ns: segment.at_ns.saturating_sub(earlier),
            ..*segment
        });
        let mut all: Vec<Segment> = near.log.captured().chain(moved).collect();
        all.sort_by_key(|segment| segment.at_ns);
        let mut follower = Follower::new(true);
        for segment in &all {
            Analysis::on_segment(&mut follower, segment);
        }
        let end_ns = near.observed.begin_ns + near.observed.lifetime_ns as i64;
        follower.conclude(end_ns)
    }
}

/// Times of the first and the last segment.
fn span(log: &SegmentLog) -> (i64, i64) {
    let times = log.segments().iter().map(|one| one.at_ns);
    let first = times.clone().min().unwrap_or(0);
    (first, times.max().unwrap_or(0))
}

fn passage(found: &DirectionInference) -> PassageFacts {
    let queue = match found.queue_delay {
        Inferred::Known(queue, _) => Some(queue),
        Inferred::Unknown(_) => None,
    };
    let frames = &found.frames;
    let reasons = LossReason::ALL.map(|reason| (reason.name(), found.lost(reason)));
    PassageFacts {
        segments: frames.sent,
        lost: frames.lost,
        uncaptured: 0,
        reasons: reasons
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect(),
        duplicated: frames.duplicated,
        reordered: frames.overtaken,
        unseen: frames.foreign,
        rate_bps: match found.rate_bps {
            Inferred::Known(rate, _) => Some(rate),
            Inferred::Unknown(_) => None,
        },
        queue_mean_ms: queue.map(|queue| queue.mean_ms),
        queue_largest_ms: queue.map(|queue| queue.largest_ms),
    }
}

/// The sender's segments that are marked lost. Segments sent after `decided_ns` are left out.
fn losses(connection: &Connection, decided_ns: u64) -> Vec<LostSegment> {
    let sent = &connection.first.sent;
    let is_lost = |place: &usize| sent.is_lost(*place) && sent.at_ns[*place] <= decided_ns;
    let lost = (0..sent.len()).filter(is_lost);
    let segment = |place: usize| LostSegment {
        at_ns: sent.at_ns[place],
        seq: sent.seq[place],
        payload: sent.len[place],
    };
    lost.take(LOSSES).map(segment).collect()
}

impl Merged {
    /// Latest time, from the first segment, at which a segment could be sent and still reach the
    /// other tap before either capture ended.
    fn decided_ns(&self) -> u64 {
        let until = span(&self.log).1.min(span(&self.far_log).1);
        let until = until.saturating_sub(self.observed.begin_ns);
        let queue_ms = self.facts.forward.queue_largest_ms.unwrap_or(0.0);
        let longest = self.facts.round_trip_ns / 2 + (queue_ms * 1e6) as u64;
        (until.max(0) as u64).saturating_sub(longest)
    }

    /// Replaces values that the other tap shows better: the receiver's own segments, and the counts
    /// of reordered segments, duplicated segments and spurious retransmissions.
    fn correct(&mut self, far: &ObservedConnection) {
        let seen = &mut self.observed;
        let (data, answers) = (seen.sender.index(), seen.sender.other().index());
        let arrived = &far.directions[data];
        let own = &mut seen.directions[data];
        own.reordered = arrived.reordered;
        own.duplicated = self.facts.forward.duplicated;
        own.retransmissions.spurious = self.facts.needless.min(own.retransmissions.total());
        seen.directions[answers] = far.directions[answers].clone();
    }
}
