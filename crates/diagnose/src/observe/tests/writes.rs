//! Tests of senders whose application writes little at a time.

use fullpipe_tcp::{Limit, limit::Reason};
use fullpipe_wire::TcpFlags;

use super::Script;
use crate::{capture::Segment, observe::ObservedConnection};

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
