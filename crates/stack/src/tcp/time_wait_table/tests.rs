//! Tests of connections in TIME-WAIT.

use super::*;
use fullpipe_pool::Duration;
use fullpipe_wire::{TcpHeader, Timestamps};

const NEXT: u32 = 5_000;

fn wait(until: Instant) -> TimeWait {
    TimeWait {
        snd_nxt: SeqNum(700),
        rcv_nxt: SeqNum(NEXT),
        window: 4_000,
        ts_recent: Some(80),
        timestamp_offset: 3,
        until,
    }
}

fn tuple(port: u16) -> FourTuple {
    FourTuple::new(([10, 0, 0, 1], 80).into(), ([10, 0, 0, 2], port).into())
}

fn segment(flags: TcpFlags, seq: u32, stamp: Option<u32>) -> Segment<'static> {
    let timestamps = stamp.map(|value| Timestamps { value, echo: 0 });
    let header = TcpHeader {
        seq,
        flags,
        options: TcpOptions {
            timestamps,
            ..TcpOptions::default()
        },
        ..TcpHeader::default()
    };
    Segment::from_header(&header, &[], 0)
}

/// Passes each segment to an entry of its own.
fn judge(cases: &[(&str, Segment<'static>, TimeWaitAction)]) {
    for (name, segment, expected) in cases {
        let mut waits = TimeWaitTable::new(1);
        let index = waits.add(
            (tuple(1), 0),
            InterfaceId::FIRST,
            wait(Instant::from_secs(60)),
        );
        let now = Instant::from_secs(10);
        let verdict = waits.on_segment(index, segment, now, &TcpConfig::default());
        assert_eq!(verdict, *expected, "{name}");
        let answers = matches!(
            verdict,
            TimeWaitAction::Restart | TimeWaitAction::Acknowledge
        );
        assert_eq!(
            waits.first_due(InterfaceId::FIRST).is_some(),
            answers,
            "{name}"
        );
    }
}

#[test]
fn old_segments_are_answered_and_resets_ignored() {
    let (ack, fin, rst) = (TcpFlags::ACK, TcpFlags::FIN, TcpFlags::RST);
    judge(&[
        (
            "FIN again",
            segment(fin | ack, NEXT - 1, Some(80)),
            TimeWaitAction::Restart,
        ),
        (
            "a FIN elsewhere",
            segment(fin | ack, NEXT, Some(80)),
            TimeWaitAction::Acknowledge,
        ),
        (
            "an ACK in place",
            segment(ack, NEXT, Some(81)),
            TimeWaitAction::Ignore,
        ),
        (
            "an old ACK",
            segment(ack, NEXT - 9, Some(80)),
            TimeWaitAction::Acknowledge,
        ),
        (
            "a reset in place",
            segment(rst, NEXT, None),
            TimeWaitAction::Ignore,
        ),
    ]);
}

#[test]
fn a_syn_opens_a_new_incarnation_only_if_it_cannot_accept_old_segments() {
    let (syn, ack) = (TcpFlags::SYN, TcpFlags::ACK);
    judge(&[
        (
            "a later timestamp",
            segment(syn, NEXT - 9, Some(81)),
            TimeWaitAction::Reuse,
        ),
        (
            "an earlier timestamp",
            segment(syn, NEXT + 9, Some(79)),
            TimeWaitAction::Acknowledge,
        ),
        (
            "the same, later number",
            segment(syn, NEXT + 1, Some(80)),
            TimeWaitAction::Reuse,
        ),
        (
            "the same, same number",
            segment(syn, NEXT, Some(80)),
            TimeWaitAction::Acknowledge,
        ),
        (
            "no timestamp, later",
            segment(syn, NEXT + 1, None),
            TimeWaitAction::Reuse,
        ),
        (
            "no timestamp, earlier",
            segment(syn, NEXT - 1, None),
            TimeWaitAction::Acknowledge,
        ),
        (
            "SYN and ACK",
            segment(syn | ack, NEXT + 1, Some(81)),
            TimeWaitAction::Acknowledge,
        ),
    ]);
}

#[test]
fn the_answer_has_the_final_sequence_numbers() {
    let mut waits = TimeWaitTable::new(1);
    let index = waits.add(
        (tuple(1), 0),
        InterfaceId::FIRST,
        wait(Instant::from_secs(60)),
    );
    let answer = waits.at(index).acknowledgment(Instant::from_millis(500));
    assert_eq!((answer.seq, answer.ack), (SeqNum(700), SeqNum(NEXT)));
    assert_eq!(answer.flags, TcpFlags::ACK);
    let stamps = Timestamps {
        value: 503,
        echo: 80,
    };
    assert_eq!(answer.options.timestamps, Some(stamps));
}

#[test]
fn challenge_acks_are_rate_limited() {
    let mut waits = TimeWaitTable::new(1);
    let index = waits.add(
        (tuple(1), 0),
        InterfaceId::FIRST,
        wait(Instant::from_secs(60)),
    );
    let config = TcpConfig::default();
    let old = segment(TcpFlags::ACK, NEXT - 9, None);
    let mut answered = 0;
    for at_ms in 0..1_000 {
        let now = Instant::from_secs(1) + Duration::from_millis(at_ms);
        waits.on_segment(index, &old, now, &config);
        answered += u64::from(waits.first_due(InterfaceId::FIRST).is_some());
        waits.answered(index);
    }
    assert_eq!(answered, 1_000 / config.challenge_ack_interval.as_millis());
}

#[test]
fn the_oldest_entry_is_returned_if_the_table_is_full() {
    let mut waits = TimeWaitTable::new(2);
    let old = waits.add(
        (tuple(1), 0),
        InterfaceId::FIRST,
        wait(Instant::from_secs(60)),
    );
    let young = waits.add(
        (tuple(2), 0),
        InterfaceId::FIRST,
        wait(Instant::from_secs(61)),
    );
    assert_eq!(waits.oldest_if_full(), Some(old));
    // The first entry is restarted, so the other entry is now the oldest.
    let fin = segment(TcpFlags::FIN | TcpFlags::ACK, NEXT - 1, None);
    waits.on_segment(old, &fin, Instant::from_secs(50), &TcpConfig::default());
    assert_eq!(waits.oldest_if_full(), Some(young));
    waits.remove(young);
    assert_eq!((waits.oldest_if_full(), waits.len()), (None, 1));
}

#[test]
fn an_entry_is_small() {
    let size = size_of::<TimeWaitEntry>();
    assert!(size <= 96, "{size} bytes");
}
