//! Tests of RACK's steps on single segments. RFC 8985 §6.2.

use super::*;
use crate::congestion::Snapshot;

const MSS: u32 = 1_000;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Returns segment number `index`, sent at `sent_ms`.
fn segment(index: u32, sent_ms: u64, retransmissions: u8) -> Sent {
    let mut board = Scoreboard::new();
    let mut arena = SentArena::new(1, 1);
    let start = SeqNum(1 + index * MSS);
    board.on_sent(
        start..start + MSS,
        at(sent_ms),
        Snapshot::default(),
        &mut arena,
    );
    let mut sent = *board.last(&arena).expect("one range");
    sent.retransmissions = retransmissions;
    board.clear(&mut arena);
    sent
}

fn rack() -> Rack {
    Rack::new(SeqNum(0))
}

const fn path(srtt: u64, min_rtt: Option<u64>) -> PathState {
    PathState {
        mss: MSS,
        srtt: ms(srtt),
        min_rtt: match min_rtt {
            Some(min_rtt) => Some(ms(min_rtt)),
            None => None,
        },
    }
}

/// Step 3: reordering is the delivery of a segment below RACK.fack that was never
/// retransmitted.
#[test]
fn an_original_below_the_highest_delivered_shows_reordering() {
    for (index, retransmissions, echoes_original, expected) in [
        (4, 0, false, true),
        (5, 0, false, false),
        (6, 0, false, false),
        (4, 1, false, false),
        (4, 1, true, true),
        (6, 1, true, false),
    ] {
        let mut rack = rack();
        rack.on_delivered(&segment(5, 1, 0), false, None, at(101));
        let sent = segment(index, 1, retransmissions);
        rack.on_delivered(&sent, echoes_original, None, at(102));
        assert_eq!(rack.reordering_seen, expected, "{index} {retransmissions}");
    }
}

/// Step 2: an ACK that follows a retransmission sooner than the smallest round trip, or that echoes
/// an older timestamp, is for the original.
#[test]
fn an_ack_too_early_for_the_retransmission_is_of_the_original() {
    for (retransmissions, echoes_original, rtt_ms, expected) in [
        (1, false, 99, true),
        (1, false, 100, false),
        (1, true, 100, true),
        (0, false, 99, false),
        (0, true, 100, false),
    ] {
        let mut rack = rack();
        let sent = segment(5, 50, retransmissions);
        let now = at(50 + rtt_ms);
        let was_original = rack.on_delivered(&sent, echoes_original, Some(ms(100)), now);
        assert_eq!(was_original, expected);
        let taken = (rack.sent_at, rack.end, rack.fack, rack.rtt);
        let nothing = (Instant::ZERO, SeqNum(0), SeqNum(0), Duration::ZERO);
        let end = SeqNum(6_001);
        let all = (at(50), end, end, ms(rtt_ms));
        assert_eq!(taken, if expected { nothing } else { all });
    }
    assert!(!rack().on_delivered(&segment(0, 50, 1), false, None, at(51)));
}

/// Step 2: RACK.segment is the delivered segment that was sent last. Of segments sent at
/// the same time, it is the one that ends last.
#[test]
fn the_segment_sent_last_stays_the_reference() {
    let mut rack = rack();
    for (index, sent_ms, expected) in [
        (5, 50, (50, 6_001)),
        (7, 40, (50, 6_001)),
        (4, 50, (50, 6_001)),
        (6, 50, (50, 7_001)),
        (1, 51, (51, 2_001)),
    ] {
        rack.on_delivered(&segment(index, sent_ms, 0), false, None, at(200));
        let (sent_at, end) = expected;
        assert_eq!((rack.sent_at, rack.end), (at(sent_at), SeqNum(end)));
    }
    assert_eq!(rack.fack, SeqNum(8_001));
    rack.on_undo();
    assert_eq!(rack.sent_at, Instant::ZERO);
}

/// Step 4: the window grows at most once per round trip, and shrinks back after 16
/// recoveries.
#[test]
fn a_dsack_widens_the_window_once_a_round_trip_for_sixteen_recoveries() {
    let mut rack = rack();
    for (una, nxt, quarters) in [
        (10, 20, 2),
        (19, 30, 2),
        (20, 40, 3),
        (39, 50, 3),
        (45, 50, 4),
    ] {
        rack.on_dsack(SeqNum(una), SeqNum(nxt));
        assert_eq!(rack.quarters, quarters, "{una}");
    }
    assert!(rack.reordering_seen);
    for _ in 0..15 {
        rack.on_recovery_over();
        assert_eq!(rack.quarters, 4);
    }
    rack.on_dsack(SeqNum(60), SeqNum(70));
    for left in (0..16).rev() {
        rack.on_recovery_over();
        assert_eq!(rack.quarters, if left == 0 { 1 } else { 5 });
    }
}

/// Step 4: the reordering window.
#[test]
fn the_reordering_window_is_a_quarter_of_the_smallest_round_trip() {
    for (name, seen, sacked, recovering, quarters, path, expected) in [
        ("at first", false, 0, false, 1, path(100, Some(80)), 20),
        ("recovery", false, 0, true, 1, path(100, Some(80)), 0),
        ("3 SACKed", false, 3_000, false, 1, path(100, Some(80)), 0),
        ("almost 3", false, 2_999, false, 1, path(100, Some(80)), 20),
        ("reordering", true, 3_000, true, 1, path(100, Some(80)), 20),
        ("widened", true, 0, true, 3, path(100, Some(80)), 60),
        ("at most SRTT", true, 0, true, 9, path(100, Some(80)), 100),
        ("no sample", false, 0, false, 1, path(0, None), 10),
        ("no SRTT", true, 0, false, 9, path(0, Some(80)), 40),
    ] {
        let mut rack = rack();
        (rack.reordering_seen, rack.quarters, rack.rtt) = (seen, quarters, ms(40));
        let window = rack.reordering_window(sacked, recovering, path);
        assert_eq!(window, ms(expected), "{name}");
    }
}

/// Step 5: a segment is lost when RACK.rtt and the window have passed; before that, the
/// timer runs.
#[test]
fn a_segment_is_lost_when_its_time_is_over_and_not_before() {
    let mut rack = rack();
    // RACK.segment was sent at 3 ms and delivered 40 ms later. The reordering window is a quarter
    // of 80 ms, so each earlier segment is lost 60 ms after it was sent: at 61 and 62 ms. While
    // both are in flight, the timer is set to 60 ms after RACK.segment was sent.
    rack.on_delivered(&segment(2, 3, 0), false, None, at(43));
    for (now_ms, lost, timer) in [(60, 0, Some(63)), (61, MSS, Some(62)), (62, 2 * MSS, None)] {
        let mut board = Scoreboard::new();
        let mut arena = SentArena::new(9, 1);
        for (index, sent_ms) in [(0, 1), (1, 2), (2, 3), (3, 4)] {
            let start = SeqNum(1 + index * MSS);
            let sent = start..start + MSS;
            board.on_sent(sent, at(sent_ms), Snapshot::default(), &mut arena);
        }
        let path = path(100, Some(80));
        let mut told = 0;
        let mut count = |_: &Sent| told += 1;
        let (bytes, deadline) =
            rack.detect(&mut board, path, false, at(now_ms), &mut count, &mut arena);
        assert_eq!((bytes, told * MSS), (lost, lost), "{now_ms} ms");
        assert_eq!(deadline, timer.map(at), "{now_ms} ms");
        board.clear(&mut arena);
    }
}
