//! The path of one direction: rates, queue, and the pattern of losses.
//!
//! Rule: only sums and bounded tables are kept, nothing for each segment.

use fullpipe_wire::Ecn;

use super::observed::{DirectionSeen, PathSeen};
use crate::capture::Segment;

/// Number of consecutive ACKs (a train) from which a rate is computed.
const TRAIN: usize = 4;
/// The path may be full if a round trip's rate is above this share of the rate by spacing (the rate
/// that the most frequent spacing of ACKs shows).
const OF_SPACING: f64 = 0.8;
/// Without a rate by spacing, the path may be full if a round trip's rate is above this share of
/// the highest rate of a train. The share is low, because ACKs that queued behind each other make
/// trains faster than the path.
const OF_TRAIN: f64 = 0.5;
/// Number of rate classes for each doubling of the rate.
const CLASSES_PER_DOUBLING: f64 = 16.0;
/// Number of rate classes, from 1 bit/s on.
const CLASSES: usize = 16 * 44;

/// Sums about the path of one direction.
#[derive(Clone, Debug)]
pub struct PathLog {
    /// Bytes acknowledged since `round_at`, the beginning of the round trip.
    acked: u64,
    round_at: u64,
    best_bps: f64,
    round_rtt_max: u64,
    base: Option<u64>,
    largest: Option<u64>,
    rtt_sum: u128,
    rtts: u64,
    acks: u64,
    marked: u64,
    alone: u64,
    grouped: u64,
    last_loss: Option<(u64, bool)>,
    /// Number of ACKs in each class of rate. The rate of an ACK follows from the time since the
    /// previous ACK.
    spacing: Vec<u32>,
    last_ack_at: u64,
    /// Times and bytes of the last ACKs.
    train: [(u64, u64); TRAIN],
    /// Highest rate of a train of ACKs, in bits per second.
    train_bps: f64,
    /// True if an ACK of this round trip ended a recovery. Part of the bytes that this ACK
    /// acknowledged had arrived long before the ACK.
    is_repaired: bool,
    /// Length, rate and largest RTT of the round trips that are kept, at most [`ROUNDS`]. The share
    /// of time with a full path follows from these values.
    rounds: Vec<(u64, f64, u64)>,
}

impl Default for PathLog {
    fn default() -> Self {
        Self {
            acked: 0,
            round_at: 0,
            best_bps: 0.0,
            round_rtt_max: 0,
            base: None,
            largest: None,
            rtt_sum: 0,
            rtts: 0,
            acks: 0,
            marked: 0,
            alone: 0,
            grouped: 0,
            last_loss: None,
            spacing: Vec::new(),
            last_ack_at: 0,
            train: [(0, 0); TRAIN],
            train_bps: 0.0,
            is_repaired: false,
            rounds: Vec::new(),
        }
    }
}

/// Largest number of round trips for which rate and delay are kept. When there are more, every
/// second round trip is removed.
const ROUNDS: usize = 4_096;

impl PathLog {
    /// Takes a new data segment.
    pub fn on_data(&mut self, _at: u64, segment: &Segment) {
        self.marked += u64::from(segment.ecn == Ecn::Ce);
    }

    /// Takes an ACK at `at` that newly acknowledges `bytes` bytes.
    pub fn on_ack(&mut self, at: u64, bytes: u64, srtt: u64) {
        if bytes == 0 {
            return;
        }
        self.acks += 1;
        self.is_repaired |= self.note_train(at, bytes);
        let spacing = at.saturating_sub(self.last_ack_at);
        if spacing > 0 && self.acks > TRAIN as u64 {
            self.note_spacing(bytes as f64 * 8e9 / spacing as f64);
        }
        self.last_ack_at = at;
        if self.round_at == 0 {
            self.round_at = at;
            return;
        }
        self.acked += bytes;
        let length = at - self.round_at;
        if srtt > 0 && length >= srtt {
            let bps = self.acked as f64 * 8e9 / length as f64;
            if std::mem::take(&mut self.is_repaired) {
                (self.acked, self.round_at, self.round_rtt_max) = (0, at, 0);
                return;
            }
            if self.acks > 8 {
                self.best_bps = self.best_bps.max(bps);
            }
            if self.rounds.len() >= ROUNDS {
                let mut keep = false;
                self.rounds.retain(|_| {
                    keep = !keep;
                    keep
                });
            }
            self.rounds.push((length, bps, self.round_rtt_max));
            (self.acked, self.round_at, self.round_rtt_max) = (0, at, 0);
        }
    }

    /// Takes a round-trip time of the whole path.
    pub fn on_rtt(&mut self, sample: u64) {
        self.base = Some(self.base.unwrap_or(u64::MAX).min(sample));
        self.largest = Some(self.largest.unwrap_or(0).max(sample));
        self.round_rtt_max = self.round_rtt_max.max(sample);
        self.rtt_sum += u128::from(sample);
        self.rtts += 1;
    }

    /// Takes a retransmission at `at`.
    pub fn on_loss(&mut self, at: u64, srtt: u64) {
        let near = |last: u64| at - last.min(at) <= srtt.max(1_000_000);
        match self.last_loss {
            Some((last, was_alone)) if near(last) => {
                if was_alone {
                    self.alone -= 1;
                    self.grouped += 1;
                }
                self.grouped += 1;
                self.last_loss = Some((at, false));
            }
            Some(_) | None => {
                self.alone += 1;
                self.last_loss = Some((at, true));
            }
        }
    }

    /// Returns the path, with the counts of its direction.
    pub fn finish(&self, seen: &DirectionSeen, lifetime: u64) -> PathSeen {
        let base = self.base.unwrap_or(0);
        let dispersion = self.dispersion();
        // Without a rate by spacing, use the highest rates of round trips and trains.
        let least = dispersion.map_or(
            (0.9 * self.best_bps).max(OF_TRAIN * self.train_bps),
            |rate| OF_SPACING * rate,
        );
        let is_full = |&&(_, bps, rtt): &&(u64, f64, u64)| bps >= least && rtt > base + base / 8;
        let all: u64 = self.rounds.iter().map(|round| round.0).sum();
        let full: u64 = self
            .rounds
            .iter()
            .filter(is_full)
            .map(|round| round.0)
            .sum();
        let covered = all as f64 / lifetime.max(1) as f64;
        let segments = seen.data_segments.max(1) as f64;
        let lost = seen.lost_before_tap + seen.lost_after_tap;
        let waited = self
            .largest
            .zip(self.base)
            .map(|(most, least)| most - least);
        PathSeen {
            base_rtt_ns: self.base,
            largest_rtt_ns: self.largest,
            mean_rtt_ns: (self.rtt_sum.checked_div(self.rtts.into())).map(|mean| mean as u64),
            delivery_bps: (self.best_bps > 0.0).then_some(self.best_bps),
            dispersion_bps: dispersion,
            full_share: covered.min(1.0) * full as f64 / all.max(1) as f64,
            queue_bytes: waited
                .filter(|_| self.best_bps > 0.0)
                .map(|waited| (waited as f64 * self.best_bps / 8e9) as u64)
                // No more can wait than was in flight.
                .map(|bytes| bytes.min(seen.largest_flight_bytes)),
            loss_share: lost as f64 / segments,
            losses_alone: self.alone,
            losses_in_groups: self.grouped,
            reordered_share: seen.reordered as f64 / segments,
            marked: self.marked,
            segments_per_ack: segments / self.acks.max(1) as f64,
        }
    }

    /// Adds an ACK to the train. Returns true if the ACK acknowledges more bytes than the other
    /// ACKs of the train together. Such an ACK ended a recovery.
    fn note_train(&mut self, at: u64, bytes: u64) -> bool {
        let first = self.train[0].0;
        let sum: u64 = self.train[1..].iter().map(|(_, bytes)| bytes).sum();
        self.train.rotate_left(1);
        self.train[TRAIN - 1] = (at, bytes);
        if first > 0 && at > first && bytes <= sum {
            let bps = (sum + bytes) as f64 * 8e9 / (at - first) as f64;
            self.train_bps = self.train_bps.max(bps);
        }
        first > 0 && bytes > sum
    }

    fn note_spacing(&mut self, bps: f64) {
        if self.spacing.is_empty() {
            self.spacing = vec![0; CLASSES];
        }
        let class = (bps.max(1.0).log2() * CLASSES_PER_DOUBLING) as usize;
        if let Some(count) = self.spacing.get_mut(class) {
            *count += 1;
        }
    }

    /// The most frequent rate of the ACKs. Returns `None` if at most a third of the ACKs have about
    /// this rate, or if there are fewer than 20 ACKs.
    fn dispersion(&self) -> Option<f64> {
        let near = |place: usize| -> u32 {
            let low = place.saturating_sub(1);
            let high = (place + 2).min(self.spacing.len());
            self.spacing[low..high].iter().sum()
        };
        let all: u32 = self.spacing.iter().sum();
        let best = (0..self.spacing.len()).max_by_key(|place| near(*place))?;
        let is_common = all >= 20 && near(best) * 3 > all;
        is_common.then(|| f64::exp2((best as f64 + 0.5) / CLASSES_PER_DOUBLING))
    }
}
