//! Tests of senders that set PSH as Linux does: at the end of each super-segment, and wherever a
//! write ends inside the payload that waits to be sent.

use fullpipe_tcp::Limit;
use fullpipe_wire::TcpFlags;

use super::Script;
use crate::{
    capture::Segment,
    observe::{SeenLimit, write_ends::WriteEnds},
};

const LEN: u32 = 1_460;
/// Round-trip time of [`Script`] in nanoseconds.
const RTT: i64 = 20_000_000;

fn segment(script: &mut Script, at_ns: i64, seq: u32, payload: u32, has_push: bool) {
    let flags = match has_push {
        true => TcpFlags::ACK | TcpFlags::PSH,
        false => TcpFlags::ACK,
    };
    let segment = Segment {
        seq,
        payload,
        ack: 1,
        window: 65_535,
        flags,
        ..Segment::EMPTY
    };
    script.at_ns(at_ns, segment);
}

/// A kernel with a configured pacing rate sends ten segments, and then super-segments of two
/// segments. Its timer is late by up to 4 % of the gap.
#[test]
fn super_segments_with_uneven_gaps_show_a_pacing_rate() {
    let mut script = Script::new(65_535);
    let mut sends: Vec<(i64, u32)> = Vec::new();
    let mut at = 20_100_000;
    for pair in 0..300 {
        for number in 0..2 {
            sends.push((at + 5_000 * number, 1 + LEN * (2 * pair + number as u32)));
        }
        at += match pair {
            0..4 => 10_000,
            4 => RTT,
            _ => 2_500_000 + 100_000 * i64::from(pair * 7 % 11) / 10,
        };
    }
    // The path sends a segment in 0.2 ms, and one ACK answers a super-segment.
    let mut acks: Vec<(i64, u32)> = Vec::new();
    let mut busy = 0;
    for (place, (at, seq)) in sends.iter().enumerate() {
        busy = busy.max(*at) + 200_000;
        if place % 2 == 1 {
            acks.push((busy + RTT - 200_000, seq + LEN));
        }
    }
    for (place, (at, seq)) in sends.into_iter().enumerate() {
        while acks.first().is_some_and(|(due, _)| *due <= at) {
            let (due, ack) = acks.remove(0);
            script.ack_at(due, ack, 65_000);
        }
        segment(&mut script, at, seq, LEN, place % 2 == 1);
    }
    let (limit, share, _) = script.finish().main_limit().expect("time has passed");
    assert_eq!(limit, SeenLimit::Known(Limit::Pacing), "{share}");
}

/// The writes are known, and the sender waits at each end of a write, or anywhere.
#[test]
fn only_waits_at_the_ends_of_writes_are_pauses_of_the_application() {
    const WRITE: u64 = 10_000;
    const MSS: u64 = 1_448;
    let known = || {
        let mut ends = WriteEnds::new(Some(0));
        (1..=3).for_each(|number| ends.on_end(number * WRITE));
        ends
    };
    let mut paused = known();
    (3..=8).for_each(|number| paused.on_wait(number * WRITE, MSS));
    assert_eq!(paused.rest(8 * WRITE, MSS), Some(0));
    assert!(paused.are_waited() && !paused.are_passed());

    let mut anywhere = known();
    (3..=8).for_each(|number| anywhere.on_wait(number * WRITE + 3 * MSS, MSS));
    assert_eq!(anywhere.rest(8 * WRITE, MSS), None);
    assert!(anywhere.are_passed() && !anywhere.are_waited());
}
