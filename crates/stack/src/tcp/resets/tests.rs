//! Tests of `resets.rs`.

use super::*;
use crate::{secret::Secret, source_limit::Rates};
use fullpipe_pool::Duration;
use fullpipe_tcp::SeqNum;
use fullpipe_wire::{MacAddress, TcpFlags, TcpHeader};

const STATION: Station = Station {
    interface: InterfaceId::FIRST,
    mac: MacAddress([2, 0, 0, 0, 0, 9]),
};

fn resets(most: u32, per_source: u32) -> Resets {
    let rates = Rates {
        per_second: 1_000,
        per_source,
        burst: 2,
    };
    Resets::new(most, SourceLimit::new(rates, &Secret([1; 16])))
}

fn tuple() -> FourTuple {
    FourTuple::new(
        "10.0.0.1:80".parse().unwrap(),
        "10.0.0.2:4000".parse().unwrap(),
    )
}

fn segment(flags: TcpFlags) -> Segment<'static> {
    let header = TcpHeader {
        seq: 100,
        ack: 900,
        flags,
        ..TcpHeader::default()
    };
    Segment::from_header(&header, b"data", 0)
}

#[test]
fn a_reset_is_one_the_sender_of_the_segment_accepts() {
    let mut resets = resets(64, 100);
    resets
        .answer(tuple(), &segment(TcpFlags::ACK), STATION, Instant::ZERO)
        .unwrap();
    resets
        .answer(tuple(), &segment(TcpFlags::SYN), STATION, Instant::ZERO)
        .unwrap();
    let first = resets.take(InterfaceId::FIRST).unwrap().segment;
    assert_eq!((first.seq, first.flags), (SeqNum(900), TcpFlags::RST));
    let second = resets.take(InterfaceId::FIRST).unwrap().segment;
    assert_eq!((second.seq, second.ack), (SeqNum(0), SeqNum(105)));
    assert_eq!(second.flags, TcpFlags::RST | TcpFlags::ACK);
}

#[test]
fn a_reset_is_never_answered_with_a_reset() {
    let mut resets = resets(64, 100);
    let answer = resets.answer(tuple(), &segment(TcpFlags::RST), STATION, Instant::ZERO);
    assert_eq!(answer, Err(NoReset::IsReset));
    assert!(!resets.has_for(InterfaceId::FIRST));
}

#[test]
fn a_flood_is_answered_up_to_the_queue_and_the_rate() {
    let mut resets = resets(64, 10);
    let flood = segment(TcpFlags::ACK);
    let at = |resets: &mut Resets, ms: u64| {
        resets.answer(
            tuple(),
            &flood,
            STATION,
            Instant::ZERO + Duration::from_millis(1_000 + ms),
        )
    };
    assert_eq!(at(&mut resets, 0), Ok(()));
    assert_eq!(at(&mut resets, 0), Ok(()));
    assert_eq!(at(&mut resets, 1), Err(NoReset::RateLimited));
    assert_eq!(at(&mut resets, 100), Ok(()));
    let mut full = self::resets(2, 1_000);
    let filled = (0..1_000).filter(|ms| at(&mut full, *ms).is_ok()).count();
    assert_eq!(filled, 2);
    assert_eq!(at(&mut full, 2_000), Err(NoReset::QueueFull));
}
