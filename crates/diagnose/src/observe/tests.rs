//! Tests of connections that are written segment by segment.

mod confidence;
mod endings;
mod linux;
mod writes;

use fullpipe_tcp::Limit;
use fullpipe_wire::{SackBlock, TcpFlags, TcpOptions};

use super::{
    ConnectionObserver, EpisodeKind, ObservedConnection, SeenLimit, Side,
    observed::WindowScale,
    round::{Cause, Span},
    rounds::Rounds,
    sender_view::SenderView,
};
use crate::{
    capture::{End, Segment},
    inferred::Confidence,
};

#[test]
fn a_lost_syn_makes_a_handshake_of_the_whole_lifetime() {
    let mut connection = ConnectionObserver::new();
    for at_ns in [0, 1_000_000_000, 3_000_000_000] {
        connection.on_segment(&Segment {
            at_ns,
            flags: TcpFlags::SYN,
            ..Segment::EMPTY
        });
    }
    let observed = connection.finish(7_000_000_000);
    assert_eq!(observed.lifetime_ns, 7_000_000_000);
    assert_eq!(observed.client, Some(End::A));
    let (limit, share, _) = observed.main_limit().expect("time has passed");
    assert_eq!(limit, SeenLimit::Known(Limit::Handshake));
    assert_eq!(share, 1.0);
    assert_eq!(observed.episodes[0].count, 2);
}

/// The fuzzer found a capture whose ACKs give no round-trip time.
#[test]
fn round_trips_without_a_sample_have_a_limit() {
    let mut rounds = Rounds::new(1_448);
    for number in 1..=8 {
        rounds.on_flight(number * 1_000_000, 2_896, number * 2_896);
        rounds.on_gap(Some(1_000_000), false, false);
        rounds.add(Span::new(number * 1_000_000, Cause::Window));
    }
    let (account, ..) = rounds.finish().finish();
    let times: u64 = account.times().map(|(_, time)| time.as_nanos()).sum();
    assert_eq!(times, 8_000_000);
}

/// Share of the time that Nagle's algorithm has in round trips of two late waits, each after
/// `burst` segments.
fn share_of_nagle(burst: u64) -> f64 {
    let mut rounds = Rounds::new(1_448);
    let (mut at, mut end) = (0, 0);
    for _ in 0..20 {
        for _ in 0..2 {
            at += 5_000_000;
            rounds.on_late();
            rounds.add(Span::new(at, Cause::Late));
            for _ in 0..burst {
                rounds.on_new();
                end += 1_448;
            }
            rounds.on_flight(at, 2 * burst * 1_448, end);
        }
        rounds.on_acked(at, 2 * burst * 1_448, end, end);
    }
    let (account, ..) = rounds.finish().finish();
    let all: u64 = account.times().map(|(_, time)| time.as_nanos()).sum();
    let is_nagle = |limit| limit == SeenLimit::Known(Limit::Nagle);
    let own = account.times().filter(|(limit, _)| is_nagle(*limit));
    own.map(|(_, time)| time.as_nanos()).sum::<u64>() as f64 / all as f64
}

/// A writer that is woken when a third of its send buffer is free sends many segments at once.
#[test]
fn late_waits_between_bursts_are_not_those_of_nagles_algorithm() {
    assert_eq!(share_of_nagle(8), 0.0);
    assert_eq!(share_of_nagle(2), 1.0);
}

/// Linux paces super-segments, and sets PSH on some of them although the write goes on.
#[test]
fn super_segments_of_a_pacer_do_not_wait_for_nagles_algorithm() {
    const LEN: u32 = 2_920;
    let mut script = Script::new(65_535);
    for number in 0..200 {
        let ms = 20 + 5 * i64::from(number);
        if number >= 5 {
            script.ack(ms - 3, 1 + (number - 4) * LEN, 65_000);
        }
        let pushed = [TcpFlags::ACK, TcpFlags::ACK | TcpFlags::PSH];
        let segment = Segment {
            seq: 1 + number * LEN,
            payload: LEN,
            ack: 1,
            window: 65_535,
            flags: pushed[number as usize % 2],
            ..Segment::EMPTY
        };
        script.at(ms, segment);
    }
    let shares = script.finish().shares();
    // The first round trip has waits that nothing explains.
    let share = shares.share(SeenLimit::Known(Limit::Nagle));
    assert!(share < 0.05, "{share}");
}

/// The round trip of the handshake took 25 ms. Later ones take 20 ms, and the tap missed the first
/// segment with the TSval 5.
#[test]
fn echoes_shorten_the_round_trip_to_the_sender_once_two_agree() {
    let mut view = SenderView::new(25_000_000);
    let trips = (1..=8).map(|tsval| (tsval, if tsval == 5 { 19_300_000 } else { 20_000_000 }));
    let seen = trips.map(|(tsval, trip)| {
        let at = u64::from(tsval) * 50_000_000;
        view.on_stamp(at, tsval);
        view.on_stamp(at + 300_000, tsval);
        view.on_echo(at + trip, tsval);
        // A later segment with the same TSecr says nothing.
        view.on_echo(at + trip / 2, tsval);
        view.to_sender / 1_000_000
    });
    // The first TSval is skipped, because earlier segments may have had it.
    assert_eq!(seen.collect::<Vec<_>>(), [25, 25, 20, 20, 20, 20, 20, 20]);
}

/// A connection that end A opened, over a path with an RTT of 20 ms. The capture was made at A.
struct Script {
    connection: ConnectionObserver,
    ns: i64,
}

impl Script {
    /// Creates a connection whose receiver first advertises this window.
    fn new(window: u16) -> Self {
        let mut script = Self {
            connection: ConnectionObserver::new(),
            ns: 0,
        };
        let options = TcpOptions {
            mss: Some(1_460),
            ..TcpOptions::NONE
        };
        let syn = Segment {
            flags: TcpFlags::SYN,
            options,
            ..Segment::EMPTY
        };
        script.at(0, syn);
        let flags = TcpFlags::SYN | TcpFlags::ACK;
        let (from, ack) = (End::B, 1);
        let answer = Segment {
            from,
            ack,
            flags,
            window,
            ..syn
        };
        script.at(20, answer);
        script.data(20, 1, 0);
        script
    }

    fn at(&mut self, ms: i64, segment: Segment) {
        self.at_ns(ms * 1_000_000, segment);
    }

    fn at_ns(&mut self, at_ns: i64, segment: Segment) {
        self.ns = at_ns;
        self.connection.on_segment(&Segment { at_ns, ..segment });
    }

    fn data(&mut self, ms: i64, seq: u32, payload: u32) {
        self.data_at(ms * 1_000_000, seq, payload);
    }

    fn data_at(&mut self, at_ns: i64, seq: u32, payload: u32) {
        let segment = Segment {
            seq,
            payload,
            ack: 1,
            window: 65_535,
            flags: TcpFlags::ACK,
            ..Segment::EMPTY
        };
        self.at_ns(at_ns, segment);
    }

    /// Adds twelve round trips of four segments, whose ACK advertises `window`.
    fn rounds(&mut self, window: u16) {
        let mut seq = 1;
        for round in 0..12 {
            for _ in 0..4 {
                self.data(20 + 20 * round, seq, 1_460);
                seq += 1_460;
            }
            self.ack(40 + 20 * round, seq, window);
        }
    }

    fn ack(&mut self, ms: i64, ack: u32, window: u16) {
        self.ack_at(ms * 1_000_000, ack, window);
    }

    fn ack_at(&mut self, at_ns: i64, ack: u32, window: u16) {
        let segment = Segment {
            from: End::B,
            seq: 1,
            ack,
            window,
            flags: TcpFlags::ACK,
            ..Segment::EMPTY
        };
        self.at_ns(at_ns, segment);
    }

    fn finish(self) -> ObservedConnection {
        self.connection.finish(self.ns)
    }
}

/// The reader stops; the second of three probes gets no answer.
#[test]
fn a_zero_window_counts_answered_and_lost_probes() {
    let mut script = Script::new(65_535);
    script.data(20, 1, 1_000);
    script.ack(40, 1_001, 0);
    script.data(260, 1_000, 0);
    script.ack(280, 1_001, 0);
    script.data(700, 1_000, 0);
    script.data(1_500, 1_000, 0);
    script.ack(2_000, 1_001, 5_000);
    script.data(2_000, 1_001, 1_000);
    script.ack(2_020, 2_001, 5_000);
    let observed = script.finish();
    let zero = observed.data().zero_windows;
    assert_eq!((zero.count, zero.closed_ns), (1, 1_960_000_000));
    assert_eq!((zero.probes_answered, zero.probes_lost), (2, 1));
    let kinds: Vec<_> = observed.episodes.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [EpisodeKind::ZeroWindow, EpisodeKind::ProbesLost]);
    let (limit, share, _) = observed.main_limit().expect("time has passed");
    assert_eq!(limit, SeenLimit::Known(Limit::ZeroWindow));
    assert!(share > 0.95, "{share}");
}

/// Segments of 1,460 bytes are lost; segments of 1,000 bytes arrive.
#[test]
fn an_mtu_hole_is_an_episode_with_the_size_that_passes() {
    let mut script = Script::new(65_535);
    for ms in [20, 260, 700, 1_500] {
        script.data(ms, 1, 1_460);
    }
    script.data(3_000, 1, 1_000);
    script.ack(3_020, 1_001, 65_535);
    let observed = script.finish();
    let holes = observed.episodes.iter();
    let holes = holes.filter(|episode| episode.kind == EpisodeKind::MtuHole);
    let sizes: Vec<_> = holes.map(|episode| episode.count).collect();
    assert_eq!(sizes, [1_000]);
    let (limit, ..) = observed.main_limit().expect("time has passed");
    assert_eq!(limit, SeenLimit::Known(Limit::Recovery));
}

/// A lost segment causes three duplicate ACKs and one retransmission. Times and bytes of the
/// account (time and bytes by limit) add up.
#[test]
fn a_lost_segment_is_a_fast_retransmission_after_the_tap() {
    let mut script = Script::new(65_535);
    for place in 0..5 {
        script.data(20, 1 + place * 1_460, 1_460);
    }
    for _ in 0..4 {
        script.ack(40, 1_461, 65_535);
    }
    script.data(40, 1_461, 1_460);
    script.ack(60, 7_301, 65_535);
    let observed = script.finish();
    let data = observed.data();
    assert_eq!((data.retransmissions.fast, data.lost_after_tap), (1, 1));
    let times = observed.account.times();
    let sum: u64 = times.map(|(_, time)| time.as_nanos()).sum();
    assert_eq!(sum, observed.lifetime_ns);
    let bytes: u64 = observed.account.parts().map(|(.., bytes)| bytes).sum();
    assert_eq!(bytes, data.payload_bytes);
}

/// The sender sends four segments in each round trip of 20 ms.
#[test]
fn a_constant_flight_is_a_send_buffer() {
    let mut script = Script::new(65_535);
    script.rounds(65_535);
    let observed = script.finish();
    let (limit, share, confidence) = observed.main_limit().expect("time has passed");
    assert_eq!(limit, SeenLimit::Known(Limit::SendBuffer), "{share}");
    assert_eq!(confidence, Confidence::High);
    assert_eq!(observed.vantage.side, Side::Sender);
    assert_eq!(observed.data().largest_flight_bytes, 4 * 1_460);
}

/// The kernel wakes the sender whenever a third of its buffer is free. The sender then sends a
/// burst of eleven segments within a few microseconds.
#[test]
fn bursts_of_a_small_send_buffer_are_no_pacing() {
    let mut script = Script::new(65_535);
    let (mut seq, mut acked) = (1, 1);
    let mut burst = |script: &mut Script, at_ns: i64| {
        for number in 0..11 {
            script.data_at(at_ns + 300 * number + number / 4 * 1_500, seq, 1_448);
            seq += 1_448;
        }
    };
    burst(&mut script, 20_100_000);
    burst(&mut script, 22_800_000);
    for round in 0..40 {
        let begin = 40_500_000 + 10_150_000 * round;
        for pair in 0..5 {
            acked += 2 * 1_448;
            script.ack_at(begin + 480_000 * pair, acked, 65_535);
        }
        acked += 1_448;
        script.ack_at(begin + 2_160_000, acked, 65_535);
        burst(&mut script, begin + 2_180_000);
    }
    let (limit, share, _) = script.finish().main_limit().expect("time has passed");
    assert_eq!(limit, SeenLimit::Known(Limit::SendBuffer), "{share}");
}

/// The window has room for four segments, and the sender always fills it.
#[test]
fn a_filled_window_is_the_receive_window() {
    let mut script = Script::new(4 * 1_460);
    script.rounds(4 * 1_460);
    let observed = script.finish();
    let receiver = &observed.directions[End::B.index()];
    let windows = [
        receiver.smallest_window_bytes,
        receiver.largest_window_bytes,
    ];
    assert_eq!(windows, [Some(4 * 1_460); 2]);
    let (limit, share, confidence) = observed.main_limit().expect("time has passed");
    assert_eq!(limit, SeenLimit::Known(Limit::ReceiveWindow), "{share}");
    assert_eq!(confidence, Confidence::High);
}

/// The window has room for 30 segments. Linux waits until a third of it is free (TSO deferral), so
/// the window has some room during most waits.
#[test]
fn a_window_that_is_filled_in_bursts_has_time_and_bytes() {
    const SEGMENT: u32 = 1_460;
    let window = (30 * SEGMENT) as u16;
    let mut script = Script::new(window);
    let (mut seq, mut acked) = (1, 1);
    let mut burst = |script: &mut Script, at_ns: i64| {
        for number in 0..10 {
            script.data_at(at_ns + 300 * number, seq, SEGMENT);
            seq += SEGMENT;
        }
    };
    for group in 0..3 {
        burst(&mut script, 20_010_000 + 6_700_000 * group);
    }
    for group in 0..60 {
        let begin = 40_100_000 + 6_700_000 * group;
        for pair in 0..5 {
            acked += 2 * SEGMENT;
            script.ack_at(begin + 1_000_000 * pair, acked, window);
        }
        burst(&mut script, begin + 4_020_000);
    }
    let observed = script.finish();
    let limit = SeenLimit::Known(Limit::ReceiveWindow);
    let share = observed.shares().share(limit);
    assert!(share > 0.9, "{share}");
    let all = observed.data().payload_bytes as f64;
    let bytes = observed.account.parts().find(|part| part.0 == limit);
    let bytes = bytes.expect("it has a part").2 as f64;
    assert!(bytes > 0.9 * all, "{bytes} of {all}");
}

/// Without a handshake, payload in flight that fills the window exactly shows that the window is not
/// scaled. Less payload in flight shows nothing.
#[test]
fn a_window_that_is_filled_exactly_is_not_scaled() {
    for (window, expected) in [
        (5_840, WindowScale::Inferred(0)),
        (2_920, WindowScale::Inferred(1)),
        (8_000, WindowScale::Unknown),
    ] {
        let mut script = Script {
            connection: ConnectionObserver::new(),
            ns: 0,
        };
        script.rounds(window);
        let observed = script.finish();
        let receiver = &observed.directions[End::B.index()];
        assert_eq!(receiver.window_scale, expected, "{window}");
    }
}

/// A short snap length cuts the options of the SYNs. The window scale is then unknown, and not 0:
/// more is in flight than the unscaled window allows.
#[test]
fn cut_options_of_the_handshake_leave_the_window_unknown() {
    let mut script = Script {
        connection: ConnectionObserver::new(),
        ns: 0,
    };
    let syn = Segment {
        flags: TcpFlags::SYN,
        options_cut: true,
        ..Segment::EMPTY
    };
    script.at(0, syn);
    let answer = Segment {
        from: End::B,
        ack: 1,
        flags: TcpFlags::SYN | TcpFlags::ACK,
        window: 1_000,
        ..syn
    };
    script.at(20, answer);
    script.data(20, 1, 0);
    script.rounds(1_000);
    let observed = script.finish();
    assert!(!observed.vantage.has_handshake);
    let receiver = &observed.directions[End::B.index()];
    assert_eq!(receiver.window_scale, WindowScale::Unknown);
    let (limit, ..) = observed.main_limit().expect("time has passed");
    assert_ne!(limit, SeenLimit::Known(Limit::ReceiveWindow));
}

/// A blocked writer wakes when a third of its buffer is free, and writes that third. The host takes
/// a microsecond for each segment, and each write ends in a partial segment.
#[test]
fn bursts_of_a_blocked_writer_with_partial_segments_are_no_nagle() {
    // Try long times to wake: a program that waits for room wakes later than the kernel responds to
    // an ACK.
    for wake_ns in [60_000, 150_000] {
        blocked_writer_is_limited_by_its_buffer(wake_ns);
    }
}

fn blocked_writer_is_limited_by_its_buffer(wake_ns: i64) {
    const WRITE: u32 = 16_384;
    const MSS: u32 = 1_460;
    /// Number of writes in flight.
    const FLIGHT: u32 = 3;
    /// Time between two ACKs in nanoseconds.
    const ACK_GAP: i64 = 250_000;
    let mut script = Script::new(65_535);
    let mut seq = 1;
    let mut at = 40_000_000;
    for write in 0..300 {
        if write >= FLIGHT {
            // Acknowledge the oldest write with one ACK for every two segments. Then let the writer
            // wake.
            let oldest = seq - FLIGHT * WRITE;
            for place in (2 * MSS..WRITE).step_by(2 * MSS as usize) {
                script.ack_at(at, oldest + place, 65_535);
                at += ACK_GAP;
            }
            script.ack_at(at, oldest + WRITE, 65_535);
            at += wake_ns;
        }
        let end = seq + WRITE;
        let mut sent_at = at;
        while seq < end {
            let payload = MSS.min(end - seq);
            let flags = match seq + payload == end {
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
            script.at_ns(sent_at, segment);
            sent_at += 1_000;
            seq += payload;
        }
        at += 20_000_000 / i64::from(FLIGHT) - if write < FLIGHT { 0 } else { 5 * ACK_GAP };
    }
    let seen = script.finish();
    // Allow a small share: the first partial segments do not yet show that Nagle's algorithm is
    // off.
    let share = seen.shares().share(Limit::Nagle.into());
    assert!(share < 0.01, "{wake_ns} ns: {share}");
    let (limit, ..) = seen.main_limit().expect("time has passed");
    assert_eq!(limit, SeenLimit::Known(Limit::SendBuffer));
}

/// Only one end is captured. Its segments are a request, a retransmission after a silence, and FIN.
#[test]
fn one_direction_of_a_capture_gets_only_what_its_segments_show() {
    let payload = |at_ms: i64, seq: u32, flags: TcpFlags| Segment {
        at_ns: at_ms * 1_000_000,
        seq,
        payload: 1_000,
        flags: flags | TcpFlags::ACK,
        ack: 1,
        ..Segment::EMPTY
    };
    let mut connection = ConnectionObserver::new();
    let none = TcpFlags::ACK;
    for segment in [
        payload(0, 1, none),
        payload(10, 1_001, TcpFlags::PSH),
        payload(1_010, 2_001, none),
        payload(1_510, 2_001, none),
        payload(1_520, 3_001, TcpFlags::FIN),
    ] {
        connection.on_segment(&segment);
    }
    let observed = connection.finish(1_620_000_000);
    assert_eq!(observed.only, Some(End::A));
    let seconds = |limit: SeenLimit| {
        let mut times = observed.account.times();
        times
            .find(|(known, _)| *known == limit)
            .unwrap()
            .1
            .as_secs_f64()
    };
    for (limit, expected) in [
        (SeenLimit::Unknown, 0.02),
        (Limit::Application.into(), 1.0),
        (Limit::Recovery.into(), 0.5),
        (Limit::Closing.into(), 0.1),
    ] {
        assert!(
            (seconds(limit) - expected).abs() < 1e-9,
            "{limit:?}: {}",
            seconds(limit)
        );
    }
    assert_eq!(observed.data().payload_bytes, 4_000);
    assert_eq!(observed.data().largest_flight_bytes, 0, "unknown");
    assert!(observed.cannot_tell[0].contains("only the segments of the sender"));
}

/// Only the ACKs of one end are captured. They show progress, a closed window, and progress again.
#[test]
fn acks_alone_count_the_payload_and_show_closed_windows() {
    let ack = |at_ms: i64, ack: u32, window: u16| Segment {
        at_ns: at_ms * 1_000_000,
        from: End::B,
        seq: 1,
        ack,
        flags: TcpFlags::ACK,
        window,
        ..Segment::EMPTY
    };
    let mut connection = ConnectionObserver::new();
    for segment in [
        ack(0, 1_001, 500),
        ack(10, 5_001, 0),
        ack(310, 5_001, 500),
        ack(320, 9_001, 500),
    ] {
        connection.on_segment(&segment);
    }
    let observed = connection.finish(320_000_000);
    assert_eq!((observed.only, observed.sender), (Some(End::B), End::A));
    let (limit, share, confidence) = observed.main_limit().expect("time has passed");
    assert_eq!(limit, SeenLimit::Known(Limit::ZeroWindow));
    assert!((share - 300.0 / 320.0).abs() < 1e-3, "{share}");
    assert_eq!(confidence, Confidence::High);
    assert_eq!(observed.data().acknowledged_bytes, 8_000);
}

/// Bytes that a SACK block reports are not in flight. A request and its response count as an
/// exchange.
#[test]
fn sacked_bytes_are_not_in_flight_and_answers_are_counted() {
    let mut connection = ConnectionObserver::new();
    let mut at_ns = 0;
    let mut give = |segment: Segment| {
        at_ns += 1_000_000;
        connection.on_segment(&Segment { at_ns, ..segment });
    };
    let data = |seq: u32| Segment {
        seq,
        payload: 1_000,
        ack: 101,
        flags: TcpFlags::ACK,
        window: 60_000,
        ..Segment::EMPTY
    };
    let answer = |ack: u32, left: u32, right: u32| {
        let mut options = TcpOptions::NONE;
        if left < right {
            options.sack.push(SackBlock { left, right });
        }
        Segment {
            from: End::B,
            seq: 101,
            ack,
            flags: TcpFlags::ACK,
            window: 60_000,
            options,
            ..Segment::EMPTY
        }
    };
    let request = Segment {
        from: End::B,
        seq: 1,
        ack: 1,
        payload: 100,
        flags: TcpFlags::ACK,
        window: 60_000,
        ..Segment::EMPTY
    };
    give(request);
    for seq in [1, 1_001, 2_001, 3_001] {
        give(data(seq));
    }
    give(answer(1, 1_001, 4_001));
    give(data(4_001));
    give(answer(5_001, 0, 0));
    let observed = connection.finish(20_000_000);
    assert_eq!(observed.data().largest_flight_bytes, 4_000);
    let exchange = observed.exchange.expect("a request and its answer");
    assert_eq!(
        (exchange.asker, exchange.requests, exchange.responses),
        (End::B, 1, 1)
    );
    assert!(observed.only.is_none());
}
