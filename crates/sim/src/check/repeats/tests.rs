//! Tests of `repeats.rs`.

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

/// An end that has sent 10 segments of 100 bytes from 1 on, and expects 500.
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
