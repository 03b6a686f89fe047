//! The Internet checksum. RFC 1071.
//!
//! The one rule: a sum does not depend on how the bytes are cut into slices. Slices
//! of any length, odd ones too, added in order, give the sum of the whole. The code
//! that adds the bytes (portable, or vector instructions found at run time) never
//! changes a result.

mod portable;
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
mod simd;

use core::net::IpAddr;

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
/// It keeps the sum of 16-bit big-endian words so far and the number of bytes, so
/// that a slice which starts at an odd offset is added with its bytes swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checksum {
    /// Folded after every step: at most 0xffff.
    sum: u16,
    len: usize,
}

impl Checksum {
    /// The sum of no bytes.
    pub const fn new() -> Self {
        Self { sum: 0, len: 0 }
    }

    /// The sum of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut checksum = Self::new();
        checksum.add(bytes);
        checksum
    }

    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.append(big_endian_sum(sum_words(bytes)), bytes.len());
    }

    /// Copies `src` to `dst` and adds it, in one pass over the bytes.
    ///
    /// # Panics
    /// If the two differ in length.
    pub fn copy(&mut self, dst: &mut [u8], src: &[u8]) {
        assert_eq!(dst.len(), src.len(), "a copy is as long as what it copies");
        self.append(big_endian_sum(copy_words(dst, src)), src.len());
    }

    /// Adds a 16-bit field as two bytes in network order.
    pub fn add_u16(&mut self, value: u16) {
        self.append(value, 2);
    }

    /// Adds the pseudo-header of an upper-layer protocol: both addresses, the
    /// protocol, and the length `len` of its header and data in bytes. RFC 9293
    /// §3.1, RFC 8200 §8.1. It does not count in [`Checksum::len`] and may be added
    /// at any point.
    pub fn add_pseudo_header(&mut self, src: IpAddr, dst: IpAddr, protocol: u8, len: u32) {
        for address in [src, dst] {
            self.sum = match address {
                IpAddr::V4(address) => add_octets(self.sum, &address.octets()),
                IpAddr::V6(address) => add_octets(self.sum, &address.octets()),
            };
        }
        for word in [u16::from(protocol), (len >> 16) as u16, len as u16] {
            self.sum = add_folded(self.sum, word);
        }
    }

    /// This sum followed by `next`, as if the bytes of `next` came after.
    #[must_use]
    pub fn then(mut self, next: Self) -> Self {
        self.append(next.sum, next.len);
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
        self.sum
    }

    /// The value for a checksum field that was 0 while it was summed.
    pub const fn finish(&self) -> u16 {
        !self.sum
    }

    /// Returns true if bytes that were summed with their checksum field are valid.
    pub const fn is_valid(&self) -> bool {
        self.sum == 0xffff
    }

    fn append(&mut self, sum: u16, len: usize) {
        let at_odd_place = !self.len.is_multiple_of(2);
        // An odd offset swaps the bytes of every word, and therefore those of the sum.
        let sum = if at_odd_place { sum.swap_bytes() } else { sum };
        self.sum = add_folded(self.sum, sum);
        self.len += len;
    }
}

fn add_octets<const N: usize>(sum: u16, octets: &[u8; N]) -> u16 {
    let (words, _even) = octets.as_chunks::<2>();
    words
        .iter()
        .fold(sum, |sum, &word| add_folded(sum, u16::from_be_bytes(word)))
}

fn add_folded(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    // Cannot carry twice: after a carry the sum is at most 0xfffe.
    sum + u16::from(carry)
}

/// Folds a sum of native-endian words to 16 bits and converts it to the sum of the same
/// words read as big-endian. One conversion after the additions is enough: RFC 1071
/// §2 (B).
fn big_endian_sum(words: u64) -> u16 {
    let sum = (words & 0xffff_ffff) + (words >> 32);
    let sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    u16::from_be(sum as u16)
}

#[cfg(all(feature = "simd", target_arch = "x86_64"))]
use simd::{copy_words, sum_words};

#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
use portable::{copy_words, sum_words};

#[cfg(test)]
mod tests;
