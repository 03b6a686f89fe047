//! Tests of the half-open entry of a listener.

use fullpipe_wire::Timestamps;

use super::*;

const ISS: u32 = u32::MAX - 3;
const IRS: u32 = u32::MAX - 100;

fn segment(flags: TcpFlags, seq: u32, ack: u32) -> Segment<'static> {
    Segment {
        seq: SeqNum(IRS) + seq,
        ack: SeqNum(ISS) + ack,
        flags,
        window: 1_000,
        urgent: 0,
        options: TcpOptions {
            window_scale: Some(0),
            ..TcpOptions::NONE
        },
        payload: &[],
        merged: 1,
        ecn: Ecn::NotEct,
    }
}

/// Creates the entry for a SYN that arrives at a host with `blocks` blocks of 1,000 bytes.
fn half_open(config: &TcpConfig, blocks: u32) -> (HalfOpen, Pool) {
    let pool = Pool::new(&PoolConfig {
        blocks,
        block_size: 1_000,
        send_floor: 0,
        receive_floor: 0,
        ..PoolConfig::default()
    });
    let syn = segment(TcpFlags::SYN, 0, 0);
    let half = HalfOpen::from_syn(&syn, open(config, ISS), config, &pool, u32::MAX);
    (half, pool)
}

/// RFC 9293 §3.10.7.4: a reset and a SYN are processed before the ACK field.
#[test]
fn only_an_ack_of_the_syn_ack_without_syn_and_rst_completes_a_handshake() {
    let (half, _) = half_open(&TcpConfig::default(), 100);
    let ack = TcpFlags::ACK;
    for (flags, number, completes, refuses) in [
        (ack, 1, true, false),
        (ack | TcpFlags::PSH | TcpFlags::FIN, 1, true, false),
        (ack, 0, false, true),
        (ack, 2, false, true),
        (ack | TcpFlags::RST, 1, false, false),
        (ack | TcpFlags::SYN, 1, false, false),
        (TcpFlags::PSH, 1, false, false),
        (TcpFlags::RST, 2, false, false),
    ] {
        let segment = segment(flags, 1, number);
        assert_eq!(half.is_completed_by(&segment), completes, "{flags:?}");
        assert_eq!(half.refuses(&segment), refuses, "{flags:?} {number}");
    }
}

/// RFC 5961 §3.2: a reset outside the window is ignored, one inside it is challenged.
#[test]
fn the_window_of_a_half_open_entry_begins_after_the_syn() {
    let (mut half, _) = half_open(&TcpConfig::default(), 100);
    for window in [0, 1, 500] {
        half.window = window;
        let size = u32::from(window).max(1);
        for (seq, inside) in [
            (0, false),
            (1, true),
            (size, true),
            (size + 1, false),
            (1 << 30, false),
        ] {
            let segment = segment(TcpFlags::RST, seq, 0);
            assert_eq!(half.is_in_window(&segment), inside, "{seq} in {window}");
        }
    }
}

/// A client whose ACK and first payload were lost answers a repeated SYN-ACK with a segment whose
/// sequence number is the right edge of the window.
#[test]
fn only_an_empty_segment_other_than_a_reset_is_taken_at_the_right_edge() {
    let (mut half, _) = half_open(&TcpConfig::default(), 100);
    let ack = TcpFlags::ACK;
    for window in [0, 1, 500] {
        half.window = window;
        let edge = 1 + u32::from(window);
        let closed = window == 0;
        for (name, flags, seq, payload, taken) in [
            ("empty", ack, edge, &[][..], true),
            ("behind", ack, edge + 1, &[], false),
            ("payload", ack, edge, &[0], closed),
            ("FIN", ack | TcpFlags::FIN, edge, &[], closed),
            ("reset", ack | TcpFlags::RST, edge, &[], closed),
        ] {
            let segment = Segment {
                payload,
                ..segment(flags, seq, 1)
            };
            assert_eq!(half.is_in_window(&segment), taken, "{name}, {window}");
        }
    }
}

/// RFC 7323 §2.2: the window of a SYN-ACK is not scaled; the windows of all other segments are.
#[test]
fn a_challenge_in_syn_received_repeats_the_advertised_window() {
    let config = TcpConfig {
        receive_buffer: 1 << 20,
        ..TcpConfig::default()
    };
    let (mut half, _) = half_open(&config, 2_000);
    let now = Instant::from_secs(1);
    let syn_ack = half.send_syn_ack(now);
    let scale = syn_ack.options.window_scale.expect("it was offered");
    assert!(scale > 0 && syn_ack.window > 1 << scale);
    let challenge = half.challenge_ack(now);
    assert_eq!(challenge.window, syn_ack.window >> scale);
    assert_eq!((challenge.seq, challenge.ack), (half.iss + 1, half.irs + 1));
}

/// RFC 7323 §3.2: once timestamps are agreed, every segment but a reset carries one.
#[test]
fn a_challenge_in_syn_received_carries_the_timestamp_that_was_agreed() {
    let stamp = Timestamps {
        value: 1_234,
        echo: 0,
    };
    for timestamps in [Some(stamp), None] {
        let config = TcpConfig::default();
        let mut syn = segment(TcpFlags::SYN, 0, 0);
        syn.options.timestamps = timestamps;
        let pool = Pool::new(&PoolConfig::default());
        let half = HalfOpen::from_syn(&syn, open(&config, ISS), &config, &pool, u32::MAX);
        let challenge = half.challenge_ack(Instant::from_secs(1));
        let echo = challenge.options.timestamps.map(|stamp| stamp.echo);
        assert_eq!(echo, timestamps.map(|stamp| stamp.value));
    }
}

/// Memory backs every advertised byte, wherever in a block the first byte lies.
#[test]
fn scarce_memory_is_advertised_to_the_last_block() {
    let config = TcpConfig {
        idle_window_share: 100,
        initial_receive_window: 100,
        fit_segments: 0,
        ..TcpConfig::default()
    };
    for (blocks, window) in [(1, 0), (2, 1_000), (3, 2_000), (5, 4_000)] {
        let (half, pool) = half_open(&config, blocks);
        assert_eq!(half.window, window, "{blocks} blocks");
        assert_eq!(half.blocks(&pool), blocks, "{blocks} blocks");
    }
}

fn accepted(half: &HalfOpen, config: &TcpConfig, now: Instant) -> Endpoint {
    let mut end = Endpoint::new(config.clone(), PoolConfig::default());
    let ack = segment(TcpFlags::ACK, 1, 1);
    let tuning = Tuning::from_config(config);
    end.connection = opened(half, &ack, tuning, &mut end.env(now));
    assert!(end.connection.is_some());
    end
}

/// One block was set aside for the handshake. In the second case, the second block that an ordinary
/// window needs was taken meanwhile. Memory does not count as short in either case.
#[test]
fn a_handshake_for_a_cell_is_completed_with_one_block() {
    let config = TcpConfig {
        receive_buffer: 500,
        ..TcpConfig::default()
    };
    let (half, _) = half_open(&config, 100);
    for (free, cells) in [(2, 0), (1, 1)] {
        let mut end = Endpoint::new(config.clone(), PoolConfig::default());
        assert_eq!((half.window, half.blocks(&end.pool)), (500, 1));
        let others = end.pool.room(fullpipe_pool::Holder::Receive) - free;
        assert!(end.pool.set_aside(others, true) && !end.pool.is_short());
        let ack = segment(TcpFlags::ACK, 1, 1);
        let tuning = Tuning::from_config(&config);
        let now = Instant::from_secs(1);
        end.connection = opened(&half, &ack, tuning, &mut end.env(now));
        assert!(end.connection.is_some(), "{free} free blocks");
        assert_eq!(end.pool.cells_in_use(), cells, "{free} free blocks");
        end.with(now, |connection, env| {
            connection.verify(now, env.pool, env.sent)
        });
    }
}

/// RFC 6298 §3 and §5.7: the ACK of a SYN-ACK gives a sample; after a lost SYN-ACK without a
/// sample the timeout is 3 s. The entry of a SYN cookie has neither the time nor the number of
/// its SYN-ACKs.
#[test]
fn the_first_timeout_follows_what_is_known_of_the_syn_ack() {
    let config = TcpConfig {
        timestamps: false,
        ..TcpConfig::default()
    };
    let now = Instant::from_secs(1);
    for (syn_acks, rto_ms) in [(0, 1_000), (1, 300), (2, 3_000)] {
        let (mut half, _) = half_open(&config, 2_000);
        for _ in 0..syn_acks {
            half.send_syn_ack(now);
        }
        let now = now + Duration::from_millis(100);
        let mut end = accepted(&half, &config, now);
        let info = end.with(now, |connection, env| connection.info(env));
        assert_eq!(
            info.rto,
            Duration::from_millis(rto_ms),
            "{syn_acks} SYN-ACKs"
        );
        assert_eq!(info.snd_una, half.iss.0.wrapping_add(1));
        assert_eq!(info.snd_nxt, info.snd_una);
        assert_eq!(end.counters.passive_opens, 1);
    }
}
