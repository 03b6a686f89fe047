//! Tests of `repeats.rs`.

use fullpipe_pool::{Duration, Rng};
use fullpipe_wire::{SackBlock, TcpHeader};

use super::*;

fn packet(seq: u32, ack: u32, payload_len: u32, sack: &[(u32, u32)]) -> TcpPacket {
    let mut header = TcpHeader {
        seq,
        ack,
        flags: TcpFlags::ACK,
        ..TcpHeader::default()
    };
    for &(left, right) in sack {
        header.options.sack.push(SackBlock { left, right });
    }
    let anyone = ([10, 0, 0, 1], 1).into();
    TcpPacket {
        src: anyone,
        dst: anyone,
        header,
        payload_len,
    }
}

/// An end that has sent 10 segments of 100 bytes, from sequence number 1 on. The next sequence
/// number that it expects is 500.
fn sender() -> RepeatChecker {
    let mut watch = RepeatChecker::default();
    let mut syn = packet(0, 500, 0, &[]);
    syn.header.flags = TcpFlags::SYN | TcpFlags::ACK;
    assert!(watch.sent(&syn, Instant::ZERO).is_ok());
    watch.arrived(&packet(500, 1, 0, &[]), Instant::ZERO);
    for segment in 0..10 {
        let payload = packet(1 + segment * 100, 500, 100, &[]);
        assert!(watch.sent(&payload, Instant::ZERO).is_ok());
    }
    watch
}

fn again(watch: &mut RepeatChecker, segment: u32, at_ms: u64) -> bool {
    let payload = packet(1 + segment * 100, 500, 100, &[]);
    watch.sent(&payload, Instant::from_millis(at_ms)).is_ok()
}

#[test]
fn what_was_acknowledged_or_sacked_must_not_be_sent_again() {
    let mut watch = sender();
    let ack = packet(500, 201, 0, &[(301, 501)]);
    watch.arrived(&ack, Instant::from_millis(10));
    assert!(again(&mut watch, 0, 10), "in the same instant");
    for (segment, allowed) in [(1, false), (2, true), (3, false), (4, false), (5, true)] {
        assert_eq!(again(&mut watch, segment, 11), allowed, "{segment}");
    }
}

#[test]
fn what_was_taken_back_may_be_sent_again() {
    let mut watch = sender();
    let at = Instant::from_millis(10);
    watch.arrived(&packet(500, 201, 0, &[(301, 501)]), at);
    watch.arrived(&packet(500, 301, 0, &[]), at);
    assert!(again(&mut watch, 3, 11));
}

#[test]
fn an_ack_that_stops_inside_the_widest_range_leaves_only_its_own_blocks() {
    for (ack, blocks, known) in [
        (351, &[(501, 601)][..], [5].as_slice()),
        (451, &[(501, 601), (801, 901)], &[5, 8]),
        (551, &[], &[]),
        (501, &[(601, 701)], &[6]),
        // This ACK number is above the widest range, so the range beyond the ACK number stays
        // known.
        (601, &[], &[8]),
    ] {
        let mut watch = sender();
        // One range grows, and another lies beyond that range. Only the last state of each range is
        // kept.
        for (at_ms, right) in [(10, 401), (11, 451), (12, 501), (13, 601)] {
            let grown = packet(500, 201, 0, &[(301, right), (801, 901)]);
            watch.arrived(&grown, Instant::from_millis(at_ms));
        }
        assert!(watch.sacked.len() <= 3, "{:?}", watch.sacked);
        watch.arrived(&packet(500, ack, 0, blocks), Instant::from_millis(14));
        for segment in ack.div_ceil(100)..10 {
            let allowed = again(&mut watch, segment, 15);
            assert_eq!(allowed, !known.contains(&segment), "{ack}: {segment}");
        }
    }
}

/// A model of the checker: for each of 1,000 bytes, the times at which the byte was first
/// acknowledged and first SACKed.
struct Bytes {
    acked: [Option<Instant>; 1_001],
    sacked: [Option<Instant>; 1_001],
    most_acked: u32,
}

impl Bytes {
    fn arrived(&mut self, ack: u32, sack: &[(u32, u32)], now: Instant) {
        if (self.sacked.get(ack as usize)).is_some_and(Option::is_some) {
            self.sacked.fill(None);
        }
        self.sacked[..ack as usize].fill(None);
        if ack < self.most_acked {
            return;
        }
        self.most_acked = ack;
        for byte in 0..ack {
            self.acked[byte as usize].get_or_insert(now);
        }
        for &(left, right) in sack.iter().filter(|block| ack < block.0) {
            for byte in left..right {
                self.sacked[byte as usize].get_or_insert(now);
            }
        }
    }

    fn is_known(&self, byte: u32, now: Instant) -> bool {
        let known = [self.acked[byte as usize], self.sacked[byte as usize]];
        known.into_iter().flatten().any(|at| at < now)
    }
}

#[test]
fn ranges_that_are_dropped_take_no_knowledge_with_them() {
    const STEP: u32 = 25;
    let edge = |rng: &mut Rng, from: u32| 1 + STEP * rng.between(from.into(), 40) as u32;
    for seed in 0..2_000 {
        let mut rng = Rng::seeded(seed);
        let mut watch = sender();
        let mut bytes = Bytes {
            acked: [None; 1_001],
            sacked: [None; 1_001],
            most_acked: 1,
        };
        let (mut now, mut una) = (Instant::from_millis(10), 0);
        for _ in 0..40 {
            now += Duration::from_millis(rng.below(2));
            una = rng.between(una, (una + 4).min(39));
            let ack = 1 + STEP * una as u32;
            let blocks: Vec<_> = (0..rng.below(4))
                .map(|_| (edge(&mut rng, 0), edge(&mut rng, 0)))
                .filter(|(left, right)| left < right)
                .collect();
            watch.arrived(&packet(500, ack, 0, &blocks), now);
            bytes.arrived(ack, &blocks, now);
            for piece in 0..40 {
                let start = 1 + STEP * piece;
                let again = watch.sent(&packet(start, 500, STEP, &[]), now);
                assert_eq!(
                    again.is_err(),
                    bytes.is_known(start, now),
                    "seed {seed}, {now:?}, {start}"
                );
            }
        }
    }
}

#[test]
fn an_ack_older_than_one_that_said_more_proves_nothing() {
    let mut watch = sender();
    let at = Instant::from_millis(10);
    watch.arrived(&packet(400, 401, 0, &[]), at);
    watch.arrived(&packet(500, 201, 0, &[(601, 701)]), at);
    assert!(again(&mut watch, 6, 11), "its host looks no further");
    watch.arrived(&packet(500, 401, 0, &[(601, 701)]), at);
    assert!(!again(&mut watch, 6, 11));
}

#[test]
fn an_ack_that_need_not_be_believed_proves_nothing() {
    let mut watch = sender();
    let at = Instant::from_millis(10);
    watch.arrived(&packet(400, 401, 0, &[]), at);
    assert!(again(&mut watch, 0, 11), "not what is expected next");
}
