//! Tests of transfers: loss, order, segment sizes, memory, limits.

use fullpipe_wire::SackBlocks;

use super::*;

fn small(blocks: u32) -> PoolConfig {
    PoolConfig {
        blocks,
        block_size: 196,
        ..PoolConfig::default()
    }
}

#[test]
fn payload_arrives_in_order_and_once_in_both_directions() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.transfer(CLIENT, 1_000_000, Duration::from_secs(20));
    pair.transfer(SERVER, 1_000_000, Duration::from_secs(20));
    assert_eq!(pair.ends[CLIENT].counters.retrans_segs, 0);
}

#[test]
fn one_loss_costs_a_fast_retransmit_and_no_timeout() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.lose = lose_nth_data(SERVER, 40);
    pair.transfer(CLIENT, 300_000, Duration::from_secs(10));
    let counters = &pair.ends[CLIENT].counters;
    assert_eq!(
        (
            counters.retrans_segs,
            counters.fast_retrans,
            counters.timeouts
        ),
        (1, 1, 0)
    );
}

#[test]
fn several_losses_in_a_window_are_repaired_one_a_round_trip() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    let mut seen = 0;
    pair.lose = Box::new(move |in_transit| {
        seen += usize::from(!in_transit.payload.is_empty());
        !in_transit.payload.is_empty() && [30, 33, 36].contains(&seen)
    });
    pair.transfer(CLIENT, 300_000, Duration::from_secs(10));
    let counters = &pair.ends[CLIENT].counters;
    assert_eq!((counters.retrans_segs, counters.timeouts), (3, 0));
}

#[test]
fn random_loss_in_both_directions_delays_but_never_corrupts() {
    let rng = fullpipe_pool::Rng::seeded(11);
    for percent in [1, 5, 10] {
        let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
        let mut chance = rng.fork(percent);
        pair.lose = Box::new(move |_| chance.chance(percent as f64 / 100.0));
        pair.transfer(CLIENT, 200_000, Duration::from_secs(600));
    }
}

#[test]
fn a_large_write_moves_through_a_tiny_pool_in_full_segments() {
    let config = TcpConfig {
        receive_buffer: 1_460,
        fit_segments: 0,
        ..TcpConfig::default()
    };
    let mut pair = Pair::with_pools(
        config,
        TcpConfig::default(),
        small(36),
        PoolConfig::default(),
    );
    pair.run_for(Duration::from_millis(50));
    pair.transfer(CLIENT, 300_000, Duration::from_secs(60));
    let full = data_sent(&pair, CLIENT)
        .filter(|in_transit| in_transit.payload.len() == 1_448)
        .count();
    let all = data_sent(&pair, CLIENT).count();
    assert!(full * 100 >= all * 98, "{full} of {all} are full-sized");
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert!(info.limit.time_at(Limit::Memory, pair.now) > info.age() / 2);
}

#[test]
fn an_atomic_write_larger_than_the_pool_is_never_taken() {
    let config = TcpConfig {
        write_atomic: true,
        ..TcpConfig::default()
    };
    let mut pair = Pair::with_pools(
        config,
        TcpConfig::default(),
        small(36),
        PoolConfig::default(),
    );
    pair.run_for(Duration::from_millis(50));
    assert_eq!(pair.write(CLIENT, &[1; 16_384]), 0);
    pair.run_for(Duration::from_secs(1));
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert_eq!(info.limit.current(), Limit::Memory);
}

#[test]
fn nagle_holds_a_tail_and_nodelay_does_not() {
    for (nodelay, sent_at_once) in [(false, 1), (true, 3)] {
        let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
        pair.at(CLIENT, |connection, env| {
            connection
                .set(SocketOption::NoDelay(nodelay), env)
                .expect("a legal value")
        });
        for _ in 0..3 {
            pair.write(CLIENT, b"keystroke");
        }
        assert_eq!(
            data_sent(&pair, CLIENT).count(),
            sent_at_once,
            "nodelay {nodelay}"
        );
        if !nodelay {
            let info = pair.at(CLIENT, |connection, env| connection.info(env));
            assert_eq!(info.limit.current(), Limit::Nagle);
        }
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.read(SERVER).len(), 27);
    }
}

#[test]
fn a_cork_holds_a_tail_until_it_is_removed_or_times_out() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.at(CLIENT, |connection, env| {
        connection
            .set(SocketOption::Cork(true), env)
            .expect("a legal value")
    });
    pair.write(CLIENT, b"held");
    pair.run_for(Duration::from_millis(150));
    assert_eq!(data_sent(&pair, CLIENT).count(), 0);
    pair.run_for(Duration::from_millis(100));
    assert_eq!(data_sent(&pair, CLIENT).count(), 1, "released after 200 ms");
    pair.write(CLIENT, b"held again");
    pair.at(CLIENT, |connection, env| {
        connection
            .set(SocketOption::Cork(false), env)
            .expect("a legal value")
    });
    pair.run_for(Duration::from_millis(50));
    assert_eq!(data_sent(&pair, CLIENT).count(), 2);
}

#[test]
fn time_is_charged_to_the_limit_that_stopped_the_sender() {
    let sends_64k = TcpConfig {
        send_buffer: 16 << 10,
        ..TcpConfig::default()
    };
    let takes_8k = TcpConfig {
        receive_buffer: 8 << 10,
        ..TcpConfig::default()
    };
    for (name, client, server, expected) in [
        (
            "send buffer",
            sends_64k,
            TcpConfig::default(),
            Limit::SendBuffer,
        ),
        (
            "receive window",
            TcpConfig::default(),
            takes_8k,
            Limit::ReceiveWindow,
        ),
    ] {
        let mut pair = Pair::established(client, server);
        let start = pair.now;
        pair.transfer(CLIENT, 400_000, Duration::from_secs(30));
        let info = pair.at(CLIENT, |connection, env| connection.info(env));
        let share = info.limit.time_at(expected, pair.now).as_secs_f64()
            / pair.now.since(start).as_secs_f64();
        assert!(share > 0.8, "{name}: {share}");
    }
}

#[test]
fn delayed_acks_halve_their_number_and_a_lone_segment_waits_for_the_timer() {
    // The buffer is large, so that the window does not limit the peer. If the window limited the
    // peer, further ACKs would advertise its growth.
    let server = TcpConfig {
        quick_acks: 0,
        receive_buffer: 1 << 20,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(TcpConfig::default(), server);
    pair.write(CLIENT, &[1; 100]);
    pair.run_for(Duration::from_millis(45));
    let acks = |pair: &Pair| {
        pair.sent
            .iter()
            .filter(|f| f.to == CLIENT && f.payload.is_empty())
            .count()
    };
    let before = acks(&pair);
    pair.run_for(Duration::from_millis(10));
    assert_eq!(acks(&pair), before + 1, "40 ms after it arrived");
    pair.read(SERVER);
    pair.transfer(CLIENT, 200_000, Duration::from_secs(10));
    let segments = data_sent(&pair, CLIENT).count();
    assert!(
        acks(&pair) < segments * 2 / 3,
        "{} ACKs for {segments} segments",
        acks(&pair)
    );
}

#[test]
fn holes_are_reported_in_sack_blocks_and_duplicates_in_dsack() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.lose = lose_nth_data(SERVER, 13);
    pair.transfer(CLIENT, 60_000, Duration::from_secs(10));
    let sacks = pair
        .sent
        .iter()
        .filter(|f| f.to == CLIENT && !f.options.sack.is_empty())
        .count();
    assert!(sacks >= 2, "{sacks}");
    let mut again = data_sent(&pair, CLIENT).next().expect("sent").clone();
    let last = data_sent(&pair, CLIENT).last().expect("sent");
    again.options.timestamps = last.options.timestamps;
    pair.sent.clear();
    pair.deliver(&again);
    pair.transmit();
    let dsack = pair.sent[0].options.sack.as_slice()[0];
    assert_eq!(dsack.left, again.seq.0);
    assert!(SeqNum(dsack.right).at_or_before(pair.sent[0].ack));
}

#[test]
fn timeouts_double_and_the_connection_ends_without_a_reset_after_retries2() {
    let client = TcpConfig {
        retries2: 4,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, TcpConfig::default());
    pair.lose = Box::new(|_| true);
    pair.sent.clear();
    pair.write(CLIENT, b"into the void");
    pair.run_for(Duration::from_secs(60));
    // The segment left six times: once as new payload, once as a tail loss probe, and after each of
    // four timeouts.
    assert_eq!(data_sent(&pair, CLIENT).count(), 6);
    assert!(
        pair.sent
            .iter()
            .all(|f| !f.flags.intersects(TcpFlags::RST | TcpFlags::FIN))
    );
    let ready = pair.at(CLIENT, |connection, env| connection.ready(env));
    assert_eq!(ready.closed, Some(CloseReason::TimedOut));
}

/// Limited transmit, RFC 3042: a segment that a duplicate ACK reports is no
/// longer in flight, so that new payload may leave before any retransmission.
#[test]
fn each_of_the_first_two_duplicate_acks_lets_new_payload_leave() {
    for sack in [true, false] {
        let config = TcpConfig {
            sack,
            pacing: false,
            initial_window: 4,
            ..TcpConfig::default()
        };
        let mut pair = Pair::established(config, TcpConfig::default());
        pair.transfer(CLIENT, 3_000, Duration::from_secs(1));
        pair.run_for(Duration::from_secs(1));
        let last = pair.sent.iter().rfind(|in_transit| in_transit.to == CLIENT);
        let mut ack = last.expect("an ACK").clone();
        pair.lose = Box::new(|in_transit| in_transit.to == SERVER);
        pair.write(CLIENT, &[7; 30_000]);
        let full = data_sent(&pair, CLIENT)
            .last()
            .expect("payload")
            .payload
            .len() as u32;
        for duplicate in 1..=2 {
            let snd_nxt = pair.at(CLIENT, |connection, env| connection.info(env).snd_nxt);
            if sack {
                let mut blocks = SackBlocks::NONE;
                let (left, right) = (ack.ack + full, ack.ack + full + duplicate * full);
                let block = fullpipe_wire::SackBlock {
                    left: left.0,
                    right: right.0,
                };
                blocks.push(block);
                ack.options.sack = blocks;
            }
            let before = data_sent(&pair, CLIENT).count();
            pair.deliver(&ack);
            pair.transmit();
            let new: Vec<_> = data_sent(&pair, CLIENT).skip(before).collect();
            assert!(!new.is_empty(), "sack {sack}, duplicate {duplicate}");
            assert_eq!(new[0].seq, SeqNum(snd_nxt), "sack {sack}");
        }
    }
}

/// With overcommitment (more memory promised than the pool has), a window may be larger than the
/// pool, and so may a segment.
#[test]
fn payload_larger_than_an_overcommitted_pool_arrives_in_parts() {
    let pool = PoolConfig {
        blocks: 19,
        block_size: 2,
        send_floor: 1,
        receive_floor: 1,
        overcommit_percent: 10_000,
        ..PoolConfig::default()
    };
    let server = TcpConfig {
        idle_window_share: 100,
        window_share: 100,
        fit_segments: 0,
        ..TcpConfig::default()
    };
    let client = TcpConfig {
        fit_segments: 0,
        ..TcpConfig::default()
    };
    let mut pair = Pair::with_pools(client, server, PoolConfig::default(), pool);
    pair.run_for(Duration::from_millis(50));
    pair.transfer(CLIENT, 5_000, Duration::from_secs(600));
    let longest = data_sent(&pair, CLIENT)
        .map(|sent| sent.payload.len())
        .max();
    assert!(longest > Some(38), "{longest:?}: one that never fits");
}

/// Returns a pair whose client sends ten segments at once. The segments in `lost` are lost, the
/// first of them twice.
fn with_a_hole_lost_twice(lost: core::ops::Range<u32>) -> Pair {
    let config = TcpConfig {
        send_buffer: 1 << 20,
        receive_buffer: 1 << 20,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(config.clone(), config);
    pair.transfer(CLIENT, 600_000, Duration::from_secs(10));
    pair.run_for(Duration::from_secs(1));
    let una = pair.at(CLIENT, |connection, _| connection.send.snd_una);
    let (first, end) = (una + lost.start * 1_448, una + lost.end * 1_448);
    let (mut copies, mut highest) = (0, una);
    pair.lose = Box::new(move |f| {
        let is_new = f.seq.at_or_after(highest) && !f.payload.is_empty();
        highest = highest.latest(f.seq + f.payload.len() as u32);
        copies += u32::from(f.seq == first);
        let is_hole = f.seq.at_or_after(first) && f.seq.before(end);
        (is_new && is_hole) || (f.seq == first && copies <= 2)
    });
    pair.write(CLIENT, &alloc::vec![7; 10 * 1_448]);
    pair
}

/// RFC 8985 §7.2 sends probes only outside of recovery. In recovery the same timer retransmits the
/// first hole, which costs two round trips in place of a timeout.
#[test]
fn a_retransmission_that_is_lost_too_is_repaired_without_a_timeout() {
    let mut pair = with_a_hole_lost_twice(2..3);
    let start = pair.at(CLIENT, |connection, _| connection.send.snd_una) + 2 * 1_448;
    pair.run_for(Duration::from_millis(30));
    let ssthresh = pair.at(CLIENT, |connection, _| connection.congestion.ssthresh());
    let copies = |pair: &Pair| data_sent(pair, CLIENT).filter(|f| f.seq == start).count();
    assert_eq!(copies(&pair), 2, "both are lost");
    pair.run_for(Duration::from_millis(100));
    assert_eq!(copies(&pair), 3);
    let counters = &pair.ends[CLIENT].counters;
    assert_eq!((counters.loss_probes, counters.retrans_segs), (1, 2));
    let (info, after) = pair.at(CLIENT, |connection, env| {
        (connection.info(env), connection.congestion.ssthresh())
    });
    assert_eq!((info.timeouts, pair.read(SERVER).len()), (0, 10 * 1_448));
    assert_eq!(after, ssthresh, "one response");
}

/// RFC 8985 §7.4 infers a loss from an ACK beyond a probe. In recovery congestion control has
/// already responded to that loss.
#[test]
fn an_ack_beyond_a_probe_of_a_recovery_causes_no_second_response() {
    let mut pair = with_a_hole_lost_twice(2..3);
    let end = pair.at(CLIENT, |connection, _| connection.send.snd_nxt);
    while pair.ends[CLIENT].counters.loss_probes == 0 {
        assert!(pair.step(Instant::from_secs(200)), "no probe");
    }
    let window =
        |pair: &mut Pair| pair.at(CLIENT, |connection, _| connection.congestion.ssthresh());
    let ssthresh = window(&mut pair);
    // The ACK of the probe is lost, and the next ACK covers payload behind the probe.
    pair.lose = Box::new(move |f| f.to == CLIENT && f.ack == end);
    pair.write(CLIENT, &[7; 2 * 1_448]);
    pair.run_for(Duration::from_millis(40));
    let (una, probes) = pair.at(CLIENT, |connection, env| {
        (connection.send.snd_una, env.counters.loss_probes)
    });
    assert_eq!((una, probes), (end + 2 * 1_448, 1));
    assert_eq!(window(&mut pair), ssthresh);
}

/// The device is busy after the first retransmission, which is lost. The next lost range is then
/// due before another copy of the first range.
#[test]
fn a_recovery_with_a_lost_range_left_sends_no_probe() {
    let mut pair = with_a_hole_lost_twice(2..6);
    let backlog = |pair: &mut Pair, bytes: u32| {
        pair.at(CLIENT, |connection, env| {
            connection.on_device_backlog(bytes, 1_460, env)
        })
    };
    let lost =
        |pair: &mut Pair| pair.at(CLIENT, |connection, _| connection.recovery.board().lost());
    let until = pair.now + Duration::from_millis(150);
    backlog(&mut pair, 1 << 20);
    while lost(&mut pair) == 0 {
        assert!(pair.step(until), "no loss");
    }
    backlog(&mut pair, 0);
    let copy = pair.poll(CLIENT).expect("a retransmission");
    assert_eq!(copy.payload.len(), 1_448);
    backlog(&mut pair, 1 << 20);
    while pair.step(until) {}
    assert_eq!(lost(&mut pair), 3 * 1_448);
    assert_eq!(pair.ends[CLIENT].counters.loss_probes, 0);
}
