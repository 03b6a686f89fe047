//! Tests of the counters, with links drawn at random.

use fullpipe_pool::{Duration, Instant, Rng};
use fullpipe_wire::{Ecn, EtherType, EthernetHeader, Ipv4Header, MacAddress, Protocol};

use super::LinkCounters;
use crate::Seed;
use crate::link::{
    Direction, ETHERNET_HEADER_LEN, FrameLoss, LinkEngine, LinkModel, Outage, Queue, TokenBucket,
};
use crate::world_plan::WorldPlan;

/// Frames offered in each direction.
const FRAMES: u32 = 300;

/// An IPv4 frame of `len` bytes that must not be fragmented.
fn frame(len: usize, ecn: Ecn) -> Vec<u8> {
    let mut frame = vec![7; len];
    let payload_len = len - ETHERNET_HEADER_LEN - Ipv4Header::LEN;
    let [src, dst] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let (link, packet) = frame.split_at_mut(ETHERNET_HEADER_LEN);
    EthernetHeader {
        dst: MacAddress([2; 6]),
        src: MacAddress([4; 6]),
        ether_type: EtherType::Ipv4,
    }
    .write(link);
    Ipv4Header {
        ecn,
        dont_fragment: true,
        ..Ipv4Header::new(src, dst, Protocol::Tcp, payload_len)
    }
    .write(packet);
    frame
}

/// A pure ACK with the longest header.
fn pure_ack(ack: u32) -> Vec<u8> {
    const HEADER: usize = 60;
    let mut frame = frame(ETHERNET_HEADER_LEN + Ipv4Header::LEN + HEADER, Ecn::NotEct);
    let segment = &mut frame[ETHERNET_HEADER_LEN + Ipv4Header::LEN..];
    segment[8..12].copy_from_slice(&ack.to_be_bytes());
    segment[12..14].copy_from_slice(&[0xf0, 0x10]);
    frame
}

/// Offers frames of random lengths, and now and then two ACKs, at random times in both
/// directions, and waits for all arrivals. The link is down for a tenth of the time.
fn exchange(engine: &mut LinkEngine, rng: &mut Rng) {
    let mut now = Instant::ZERO;
    for number in 0..FRAMES {
        now += Duration::from_micros(rng.between(0, 3_000));
        engine.set_up(!(100..130).contains(&number));
        for direction in Direction::ALL {
            let most = engine.link(direction).mtu + ETHERNET_HEADER_LEN + 8;
            let len = rng.between(60, most as u64) as usize;
            let ecn = [Ecn::NotEct, Ecn::Ect0][rng.below(2) as usize];
            match number % 10 {
                0 | 1 => engine.offer(direction, pure_ack(number), now),
                _ => engine.offer(direction, frame(len, ecn), now),
            }
        }
        while engine.take(now).is_some() {}
    }
    while let Some(next) = engine.next_event() {
        while engine.take(next).is_some() {}
    }
}

#[test]
fn every_frame_of_a_random_link_has_one_end_and_every_reason_occurs() {
    let mut all = LinkCounters::default();
    for seed in 0..200 {
        let plan = WorldPlan::draw(Seed(seed)).links.swap_remove(0);
        let mut rng = Rng::seeded(seed).fork_named("frames");
        let outage = Outage {
            after_us: rng.between(0, 400_000),
            length_us: rng.between(0, 50_000),
        };
        let [forward, back] =
            [plan.forward, plan.back.unwrap_or(plan.forward)].map(|model| LinkModel {
                outage: Some(outage),
                ..model
            });
        let mut engine = LinkEngine::asymmetric(forward, back, &rng.fork_named("link"));
        exchange(&mut engine, &mut rng);
        assert_eq!(engine.held(), 0);
        for direction in Direction::ALL {
            let own = engine.counters(direction);
            assert_eq!(own.offered, u64::from(FRAMES));
            assert_eq!(
                own.offered + own.duplicated + own.hop_messages,
                own.delivered + own.lost.all(),
                "seed {seed}, {direction:?}: {own:?}"
            );
            let lost_bytes: u64 = own.lost.iter().map(|(.., bytes)| bytes).sum();
            assert!(own.carried_bytes <= own.offered_bytes && lost_bytes <= own.offered_bytes);
            assert!(own.mean_wait() <= own.longest_wait);
            all.add(own);
        }
    }
    for (reason, frames, bytes) in all.lost.iter() {
        assert!(
            frames > 0 && bytes > 59 * frames,
            "{reason:?}: {frames}, {bytes} bytes"
        );
    }
    assert!(all.overtaken > 0 && all.reordered > 0);
}

#[test]
fn the_wait_in_the_queue_is_counted_from_joining_it_to_the_start_on_the_wire() {
    let model = LinkModel {
        rate_bps: 1_000_000,
        queue: Queue::Packets(10),
        ..LinkModel::ideal()
    };
    let mut engine = LinkEngine::new(model, &Rng::seeded(1));
    for _ in 0..13 {
        engine.offer(Direction::Forward, frame(125, Ecn::NotEct), Instant::ZERO);
    }
    while let Some(next) = engine.next_event() {
        while engine.take(next).is_some() {}
    }
    let own = engine.counters(Direction::Forward);
    // One frame is on the wire, ten wait 1 to 10 ms, and two find the queue full.
    assert_eq!(own.lost.frames(FrameLoss::Queue), 2);
    assert_eq!(own.lost.bytes(FrameLoss::Queue), 250);
    assert_eq!(own.waited, Duration::from_millis(55));
    assert_eq!(own.mean_wait(), Duration::from_millis(5));
    assert_eq!(own.longest_wait, Duration::from_millis(10));
    assert_eq!((own.longest_queue, own.longest_queue_bytes), (10, 1_250));
    assert_eq!(own.busy, Duration::from_millis(11));
}

#[test]
fn a_frame_that_a_later_one_overtakes_is_counted_when_it_arrives() {
    let model = LinkModel {
        reordering: Some(crate::link::Reordering {
            chance: 0.3,
            late_us: 10_000,
        }),
        ..LinkModel::ideal()
    };
    let mut engine = LinkEngine::new(model, &Rng::seeded(3));
    for number in 0..500_u64 {
        let mut frame = frame(100, Ecn::NotEct);
        frame[60..68].copy_from_slice(&number.to_be_bytes());
        engine.offer(Direction::Back, frame, Instant::from_millis(number));
    }
    let (mut highest, mut overtaken) = (0, 0);
    while let Some(next) = engine.next_event() {
        while let Some(arrived) = engine.take(next) {
            let number = u64::from_be_bytes(arrived.frame[60..68].try_into().unwrap());
            overtaken += u64::from(number < highest);
            highest = highest.max(number);
        }
    }
    assert_eq!(engine.counters(Direction::Back).overtaken, overtaken);
    assert!(overtaken > 50, "{overtaken}");
}

#[test]
fn a_token_bucket_with_a_short_queue_loses_frames_as_a_policer() {
    let model = LinkModel {
        rate_bps: 100_000_000,
        token_bucket: Some(TokenBucket::with_latency(1_000_000, 3_000, 0)),
        ..LinkModel::ideal()
    };
    let mut engine = LinkEngine::new(model, &Rng::seeded(1));
    for number in 0..20 {
        let now = Instant::from_millis(number);
        engine.offer(Direction::Forward, frame(1_000, Ecn::NotEct), now);
    }
    let lost = &engine.counters(Direction::Forward).lost;
    assert!(lost.frames(FrameLoss::TokenBucket) > 10);
    assert_eq!(lost.frames(FrameLoss::TokenBucket), lost.all());
}
