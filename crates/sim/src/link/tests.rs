//! Tests of whole links: frames go in, and their arrivals are compared with the expected ones.

use std::net::IpAddr;

use fullpipe_pool::{Duration, Instant, Rng};

use super::corruption::Corruption;
use super::*;
use crate::ids::Family;
use crate::packet::IpPacket;
use crate::test_frames::{FAMILIES, addresses, ecn_of, packet};

/// A frame of `len` bytes. Each byte is `mark`, except the EtherType, which is that of IPv4.
fn frame(len: usize, mark: u8) -> Vec<u8> {
    let mut frame = vec![mark; len];
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame
}

fn engine(link: LinkModel) -> LinkEngine {
    link.check().unwrap();
    LinkEngine::new(link, &Rng::seeded(7))
}

/// Everything that arrives, driven only by the engine's own events.
fn arrivals(engine: &mut LinkEngine) -> Vec<Delivery> {
    let mut arrived = Vec::new();
    while let Some(next) = engine.next_event() {
        while let Some(delivery) = engine.take(next) {
            assert_eq!(delivery.at, next, "an arrival is an event of its own");
            arrived.push(delivery);
        }
    }
    arrived
}

fn offer_burst(engine: &mut LinkEngine, direction: Direction, count: usize, len: usize) {
    for mark in 0..count {
        engine.offer(direction, frame(len, mark as u8), Instant::ZERO);
    }
}

fn lost(engine: &LinkEngine, reason: FrameLoss) -> u64 {
    engine.counters(Direction::Forward).lost.frames(reason)
}

fn micros(delivery: &Delivery) -> u64 {
    delivery.at.as_micros()
}

#[test]
fn an_ideal_link_delivers_at_once_and_in_order() {
    let mut link = engine(LinkModel::ideal());
    offer_burst(&mut link, Direction::Forward, 10, 100);
    let arrived = arrivals(&mut link);
    assert!(arrived.iter().all(|delivery| delivery.at == Instant::ZERO));
    let marks: Vec<u8> = arrived.iter().map(|delivery| delivery.frame[50]).collect();
    assert_eq!(marks, (0..10).collect::<Vec<u8>>());
}

#[test]
fn a_frame_takes_its_bits_and_the_delay() {
    let mut link = engine(LinkModel {
        rate_bps: 1_000_000,
        delay_us: 500,
        ..LinkModel::ideal()
    });
    offer_burst(&mut link, Direction::Forward, 2, 125);
    let at: Vec<u64> = arrivals(&mut link).iter().map(micros).collect();
    assert_eq!(at, [1_500, 2_500]);
}

#[test]
fn serialization_loses_no_nanosecond_over_many_frames() {
    // 1500 bytes at 7 Mbit/s take 1,714,285.71… ns; 7,000 such frames take exactly 12 s.
    let mut link = engine(LinkModel {
        rate_bps: 7_000_000,
        ..LinkModel::ideal()
    });
    offer_burst(&mut link, Direction::Forward, 7_000, 1_500);
    assert_eq!(
        arrivals(&mut link).last().unwrap().at,
        Instant::from_secs(12)
    );
}

#[test]
fn the_two_directions_of_a_wire_do_not_wait_for_each_other() {
    let mut link = engine(LinkModel {
        rate_bps: 1_000_000,
        ..LinkModel::ideal()
    });
    offer_burst(&mut link, Direction::Forward, 1, 125);
    offer_burst(&mut link, Direction::Back, 1, 125);
    assert!(
        arrivals(&mut link)
            .iter()
            .all(|delivery| micros(delivery) == 1_000)
    );
}

#[test]
fn jitter_spreads_arrivals_but_keeps_their_order() {
    let mut link = engine(LinkModel {
        delay_us: 100,
        jitter_us: 1_000,
        ..LinkModel::ideal()
    });
    for mark in 0..200u8 {
        let now = Instant::from_micros(u64::from(mark) * 10);
        link.offer(Direction::Forward, frame(60, mark), now);
    }
    let arrived = arrivals(&mut link);
    assert!(
        arrived
            .windows(2)
            .all(|pair| pair[0].frame[20] < pair[1].frame[20])
    );
    assert!(
        arrived
            .iter()
            .any(|delivery| !micros(delivery).is_multiple_of(10))
    );
    assert!(
        arrived
            .iter()
            .all(|delivery| micros(delivery) <= 1_990 + 1_100)
    );
}

#[test]
fn random_losses_come_as_often_as_asked() {
    for (probability, low, high) in [(0.0, 0, 0), (0.1, 900, 1_100), (1.0, 10_000, 10_000)] {
        let mut link = engine(LinkModel {
            loss: probability,
            ..LinkModel::ideal()
        });
        offer_burst(&mut link, Direction::Forward, 10_000, 60);
        let arrived = arrivals(&mut link).len() as u64;
        let lost = lost(&link, FrameLoss::Random);
        assert_eq!(arrived + lost, 10_000);
        assert!(
            (low..=high).contains(&lost),
            "{lost} of 10000 lost at {probability}"
        );
    }
}

#[test]
fn bursty_losses_come_in_runs_of_the_mean_length() {
    let burst = BurstLoss {
        enter: 0.01,
        leave: 0.2,
        loss_good: 0.0,
        loss_bad: 1.0,
    };
    let mut link = engine(LinkModel {
        burst_loss: Some(burst),
        ..LinkModel::ideal()
    });
    let mut runs = Vec::new();
    let mut run = 0_u32;
    for _ in 0..50_000 {
        link.offer(Direction::Forward, frame(60, 0), Instant::ZERO);
        match link.take(Instant::ZERO) {
            Some(_) if run > 0 => runs.push(std::mem::take(&mut run)),
            Some(_) => {}
            None => run += 1,
        }
    }
    let mean = f64::from(runs.iter().sum::<u32>()) / runs.len() as f64;
    assert!(
        (4.0..6.0).contains(&mean),
        "mean run {mean}, expected 1 / leave = 5"
    );
    assert!((300..700).contains(&runs.len()), "{} runs", runs.len());
}

#[test]
fn a_reordered_frame_is_overtaken_and_the_others_keep_their_times() {
    let reordering = Reordering {
        chance: 0.2,
        late_us: 5_000,
    };
    let link = LinkModel {
        rate_bps: 8_000_000,
        reordering: Some(reordering),
        ..LinkModel::ideal()
    };
    let mut link = engine(link);
    offer_burst(&mut link, Direction::Forward, 100, 100);
    let arrived = arrivals(&mut link);
    assert_eq!(arrived.len(), 100);
    let on_time =
        |delivery: &&Delivery| micros(delivery) == (u64::from(delivery.frame[50]) + 1) * 100;
    let late = 100 - arrived.iter().filter(on_time).count() as u64;
    assert_eq!(late, link.counters(Direction::Forward).reordered);
    assert!((10..30).contains(&late), "{late} late");
    assert!(
        arrived
            .windows(2)
            .any(|pair| pair[0].frame[50] > pair[1].frame[50])
    );
}

#[test]
fn a_duplicate_follows_its_original() {
    let mut link = engine(LinkModel {
        duplication: 0.5,
        ..LinkModel::ideal()
    });
    offer_burst(&mut link, Direction::Forward, 200, 60);
    let arrived = arrivals(&mut link);
    let copies = link.counters(Direction::Forward).duplicated;
    assert_eq!(arrived.len() as u64, 200 + copies);
    assert!((60..140).contains(&copies));
    assert!(
        arrived
            .windows(2)
            .all(|pair| pair[0].frame[20] <= pair[1].frame[20])
    );
}

#[test]
fn corruption_flips_one_byte_of_an_ip_packet_and_spares_arp() {
    let mut link = engine(LinkModel {
        corruption: 1.0,
        ..LinkModel::ideal()
    });
    let mut arp = frame(60, 1);
    arp[13] = 0x06;
    link.offer(Direction::Forward, arp.clone(), Instant::ZERO);
    assert_eq!(link.take(Instant::ZERO).unwrap().frame, arp);
    for _ in 0..500 {
        let sent = frame(60, 9);
        link.offer(Direction::Forward, sent.clone(), Instant::ZERO);
        let arrived = link.take(Instant::ZERO).unwrap().frame;
        let damaged: Vec<usize> = (0..60).filter(|&at| sent[at] != arrived[at]).collect();
        assert_eq!(damaged.len(), 1);
        assert!(damaged[0] >= ETHERNET_HEADER_LEN);
        let grown = arrived[damaged[0]] - sent[damaged[0]];
        assert!((1..0xff).contains(&grown), "two could cancel out: {grown}");
    }
}

#[test]
fn a_full_queue_drops_the_last() {
    // The frame on the wire does not count towards the queue's limit. A queue of 0 packets
    // accepts none.
    for (queue, expected) in [
        (Queue::Unlimited, 20),
        (Queue::Packets(4), 5),
        (Queue::Packets(0), 0),
        (Queue::Bytes(1_000), 6),
        (Queue::Bytes(999), 5),
    ] {
        let mut link = engine(LinkModel {
            rate_bps: 1_000_000,
            queue,
            ..LinkModel::ideal()
        });
        offer_burst(&mut link, Direction::Forward, 20, 200);
        let arrived = arrivals(&mut link).len();
        assert_eq!(arrived, expected, "{queue:?}");
        let dropped = lost(&link, FrameLoss::Queue);
        assert_eq!(dropped, 20 - expected as u64, "{queue:?}");
    }
}

#[test]
fn a_sender_that_keeps_its_frames_is_woken_when_there_is_room() {
    let link = LinkModel {
        rate_bps: 1_000_000,
        queue: Queue::Device,
        ..LinkModel::ideal()
    };
    let mut link = engine(link);
    let mut now = Instant::ZERO;
    let mut arrived = Vec::new();
    for mark in 0..5 {
        while !link.has_room(Direction::Forward) {
            now = link.next_event().unwrap();
            arrived.extend(std::iter::from_fn(|| link.take(now)));
        }
        link.offer(Direction::Forward, frame(125, mark), now);
    }
    assert_eq!(now, Instant::from_millis(3), "one on the wire, one next");
    arrived.extend(arrivals(&mut link));
    assert_eq!(
        arrived.iter().map(micros).collect::<Vec<_>>(),
        [1_000, 2_000, 3_000, 4_000, 5_000]
    );
}

#[test]
fn a_token_bucket_lets_a_burst_through_and_then_the_rate() {
    let bucket = TokenBucket {
        rate_bps: 800_000,
        burst_bytes: 3_000,
        limit_bytes: 100_000,
    };
    let mut link = engine(LinkModel {
        token_bucket: Some(bucket),
        ..LinkModel::ideal()
    });
    offer_burst(&mut link, Direction::Forward, 6, 1_000);
    let at: Vec<u64> = arrivals(&mut link).iter().map(micros).collect();
    assert_eq!(at, [0, 0, 0, 10_000, 20_000, 30_000]);
    // An idle second fills the bucket to its size.
    let later = Instant::from_secs(2);
    for mark in 0..4 {
        link.offer(Direction::Forward, frame(1_000, mark), later);
    }
    let waits: Vec<u64> = arrivals(&mut link)
        .iter()
        .map(|delivery| delivery.at.since(later).as_millis())
        .collect();
    assert_eq!(waits, [0, 0, 0, 10]);
}

#[test]
fn a_token_bucket_drops_what_would_wait_longer_than_its_latency() {
    // 500 kbit/s for 50 ms are 3,125 bytes. This number may wait in addition to a burst of 15
    // kB.
    let bucket = TokenBucket::with_latency(500_000, 15_000, 50_000);
    assert_eq!(bucket.limit_bytes, 18_125);
    let mut link = engine(LinkModel {
        token_bucket: Some(bucket),
        ..LinkModel::ideal()
    });
    offer_burst(&mut link, Direction::Forward, 60, 1_000);
    assert_eq!(arrivals(&mut link).len(), 15 + 18);
    // A frame longer than the bucket is dropped, because it would wait for ever.
    link.offer(Direction::Forward, frame(15_001, 0), Instant::from_secs(9));
    assert_eq!(lost(&link, FrameLoss::TooLong), 1);
}

#[test]
fn on_a_radio_a_frame_on_air_blocks_the_other_direction() {
    let radio = Radio {
        access_us: 100,
        backoff_us: 0,
    };
    let mut link = engine(LinkModel {
        rate_bps: 1_000_000,
        radio: Some(radio),
        ..LinkModel::ideal()
    });
    link.offer(Direction::Forward, frame(125, 1), Instant::ZERO);
    link.offer(Direction::Back, frame(125, 2), Instant::from_micros(1));
    let arrived = arrivals(&mut link);
    assert_eq!(
        arrived.iter().map(micros).collect::<Vec<_>>(),
        [1_100, 2_200]
    );
    assert_eq!(arrived[1].direction, Direction::Back);
}

#[test]
fn on_a_radio_both_ends_get_their_share_of_the_air() {
    let radio = Radio {
        access_us: 50,
        backoff_us: 100,
    };
    let mut link = engine(LinkModel {
        rate_bps: 10_000_000,
        radio: Some(radio),
        ..LinkModel::ideal()
    });
    offer_burst(&mut link, Direction::Forward, 2_000, 1_000);
    offer_burst(&mut link, Direction::Back, 2_000, 1_000);
    let arrived = arrivals(&mut link);
    let forward = arrived[..2_000]
        .iter()
        .filter(|delivery| delivery.direction == Direction::Forward)
        .count();
    assert!(
        (850..1_150).contains(&forward),
        "{forward} of the first 2000 went forward"
    );
    // A frame takes 800 µs for its bits, 50 µs for access, and on average a third of 100 µs for
    // backoff while both ends contend.
    let half = micros(&arrived[1_999]) / 2_000;
    assert!((875..895).contains(&half), "{half} us a frame");
    let starts_never_overlap = arrived
        .windows(2)
        .all(|pair| pair[1].at.since(pair[0].at) >= Duration::from_micros(850));
    assert!(starts_never_overlap);
}

#[test]
fn a_link_that_is_down_drops_and_one_that_is_too_narrow_does_too() {
    let mut link = engine(LinkModel {
        mtu: 100,
        ..LinkModel::ideal()
    });
    link.offer(Direction::Forward, frame(115, 0), Instant::ZERO);
    assert_eq!(lost(&link, FrameLoss::TooLong), 1);
    link.set_up(false);
    link.offer(Direction::Forward, frame(114, 0), Instant::ZERO);
    assert_eq!(lost(&link, FrameLoss::LinkDown), 1);
    link.set_up(true);
    link.offer(Direction::Forward, frame(114, 0), Instant::ZERO);
    assert_eq!(arrivals(&mut link).len(), 1);
}

#[test]
fn switching_one_impairment_on_does_not_move_another() {
    let lost = |link: LinkModel| {
        let mut link = engine(link);
        offer_burst(&mut link, Direction::Forward, 256, 60);
        let mut marks: Vec<u8> = arrivals(&mut link).iter().map(|d| d.frame[2]).collect();
        marks.sort_unstable();
        marks.dedup();
        marks
    };
    let plain = LinkModel {
        loss: 0.1,
        ..LinkModel::ideal()
    };
    let more = LinkModel {
        duplication: 0.3,
        jitter_us: 50,
        ..plain
    };
    assert_eq!(lost(plain), lost(more));
}

#[test]
fn the_same_seed_gives_the_same_arrivals() {
    let link = LinkModel {
        rate_bps: 3_000_000,
        delay_us: 2_000,
        jitter_us: 700,
        loss: 0.05,
        reordering: Some(Reordering {
            chance: 0.1,
            late_us: 3_000,
        }),
        duplication: 0.05,
        corruption: 0.05,
        ..LinkModel::ideal()
    };
    let run = || {
        let mut link = engine(link);
        offer_burst(&mut link, Direction::Forward, 300, 300);
        arrivals(&mut link)
    };
    assert_eq!(run(), run());
}

#[test]
fn a_description_out_of_range_is_refused_by_name() {
    for (field, link) in [
        (
            "loss",
            LinkModel {
                loss: 1.5,
                ..LinkModel::ideal()
            },
        ),
        (
            "corruption",
            LinkModel {
                corruption: f64::NAN,
                ..LinkModel::ideal()
            },
        ),
        (
            "mtu",
            LinkModel {
                mtu: 20,
                ..LinkModel::ideal()
            },
        ),
        (
            "token_bucket.rate_bps",
            LinkModel {
                token_bucket: Some(TokenBucket::with_latency(0, 1, 1)),
                ..LinkModel::ideal()
            },
        ),
    ] {
        assert_eq!(link.check().unwrap_err().field, field);
    }
}

#[test]
fn beyond_the_threshold_who_takes_part_is_marked_and_who_does_not_is_dropped() {
    use fullpipe_wire::Ecn;
    let cases = [
        (Ecn::NotEct, 4, 0),
        (Ecn::Ect0, 10, 6),
        (Ecn::Ect1, 10, 6),
        (Ecn::Ce, 10, 6),
    ];
    let of_both = FAMILIES
        .into_iter()
        .flat_map(|family| cases.map(|case| (family, case)));
    for (family, (ecn, arrived, marked)) in of_both {
        let mut link = engine(LinkModel {
            rate_bps: 1_000_000,
            ecn_threshold: Some(EcnThreshold::Packets(3)),
            ..LinkModel::ideal()
        });
        for _ in 0..10 {
            link.offer(Direction::Forward, packet(family, 500, ecn), Instant::ZERO);
        }
        let found = arrivals(&mut link);
        let counters = link.counters(Direction::Forward);
        assert_eq!(found.len(), arrived, "{ecn:?}");
        assert_eq!(counters.marked, marked, "{ecn:?}");
        assert_eq!(
            lost(&link, FrameLoss::EcnThreshold),
            10 - arrived as u64,
            "{ecn:?}"
        );
        for (number, delivery) in found.iter().enumerate() {
            // One frame is on the wire and three wait; from then on the threshold is
            // reached.
            let expected = if number < 4 { ecn } else { Ecn::Ce };
            assert_eq!(ecn_of(&delivery.frame), expected, "{number}");
        }
    }
}

#[test]
fn codel_keeps_a_standing_queue_near_its_target() {
    let run = |codel| {
        let mut link = engine(LinkModel {
            rate_bps: 8_000_000,
            codel,
            ..LinkModel::ideal()
        });
        // Offer frames at 110 % of the link's rate for two seconds.
        let mut longest = Duration::ZERO;
        for number in 0..2_200_u64 {
            let now = Instant::from_micros(number * 1_000_000 / 1_100);
            let mut frame = packet(Family::V4, 1_000, fullpipe_wire::Ecn::NotEct);
            frame[50..58].copy_from_slice(&now.as_micros().to_be_bytes());
            while let Some(arrived) = link.take(now) {
                let sent = u64::from_be_bytes(arrived.frame[50..58].try_into().unwrap());
                if now > Instant::from_millis(1_500) {
                    longest = longest.max(arrived.at.since(Instant::from_micros(sent)));
                }
            }
            link.offer(Direction::Forward, frame, now);
        }
        (longest, lost(&link, FrameLoss::Codel))
    };
    let (tail, none) = run(None);
    let (controlled, dropped) = run(Some(Codel::internet()));
    assert!(tail > Duration::from_millis(130) && none == 0, "{tail:?}");
    assert!(
        controlled < tail && dropped > 50,
        "{controlled:?} {dropped}"
    );
}

#[test]
fn a_hop_stops_what_is_too_long_and_must_not_be_cut() {
    use fullpipe_wire::Ecn;
    let reasons = [
        (false, FrameLoss::PacketTooBig),
        (true, FrameLoss::BlackHole),
    ];
    let of_both = FAMILIES
        .into_iter()
        .flat_map(|family| reasons.map(|case| (family, case)));
    for (family, (silent, hop_reason)) in of_both {
        let mut link = engine(LinkModel {
            delay_us: 1_000,
            hop: Some(Hop { mtu: 1_300, silent }),
            ..LinkModel::ideal()
        });
        for len in [1_300, 1_314, 1_315, 1_500] {
            let frame = packet(family, len, Ecn::Ect0);
            link.offer(Direction::Forward, frame, Instant::ZERO);
        }
        let found = arrivals(&mut link);
        let (forward, back): (Vec<_>, Vec<_>) = found
            .iter()
            .partition(|delivery| delivery.direction == Direction::Forward);
        assert_eq!(forward.len(), 2);
        assert_eq!(lost(&link, hop_reason), 2);
        assert_eq!(back.len(), if silent { 0 } else { 2 });
        for answer in back {
            assert_eq!(
                answer.at,
                Instant::from_micros(1_000),
                "there and back half the way"
            );
            assert_reports_mtu(&answer.frame, family, 1_300);
        }
    }
}

/// Checks that `frame` carries an ICMP message from the receiver to the sender, which says that a
/// packet was longer than `mtu`.
fn assert_reports_mtu(frame: &[u8], family: Family, mtu: u16) {
    use fullpipe_wire::{
        ChecksumPolicy::Verify, Icmpv4Message, Icmpv6Message, Ipv6Header, UnreachableCode,
    };
    let ip = IpPacket::parse(frame).expect("an IP packet");
    let [sender, receiver] = addresses(family);
    assert_eq!((ip.src, ip.dst), (receiver, sender));
    match (ip.src, ip.dst) {
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let (message, quoted) = Icmpv6Message::parse(ip.payload, (src, dst), Verify).unwrap();
            assert_eq!(message, Icmpv6Message::PacketTooBig { mtu: mtu.into() });
            let longest = fullpipe_wire::ipv6::MIN_MTU;
            assert_eq!(
                frame.len(),
                ETHERNET_HEADER_LEN + longest,
                "RFC 4443 §2.4 (c)"
            );
            assert_eq!(Ipv6Header::parse_quoted(quoted).unwrap().0.src, dst);
        }
        _ => {
            ecn_of(frame);
            let (message, _) = Icmpv4Message::parse(ip.payload, Verify).unwrap();
            let expected = Icmpv4Message::Unreachable {
                code: UnreachableCode::FragmentationNeeded,
                next_hop_mtu: mtu,
            };
            assert_eq!(message, expected);
        }
    }
}

#[test]
fn corruption_of_ipv6_changes_only_what_a_checksum_covers() {
    let mut corruption = Corruption(Rng::seeded(7));
    let whole = packet(Family::V6, 100, fullpipe_wire::Ecn::Ect0);
    let mut changed = [false; 100];
    for _ in 0..5_000 {
        let mut frame = whole.clone();
        let struck = corruption.strike(&mut frame, 1.0);
        let places: Vec<usize> = (0..100).filter(|&at| frame[at] != whole[at]).collect();
        assert_eq!(places.len(), usize::from(struck));
        places.into_iter().for_each(|at| changed[at] = true);
    }
    let spared: Vec<usize> = (0..100).filter(|&at| !changed[at]).collect();
    // The unchanged bytes: the Ethernet header; version, class and flow label; the hop limit.
    let expected: Vec<usize> = (0..14).chain(14..18).chain([21]).collect();
    assert_eq!(spared, expected);
}

#[test]
fn in_an_outage_one_direction_loses_everything_and_the_other_nothing() {
    let broken = LinkModel {
        delay_us: 500,
        outage: Some(Outage {
            after_us: 1_000,
            length_us: 2_000,
        }),
        ..LinkModel::ideal()
    };
    let mut link = LinkEngine::asymmetric(broken, LinkModel::ideal(), &Rng::seeded(7));
    for at in [0, 999, 1_000, 2_999, 3_000] {
        for direction in Direction::ALL {
            link.offer(direction, frame(100, 1), Instant::from_micros(at));
        }
    }
    let arrived = arrivals(&mut link);
    let came = |direction| {
        let same_way = |delivery: &&Delivery| delivery.direction == direction;
        arrived.iter().filter(same_way).count()
    };
    assert_eq!((came(Direction::Forward), came(Direction::Back)), (3, 5));
    assert_eq!(lost(&link, FrameLoss::Outage), 2);
}

#[test]
fn a_shaper_of_any_rate_and_latency_has_a_limit() {
    let huge = TokenBucket::with_latency(1 << 50, u64::MAX, u64::MAX);
    assert_eq!(huge.limit_bytes, u64::MAX);
}
