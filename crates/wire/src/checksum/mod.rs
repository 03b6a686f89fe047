//! The Internet checksum. RFC 1071.
//!
//! The one rule: a sum does not depend on how the bytes were cut. Slices of any
//! length, odd ones too, added in order, give what one slice would. Which code
//! adds the bytes (portable, or vector instructions found at run time) never
//! shows in a result.

mod portable;
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
mod simd;

use core::net::IpAddr;

/// Whether a parser checks the checksum or was told it has been checked, as a
/// device with receive offload says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChecksumPolicy {
    /// Sum the bytes and refuse a packet that does not come out.
    #[default]
    Verify,
    /// Do not look.
    Trust,
}

/// A one's-complement sum under way.
///
/// Holds the sum of 16-bit big-endian words so far and how many bytes went in,
/// so that a slice which starts at an odd place is added the right way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checksum {
    /// Folded after every step: at most 0xffff.
    sum: u16,
    len: usize,
}

impl Checksum {
    /// The sum of nothing.
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

    /// Adds a 16-bit field at an even place, as two bytes in network order.
    pub fn add_u16(&mut self, value: u16) {
        self.append(value, 2);
    }

    /// Adds the pseudo-header of an upper-layer protocol: both addresses, the
    /// protocol, and `len` in bytes of its header and data. RFC 9293 §3.1,
    /// RFC 8200 §8.1. It is no part of [`Checksum::len`] and may be added at
    /// any moment.
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

    /// Whether no byte was added.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The sum itself, not complemented: what a device that completes a
    /// checksum wants to find in the field.
    pub const fn sum(&self) -> u16 {
        self.sum
    }

    /// The value for a checksum field that was 0 while it was summed.
    pub const fn finish(&self) -> u16 {
        !self.sum
    }

    /// Whether bytes summed with their checksum field come out right.
    pub const fn is_valid(&self) -> bool {
        self.sum == 0xffff
    }

    fn append(&mut self, sum: u16, len: usize) {
        let at_odd_place = !self.len.is_multiple_of(2);
        // Shifting every byte by one place swaps the halves of the sum.
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

/// Folds a sum of native-endian words to 16 bits of the sum in network order.
/// The order of bytes may be settled last: RFC 1071 §2 (B).
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
