//! Positions at which the writes of an application end, if all writes have the same size and are
//! longer than a segment.
//!
//! A partial segment with PSH ends a write, because the sender had no more payload. If the
//! distances between these segments have a common divisor of at least a segment, this divisor is
//! the size of the writes. Sizes that differ have a small divisor.
//!
//! Rule: the size is unknown until two distances agree. PSH of a full segment proves nothing: Linux
//! also sets PSH where a write waits for room, and once for each half of the largest window.

/// Smallest number of distances from which the size of the writes follows.
const LEAST: u32 = 2;
/// Smallest number of waits from which the pauses of an application are inferred.
const LEAST_WAITS: u32 = 4;

/// The ends of an application's writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteEnds {
    /// Position of the latest known end, or of the first byte of the stream.
    latest: Option<u64>,
    /// Greatest common divisor of the distances; 0 before the first distance.
    size: u64,
    distances: u32,
    /// The latest waits that no ACK ended, the last one in the lowest bit: 1 if the sender had sent
    /// all full segments of a write.
    at_ends: u8,
    /// Number of valid bits in `at_ends`.
    waits: u32,
}

impl WriteEnds {
    /// Creates the ends of the writes of a stream that begins at `position`, if this is known.
    pub fn new(position: Option<u64>) -> Self {
        Self {
            latest: position,
            ..Self::default()
        }
    }

    /// Takes the end of a partial segment with PSH.
    pub fn on_end(&mut self, position: u64) {
        let before = self.latest.replace(position);
        let distance = before.and_then(|before| position.checked_sub(before));
        if let Some(distance) = distance.filter(|distance| *distance > 0) {
            self.size = common_divisor(self.size, distance);
            self.distances += 1;
        }
    }

    /// Takes a wait before `position` that no ACK ended.
    pub fn on_wait(&mut self, position: u64, mss: u64) {
        if let Some(rest) = self.rest_of(position, mss) {
            self.at_ends = self.at_ends << 1 | u8::from(rest < mss);
            self.waits = (self.waits + 1).min(u8::BITS);
        }
    }

    /// Returns true if half of the latest waits or more were at ends of writes. Otherwise the sender
    /// had more to send at the ends, and waited for something else.
    const fn are_pauses(&self) -> bool {
        self.at_ends.count_ones() * 2 >= self.waits
    }

    /// Returns true if three of four waits or more were at ends of writes.
    pub const fn are_waited(&self) -> bool {
        self.waits >= LEAST_WAITS && self.at_ends.count_ones() * 4 >= self.waits * 3
    }

    /// Returns true if three of four waits or more were elsewhere, so a wait at an end of a write is
    /// not the application's.
    pub const fn are_passed(&self) -> bool {
        self.waits >= LEAST_WAITS && self.at_ends.count_ones() * 4 <= self.waits
    }

    /// Bytes from `position` to the end of the write; 0 if a write ends at `position`. `None` if
    /// the size of the writes is unknown, or smaller than a segment of `mss` bytes, or if the
    /// application does not pause between its writes.
    pub fn rest(&self, position: u64, mss: u64) -> Option<u64> {
        self.rest_of(position, mss).filter(|_| self.are_pauses())
    }

    fn rest_of(&self, position: u64, mss: u64) -> Option<u64> {
        if self.size < mss.max(1) || self.distances < LEAST {
            return None;
        }
        let latest = self.latest?;
        let past = match position.checked_sub(latest) {
            Some(past) => past % self.size,
            None => self.size - (latest - position) % self.size,
        };
        Some((self.size - past) % self.size)
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
