//! Matches each received frame with a frame that the other end sent.
//!
//! Rule: frames are compared by their first bytes. If several frames are equal (for example
//! repeated acknowledgments), a received frame is matched with the sent frame that gives the delay
//! nearest to the delay of the previous arrival.

use std::collections::HashMap;

use super::frames::{SeenFrame, WORDS};

/// Frames of one direction, each with its arrival.
#[derive(Debug)]
pub struct Matched<'a> {
    /// The frames sent, in the order of time.
    pub sent: &'a [SeenFrame],
    /// The frames received at the other end, in the order of time.
    pub received: &'a [SeenFrame],
    /// For each frame sent, the index of the frame received; `None` if it did not arrive.
    pub arrival: Vec<Option<usize>>,
    /// Number of arrivals of frames that had already arrived.
    pub duplicated: u64,
    /// Number of received frames that the other end did not send.
    pub foreign: u64,
    /// For each frame sent: true if it equals another frame sent.
    pub is_alike: Vec<bool>,
}

impl<'a> Matched<'a> {
    /// Finds the frames `received` among those `sent`.
    pub fn of(sent: &'a [SeenFrame], received: &'a [SeenFrame]) -> Self {
        let mut equal: HashMap<_, Vec<usize>> = HashMap::new();
        for (place, frame) in sent.iter().enumerate() {
            equal.entry(frame.key()).or_default().push(place);
        }
        let copies = are_copies(sent, received, &equal);
        let mut matched = Self {
            sent,
            received,
            arrival: vec![None; sent.len()],
            duplicated: 0,
            foreign: 0,
            is_alike: vec![false; sent.len()],
        };
        let mut delay_ns = None;
        for (place, frame) in received.iter().enumerate() {
            let candidates = equal.get(&frame.key()).map_or(&[][..], Vec::as_slice);
            let expected_ns = delay_ns.map_or(0, |delay| frame.at_ns.saturating_sub(delay));
            let is_copy = copies && matched.repeats_last(place, candidates);
            let mut found = None;
            if !is_copy {
                found = matched.nearest(candidates, expected_ns, frame.at_ns);
            }
            // If the damaged frame equals no unmatched frame, look for an unmatched frame that
            // differs in a few bytes. `candidates` may have entries, because damage may make a
            // frame equal to another frame.
            if found.is_none() && frame.is_damaged && !is_copy {
                found = matched.damaged(frame, expected_ns);
            }
            match found {
                Some(own) => {
                    matched.arrival[own] = Some(place);
                    delay_ns = Some(frame.at_ns - sent[own].at_ns);
                }
                None if candidates.is_empty() => matched.foreign += 1,
                None => matched.duplicated += 1,
            }
        }
        for equal in equal.values().filter(|equal| equal.len() > 1) {
            equal
                .iter()
                .for_each(|&place| matched.is_alike[place] = true);
            matched.put_in_order(equal);
        }
        matched
    }

    /// Swaps the arrivals of equal frames, so that these frames arrive in the order in which they
    /// were sent.
    fn put_in_order(&mut self, equal: &[usize]) {
        let mut arrivals: Vec<usize> = equal
            .iter()
            .filter_map(|&place| self.arrival[place])
            .collect();
        arrivals.sort_unstable();
        let arrived = equal.iter().filter(|&&place| self.arrival[place].is_some());
        let arrived: Vec<usize> = arrived.copied().collect();
        for (place, arrival) in arrived.into_iter().zip(arrivals) {
            self.arrival[place] = Some(arrival);
        }
    }

    /// Returns true if the frame received at `place` is a copy of the frame received just before
    /// it. The two frames must be equal and arrive at the same time, and the earlier frame must be
    /// matched with a sent frame. Returns false if another candidate, which is not matched yet, was
    /// sent at the same time as that sent frame.
    fn repeats_last(&self, place: usize, candidates: &[usize]) -> bool {
        let Some(before) = place.checked_sub(1).map(|before| &self.received[before]) else {
            return false;
        };
        let own = &self.received[place];
        if before.at_ns != own.at_ns || before.key() != own.key() {
            return false;
        }
        let last = candidates
            .iter()
            .find(|&&sent| self.arrival[sent] == Some(place - 1));
        last.is_some_and(|&last| {
            let at_ns = self.sent[last].at_ns;
            let mut free = candidates
                .iter()
                .filter(|&&sent| self.arrival[sent].is_none());
            !free.any(|&sent| self.sent[sent].at_ns == at_ns)
        })
    }

    /// Considers those `candidates` that are not matched yet and were sent until `at_ns`. Returns
    /// the one that was sent nearest to `expected_ns`.
    fn nearest(&self, candidates: &[usize], expected_ns: u64, at_ns: u64) -> Option<usize> {
        let after = candidates.partition_point(|&sent| self.sent[sent].at_ns <= expected_ns);
        let is_free =
            |&&sent: &&usize| self.arrival[sent].is_none() && self.sent[sent].at_ns <= at_ns;
        let before = candidates[..after].iter().rev().find(is_free);
        let later = candidates[after..].iter().find(is_free);
        let distance = |&&sent: &&usize| self.sent[sent].at_ns.abs_diff(expected_ns);
        before
            .into_iter()
            .chain(later)
            .min_by_key(distance)
            .copied()
    }

    /// Returns the original of the damaged `frame`: of the unmatched frames that differ from it in at
    /// most one word of 8 bytes, the one that differs in the fewest bytes. If there are several, the
    /// one sent nearest to `expected_ns`.
    fn damaged(&self, frame: &SeenFrame, expected_ns: u64) -> Option<usize> {
        let until = self.sent.partition_point(|own| own.at_ns <= frame.at_ns);
        let near = until.saturating_sub(DAMAGED_AMONG)..until;
        let free = near.filter(|&own| self.arrival[own].is_none());
        let alike = free.filter_map(|own| Some((self.sent[own].damaged_bytes(frame)?, own)));
        let nearest = |&(damaged, own): &(u32, usize)| {
            let distance = self.sent[own].at_ns.abs_diff(expected_ns);
            (damaged, distance)
        };
        alike.min_by_key(nearest).map(|(_, own)| own)
    }

    /// The frame received for the frame sent at `place`.
    pub fn arrived(&self, place: usize) -> Option<&'a SeenFrame> {
        self.arrival[place].map(|received| &self.received[received])
    }

    /// For each frame sent, true if it arrived after a frame that was sent later. Frames that equal
    /// others are skipped.
    pub fn overtaken(&self) -> Vec<bool> {
        let pairs = self.arrival.iter().enumerate();
        let mut arrived: Vec<_> = pairs
            .filter(|(sent, _)| !self.is_alike[*sent])
            .filter_map(|(sent, received)| Some(((*received)?, sent)))
            .collect();
        arrived.sort_unstable();
        let mut latest = 0;
        let mut overtaken = vec![false; self.sent.len()];
        for (_, sent) in arrived {
            overtaken[sent] = sent < latest;
            latest = latest.max(sent);
        }
        overtaken
    }

    /// Time from sending the frame at `place` to its arrival.
    pub fn delay_ns(&self, place: usize) -> Option<u64> {
        let arrived = self.arrived(place)?;
        Some(arrived.at_ns - self.sent[place].at_ns)
    }
}

/// The original of a damaged frame is searched among this number of frames, the latest ones sent.
const DAMAGED_AMONG: usize = 10_000;

/// Guesses the origin of two equal frames that arrive at the same time. Returns true if the path
/// probably duplicated one frame, and false if two frames were probably sent, at different times.
/// The guess uses only frames that equal no other frame sent.
fn are_copies(
    sent: &[SeenFrame],
    received: &[SeenFrame],
    equal: &HashMap<([u64; WORDS], u32), Vec<usize>>,
) -> bool {
    let single = |frame: &SeenFrame| match equal.get(&frame.key()).map(Vec::as_slice) {
        Some([only]) => Some(*only),
        Some(_) | None => None,
    };
    let (mut copies, mut together) = (0.0, 0.0);
    let mut arrived = vec![false; sent.len()];
    let mut before: Option<(usize, u64)> = None;
    for frame in received {
        let Some(own) = single(frame) else {
            continue;
        };
        if std::mem::replace(&mut arrived[own], true) {
            copies += 1.0;
        } else if before.is_some_and(|(other, at_ns)| {
            at_ns == frame.at_ns && sent[other].at_ns != sent[own].at_ns
        }) {
            together += 1.0;
        }
        before = Some((own, frame.at_ns));
    }
    let all = equal.values().filter(|places| places.len() == 1).count() as f64;
    let lost = all - arrived.iter().filter(|arrived| **arrived).count() as f64;
    // Multiply the number of copies by the share of lost frames: if the second arrival is a copy,
    // the other frame that was sent must have been lost as well.
    copies * lost / all > together
}
