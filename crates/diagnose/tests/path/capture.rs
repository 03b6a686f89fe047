//! Frames that passed the two hosts of a simulated link, read from a capture of the
//! simulation.

use fullpipe_diagnose::inferred::{EndFrames, SeenFrame};
use fullpipe_sim::{HostId, World};

use super::captured::Captured;

/// Type of a pcapng block with a packet.
const ENHANCED_PACKET: u32 = 6;
/// Value of the lowest two bits of the packet's flags for an outbound packet. The value for
/// an inbound packet is 1.
const OUTBOUND: u32 = 2;

impl Captured {
    /// Captures everything that these hosts of `world` send and receive from this moment on.
    pub fn start(world: &mut World, hosts: [HostId; 2]) -> Self {
        let captured = Self::default();
        world.capture(Box::new(captured.clone())).expect("memory");
        for (name, host) in ["first", "second"].into_iter().zip(hosts) {
            world.tap_host(host, name).expect("memory");
        }
        captured
    }

    /// Returns the frames of both hosts.
    pub fn ends(&self) -> [EndFrames; 2] {
        let bytes = self.bytes();
        let mut ends = [EndFrames::default(), EndFrames::default()];
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let block = &rest[..word(rest, 4) as usize];
            if word(block, 0) == ENHANCED_PACKET {
                let at_ns = u64::from(word(block, 12)) << 32 | u64::from(word(block, 16));
                let len = word(block, 20) as usize;
                let frame = SeenFrame::ethernet(at_ns, &block[28..28 + len]);
                let flags = word(block, 28 + len.next_multiple_of(4) + 4);
                let end = &mut ends[word(block, 8) as usize];
                match flags {
                    OUTBOUND => end.sent.push(frame),
                    _ => end.received.push(frame),
                }
            }
            rest = &rest[block.len()..];
        }
        ends
    }
}

fn word(bytes: &[u8], place: usize) -> u32 {
    u32::from_le_bytes(bytes[place..place + 4].try_into().expect("four bytes"))
}
