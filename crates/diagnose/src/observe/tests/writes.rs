//! Tests of senders whose application writes little at a time.

use fullpipe_tcp::{Limit, limit::Reason};
use fullpipe_wire::{TcpFlags, TcpOptions};

use super::Script;
use crate::{
    capture::{End, Segment},
    observe::{ConnectionObserver, ObservedConnection, write_ends::WriteEnds},
};

const MSS: u32 = 1_460;

/// Sends a first segment of `head` bytes with PSH at 20 ms, then full segments without PSH at
/// `times`. Each segment is acknowledged after 20 ms.
fn after_a_small_segment(head: u32, times: impl Iterator<Item = i64>) -> ObservedConnection {
    let mut script = Script::new(65_535);
    let first = Segment {
        seq: 1,
        payload: head,
        ack: 1,
        window: 65_535,
        flags: TcpFlags::ACK | TcpFlags::PSH,
        ..Segment::EMPTY
    };
    script.at(20, first);
    let mut acks = vec![(40, 1 + head)];
    let mut seq = 1 + head;
    for at in times {
        while acks.first().is_some_and(|(due, _)| *due <= at) {
            let (due, ack) = acks.remove(0);
            script.ack(due, ack, 65_000);
        }
        script.data(at, seq, MSS);
        seq += MSS;
        acks.push((at + 20, seq));
    }
    script.finish()
}

fn share(observed: &ObservedConnection, limit: Limit) -> f64 {
    observed.shares().share(limit.into())
}

fn sure_ns(observed: &ObservedConnection, limit: Limit) -> u64 {
    let sure = observed.sure.times();
    let own = sure.filter(|(one, _)| one.index() == limit as usize);
    own.map(|(_, time)| time.as_nanos()).sum()
}

/// The application writes `write` bytes each millisecond, beginning at 20 ms.
fn completions(write: u32) -> impl Iterator<Item = i64> {
    (1..=100).map(move |full: u32| 20 + i64::from((full * MSS).div_ceil(write)))
}

/// Many of the segments leave at the same time as an ACK arrives, because both happen at whole
/// milliseconds.
#[test]
fn full_segments_that_small_writes_complete_wait_for_nagles_algorithm() {
    for write in [200, 350, 700] {
        let observed = after_a_small_segment(write, completions(write));
        let limit = Limit::Nagle;
        assert!(share(&observed, limit) > 0.8, "{:?}", observed.shares());
        assert!(sure_ns(&observed, limit) as f64 > 0.8 * observed.lifetime_ns as f64);
    }
}

/// A head of 200 bytes, then a body that a pacer sends: the gaps are equal, and do not differ by
/// the time of one write.
#[test]
fn a_paced_body_after_a_head_is_not_joined_from_small_writes() {
    let observed = after_a_small_segment(200, (1..=100).map(|full| 20 + 7 * full));
    let sure = sure_ns(&observed, Limit::Nagle);
    // The first two gaps.
    assert!(sure <= 14_000_000, "{sure}");
}

/// A tail loss probe leaves at least two round trips after the last ACK.
#[test]
fn new_data_before_two_silent_round_trips_is_no_tail_probe() {
    let recovery_after = |ms: i64| {
        let mut script = Script::new(65_535);
        script.data(20, 1, MSS);
        script.ack(40, 1 + MSS, 65_535);
        script.data(40, 1 + MSS, MSS);
        script.data(40 + ms, 1 + 2 * MSS, MSS);
        script.ack(60 + ms, 1 + 3 * MSS, 65_535);
        share(&script.finish(), Limit::Recovery)
    };
    assert_eq!(recovery_after(36), 0.0);
    assert!(recovery_after(41) > 0.0);
}

/// A connection whose application writes 1,460 bytes and a rest at once, again and again.
struct Writes {
    script: Script,
    seq: u32,
}

impl Writes {
    fn send(&mut self, ms: i64, payload: u32) {
        let push = if payload < MSS {
            TcpFlags::PSH
        } else {
            TcpFlags::NONE
        };
        let segment = Segment {
            seq: self.seq,
            payload,
            ack: 1,
            window: 65_535,
            flags: TcpFlags::ACK | push,
            ..Segment::EMPTY
        };
        self.script.at(ms, segment);
        self.seq += payload;
    }
}

/// The rest of each write leaves with the ACK of the full segment. Its own ACK is delayed, so the
/// next full segment leaves while the rest is in flight.
#[test]
fn a_full_segment_after_the_end_of_a_write_waited_for_the_application() {
    let mut writes = Writes {
        script: Script::new(65_535),
        seq: 1,
    };
    for at in (20..2_000).step_by(30) {
        writes.send(at, MSS);
        writes.script.ack(at + 20, writes.seq, 65_000);
        writes.send(at + 20, 773);
    }
    let observed = writes.script.finish();
    let application = share(&observed, Limit::Application);
    assert!((0.28..0.34).contains(&application), "{application}");
    assert!(share(&observed, Limit::Nagle) > 0.6);
}

/// A segment in the middle of the fourth write is lost. While it is repaired, only the rest of the
/// write is unsent.
#[test]
fn a_rest_that_nagle_delays_while_a_loss_is_repaired_is_not_limited_by_the_recovery() {
    let mut writes = Writes {
        script: Script::new(65_535),
        seq: 1,
    };
    for at in (20..320).step_by(100) {
        for _ in 0..5 {
            writes.send(at, MSS);
        }
        writes.script.ack(at + 20, writes.seq, 65_000);
        writes.send(at + 20, 100);
        writes.script.ack(at + 40, writes.seq, 65_000);
    }
    let start = writes.seq;
    for _ in 0..5 {
        writes.send(320, MSS);
    }
    for _ in 0..4 {
        writes.script.ack(340, start + MSS, 65_000);
    }
    writes.script.data(340, start + MSS, MSS);
    writes.script.ack(360, writes.seq, 65_000);
    writes.send(360, 100);
    let observed = writes.script.finish();
    assert_eq!(observed.data().retransmissions.fast, 1);
    assert_eq!(share(&observed, Limit::Recovery), 0.0);
}

/// Writes of different sizes have a common divisor that is smaller than a segment.
#[test]
fn the_ends_of_writes_are_known_once_two_distances_agree() {
    let mut ends = WriteEnds::new(Some(1));
    ends.on_end(1 + 5_000);
    assert_eq!(ends.rest(5_001, 1_460), None);
    ends.on_end(1 + 15_000);
    let rests = [1, 3_001, 15_001, 15_501, 20_001].map(|position| ends.rest(position, 1_460));
    assert_eq!(rests, [0, 2_000, 0, 4_500, 0].map(Some));
    ends.on_end(1 + 15_700);
    assert_eq!(ends.rest(15_701, 1_460), None);
}

/// The capture was made between the hosts, 10 ms away from both, and has no timestamps. SYN-ACK
/// takes 300 ns longer to the sender than a shorter ACK.
#[test]
fn an_ack_that_seems_to_arrive_just_after_the_segment_released_this_segment() {
    let mut connection = ConnectionObserver::new();
    let mut take = |at_ns: i64, from: End, numbers: (u32, u32), payload: u32, flags: TcpFlags| {
        connection.on_segment(&Segment {
            at_ns,
            from,
            seq: numbers.0,
            ack: numbers.1,
            payload,
            flags,
            window: 65_000,
            options: TcpOptions {
                mss: flags.contains(TcpFlags::SYN).then_some(1_460),
                ..TcpOptions::NONE
            },
            ..Segment::EMPTY
        });
    };
    let (syn, ack, push) = (TcpFlags::SYN, TcpFlags::ACK, TcpFlags::PSH);
    take(0, End::A, (0, 0), 0, syn);
    take(20_000_000, End::B, (0, 1), 0, syn | ack);
    take(40_000_300, End::A, (1, 1), 0, ack);
    let (mut at, mut seq) = (40_000_300, 1);
    for _ in 0..30 {
        take(at, End::A, (seq, 1), 100, ack | push);
        seq += 100;
        take(at + 20_000_000, End::B, (1, seq), 0, ack);
        at += 40_000_000;
    }
    let observed = connection.finish(at);
    assert!(share(&observed, Limit::Nagle) > 0.9);
}

/// As above, but the next write came during the recovery, and the ACK that ends the recovery
/// releases a full segment of it.
#[test]
fn an_ack_that_releases_more_than_the_rest_of_a_write_ends_a_wait_for_the_recovery() {
    let mut writes = Writes {
        script: Script::new(65_535),
        seq: 1,
    };
    for at in (20..320).step_by(100) {
        for _ in 0..5 {
            writes.send(at, MSS);
        }
        writes.script.ack(at + 20, writes.seq, 65_000);
        writes.send(at + 20, 100);
        writes.script.ack(at + 40, writes.seq, 65_000);
    }
    let start = writes.seq;
    for _ in 0..5 {
        writes.send(320, MSS);
    }
    for _ in 0..4 {
        writes.script.ack(340, start + MSS, 65_000);
    }
    writes.script.data(340, start + MSS, MSS);
    writes.script.ack(360, writes.seq, 65_000);
    writes.send(360, MSS);
    let observed = writes.script.finish();
    let recovery = share(&observed, Limit::Recovery) * observed.lifetime_ns as f64;
    assert!((recovery - 20e6).abs() < 1e5, "{recovery}");
}
