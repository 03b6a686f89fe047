//! Corruption: flipped bits that the frame check sequence did not catch.
//!
//! Rule: every corruption can be detected, so a receiver that delivers a corrupted byte
//! is always wrong. All flipped bits are in one byte of an IPv4 packet, where the
//! Internet checksum detects them. Other frames (ARP) have no checksum and are not
//! changed. The byte's value only increases, by less than 255, so the corruptions of two
//! links on a path cannot cancel each other.

use fullpipe_pool::Rng;

use super::frame::ETHERNET_HEADER_LEN;

const IPV4: [u8; 2] = [0x08, 0x00];

/// One direction's corruption.
#[derive(Clone, Debug)]
pub(super) struct Corruption(pub Rng);

impl Corruption {
    /// Flips bits in `frame` with this probability, if the frame carries IPv4. Returns
    /// true if a bit was flipped.
    pub fn strike(&mut self, frame: &mut [u8], probability: f64) -> bool {
        if probability <= 0.0 || !self.0.chance(probability) {
            return false;
        }
        if frame.len() <= ETHERNET_HEADER_LEN || frame[12..14] != IPV4 {
            return false;
        }
        let packet = &mut frame[ETHERNET_HEADER_LEN..];
        let place = self.0.below(packet.len() as u64) as usize;
        let most = (0xff - packet[place]).min(0xfe);
        if most > 0 {
            packet[place] += self.0.between(1, most.into()) as u8;
        }
        most > 0
    }
}
