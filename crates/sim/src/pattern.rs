//! The bytes that applications write: each is determined by a key and its place
//! in the stream.
//!
//! Rule: a byte that is lost, moved or repeated shows. Any eight neighbouring
//! bytes occur practically once in a stream, and other keys give other streams.
//! Nothing is stored: writer and reader compute the same bytes.

#[cfg(test)]
mod tests;

/// One direction of one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    key: u64,
}

const WORD: u64 = 8;

impl Pattern {
    /// The stream that `key` names.
    pub const fn new(key: u64) -> Self {
        Self { key }
    }

    /// Bytes `8 * index ..` of the stream, as a little-endian word.
    const fn word(self, index: u64) -> u64 {
        let mut word = index
            .wrapping_add(self.key)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        word ^ (word >> 29)
    }

    /// Writes the bytes from `offset` on into `bytes`.
    pub fn fill(self, offset: u64, bytes: &mut [u8]) {
        let ahead = (offset % WORD) as usize;
        let first = self.word(offset / WORD).to_le_bytes();
        let (head, rest) = bytes.split_at_mut(bytes.len().min(first.len() - ahead));
        head.copy_from_slice(&first[ahead..ahead + head.len()]);
        for (index, chunk) in (offset / WORD + 1..).zip(rest.chunks_mut(first.len())) {
            chunk.copy_from_slice(&self.word(index).to_le_bytes()[..chunk.len()]);
        }
    }

    /// The place in `bytes` of the first byte that is not the stream's, when
    /// `bytes` should be those from `offset` on.
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
        let words = (offset / WORD + 1..).map(|index| self.word(index).to_le_bytes());
        for ((number, chunk), expected) in rest.chunks(first.len()).enumerate().zip(words) {
            if chunk != &expected[..chunk.len()] {
                return differs(head.len() + number * first.len(), chunk, &expected);
            }
        }
        None
    }
}
