//! Corruption: flipped bits that the frame check sequence did not catch.
//!
//! Rule: every corruption can be detected, so a receiver that delivers a corrupted byte is always
//! wrong. All flipped bits are in the same byte of an IP packet, and an Internet checksum covers
//! this byte. Frames without a checksum (ARP) are not changed, and neither are the fields of the
//! IPv6 header that no checksum covers: class, flow label and hop limit. The byte's value only
//! increases, by less than 255, so the corruptions of two links on a path cannot cancel each other.

use fullpipe_pool::Rng;

use super::frame::{ETHERNET_HEADER_LEN, IPV4, IPV6};

/// One direction's corruption.
#[derive(Clone, Debug)]
pub(super) struct Corruption(pub Rng);

impl Corruption {
    /// Flips bits in `frame` with this probability, if the frame carries IPv4 or IPv6. Returns true
    /// if a bit was flipped.
    pub fn strike(&mut self, frame: &mut [u8], probability: f64) -> bool {
        if probability <= 0.0 || !self.0.chance(probability) {
            return false;
        }
        if frame.len() <= ETHERNET_HEADER_LEN {
            return false;
        }
        let (ethernet, packet) = frame.split_at_mut(ETHERNET_HEADER_LEN);
        let is_v6 = ethernet[12..] == IPV6;
        if !is_v6 && ethernet[12..] != IPV4 {
            return false;
        }
        let place = self.0.below(packet.len() as u64) as usize;
        if is_v6 && !is_covered(place) {
            return false;
        }
        let most = (0xff - packet[place]).min(0xfe);
        if most > 0 {
            packet[place] += self.0.between(1, most.into()) as u8;
        }
        most > 0
    }
}

/// Returns true if the checksum of an IPv6 packet's payload covers this byte of the packet. The
/// checksum covers the payload, and these fields of the IPv6 header: length, next header and
/// addresses (RFC 8200 §8.1).
const fn is_covered(place: usize) -> bool {
    !matches!(place, 0..=3 | 7)
}
