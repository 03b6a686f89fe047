//! The Internet checksum. RFC 1071.
//!
//! The one rule: a sum does not depend on how the bytes are cut into slices. Slices of any
//! length, also an odd one, added in order give the sum of all their bytes. The portable
//! code and the vector code, which is used if the processor has the instructions, give the
//! same results.

mod portable;
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
mod simd;

use core::net::IpAddr;

use portable::fold_once;

/// Treatment of a received checksum: verified by the parser, or trusted because a device
/// with receive offload has verified it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChecksumPolicy {
    /// Sums the bytes and refuses a packet whose checksum is wrong.
    #[default]
    Verify,
    /// Does not look at the checksum.
    Trust,
}

/// A one's-complement sum in progress.
///
/// Holds the sum of the 16-bit words added so far and the number of bytes. After an odd
/// number of bytes, the bytes of the next slice are swapped before they are added.
#[derive(Debug, Clone, Copy, Default)]
pub struct Checksum {
    /// Sum of the words in native byte order. The sum is folded to 16 bits and converted to
    /// network order only when it is read: one conversion after the additions is enough (RFC 1071
    /// §2 (B)). The sum is 0 only if every byte is 0, and stays far below 2⁶⁴.
    words: u64,
    len: usize,
}

impl PartialEq for Checksum {
    fn eq(&self, other: &Self) -> bool {
        (self.sum(), self.len) == (other.sum(), other.len)
    }
}

impl Eq for Checksum {}

impl Checksum {
    /// The sum of no bytes.
    pub const fn new() -> Self {
        Self { words: 0, len: 0 }
    }

    /// The sum of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut checksum = Self::new();
        checksum.add(bytes);
        checksum
    }

    /// The sum of a few bytes, whose number the compiler knows.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub fn of_array<const N: usize>(bytes: &[u8; N]) -> Self {
        Self {
            words: portable::sum_short(bytes),
            len: N,
        }
    }

    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.append(sum_words(bytes), bytes.len());
    }

    /// Copies `src` to `dst` and adds its bytes to the sum, in one pass over the bytes.
    ///
    /// # Panics
    /// Panics if `dst` and `src` differ in length.
    pub fn copy(&mut self, dst: &mut [u8], src: &[u8]) {
        assert_eq!(dst.len(), src.len(), "a copy is as long as what it copies");
        self.append(copy_words(dst, src), src.len());
    }

    /// Adds a 16-bit field as two bytes in network order.
    pub fn add_u16(&mut self, value: u16) {
        self.words += self.in_place(value.to_be().into());
        self.len += 2;
    }

    /// Adds the pseudo-header of an upper-layer protocol: both addresses, the protocol, and
    /// the length `len` of its header and data in bytes. RFC 9293 §3.1, RFC 8200 §8.1. The
    /// pseudo-header does not count in [`Checksum::len`] and may be added at any point.
    pub fn add_pseudo_header(&mut self, src: IpAddr, dst: IpAddr, protocol: u8, len: u32) {
        let addresses = address_words(src) + address_words(dst);
        let rest = u64::from(u16::from(protocol).to_be()) + u64::from(len.to_be());
        self.words = fold_once(self.words) + addresses + rest;
    }

    /// Returns the sum of the bytes of `self` followed by the bytes of `next`.
    #[must_use]
    pub fn then(mut self, next: Self) -> Self {
        self.append(next.words, next.len);
        self
    }

    /// Bytes added so far, pseudo-header not counted.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if no byte was added.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The sum without the final complement. A device with checksum offload expects the sum
    /// of the pseudo-header, in this form, in the checksum field.
    pub const fn sum(&self) -> u16 {
        big_endian_sum(self.words)
    }

    /// Returns the value for the checksum field. The field must have been 0 when its bytes were
    /// summed.
    pub const fn finish(&self) -> u16 {
        !self.sum()
    }

    /// Returns true if the sum is valid. The bytes summed must include the checksum field.
    pub const fn is_valid(&self) -> bool {
        self.sum() == 0xffff
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn append(&mut self, words: u64, len: usize) {
        self.words = fold_once(self.words) + self.in_place(fold_once(words));
        self.len += len;
    }

    /// Returns what `words` add to the sum at the present position. After an odd number of bytes,
    /// the bytes of every word are swapped, which multiplies the sum by 2⁸ modulo 0xffff.
    #[cfg_attr(target_pointer_width = "64", inline)]
    const fn in_place(&self, words: u64) -> u64 {
        words << (self.len % 2 * 8)
    }
}

/// Folds a sum of native-endian words to 16 bits and converts it to the sum of the same
/// words read as big-endian.
const fn big_endian_sum(words: u64) -> u16 {
    let sum = fold_once(fold_once(words)); // at most 2³²
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    u16::from_be(sum as u16)
}

/// Returns the sum of the 32-bit words of an address.
fn address_words(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => u32::from_ne_bytes(address.octets()).into(),
        IpAddr::V6(address) => {
            let octets = address.octets();
            let (words, _even) = octets.as_chunks::<4>();
            words
                .iter()
                .map(|&word| u64::from(u32::from_ne_bytes(word)))
                .sum()
        }
    }
}

#[cfg(all(feature = "simd", target_arch = "x86_64"))]
use simd::{copy_words, sum_words};

#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
use portable::{copy_words, sum_words};

#[cfg(test)]
mod tests;
