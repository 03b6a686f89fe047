//! ACK thinning: a device that delays pure ACKs and sends only some of them.
//!
//! Rule: an ACK is dropped only if a later ACK of its connection, which acknowledges more, takes
//! its place. Every byte is therefore acknowledged, and a duplicate ACK never takes another ACK's
//! place. No ACK waits for other ACKs longer than `wait_us`. A waiting ACK delays no other frame:
//! when another frame is queued behind the ACK, the ACK stops waiting.
//!
//! Modems and half-duplex radios thin ACKs to save transmissions (RFC 3449 §5.2.1).

use fullpipe_pool::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::frame::{ETHERNET_HEADER_LEN, IPV4, IPV6};
use super::queue::{FrameQueue, QueuedFrame};

/// The number of ACKs that one ACK replaces, and the longest wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AckThinning {
    /// Number of waiting ACKs of one connection after which the last of them is sent in place of
    /// all. Below 2, every ACK is sent.
    pub every: u32,
    /// Longest time for which an ACK waits for further ACKs, in microseconds. With 0, only ACKs
    /// that wait for the wire are thinned.
    pub wait_us: u64,
}

const TCP: u8 = 6;
const IPV4_HEADER_LEN: usize = 20;
const IPV6_HEADER_LEN: usize = 40;
const TCP_HEADER_LEN: usize = 20;
/// Mask of the flag MF and the fragment offset in the IPv4 header.
const FRAGMENT: u16 = 0x3fff;
/// The flag ACK.
const ACK: u8 = 0x10;
/// The flags that a pure ACK may have besides ACK.
const ECE_AND_CWR: u8 = 0xc0;

/// A segment that only acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PureAck {
    /// Addresses and ports. Unused bytes are 0.
    connection: [u8; 36],
    flags: u8,
    ack: u32,
}

impl PureAck {
    /// The pure ACK in `frame`; `None` if the frame carries no pure ACK.
    fn of(frame: &[u8]) -> Option<Self> {
        let (addresses, segment) = addresses_and_segment(frame)?;
        if segment.len() < TCP_HEADER_LEN {
            return None;
        }
        let flags = segment[13];
        let has_payload = segment.len() != usize::from(segment[12] >> 4) * 4;
        if has_payload || flags & !ECE_AND_CWR != ACK {
            return None;
        }
        let mut connection = [0; 36];
        connection[..4].copy_from_slice(&segment[..4]);
        connection[4..4 + addresses.len()].copy_from_slice(addresses);
        Some(Self {
            connection,
            flags,
            ack: u32::from_be_bytes([segment[8], segment[9], segment[10], segment[11]]),
        })
    }

    /// Returns true if this ACK has the connection and the flags of `earlier` and acknowledges
    /// more.
    fn replaces(&self, earlier: &Self) -> bool {
        let is_same = (self.connection, self.flags) == (earlier.connection, earlier.flags);
        is_same && (self.ack.wrapping_sub(earlier.ack) as i32) > 0
    }
}

/// The addresses of the packet in `frame`, and its TCP segment; `None` unless the packet carries a
/// whole segment.
fn addresses_and_segment(frame: &[u8]) -> Option<(&[u8], &[u8])> {
    let packet = frame.get(ETHERNET_HEADER_LEN..)?;
    let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let (addresses, protocol, segment) = match [frame[12], frame[13]] {
        IPV4 if packet.len() >= IPV4_HEADER_LEN && word(6) & FRAGMENT == 0 => {
            let header_len = usize::from(packet[0] & 0x0f) * 4;
            let segment = packet.get(header_len..word(2).into())?;
            (&packet[12..20], packet[9], segment)
        }
        IPV6 if packet.len() >= IPV6_HEADER_LEN => {
            let segment = packet[IPV6_HEADER_LEN..].get(..word(4).into())?;
            (&packet[8..40], packet[6], segment)
        }
        _ => return None,
    };
    (protocol == TCP).then_some((addresses, segment))
}

impl AckThinning {
    /// Puts `frame` at the end of `line`. If `frame` replaces a waiting ACK, returns the length of
    /// that ACK.
    pub(super) fn join(self, line: &mut FrameQueue, frame: Vec<u8>, now: Instant) -> Option<usize> {
        let joining = PureAck::of(&frame).filter(|_| self.every > 1);
        let replaced = joining.and_then(|joining| {
            line.remove_last(|waiting| {
                waiting.acks < self.every
                    && PureAck::of(&waiting.frame).is_some_and(|ack| joining.replaces(&ack))
            })
        });
        line.send_off(now);
        let acks = replaced.as_ref().map_or(0, |earlier| earlier.acks) + 1;
        let most = now + Duration::from_micros(self.wait_us);
        let until = replaced.as_ref().map_or(most, |earlier| earlier.since);
        let waits = joining.is_some() && acks < self.every && until > now;
        line.put(QueuedFrame {
            frame,
            since: if waits { until } else { now },
            is_delayed: waits,
            acks,
        });
        replaced.map(|earlier| earlier.frame.len())
    }
}

#[cfg(test)]
mod tests;
