//! The first flow's path without other traffic: loss, round-trip time and rate.
//!
//! Rule: all values follow from the links' settings, never from measurements. Queueing delay and
//! processing time are excluded.

use fullpipe_sim::{
    Family,
    link::{Direction, ETHERNET_HEADER_LEN, LinkModel},
};
use fullpipe_wire::{TcpHeader, UdpHeader, ipv6::FragmentHeader};

use crate::experiment::Setup;

/// Bytes of the timestamps option, padding included.
pub const TIMESTAMPS: u64 = 12;

/// Properties of the path from the sender to the receiver and back.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Probability that a frame with payload is lost.
    pub loss: f64,
    /// Seconds from the departure of a full segment to the arrival of its acknowledgment.
    pub rtt_s: f64,
    /// Seconds that the slowest link takes for a full segment; 0 if no link has a rate.
    pub frame_s: f64,
    /// Payload rate of the slowest link for full segments, in bit/s; infinite if no link has a
    /// rate.
    pub payload_bps: f64,
}

impl Path {
    /// Returns the path of the first flow of `setup`, for segments or datagrams with
    /// `segment_bytes` of payload.
    pub fn of(setup: &Setup, segment_bytes: u64) -> Self {
        let flow = setup.flow();
        let frames = Frames::of(setup, segment_bytes, smallest_mtu(setup));
        let frame_bits = frames.bits;
        let mut path = Self {
            loss: 0.0,
            rtt_s: 0.0,
            frame_s: 0.0,
            payload_bps: f64::INFINITY,
        };
        for (number, way) in setup.route(flow.from, flow.to) {
            let link = &setup.links[number];
            let delays = Direction::ALL.map(|direction| link.link(direction).delay_us as f64);
            let there = link.link(way);
            path.loss = 1.0 - (1.0 - path.loss) * (1.0 - there.loss);
            path.rtt_s += delays.iter().sum::<f64>() / 1e6 + bits_s(&there, frame_bits);
            path.rtt_s += there.radio.map_or(0.0, |_| access_s(&there) * 2.0);
            path.frame_s = path.frame_s.max(frames.occupy_s(&there));
        }
        if path.frame_s > 0.0 {
            path.payload_bps = segment_bytes as f64 * 8.0 / path.frame_s;
        }
        path
    }
}

/// Returns the largest payload, in bytes, that the path and both ends of the first flow allow in a
/// segment. For a flow of datagrams, returns the payload of a datagram.
pub fn full_segment(setup: &Setup) -> u64 {
    let flow = setup.flow();
    if flow.is_udp() {
        return flow.write.into();
    }
    let [sender, receiver] = [flow.from, flow.to].map(|place| &setup.hosts[place].config.tcp);
    (smallest_mtu(setup) - headers(setup))
        .min(sender.mss_max.min(receiver.mss_max).into())
        .saturating_sub(timestamps(setup))
}

/// Returns the size of the largest packet that fits every link of the first flow's path.
pub fn smallest_mtu(setup: &Setup) -> u64 {
    let flow = setup.flow();
    let mtu = |(number, way): (usize, Direction)| {
        let link = setup.links[number].link(way);
        let hop = link.hop.map_or(usize::MAX, |hop| hop.mtu.into());
        link.mtu.min(hop) as u64
    };
    let mtus = setup.route(flow.from, flow.to).into_iter().map(mtu);
    mtus.fold(u16::MAX.into(), u64::min)
}

/// Returns the largest MSS with which every packet of the first flow fits every link of its path.
pub fn largest_mss(setup: &Setup) -> u64 {
    smallest_mtu(setup).saturating_sub(headers(setup))
}

/// Returns the payload of the largest datagram that the first flow's path carries without fragments.
pub fn largest_datagram(setup: &Setup) -> u64 {
    let headers = setup.flow().family.header_len() + UdpHeader::LEN;
    smallest_mtu(setup).saturating_sub(headers as u64)
}

/// Returns the highest goodput of the first flow, in Mbit/s, that the rates of its links and the
/// headers allow; infinite if no link has a rate.
pub fn most_mbps(setup: &Setup) -> f64 {
    let flow = setup.flow();
    let route = setup.route(flow.from, flow.to).into_iter();
    let links = route.map(|(number, way)| setup.links[number].link(way));
    // A router behind a link may split packets, so only the MTUs of the links count.
    let mtu = links.clone().map(|link| link.mtu as u64).min();
    let rate_bps = links.map(|link| link.rate_bps).filter(|rate| *rate > 0);
    let (Some(mtu), Some(rate_bps)) = (mtu, rate_bps.min()) else {
        return f64::INFINITY;
    };
    let payload = match flow.is_udp() {
        true => flow.write.into(),
        false => mtu
            .saturating_sub(headers(setup) + timestamps(setup))
            .max(1),
    };
    let frames = Frames::of(setup, payload, mtu);
    rate_bps as f64 * (payload * 8) as f64 / frames.bits / 1e6
}

/// Returns the length in bytes of the IP and TCP headers, without options, in each packet of the
/// first flow.
fn headers(setup: &Setup) -> u64 {
    (setup.flow().family.header_len() + TcpHeader::LEN) as u64
}

/// The frames that carry one segment or one datagram of the first flow.
struct Frames {
    /// Bits of all frames, headers included.
    bits: f64,
    /// Number of frames.
    count: u64,
    /// Bits of the frame of an ACK; `None` for datagrams, which are not acknowledged.
    ack_bits: Option<f64>,
}

impl Frames {
    /// Returns the frames for `payload` bytes. A datagram larger than `mtu` allows is split into
    /// fragments.
    fn of(setup: &Setup, payload: u64, mtu: u64) -> Self {
        let bits = |bytes: u64| (bytes * 8) as f64;
        let link_header = ETHERNET_HEADER_LEN as u64;
        if !setup.flow().is_udp() {
            let header = link_header + headers(setup) + timestamps(setup);
            return Self {
                bits: bits(payload + header),
                count: 1,
                ack_bits: Some(bits(header)),
            };
        }
        let ip = setup.flow().family.header_len() as u64;
        let packet = payload + UdpHeader::LEN as u64;
        let is_whole = packet + ip <= mtu;
        // A fragment of IPv6 has a header of its own.
        let of_fragment = match setup.flow().family {
            _ if is_whole => ip,
            Family::V4 => ip,
            Family::V6 => ip + FragmentHeader::LEN as u64,
        };
        let room = mtu.saturating_sub(of_fragment) / 8 * 8;
        let count = match is_whole {
            true => 1,
            false => packet.div_ceil(room.max(8)),
        };
        Self {
            bits: bits(packet + count * (link_header + of_fragment)),
            count,
            ack_bits: None,
        }
    }

    /// Returns the seconds from the start of these frames to the start of the next, on a link that
    /// is never idle.
    fn occupy_s(&self, link: &LinkModel) -> f64 {
        match self.ack_bits {
            Some(ack_bits) => frame_s(link, self.bits, ack_bits),
            // Only the sender uses the radio, so no access is contended.
            None => occupied_s(link, self.bits, access_s(link) * self.count as f64),
        }
    }
}

/// Returns the bytes of the timestamps option in each segment of the first flow.
fn timestamps(setup: &Setup) -> u64 {
    let flow = setup.flow();
    let mut ends = [flow.from, flow.to].into_iter();
    let both = ends.all(|place| setup.hosts[place].config.tcp.timestamps);
    if both { TIMESTAMPS } else { 0 }
}

/// Returns the seconds that frames of these lengths, sent back to back, occupy the slowest link
/// from one host to another; 0 if no link has a rate.
pub fn frames_s(setup: &Setup, from: usize, to: usize, frames: &[usize]) -> f64 {
    let of_link = |(number, way): (usize, Direction)| {
        let link = setup.links[number].link(way);
        let one = |bytes: &usize| occupied_s(&link, *bytes as f64 * 8.0, access_s(&link));
        frames.iter().map(one).sum::<f64>()
    };
    setup
        .route(from, to)
        .into_iter()
        .map(of_link)
        .fold(0.0, f64::max)
}

/// Returns the seconds from the start of one full segment to the start of the next, on a link that
/// is never idle.
fn frame_s(link: &LinkModel, frame_bits: f64, ack_bits: f64) -> f64 {
    // On a radio, add the time of the medium accesses. Data and ACKs share the air, and one ACK
    // acknowledges two segments. Each pair of segments therefore takes three accesses. The sender
    // always has a segment to send; the receiver contends only while an ACK waits. Each end wins
    // half of the contentions, so an ACK takes part in two contentions on average: a segment wins
    // one of them, and the ACK wins the other. On average, two of the three accesses are therefore
    // contended, and one is not. The backoff of a contended access is the shorter of two random
    // backoffs. Its mean is a third of the longest backoff. The mean backoff of the other access is
    // half of the longest backoff.
    let air = link.radio.map_or(0.0, |radio| {
        let backoff_us = radio.backoff_us as f64 * (2.0 / 3.0 + 1.0 / 2.0) / 2.0;
        (radio.access_us as f64 * 1.5 + backoff_us) / 1e6 + bits_s(link, ack_bits) / 2.0
    });
    occupied_s(link, frame_bits, air)
}

/// Returns the seconds for which `bits` occupy a link, including `air_s` for medium access.
fn occupied_s(link: &LinkModel, bits: f64, air_s: f64) -> f64 {
    let shaped = link
        .token_bucket
        .map_or(0.0, |bucket| bits / bucket.rate_bps as f64);
    shaped.max(bits_s(link, bits) + air_s)
}

fn bits_s(link: &LinkModel, bits: f64) -> f64 {
    if link.rate_bps > 0 {
        bits / link.rate_bps as f64
    } else {
        0.0
    }
}

/// Returns the mean time in seconds from a radio's request for the medium to the first bit of its
/// frame.
fn access_s(link: &LinkModel) -> f64 {
    link.radio.map_or(0.0, |radio| {
        (radio.access_us as f64 + radio.backoff_us as f64 / 2.0) / 1e6
    })
}

#[cfg(test)]
mod tests;
