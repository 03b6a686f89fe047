//! What a connection looks like from the wire: segments, sizes, gaps.
//!
//! Rule: only what leaves a host is measured, as a capture at its device would
//! show it; nothing is asked of the stack. So a stack cannot flatter itself.

use std::collections::BTreeMap;

use fullpipe_pool::{Duration, Instant};
use fullpipe_wire::TcpFlags;

use crate::packet::TcpPacket;

/// Bytes of the timestamps option as it is sent, padding included.
const TIMESTAMPS_LEN: u32 = 12;
/// What may be sent to a peer that names no MSS. RFC 9293 §3.7.1.
const DEFAULT_MSS: u16 = 536;

/// One direction of one connection.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// Segments, whatever they carry.
    pub segments: u64,
    /// Segments with text.
    pub data_segments: u64,
    /// Bytes of text, retransmissions counted each time.
    pub text_bytes: u64,
    /// Segments with text that begins below what was sent before.
    pub retransmitted_segments: u64,
    /// How many segments had how many bytes of text.
    sizes: BTreeMap<u32, u64>,
    /// Sizes of the segments that ended the stream as far as it goes.
    tail: Vec<u32>,
    /// Behind the text sent so far.
    text_end: Option<u32>,
    /// The MSS option of this direction's SYN.
    mss: Option<u16>,
    timestamps: bool,
    last_data: Option<Instant>,
    /// Longest time between two segments with text.
    pub longest_data_gap: Duration,
}

impl Meter {
    /// Counts a segment that leaves at `at`.
    pub fn segment(&mut self, at: Instant, packet: &TcpPacket) {
        self.segments += 1;
        let header = &packet.header;
        if packet.has(TcpFlags::SYN) {
            self.mss = header.options.mss;
            self.timestamps = header.options.timestamps.is_some();
        }
        if packet.text_len == 0 {
            return;
        }
        self.data_segments += 1;
        self.text_bytes += u64::from(packet.text_len);
        *self.sizes.entry(packet.text_len).or_default() += 1;
        let end = header.seq.wrapping_add(packet.text_len);
        let before = self.text_end.unwrap_or(header.seq);
        if (header.seq.wrapping_sub(before) as i32) < 0 {
            self.retransmitted_segments += 1;
        }
        let beyond = end.wrapping_sub(before) as i32;
        if beyond > 0 {
            self.tail.clear();
            self.text_end = Some(end);
        }
        if beyond >= 0 {
            self.tail.push(packet.text_len);
        }
        if let Some(last) = self.last_data {
            self.longest_data_gap = self.longest_data_gap.max(at.since(last));
        }
        self.last_data = Some(at);
    }

    /// Text in a full-sized segment, as the SYNs of `self` and of the other
    /// direction and the sender's `mtu` allow.
    pub fn full_size(&self, other: &Self, mtu: usize) -> u32 {
        let path = mtu.saturating_sub(40) as u32;
        let text = path.min(u32::from(other.mss.unwrap_or(DEFAULT_MSS)));
        if self.timestamps && other.timestamps {
            text - TIMESTAMPS_LEN
        } else {
            text
        }
    }

    /// Segments that were sent full of `full_size` bytes, and all segments with
    /// text, both without those that ended the stream.
    pub fn full_sized(&self, full_size: u32) -> (u64, u64) {
        let count = |sizes: &mut dyn Iterator<Item = (u32, u64)>| {
            sizes.fold((0, 0), |(full, all), (size, number)| {
                (
                    full + if size >= full_size { number } else { 0 },
                    all + number,
                )
            })
        };
        let (full, all) = count(&mut self.sizes.iter().map(|(size, number)| (*size, *number)));
        let (full_tail, tail) = count(&mut self.tail.iter().map(|size| (*size, 1)));
        (full - full_tail, all - tail)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use fullpipe_wire::{TcpHeader, TcpOptions, Timestamps};

    use super::*;

    fn send(meter: &mut Meter, at_ms: u64, seq: u32, text_len: u32) {
        let nobody = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        let header = TcpHeader {
            seq,
            flags: TcpFlags::ACK,
            ..TcpHeader::default()
        };
        let packet = TcpPacket {
            src: nobody,
            dst: nobody,
            header,
            text_len,
        };
        meter.segment(Instant::from_millis(at_ms), &packet);
    }

    #[test]
    fn the_end_of_the_stream_does_not_count_as_a_small_segment() {
        let mut meter = Meter::default();
        let start = u32::MAX - 1_500; // the sequence space wraps
        for (number, text_len) in [1_000, 1_000, 400, 1_000, 77].into_iter().enumerate() {
            let seq = start.wrapping_add([0, 1_000, 2_000, 2_400, 3_400][number]);
            send(&mut meter, number as u64, seq, text_len);
        }
        assert_eq!(meter.full_sized(1_000), (3, 4));
        send(&mut meter, 9, start.wrapping_add(3_400), 77); // the end again
        assert_eq!(meter.full_sized(1_000), (3, 4));
        assert_eq!(meter.retransmitted_segments, 1);
        send(&mut meter, 9, start.wrapping_add(2_000), 400);
        assert_eq!(meter.full_sized(1_000), (3, 5));
        assert_eq!(meter.retransmitted_segments, 2);
    }

    #[test]
    fn a_gap_is_the_time_between_segments_with_text() {
        let mut meter = Meter::default();
        for (at_ms, text_len) in [(0, 0), (5, 10), (8, 10), (100, 0), (120, 10)] {
            let seq = meter.text_end.unwrap_or(0);
            send(&mut meter, at_ms, seq, text_len);
        }
        assert_eq!(meter.longest_data_gap, Duration::from_millis(112));
    }

    #[test]
    fn the_full_size_is_what_the_peer_the_mtu_and_the_options_leave() {
        let syn = |mss, timestamps: bool| {
            let timestamps = timestamps.then_some(Timestamps { value: 1, echo: 0 });
            let options = TcpOptions {
                mss,
                timestamps,
                ..TcpOptions::NONE
            };
            let nobody = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
            let header = TcpHeader {
                flags: TcpFlags::SYN,
                options,
                ..TcpHeader::default()
            };
            let packet = TcpPacket {
                src: nobody,
                dst: nobody,
                header,
                text_len: 0,
            };
            let mut meter = Meter::default();
            meter.segment(Instant::ZERO, &packet);
            meter
        };
        for (own, peer, mtu, expected) in [
            (syn(Some(1_460), true), syn(Some(1_460), true), 1_500, 1_448),
            (
                syn(Some(1_460), true),
                syn(Some(1_460), false),
                1_500,
                1_460,
            ),
            (syn(Some(1_460), false), syn(Some(500), false), 1_500, 500),
            (syn(Some(1_460), false), syn(None, false), 1_500, 536),
            (syn(Some(1_460), false), syn(Some(1_460), false), 576, 536),
        ] {
            assert_eq!(own.full_size(&peer, mtu), expected);
        }
    }
}
