//! Payload in which the position in the stream determines every byte.
//!
//! Rule: every byte is compared, so that a missing, repeated or displaced byte is found at its
//! place. The pattern repeats after a prime number of bytes, so that a displacement by whole
//! segments is also found.

/// Length after which the pattern repeats; a prime number.
const PERIOD: usize = 4093;

/// Longest part of the pattern that [`Payload::at`] returns, in bytes.
pub const LONGEST: usize = 16 << 10;

/// The pattern, repeated far enough that [`Payload::at`] can return one slice for each position.
pub struct Payload {
    bytes: Vec<u8>,
}

impl Payload {
    /// Creates the pattern.
    pub fn new() -> Self {
        let byte = |place: usize| ((place % PERIOD) as u32).wrapping_mul(0x9e37_79b1) >> 24;
        Self {
            bytes: (0..PERIOD + LONGEST)
                .map(|place| byte(place) as u8)
                .collect(),
        }
    }

    /// Returns `len` bytes that begin at `position` of the stream.
    pub fn at(&self, position: u64, len: usize) -> &[u8] {
        let start = (position % PERIOD as u64) as usize;
        &self.bytes[start..start + len]
    }

    /// Compares received bytes with the pattern at `position` of the stream.
    ///
    /// # Panics
    /// Panics if the bytes differ.
    pub fn verify(&self, position: u64, received: &[u8]) {
        assert!(
            self.at(position, received.len()) == received,
            "wrong payload in the {} bytes from position {position}",
            received.len()
        );
    }
}
