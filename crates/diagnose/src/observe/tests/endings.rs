//! Tests of the ends of connections: FIN, keep-alives, probes that carry a byte, and failures.

use fullpipe_wire::TcpFlags;

use super::Script;
use crate::{
    capture::{End, Segment},
    observe::{ConnectionFailure, ConnectionObserver, EpisodeKind, ObservedConnection},
};

const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;
const FIN: TcpFlags = TcpFlags::FIN;
const RST: TcpFlags = TcpFlags::RST;

/// A segment without payload.
fn one(from: End, seq: u32, ack: u32, flags: TcpFlags) -> Segment {
    Segment {
        from,
        seq,
        ack,
        flags,
        window: 60_000,
        ..Segment::EMPTY
    }
}

/// Both ends send FIN at the same time after 3,000 bytes; the FIN of end A is retransmitted.
#[test]
fn a_fin_is_neither_payload_nor_missing() {
    let mut script = Script::new(65_535);
    for place in 0..3 {
        script.data(20, 1 + place * 1_000, 1_000);
    }
    script.ack(40, 3_001, 60_000);
    script.at(50, one(End::A, 3_001, 1, FIN | ACK));
    script.at(51, one(End::B, 1, 3_001, FIN | ACK));
    script.at(52, one(End::A, 3_002, 2, ACK));
    script.at(350, one(End::A, 3_001, 2, FIN | ACK));
    script.at(370, one(End::B, 2, 3_002, ACK));
    let observed = script.finish();
    let [a, b] = &observed.directions;
    assert_eq!((a.payload_bytes, a.acknowledged_bytes), (3_000, 3_000));
    assert_eq!((b.payload_bytes, b.acknowledged_bytes), (0, 0));
    assert_eq!((a.missing_bytes, b.missing_bytes), (0, 0));
    assert_eq!(a.retransmissions.total(), 1, "the FIN, as tshark counts");
    assert_eq!((a.retransmissions.fin, a.retransmissions.of_data()), (1, 0));
    assert_eq!(observed.failure, None);
}

/// Some systems put the last acknowledged byte into a keep-alive, others send none.
#[test]
fn a_keep_alive_is_neither_payload_nor_a_retransmission() {
    let mut script = Script::new(65_535);
    script.data(20, 1, 1_000);
    script.ack(40, 1_001, 60_000);
    for (second, payload) in [(1, 0), (2, 1), (3, 1)] {
        script.data(1_000 * second, 1_000, payload);
        script.ack(1_000 * second + 20, 1_001, 60_000);
    }
    script.data(4_000, 1_001, 500);
    script.ack(4_020, 1_501, 60_000);
    let observed = script.finish();
    let data = observed.data();
    assert_eq!((data.keep_alives, data.retransmissions.total()), (3, 0));
    assert_eq!(
        (data.payload_bytes, data.acknowledged_bytes),
        (1_500, 1_500)
    );
    assert_eq!((data.data_segments, data.missing_bytes), (2, 0));
}

/// The receiver accepts the byte of a probe, and the next segment begins after it.
#[test]
fn the_accepted_byte_of_a_window_probe_is_payload() {
    let mut script = Script::new(65_535);
    script.data(20, 1, 1_000);
    script.ack(40, 1_001, 0);
    script.data(300, 1_001, 1);
    script.ack(320, 1_002, 5_000);
    script.data(330, 1_002, 999);
    script.ack(350, 2_001, 5_000);
    let observed = script.finish();
    let data = observed.data();
    assert_eq!(
        (data.payload_bytes, data.acknowledged_bytes),
        (2_000, 2_000)
    );
    assert_eq!((data.missing_bytes, data.retransmissions.total()), (0, 0));
}

/// Timeouts and the segments that are retransmitted after one are told apart.
#[test]
fn timeouts_in_a_row_are_counted_and_further_retransmissions_are_not() {
    let mut script = Script::new(65_535);
    for place in 0..5 {
        script.data(40, 1 + place * 1_000, 1_000);
    }
    for ms in [300, 800, 1_700] {
        script.data(ms, 1, 1_000);
    }
    script.ack(1_720, 1_001, 60_000);
    script.data(1_720, 1_001, 1_000);
    script.data(1_721, 2_001, 1_000);
    script.ack(1_740, 5_001, 60_000);
    let observed = script.finish();
    let is_timeout = |kind| kind == EpisodeKind::Timeout;
    let episodes = observed.episodes.iter();
    let found: Vec<_> = episodes
        .filter(|episode| is_timeout(episode.kind))
        .map(|episode| (episode.count, episode.unanswered))
        .collect();
    assert_eq!(found, [(3, 3)]);
    assert_eq!(observed.failure, None);
}

/// Three of four probes have no answer.
#[test]
fn a_zero_window_has_the_number_of_unanswered_probes() {
    let mut script = Script::new(65_535);
    script.data(20, 1, 1_000);
    script.ack(40, 1_001, 0);
    for ms in [260, 700, 1_500, 3_100] {
        script.data(ms, 1_000, 0);
    }
    script.ack(3_120, 1_001, 5_000);
    let observed = script.finish();
    let found: Vec<_> = observed
        .episodes
        .iter()
        .map(|episode| (episode.kind, episode.count, episode.unanswered))
        .collect();
    assert_eq!(
        found,
        [
            (EpisodeKind::ZeroWindow, 4, 3),
            (EpisodeKind::ProbesLost, 3, 3)
        ]
    );
}

fn observed(segments: &[(i64, Segment)], end_ms: i64) -> ObservedConnection {
    let mut connection = ConnectionObserver::new();
    for (ms, segment) in segments {
        let at_ns = ms * 1_000_000;
        connection.on_segment(&Segment { at_ns, ..*segment });
    }
    connection.finish(end_ms * 1_000_000)
}

#[test]
fn a_syn_that_is_reset_is_refused_and_one_without_an_answer_is_unanswered() {
    let syn = one(End::A, 0, 0, SYN);
    let reset = Segment {
        window: 0,
        ..one(End::B, 0, 1, RST | ACK)
    };
    let refused = observed(&[(0, syn), (3, reset)], 10_000);
    let after_ns = 3_000_000;
    assert_eq!(
        refused.failure,
        Some(ConnectionFailure::Refused { after_ns })
    );
    // The window of a reset is no window.
    assert_eq!(refused.directions[0].zero_windows.count, 0);
    let unanswered = observed(&[(0, syn), (1_000, syn), (3_000, syn)], 10_000);
    assert_eq!(
        unanswered.failure,
        Some(ConnectionFailure::Unanswered { syns: 3 })
    );
    // The capture ends before an answer can be expected.
    assert_eq!(observed(&[(0, syn)], 900).failure, None);
    // Segments that follow show that the capture lacks the answer.
    let data = one(End::A, 1, 1, ACK);
    let one_sided = observed(&[(0, syn), (1_000, syn), (1_020, data)], 10_000);
    assert_eq!(one_sided.failure, None);
}

#[test]
fn a_reset_is_a_failure_unless_everything_was_sent_and_acknowledged() {
    let reset_after = |has_fin: bool, has_ack: bool| {
        let mut script = Script::new(65_535);
        script.data(20, 1, 1_000);
        if has_ack {
            script.ack(40, 1_001, 60_000);
        }
        if has_fin {
            script.at(
                41,
                one(End::B, 1, if has_ack { 1_001 } else { 1 }, FIN | ACK),
            );
            script.at(42, one(End::A, 1_001, 2, ACK));
        }
        script.at(50, one(End::B, 1, 0, RST));
        script.finish().failure
    };
    let reset = |in_flight_bytes| {
        Some(ConnectionFailure::Reset {
            by: End::B,
            in_flight_bytes,
            fin_in_flight: false,
        })
    };
    assert_eq!(reset_after(false, false), reset(1_000));
    assert_eq!(reset_after(false, true), reset(0));
    assert_eq!(reset_after(true, false), reset(1_000));
    assert_eq!(reset_after(true, true), None);
}

/// The reset acknowledges 600 of 1,000 bytes and no FIN, all bytes, or everything.
#[test]
fn what_the_reset_acknowledges_is_not_in_flight() {
    let reset_with = |ack: u32| {
        let mut script = Script::new(65_535);
        script.data(20, 1, 1_000);
        script.at(21, one(End::A, 1_001, 1, FIN | ACK));
        script.at(41, one(End::B, 1, ack, RST | ACK));
        script.finish().failure
    };
    let reset = |in_flight_bytes| {
        Some(ConnectionFailure::Reset {
            by: End::B,
            in_flight_bytes,
            fin_in_flight: true,
        })
    };
    assert_eq!(reset_with(601), reset(400));
    assert_eq!(reset_with(1_001), reset(0));
    assert_eq!(reset_with(1_002), None);
}

/// Somebody sends a reset in the name of end A, which end B answers with a challenge ACK (RFC 5961
/// §3.2). End A goes on.
#[test]
fn a_connection_that_survives_a_reset_has_not_failed() {
    let mut script = Script::new(65_535);
    script.data(20, 1, 1_000);
    script.ack(40, 1_001, 60_000);
    script.at(50, one(End::A, 30_000, 1, RST));
    script.ack(51, 1_001, 60_000);
    script.data(80, 1_001, 1_000);
    script.ack(100, 2_001, 60_000);
    let observed = script.finish();
    assert_eq!((observed.failure, observed.is_closed), (None, false));
    assert_eq!(observed.data().acknowledged_bytes, 2_000);
    // A second reset ends the connection: nothing follows it.
    let mut script = Script::new(65_535);
    script.data(20, 1, 1_000);
    script.at(30, one(End::A, 30_000, 1, RST));
    script.data(60, 1_001, 1_000);
    script.at(70, one(End::A, 2_001, 1, RST));
    let observed = script.finish();
    assert!(matches!(
        observed.failure,
        Some(ConnectionFailure::Reset {
            by: End::A,
            in_flight_bytes: 2_000,
            ..
        })
    ));
}

/// After 40 ms, end B sends nothing more.
fn vanishing(ends_with_reset: bool) -> Option<ConnectionFailure> {
    let mut script = Script::new(65_535);
    script.data(20, 1, 1_000);
    script.ack(40, 1_001, 60_000);
    script.data(40, 1_001, 1_000);
    for ms in [300, 800, 1_700] {
        script.data(ms, 1_001, 1_000);
    }
    if ends_with_reset {
        script.at(3_000, one(End::A, 2_001, 1, RST));
    }
    script.connection.finish(4_000_000_000).failure
}

#[test]
fn an_end_that_answers_no_timeout_has_vanished() {
    let vanished = |silent_ms: u64, gave_up| {
        Some(ConnectionFailure::Vanished {
            end: End::B,
            unanswered: 3,
            in_handshake: false,
            last_ns: 40_000_000,
            silent_ns: silent_ms * 1_000_000,
            gave_up,
        })
    };
    assert_eq!(vanishing(false), vanished(3_960, false));
    assert_eq!(vanishing(true), vanished(2_960, true));
}

/// Keep-alives without an answer end with the reset of the end that sent them.
#[test]
fn an_idle_end_that_answers_no_keep_alive_has_vanished() {
    let mut script = Script::new(65_535);
    script.data(20, 1, 1_000);
    script.ack(40, 1_001, 60_000);
    for second in [10, 11, 12] {
        script.data(1_000 * second, 1_000, 0);
    }
    script.at(13_000, one(End::A, 1_001, 1, RST | ACK));
    let found = script.finish().failure.map(ConnectionFailure::name);
    assert_eq!(found, Some("vanished"));
}

/// The capture goes on for an hour after the last segment. The lost time is that of the end that waited.
#[test]
fn an_end_that_got_no_answer_waits_until_it_would_have_asked_again() {
    const HOUR_MS: i64 = 3_600_000;
    let syn = one(End::A, 0, 0, SYN);
    let waited = |segments: &[(i64, Segment)], end_ms| {
        let observed = observed(segments, end_ms);
        assert!(observed.failure.is_some());
        let account: u64 = observed
            .account
            .times()
            .map(|(_, time)| time.as_nanos())
            .sum();
        assert_eq!(account, observed.lifetime_ns);
        observed.lifetime_ns / 1_000_000
    };
    // SYNs of Linux, which gives up after 127 s (tcp_syn_retries = 6).
    let at_s = [0, 1, 3, 7, 15, 31, 63];
    let syns = at_s.map(|second| (1_000 * second, syn));
    assert_eq!(waited(&syns, HOUR_MS), 127_000);
    assert_eq!(waited(&syns, 100_000), 100_000, "the capture ends earlier");
    assert_eq!(waited(&syns[..1], HOUR_MS), 1_000);
    // Keep-alives of another system, an hour apart.
    let data = Segment {
        payload: 10,
        ..one(End::A, 1, 1, ACK)
    };
    let mut segments = vec![
        (0, syn),
        (1, one(End::B, 0, 1, SYN | ACK)),
        (2, one(End::A, 1, 1, ACK)),
        (3, data),
        (4, one(End::B, 1, 11, ACK)),
    ];
    let keep_alive = one(End::A, 10, 1, ACK);
    segments.extend([1, 2, 3].map(|hour| (hour * HOUR_MS, keep_alive)));
    let until = 3 * HOUR_MS as u64 + 120_000;
    assert_eq!(waited(&segments, 9 * HOUR_MS), until);
}

/// The client answers no SYN-ACK. Another client sends each SYN again, so it has not vanished.
#[test]
fn syn_acks_without_an_answer_are_counted_since_the_last_syn() {
    let syn = one(End::A, 0, 0, SYN);
    let syn_ack = one(End::B, 0, 1, SYN | ACK);
    let mut segments = vec![(0, syn)];
    segments.extend([1, 1_000, 3_000, 7_000].map(|ms| (ms, syn_ack)));
    assert_eq!(
        observed(&segments, 9_000).failure,
        Some(ConnectionFailure::Vanished {
            end: End::A,
            unanswered: 4,
            in_handshake: true,
            last_ns: 0,
            silent_ns: 9_000_000_000,
            gave_up: false,
        })
    );
    // The server gives up and resets the connection.
    segments.push((15_000, one(End::B, 1, 1, RST)));
    let Some(ConnectionFailure::Vanished {
        in_handshake: true,
        unanswered: 4,
        gave_up: true,
        ..
    }) = observed(&segments, 20_000).failure
    else {
        panic!("{:?}", observed(&segments, 20_000).failure);
    };
    let repeated = [0, 1_000, 3_000, 7_000].map(|ms| [(ms, syn), (ms + 1, syn_ack)]);
    assert_eq!(observed(&repeated.concat(), 9_000).failure, None);
}

/// Segments that follow a timeout without a further one are no timeouts, in the number of unanswered
/// ones as in the episodes.
#[test]
fn a_failure_counts_the_timeouts_of_the_episodes() {
    let mut script = Script::new(65_535);
    for place in 0..5 {
        script.data(40, 1 + place * 1_000, 1_000);
    }
    for ms in [300, 800, 1_700, 3_500] {
        script.data(ms, 1, 1_000);
        script.data(ms + 1, 1_001, 1_000);
    }
    let observed = script.connection.finish(6_000_000_000);
    let is_timeout = |kind| kind == EpisodeKind::Timeout;
    let timeouts = observed.episodes.iter().filter(|one| is_timeout(one.kind));
    let timeouts: u64 = timeouts.map(|episode| episode.count).sum();
    let Some(ConnectionFailure::Vanished { unanswered, .. }) = observed.failure else {
        panic!("{:?}", observed.failure);
    };
    assert_eq!((unanswered, timeouts), (4, 4));
    // The next timeout would expire 3.6 s after the last one, when the capture has ended.
    assert_eq!(observed.lifetime_ns, 6_000_000_000);
}

/// The capture ends with the handshake, 5 ms before the ACK reaches the server.
#[test]
fn the_account_ends_with_the_capture() {
    let syn = one(End::A, 0, 0, SYN);
    let syn_ack = one(End::B, 0, 1, SYN | ACK);
    let observed = observed(
        &[
            (0, syn),
            (10, syn_ack),
            (15, one(End::A, 1, 1, ACK)),
            (
                15,
                Segment {
                    payload: 10,
                    ..one(End::B, 1, 1, ACK)
                },
            ),
        ],
        15,
    );
    assert_eq!(observed.sender, End::B);
    let times = observed.account.times();
    let sum: u64 = times.map(|(_, time)| time.as_nanos()).sum();
    assert_eq!((sum, observed.lifetime_ns), (15_000_000, 15_000_000));
}
