//! Recognises frames that a capture contains twice. A mirror port copies a frame where it enters a
//! switch and again where it leaves the switch. The Linux device `any` shows a frame on several
//! interfaces.
//!
//! Rule: a frame is a duplicate if the same frame was captured at most [`WITHIN_NS`] earlier. Two
//! IPv4 packets are the same if identification, ports, sequence numbers, flags, window and TCP
//! checksum agree; a retransmission has another identification. Packets without identification
//! (IPv6, or identification 0) are compared by the other fields. Two such packets may be equal
//! although neither is a copy (retransmissions, duplicate ACKs). Copies of such packets are
//! therefore dropped only while at least [`MIRRORED`] percent of the segments with payload and
//! without identification are copies.
//!
//! Memory is a table of fixed size, in which newer frames replace older ones.

/// Longest time between two copies, in nanoseconds: 1 ms.
const WITHIN_NS: i64 = 1_000_000;
/// Entries of the table.
const PLACES: usize = 4_096;
/// Number of segments with payload and without identification that must be seen before the share of
/// copies among them shows that frames are mirrored.
const LEARNED: u32 = 64;
/// Among segments with payload and without identification: the smallest share of copies, in
/// percent, at which frames count as mirrored. The share is 50 % if every frame appears twice.
const MIRRORED: u32 = 40;

/// The fields by which a frame is recognised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fingerprint {
    /// A hash of all compared fields except the identification.
    pub hash: u64,
    /// Identification; 0 if the packet has none.
    pub id: u16,
    /// True if the segment has payload.
    pub has_payload: bool,
}

impl Fingerprint {
    /// Mixes `word` into `hash`.
    pub(super) const fn mixed(hash: u64, word: u64) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let product = (hash ^ word) as u128 * ODD as u128;
        (product >> 64) as u64 ^ product as u64
    }
}

#[derive(Clone, Copy)]
struct Place {
    hash: u64,
    at_ns: i64,
}

/// Hashes and times of recent frames; a newer frame may replace an older one.
pub(super) struct Duplicates {
    places: Box<[Place]>,
    /// Number of recent segments with payload and without identification.
    learned: u32,
    /// Number of copies among these segments.
    copies: u32,
}

impl Duplicates {
    pub(super) fn new() -> Self {
        let nothing = Place {
            hash: 0,
            at_ns: i64::MIN,
        };
        Self {
            places: vec![nothing; PLACES].into_boxed_slice(),
            learned: 0,
            copies: 0,
        }
    }

    /// Returns true if the frame at `at_ns` is a copy.
    pub(super) fn is_copy(&mut self, fingerprint: Fingerprint, at_ns: i64) -> bool {
        let hash = Fingerprint::mixed(fingerprint.hash, fingerprint.id.into());
        let place = &mut self.places[hash as usize % PLACES];
        let is_same = place.hash == hash && at_ns.saturating_sub(place.at_ns) <= WITHIN_NS;
        *place = Place { hash, at_ns };
        if fingerprint.id != 0 {
            return is_same;
        }
        if fingerprint.has_payload {
            self.learn(is_same);
        }
        is_same && self.learned >= LEARNED && self.copies * 100 >= self.learned * MIRRORED
    }

    fn learn(&mut self, is_same: bool) {
        self.learned += 1;
        self.copies += u32::from(is_same);
        // Halve both counts from time to time, so that older segments count less.
        if self.learned >= 4 * LEARNED {
            self.learned /= 2;
            self.copies /= 2;
        }
    }
}

#[cfg(test)]
mod tests;
