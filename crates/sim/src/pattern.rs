//! The bytes that applications write, each determined by a key and its offset.
//!
//! Rule: a lost, moved or repeated byte is detected. Any eight neighbouring bytes occur
//! practically once in a stream, and a different key gives a different stream. Nothing is
//! stored: writer and reader compute the same bytes.

#[cfg(test)]
mod tests;

/// The byte stream of one direction of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    key: u64,
}

const WORD: u64 = 8;

impl Pattern {
    /// The stream of `key`.
    pub const fn new(key: u64) -> Self {
        Self { key }
    }

    /// Bytes `8 * index ..` of the stream, as a little-endian word. Distinct
    /// indices give distinct words, because multiplication by an odd number and the
    /// xor with the shifted word can be inverted.
    const fn word(self, index: u64) -> u64 {
        let word = index
            .wrapping_add(self.key)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word ^ (word >> 32)
    }

    /// Writes the bytes from `offset` on into `bytes`.
    pub fn fill(self, offset: u64, bytes: &mut [u8]) {
        let ahead = (offset % WORD) as usize;
        let first = self.word(offset / WORD).to_le_bytes();
        let (head, rest) = bytes.split_at_mut(bytes.len().min(first.len() - ahead));
        head.copy_from_slice(&first[ahead..ahead + head.len()]);
        // Whole words and the remaining bytes are written separately: most of a
        // simulation's bytes are filled here, and code for whole words is fast because
        // their length is known.
        let mut words = (offset / WORD + 1..).map(|index| self.word(index).to_le_bytes());
        let mut chunks = rest.chunks_exact_mut(first.len());
        for (chunk, word) in chunks.by_ref().zip(words.by_ref()) {
            chunk.copy_from_slice(&word);
        }
        let tail = chunks.into_remainder();
        if let Some(word) = words.next() {
            tail.copy_from_slice(&word[..tail.len()]);
        }
    }

    /// Compares `bytes` with the stream from `offset` on. Returns the index in `bytes` of the
    /// first difference.
    pub fn first_difference(self, offset: u64, bytes: &[u8]) -> Option<usize> {
        let ahead = (offset % WORD) as usize;
        let first = self.word(offset / WORD).to_le_bytes();
        let (head, rest) = bytes.split_at(bytes.len().min(first.len() - ahead));
        let differs = |at: usize, got: &[u8], expected: &[u8]| {
            let within = got
                .iter()
                .zip(expected)
                .position(|(got, expected)| got != expected)?;
            Some(at + within)
        };
        if head != &first[ahead..ahead + head.len()] {
            return differs(0, head, &first[ahead..]);
        }
        let words = offset / WORD + 1..;
        let chunks = rest.chunks_exact(first.len());
        let tail = chunks.remainder();
        for ((number, chunk), index) in chunks.enumerate().zip(words) {
            let expected = self.word(index);
            if read_word(chunk) != expected {
                let at = head.len() + number * first.len();
                return differs(at, chunk, &expected.to_le_bytes());
            }
        }
        let before = head.len() + rest.len() - tail.len();
        let expected = self.word((offset + before as u64) / WORD).to_le_bytes();
        if *tail != expected[..tail.len()] {
            return differs(before, tail, &expected);
        }
        None
    }
}

/// Eight bytes as one number, so that one comparison covers them all.
fn read_word(chunk: &[u8]) -> u64 {
    chunk.try_into().map_or(0, u64::from_le_bytes)
}
