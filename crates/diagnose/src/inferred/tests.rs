//! Tests of the inference with short transfers that are written frame by frame.

use std::net::Ipv4Addr;

use fullpipe_wire::{
    Checksum, EtherType, EthernetHeader, Ipv4Header, MacAddress, Protocol, TcpFlags, TcpHeader,
    UdpHeader, tcp, udp,
};

use super::*;

const MS: u64 = 1_000_000;
/// One-way delay of the path.
const DELAY_NS: u64 = 20 * MS;

/// A TCP frame with a payload of `len` bytes.
fn frame(seq: u32, ack: u32, len: usize) -> Vec<u8> {
    let segment_len = TcpHeader::LEN + len;
    let mut frame = vec![0; EthernetHeader::LEN + Ipv4Header::LEN + segment_len];
    let (link, packet) = frame.split_at_mut(EthernetHeader::LEN);
    EthernetHeader {
        dst: MacAddress([2; 6]),
        src: MacAddress([4; 6]),
        ether_type: EtherType::Ipv4,
    }
    .write(link);
    let [src, dst] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(Ipv4Addr::from);
    Ipv4Header::new(src, dst, Protocol::Tcp, segment_len).write(packet);
    let segment = &mut packet[Ipv4Header::LEN..];
    let header = TcpHeader {
        src_port: 1,
        dst_port: 2,
        seq,
        ack,
        flags: TcpFlags::ACK,
        ..TcpHeader::default()
    };
    header.write(segment);
    let (head, payload) = segment.split_at_mut(TcpHeader::LEN);
    tcp::set_checksum(head, src.into(), dst.into(), Checksum::of(payload));
    frame
}

/// Both ends of a path. Each of `frames` has the time at which it left the first end and, if it
/// arrived, the time at which it reached the second end.
fn seen(frames: &[(Vec<u8>, u64, Option<u64>)]) -> PathInference {
    let mut ends = [EndFrames::default(), EndFrames::default()];
    let mut arrived = Vec::new();
    for (frame, sent_ns, arrived_ns) in frames {
        ends[0].sent.push(SeenFrame::ethernet(*sent_ns, frame));
        arrived.extend(arrived_ns.map(|at_ns| SeenFrame::ethernet(at_ns, frame)));
    }
    arrived.sort_by_key(|frame| frame.at_ns);
    ends[1].received = arrived;
    infer([&ends[0], &ends[1]], u64::MAX / 8)
}

#[test]
fn values_of_a_direction_without_frames_are_unknown_and_not_zero() {
    let forward = seen(&[]).forward;
    assert_eq!(forward.rate_bps, Inferred::Unknown(Unknown::NoQueue));
    assert_eq!(forward.busy_share, Inferred::Unknown(Unknown::TooFewFrames));
    assert_eq!(
        forward.queue_delay,
        Inferred::Unknown(Unknown::TooFewFrames)
    );
}

#[test]
fn of_equal_frames_that_one_is_lost_whose_delay_does_not_fit() {
    let sent: Vec<_> = (0..9_u64)
        .map(|number| {
            let at_ns = number * 5 * MS;
            let arrived = (number != 4).then_some(at_ns + DELAY_NS);
            // Make frames 3, 4 and 5 equal, as repeated acknowledgments are.
            let ack = if (3..6).contains(&number) { 3 } else { number };
            (frame(1, ack as u32, 0), at_ns, arrived)
        })
        .collect();
    let forward = seen(&sent).forward;
    assert_eq!((forward.frames.lost, forward.frames.duplicated), (1, 0));
    assert_eq!((forward.frames.alike, forward.frames.overtaken), (3, 0));
    let Inferred::Known(delay, _) = forward.queue_delay else {
        panic!("{:?}", forward.queue_delay);
    };
    assert_eq!(delay.largest_ms, 0.0);
}

#[test]
fn acknowledgments_that_arrive_together_are_compressed() {
    let sent: Vec<_> = (0..12_u64)
        .map(|number| {
            let at_ns = number * 2 * MS;
            // Let groups of four frames arrive together, at the time of the group's last frame.
            // One acknowledgment is lost.
            let together = (number / 4 * 4 + 3) * 2 * MS + DELAY_NS;
            let arrived = (number != 5).then_some(together + number * 1_000);
            (frame(1, 1_000 * number as u32, 0), at_ns, arrived)
        })
        .collect();
    let acks = seen(&sent).forward.acks;
    assert_eq!((acks.sent, acks.arrived, acks.compressed), (12, 11, 8));
    assert_eq!(acks.bytes_each, 1_000.0);
}

#[test]
fn a_frame_with_a_flipped_byte_is_damaged_and_not_lost() {
    let mut ends = [EndFrames::default(), EndFrames::default()];
    for number in 0..50_u32 {
        let at_ns = u64::from(number) * MS;
        let mut bytes = frame(1 + number * 100, 1, 100);
        ends[0].sent.push(SeenFrame::ethernet(at_ns, &bytes));
        if number == 20 {
            // Damage a byte of the sequence number.
            bytes[EthernetHeader::LEN + Ipv4Header::LEN + 5] ^= 0x40;
        }
        let arrived = SeenFrame::ethernet(at_ns + DELAY_NS, &bytes);
        ends[1].received.push(arrived);
    }
    let frames = infer([&ends[0], &ends[1]], 1_000 * MS).forward.frames;
    assert_eq!((frames.lost, frames.damaged, frames.foreign), (0, 1, 0));
}

/// A datagram that carries `number`.
fn datagram(number: u32) -> Vec<u8> {
    let payload = number.to_be_bytes();
    let len = UdpHeader::LEN + payload.len();
    let mut frame = frame(0, 0, 0);
    frame.truncate(EthernetHeader::LEN + Ipv4Header::LEN + len);
    let packet = &mut frame[EthernetHeader::LEN..];
    let [src, dst] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(Ipv4Addr::from);
    Ipv4Header::new(src, dst, Protocol::Udp, len).write(packet);
    let (head, rest) = packet[Ipv4Header::LEN..].split_at_mut(UdpHeader::LEN);
    rest.copy_from_slice(&payload);
    let header = UdpHeader {
        src_port: 1,
        dst_port: 2,
        len: len as u16,
    };
    header.write(head);
    udp::set_checksum(head, src.into(), dst.into(), Checksum::of(&payload));
    frame
}

/// Datagrams differ in the word of 8 bytes that has the checksum and the number. The damaged one
/// arrives so late that the next one was sent at the expected time.
#[test]
fn the_original_of_a_damaged_frame_differs_in_the_fewest_bytes() {
    let mut ends = [EndFrames::default(), EndFrames::default()];
    for number in 0..50_u32 {
        let at_ns = u64::from(number) * MS;
        let mut bytes = datagram(number);
        ends[0].sent.push(SeenFrame::ethernet(at_ns, &bytes));
        let mut arrived_ns = at_ns + DELAY_NS;
        if number == 20 {
            *bytes.last_mut().unwrap() ^= 0x40;
            arrived_ns += MS - 1;
        }
        ends[1]
            .received
            .push(SeenFrame::ethernet(arrived_ns, &bytes));
    }
    let frames = infer([&ends[0], &ends[1]], 1_000 * MS).forward.frames;
    assert_eq!((frames.lost, frames.damaged, frames.duplicated), (0, 1, 0));
}

#[test]
fn frames_at_the_end_of_the_observation_are_undecided() {
    let mut ends = [EndFrames::default(), EndFrames::default()];
    for number in 0..50_u32 {
        let at_ns = u64::from(number) * MS;
        let bytes = frame(1 + number * 100, 1, 100);
        ends[0].sent.push(SeenFrame::ethernet(at_ns, &bytes));
        if number < 40 {
            let arrived = SeenFrame::ethernet(at_ns + DELAY_NS, &bytes);
            ends[1].received.push(arrived);
        }
    }
    let until = |end_ns| infer([&ends[0], &ends[1]], end_ns).forward.frames;
    let frames = until(60 * MS);
    assert_eq!((frames.lost, frames.undecided), (0, 10));
    let frames = until(1_000 * MS);
    assert_eq!((frames.lost, frames.undecided), (10, 0));
}

#[test]
fn a_single_burst_is_never_of_high_confidence() {
    let sent: Vec<_> = (0..1_000_u32)
        .map(|number| {
            let at_ns = u64::from(number) * MS;
            let arrived = !(500..530).contains(&number);
            let arrived = arrived.then_some(at_ns + DELAY_NS);
            (frame(1 + number * 100, 1, 100), at_ns, arrived)
        })
        .collect();
    let forward = seen(&sent).forward;
    assert_eq!(forward.lost(LossReason::Burst), 30);
    assert_eq!(forward.confidence, Confidence::Low);
}
