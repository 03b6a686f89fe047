//! Tests of ACK thinning: they put frames on a link and check which of them arrive, and when.

use fullpipe_pool::Rng;

use crate::link::{Delivery, Direction, FrameLoss, LinkEngine, LinkModel, Queue};

use super::*;

/// A segment with `payload` bytes; `port` identifies its connection.
fn segment(port: u8, ack: u32, payload: usize) -> Vec<u8> {
    let packet_len = IPV4_HEADER_LEN + TCP_HEADER_LEN + payload;
    let mut frame = vec![0; ETHERNET_HEADER_LEN + packet_len];
    frame[12..14].copy_from_slice(&IPV4);
    let packet = &mut frame[ETHERNET_HEADER_LEN..];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(packet_len as u16).to_be_bytes());
    packet[9] = TCP;
    let segment = &mut packet[IPV4_HEADER_LEN..];
    segment[1] = port;
    segment[8..12].copy_from_slice(&ack.to_be_bytes());
    segment[12] = 0x50;
    segment[13] = ACK;
    frame
}

fn engine(queue: Queue) -> LinkEngine {
    let link = LinkModel {
        ack_thinning: Some(AckThinning {
            every: 4,
            wait_us: 10_000,
        }),
        queue,
        ..LinkModel::ideal()
    };
    LinkEngine::new(link, &Rng::seeded(7))
}

/// Time in microseconds and ACK number of each arrival.
fn arrivals(engine: &mut LinkEngine) -> Vec<(u64, u32)> {
    let mut arrived = Vec::new();
    let seen = |Delivery { at, frame, .. }: Delivery| {
        let ack = PureAck::of(&frame).map_or(0, |ack| ack.ack);
        (at.as_micros(), ack)
    };
    while let Some(next) = engine.next_event() {
        arrived.extend(std::iter::from_fn(|| engine.take(next)).map(seen));
    }
    arrived
}

fn offer(engine: &mut LinkEngine, frames: impl IntoIterator<Item = Vec<u8>>, at_us: u64) {
    let at = Instant::from_micros(at_us);
    frames
        .into_iter()
        .for_each(|frame| engine.offer(Direction::Forward, frame, at));
}

#[test]
fn one_of_every_four_acks_is_sent_and_the_last_waits_no_longer_than_set() {
    let mut link = engine(Queue::Unlimited);
    let near_the_wrap = u32::MAX - 4;
    let acks = (1..=10).map(|number| near_the_wrap.wrapping_add(number));
    offer(&mut link, acks.clone().map(|ack| segment(1, ack, 0)), 0);
    let acks: Vec<_> = acks.collect();
    let expected = [(0, acks[3]), (0, acks[7]), (10_000, acks[9])];
    assert_eq!(arrivals(&mut link), expected);
    let counters = link.counters(Direction::Forward);
    assert_eq!(counters.lost.frames(FrameLoss::AckThinning), 7);
    assert_eq!(counters.offered, counters.delivered + counters.lost.all());
}

#[test]
fn what_an_ack_does_not_replace_sends_it_off_in_order() {
    for (name, behind, number) in [
        ("a duplicate ACK", segment(1, 500, 0), 500),
        ("payload", segment(1, 500, 100), 0),
        ("an ACK of another connection", segment(2, 900, 0), 900),
    ] {
        let mut link = engine(Queue::Unlimited);
        offer(&mut link, [segment(1, 500, 0)], 0);
        offer(&mut link, [behind], 2_000);
        let arrived = arrivals(&mut link);
        assert_eq!(arrived[0], (2_000, 500), "{name}");
        assert_eq!(arrived[1].1, number, "{name}");
        let lost = link.counters(Direction::Forward).lost.all();
        assert_eq!(lost, 0, "{name}");
    }
}

#[test]
fn a_device_may_offer_the_next_frame_while_an_ack_waits() {
    let mut link = engine(Queue::Device);
    offer(&mut link, [segment(1, 500, 0)], 0);
    assert!(link.has_room(Direction::Forward));
    offer(&mut link, [segment(1, 900, 0)], 1_000);
    assert_eq!(arrivals(&mut link), [(10_000, 900)]);
}

#[test]
fn pure_acks_over_ipv6_are_thinned_too() {
    use crate::ids::Family;
    use crate::test_frames;
    use fullpipe_wire::{Ecn, TcpFlags, TcpHeader};
    let frame = |ack, payload: &[u8]| {
        let header = TcpHeader {
            src_port: 1,
            ack,
            flags: TcpFlags::ACK,
            ..TcpHeader::default()
        };
        test_frames::segment(Family::V6, &header, payload, Ecn::NotEct)
    };
    let mut link = engine(Queue::Unlimited);
    offer(&mut link, (1..=4).map(|ack| frame(ack * 100, &[])), 0);
    assert_eq!(arrivals(&mut link), [(0, 400)]);
    assert_eq!(PureAck::of(&frame(1, b"payload")), None);
    let ack = frame(1, &[]);
    let mut to_another = ack.clone();
    to_another[53] ^= 1; // the last byte of an address
    let [one, other] = [ack, to_another].map(|frame| PureAck::of(&frame).expect("an ACK"));
    assert_ne!(one.connection, other.connection);
}

#[test]
fn handshakes_fragments_and_datagrams_are_no_pure_acks() {
    let tcp = ETHERNET_HEADER_LEN + IPV4_HEADER_LEN;
    let changed = |place: usize, to: u8| {
        let mut frame = segment(1, 500, 0);
        frame[place] = to;
        frame
    };
    assert!(PureAck::of(&segment(1, 500, 0)).is_some());
    for (name, frame) in [
        ("SYN, ACK", changed(tcp + 13, 0x12)),
        ("FIN, ACK", changed(tcp + 13, 0x11)),
        ("RST", changed(tcp + 13, 0x04)),
        ("a fragment", changed(ETHERNET_HEADER_LEN + 7, 1)),
        ("a datagram", changed(ETHERNET_HEADER_LEN + 9, 17)),
        ("ARP", changed(13, 0x06)),
        ("payload", segment(1, 500, 1)),
        ("a cut header", segment(1, 500, 0)[..tcp + 10].to_vec()),
    ] {
        assert_eq!(PureAck::of(&frame), None, "{name}");
    }
}
