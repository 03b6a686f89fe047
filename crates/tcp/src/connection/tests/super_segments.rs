//! Tests with a device that cuts segments: frame sizes, deferral (the wait for a fuller frame),
//! device backlog.

use super::*;
use crate::{Limit, config::SegmentSizing};

/// Payload that fits beside timestamps.
const FULL: usize = 1_448;

fn large() -> TcpConfig {
    TcpConfig {
        send_buffer: 1 << 20,
        receive_buffer: 1 << 20,
        ..TcpConfig::default()
    }
}

/// Creates a pair with devices that cut frames of up to 60,000 bytes of
/// payload.
fn cutting(config: TcpConfig) -> Pair {
    let mut pair = Pair::established(config, large());
    pair.device_max = 60_000;
    pair
}

#[test]
fn frames_grow_with_the_rate_and_are_whole_segments() {
    let mut pair = cutting(large());
    pair.transfer(CLIENT, 4_000_000, Duration::from_secs(20));
    let sizes: Vec<usize> = data_sent(&pair, CLIENT)
        .map(|data| data.payload.len())
        .collect();
    assert_eq!(sizes[0], 2 * FULL);
    assert!(sizes.iter().any(|len| *len > 20 * FULL), "{sizes:?}");
    assert!(sizes.iter().all(|len| *len <= 60_000));
    let odd = sizes.iter().filter(|len| **len % FULL != 0).count();
    assert!(odd <= 2, "{odd} frames that are no whole segments");
    let counters = &pair.ends[CLIENT].counters;
    assert!(counters.out_segs > 4_000_000 / FULL as u64);
    assert_eq!(counters.retrans_segs, 0);
}

#[test]
fn frames_sized_at_the_write_keep_the_size_of_two_segments() {
    let config = TcpConfig {
        segment_sizing: SegmentSizing::Write,
        ..large()
    };
    let mut pair = cutting(config);
    let payload = alloc::vec![7; 900_000];
    assert_eq!(pair.write(CLIENT, &payload), payload.len());
    for _ in 0..100 {
        pair.run_for(Duration::from_millis(10));
        pair.read(SERVER);
    }
    let data = data_sent(&pair, CLIENT).map(|data| data.payload.len());
    let (mut frames, mut bytes) = (0, 0);
    for len in data {
        assert!(len <= 2 * FULL, "{len}");
        (frames, bytes) = (frames + 1, bytes + len);
    }
    assert_eq!(bytes, payload.len());
    assert!(frames >= bytes / (2 * FULL));
}

/// Returns a pair whose client has filled its window, and has received the ACK of its first
/// `segments` segments after `delay`. The window then has room for less than a frame. The
/// round trip takes 20 ms.
fn with_room_for(segments: usize, delay: Duration) -> Pair {
    let config = TcpConfig {
        pacing: false,
        ..large()
    };
    let mut pair = cutting(config);
    pair.transfer(CLIENT, 300_000, Duration::from_secs(10));
    pair.run_for(Duration::from_millis(60));
    let payload = alloc::vec![7; 1 << 20];
    pair.at(CLIENT, |connection, env| {
        connection.write(&payload, env).expect("may write")
    });
    pair.transmit();
    let goal = pair.at(CLIENT, |connection, env| {
        connection.frame_goal(60_000, FULL as u32, env)
    });
    assert!(goal as usize > segments * FULL, "{goal}");
    pair.path.clear();
    pair.now += delay;
    let una = pair.at(CLIENT, |connection, _| connection.send.snd_una);
    let mut ack = pair.sent.last().expect("payload").clone();
    ack.payload.clear();
    ack.to = CLIENT;
    let (seq, window) = pair.at(SERVER, |connection, _| (connection.send.snd_nxt, 1 << 15));
    (ack.seq, ack.ack, ack.window) = (seq, una + (segments * FULL) as u32, window);
    ack.options.timestamps = None;
    pair.deliver(&ack);
    pair
}

#[test]
fn a_deferral_is_charged_to_the_window_and_ends_after_half_a_round_trip() {
    let mut pair = with_room_for(1, Duration::from_millis(18));
    let before = pair.at(CLIENT, |connection, _| connection.send.snd_nxt);
    let sent = pair.sent.len();
    pair.transmit();
    assert_eq!(pair.sent.len(), sent, "it waits");
    pair.at(CLIENT, |connection, _| {
        assert_eq!(connection.send.snd_nxt, before);
        assert!(matches!(
            connection.limit.current(),
            Limit::CwndSlowStart | Limit::CwndSteady | Limit::ReceiveWindow
        ));
    });
    // The deferral ends half a round trip later.
    pair.run_for(Duration::from_millis(9));
    assert_eq!(pair.sent.len(), sent, "it still waits");
    pair.run_for(Duration::from_millis(4));
    assert!(pair.sent.len() > sent, "it was sent");
}

/// The next ACK is due a round trip after the oldest segment in flight has left.
#[test]
fn a_frame_waits_for_an_ack_that_is_due_within_half_a_round_trip() {
    for (delay_ms, waits) in [(4, false), (8, false), (12, true), (18, true)] {
        let mut pair = with_room_for(1, Duration::from_millis(delay_ms));
        let sent = pair.sent.len();
        pair.transmit();
        assert_eq!(pair.sent.len() == sent, waits, "after {delay_ms} ms");
    }
}

#[test]
fn the_device_backlog_is_bounded() {
    let mut pair = cutting(large());
    pair.transfer(CLIENT, 1_000_000, Duration::from_secs(10));
    pair.run_for(Duration::from_secs(1));
    let payload = alloc::vec![7; 500_000];
    let held = pair.at(CLIENT, |connection, env| {
        assert!(connection.on_device_backlog(1 << 20, 60_000, env));
        connection.write(&payload, env).expect("may write");
        let left = connection.poll_segment(60_000, env);
        assert_eq!(left, None);
        connection.limit.current()
    });
    assert_eq!(held, Limit::Device);
    pair.at(CLIENT, |connection, env| {
        assert!(!connection.on_device_backlog(0, 60_000, env));
        assert!(connection.wants_output());
        assert!(connection.poll_segment(60_000, env).is_some());
    });
}

#[test]
fn urgent_payload_leaves_segment_by_segment() {
    let mut pair = cutting(large());
    let payload = alloc::vec![7; 10 * FULL];
    pair.at(CLIENT, |connection, env| {
        connection.write(&payload, env).expect("may write");
        connection
            .set(SocketOption::Urgent, env)
            .expect("a legal value");
    });
    pair.transmit();
    assert!(data_sent(&pair, CLIENT).all(|data| data.payload.len() <= FULL));
}

/// RFC 5682 §2.1 step 2b: at most two new segments leave, regardless of the bytes that the first
/// ACK after the timeout covers, even if the device cuts super-segments.
#[test]
fn f_rto_sends_two_segments_and_not_two_frames() {
    let mut pair = cutting(TcpConfig {
        sack: false,
        timestamps: false,
        pacing: false,
        ..large()
    });
    let mss = pair.at(CLIENT, |connection, env| connection.mss(env));
    pair.lose = Box::new(|_| true);
    pair.write(CLIENT, &alloc::vec![7; 50 * mss as usize]);
    pair.run_for(Duration::from_millis(400));
    let mut ack = pair.sent.last().expect("a retransmission").clone();
    ack.payload.clear();
    let before = pair.at(CLIENT, |connection, _| {
        assert_eq!(connection.recovery.timeouts(), 1);
        connection.send.snd_nxt
    });
    (ack.to, ack.seq, ack.ack) = (CLIENT, ack.ack, ack.seq + 4 * mss);
    pair.deliver(&ack);
    pair.transmit();
    let new = pair.at(CLIENT, |connection, _| {
        before.room_to(connection.send.snd_nxt)
    });
    assert_eq!(new, 2 * mss);
}

/// `segment_size` is for the device: 0 leaves the frame unchanged.
#[test]
fn a_frame_of_one_segment_is_not_cut() {
    let mut pair = cutting(TcpConfig {
        nagle: false,
        ..large()
    });
    for (bytes, segment_size) in [(FULL, 0), (2 * FULL, FULL), (100, 0)] {
        pair.at(CLIENT, |connection, env| {
            let payload = alloc::vec![7; bytes];
            connection.write(&payload, env).expect("may write");
            let segment = connection.poll_segment(60_000, env).expect("it may leave");
            assert_eq!(segment.payload_len() as usize, bytes);
            assert_eq!(usize::from(segment.segment_size), segment_size, "{bytes}");
        });
        pair.path.clear();
    }
}

/// To restore pairs of segments that the peer's ACKs split, three segments leave in place of a
/// pair. Only segments with payload count as these three.
#[test]
fn acks_do_not_count_as_segments_of_a_pair() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    let cut = |pair: &mut Pair| pair.at(CLIENT, |connection, _| connection.pairs.cut(999, 1_998));
    pair.at(CLIENT, |connection, env| {
        connection
            .pairs
            .on_ack(env.now, 0, env.now + Duration::from_micros(1));
    });
    let three = cut(&mut pair);
    assert_eq!(three, 666);
    pair.at(CLIENT, |connection, _| connection.demand_ack());
    pair.transmit();
    assert_eq!(pair.sent.last().map(|f| f.payload.len()), Some(0));
    assert_eq!(cut(&mut pair), 666);
    for _ in 0..3 {
        pair.write(CLIENT, b"segment");
        pair.run_for(Duration::from_secs(1));
    }
    assert_eq!(cut(&mut pair), 999);
}

#[test]
fn a_busy_device_limits_only_a_sender_that_could_send() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    let limit = |pair: &mut Pair| {
        pair.at(CLIENT, |connection, env| {
            connection.on_device_full(env);
            connection.info(env).limit.current()
        })
    };
    assert_eq!(limit(&mut pair), Limit::Application);
    pair.at(CLIENT, |connection, _| connection.demand_ack());
    assert_eq!(limit(&mut pair), Limit::Application, "an ACK waits");
    pair.at(CLIENT, |c, env| c.write(b"segment", env))
        .expect("may write");
    assert_eq!(limit(&mut pair), Limit::Device, "payload waits");
}

/// A buffer of few segments is cut into an even number of them, unless a queue on the path
/// makes the round trip long.
#[test]
fn a_full_path_gets_larger_segments_from_a_small_buffer() {
    let client = TcpConfig {
        send_buffer: 4_000,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, TcpConfig::default());
    let most = |pair: &mut Pair| {
        pair.sent.clear();
        pair.transfer(CLIENT, 40_000, Duration::from_secs(60));
        data_sent(pair, CLIENT).map(|f| f.payload.len()).max()
    };
    let even = most(&mut pair);
    pair.delay = Duration::from_millis(40);
    most(&mut pair);
    assert!(most(&mut pair) > even, "{even:?}");
}
