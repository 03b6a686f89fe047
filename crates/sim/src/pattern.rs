//! The bytes that applications write. A key and the offset in the stream determine each byte.
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
/// Factor by which the sum of the key and a word's index is multiplied.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Number of words that are computed together, so that the compiler uses vector instructions.
const LANES: usize = 4;
/// Number of bytes in [`LANES`] words.
const BLOCK: usize = LANES * WORD as usize;
/// Number of bytes that are compared at once.
const COMPARED: usize = 256;

impl Pattern {
    /// The stream of `key`.
    pub const fn new(key: u64) -> Self {
        Self { key }
    }

    /// The product of [`FACTOR`] and the sum of the key and a word's index. The next word's product
    /// is larger by `FACTOR`.
    const fn product(self, index: u64) -> u64 {
        index.wrapping_add(self.key).wrapping_mul(FACTOR)
    }

    /// Bytes `8 * index ..` of the stream.
    fn word(self, index: u64) -> [u8; WORD as usize] {
        mixed(self.product(index)).to_le_bytes()
    }

    /// Writes the bytes from `offset` on into `bytes`.
    pub fn fill(self, offset: u64, bytes: &mut [u8]) {
        let (head, rest) = bytes.split_at_mut(bytes.len().min(until_word(offset)));
        self.fill_words(offset, head);
        let mut offset = offset + head.len() as u64;
        let mut products = self.products(offset);
        let (blocks, rest) = rest.as_chunks_mut::<BLOCK>();
        for block in blocks {
            for (word, product) in block.as_chunks_mut().0.iter_mut().zip(&mut products) {
                *word = mixed(*product).to_le_bytes();
                *product = product.wrapping_add(FACTOR.wrapping_mul(LANES as u64));
            }
            offset += BLOCK as u64;
        }
        self.fill_words(offset, rest);
    }

    /// Writes the bytes from `offset` on into `bytes`, word by word.
    fn fill_words(self, mut offset: u64, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let len = bytes.len().min(until_word(offset));
            let (part, rest) = bytes.split_at_mut(len);
            let ahead = (offset % WORD) as usize;
            part.copy_from_slice(&self.word(offset / WORD)[ahead..ahead + len]);
            (offset, bytes) = (offset + len as u64, rest);
        }
    }

    /// Compares `bytes` with the stream from `offset` on. Returns the index in `bytes` of the
    /// first difference.
    pub fn first_difference(self, offset: u64, bytes: &[u8]) -> Option<usize> {
        let mut expected = [0; COMPARED];
        let mut at = 0;
        for part in bytes.chunks(COMPARED) {
            let expected = &mut expected[..part.len()];
            self.fill(offset + at as u64, expected);
            if part != expected {
                let mut pairs = part.iter().zip(expected);
                return pairs
                    .position(|(got, wanted)| got != wanted)
                    .map(|within| at + within);
            }
            at += part.len();
        }
        None
    }

    /// The products of the words from `offset` on, where a word begins.
    fn products(self, offset: u64) -> [u64; LANES] {
        std::array::from_fn(|lane| self.product(offset / WORD + lane as u64))
    }
}

/// The word of a product. Distinct products give distinct words, because the xor with the shifted
/// product can be inverted.
const fn mixed(product: u64) -> u64 {
    product ^ (product >> 32)
}

/// Bytes from `offset` to the next word's begin, from 1 to 8.
const fn until_word(offset: u64) -> usize {
    (WORD - offset % WORD) as usize
}
