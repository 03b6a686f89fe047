//! Tests of receive windows that are closed or small, or that open in small steps.

use super::*;

fn right_edges(pair: &Pair, from: usize, scale: u8) -> Vec<SeqNum> {
    pair.sent
        .iter()
        .filter(|f| f.to == 1 - from && !f.flags.contains(TcpFlags::SYN))
        .map(|f| f.ack + (u32::from(f.window) << scale))
        .collect()
}

#[test]
fn a_stopped_reader_closes_the_window_and_a_probe_finds_it_open_again() {
    let server = TcpConfig {
        receive_buffer: 4_000,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(TcpConfig::default(), server);
    pair.write(CLIENT, &[5; 20_000]);
    pair.run_for(Duration::from_secs(30));
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert_eq!(info.limit.current(), Limit::ZeroWindow);
    assert!(
        (4..=10).contains(&info.zero_window_probes),
        "{}",
        info.zero_window_probes
    );
    let server = pair.at(SERVER, |connection, env| connection.info(env));
    assert_eq!(server.receive_limit.current(), ReceiveLimit::Reader);
    // The window update is lost; the answer to the next probe replaces it.
    pair.lose = Box::new(|f| f.to == CLIENT && f.payload.is_empty());
    let mut got = pair.read(SERVER).len();
    pair.lose = Box::new(|_| false);
    for _ in 0..100 {
        pair.run_for(Duration::from_secs(1));
        got += pair.read(SERVER).len();
    }
    assert_eq!(got, 20_000);
}

#[test]
fn window_probes_continue_while_they_are_answered() {
    let server = TcpConfig {
        receive_buffer: 4_000,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(
        TcpConfig {
            retries2: 5,
            ..TcpConfig::default()
        },
        server,
    );
    pair.write(CLIENT, &[5; 20_000]);
    pair.run_for(Duration::from_secs(3_600));
    assert_eq!(
        pair.states()[CLIENT],
        TcpState::Established,
        "an hour of answered probes"
    );
    pair.lose = Box::new(|_| true);
    pair.run_for(Duration::from_secs(3_600));
    let ready = pair.at(CLIENT, |connection, env| connection.ready(env));
    assert_eq!(ready.closed, Some(CloseReason::TimedOut));
}

/// A window probe lies beyond the window, and an ACK after it must not, or the peer discards the ACK.
#[test]
fn a_host_that_probes_a_closed_window_acknowledges_what_it_receives() {
    let server = TcpConfig {
        receive_buffer: 4_000,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(TcpConfig::default(), server);
    pair.write(CLIENT, &[5; 20_000]);
    pair.run_for(Duration::from_secs(30));
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert!(info.zero_window_probes > 0);
    pair.write(SERVER, &[6; 30_000]);
    let mut got = 0;
    for _ in 0..600 {
        pair.run_for(Duration::from_secs(1));
        got += pair.read(CLIENT).len();
    }
    assert_eq!(got, 30_000);
    let info = pair.at(SERVER, |connection, env| connection.info(env));
    assert_eq!((info.segments_retransmitted, info.timeouts), (0, 0));
}

/// A reset that the peer accepts at once has exactly the sequence number that it expects. RFC 5961 §3.
#[test]
fn the_reset_of_a_host_that_probes_a_closed_window_lies_at_its_edge() {
    let mut pair = camped(TcpConfig::default());
    pair.run_for(Duration::from_secs(30));
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert!(info.zero_window_probes > 0);
    pair.at(CLIENT, |connection, env| connection.abort(env));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.states(), [TcpState::Closed; 2]);
    assert_eq!(pair.ends[SERVER].counters.challenge_ack, 0);
}

#[test]
fn the_right_edge_never_retreats() {
    for (buffer, scale) in [(3_000, 0), (60_000, 0), (200_000, 2)] {
        let server = TcpConfig {
            receive_buffer: buffer,
            window_share: 100,
            ..TcpConfig::default()
        };
        let mut pair = Pair::established(
            TcpConfig {
                nagle: false,
                ..TcpConfig::default()
            },
            server,
        );
        let mut rng = fullpipe_pool::Rng::seeded(u64::from(buffer));
        let mut piece = [0; 5_000];
        for _ in 0..400 {
            let len = rng.between(1, 5_000) as usize;
            pair.write(CLIENT, &piece[..len]);
            pair.run_for(Duration::from_millis(rng.between(0, 30)));
            if rng.chance(0.5) {
                let len = rng.between(1, 5_000) as usize;
                let _ = pair.at(SERVER, |connection, env| {
                    connection.read(&mut piece[..len], env)
                });
                pair.transmit();
            }
        }
        let edges = right_edges(&pair, SERVER, scale);
        for pair in edges.windows(2) {
            assert!(
                pair[0].at_or_before(pair[1]),
                "buffer {buffer}: {} then {}",
                pair[0],
                pair[1]
            );
        }
    }
}

#[test]
fn a_window_of_a_few_bytes_is_not_advertised() {
    let server = TcpConfig {
        receive_buffer: 10_000,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(TcpConfig::default(), server);
    pair.write(CLIENT, &[5; 30_000]);
    pair.run_for(Duration::from_secs(2));
    pair.sent.clear();
    let mut ten = [0; 10];
    for _ in 0..50 {
        pair.at(SERVER, |connection, env| connection.read(&mut ten, env))
            .expect("data");
        pair.transmit();
    }
    assert_eq!(
        pair.sent.iter().filter(|f| f.to == CLIENT).count(),
        0,
        "500 bytes are not worth an update"
    );
    assert!(
        data_sent(&pair, CLIENT).all(|f| f.payload.len() <= 1),
        "and no silly segment leaves"
    );
}

#[test]
fn an_advertised_window_stays_backed_when_others_want_the_memory() {
    let pool = PoolConfig {
        blocks: 16,
        block_size: 500,
        ..PoolConfig::default()
    };
    let server = TcpConfig {
        window_share: 100,
        ..TcpConfig::default()
    };
    let mut pair = Pair::with_pools(TcpConfig::default(), server, PoolConfig::default(), pool);
    pair.run_for(Duration::from_millis(50));
    let mut hog = fullpipe_pool::Stream::new(fullpipe_pool::Holder::Send);
    hog.append(&mut pair.ends[SERVER].pool, &[0; 8_000]);
    pair.write(CLIENT, &[9; 8_000]);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.ends[SERVER].counters.rcvq_drop, 0);
    hog.release(&mut pair.ends[SERVER].pool);
}

#[test]
fn tiny_buffers_on_either_side_move_data_without_waiting_for_delayed_acks() {
    for (name, client, server) in [
        (
            "send 1,024",
            TcpConfig {
                send_buffer: 1_024,
                ..TcpConfig::default()
            },
            TcpConfig::default(),
        ),
        (
            "receive 1,024",
            TcpConfig::default(),
            TcpConfig {
                receive_buffer: 1_024,
                ..TcpConfig::default()
            },
        ),
    ] {
        let mut pair = Pair::established(
            client,
            TcpConfig {
                quick_acks: 0,
                ..server
            },
        );
        let took = pair.transfer(CLIENT, 50_000, Duration::from_secs(60));
        // 50 round trips of 20 ms are optimal; a delayed ACK would add 40 ms to each.
        assert!(took < Duration::from_millis(1_700), "{name}: {took}");
    }
}

#[test]
fn a_buffer_beyond_the_window_field_causes_no_more_acks() {
    let server = TcpConfig {
        receive_buffer: 1 << 20,
        window_scaling: false,
        quick_acks: 0,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(TcpConfig::default(), server);
    pair.transfer(CLIENT, 500_000, Duration::from_secs(60));
    let acks = pair.sent.iter().filter(|f| f.to == CLIENT).count();
    let every_second = 500_000 / 1_448 / 2 + 5;
    assert!(acks <= every_second, "{acks} and not {every_second}");
}

#[test]
fn unacknowledged_and_buffered_bytes_have_bounds_of_their_own() {
    let client = TcpConfig {
        unacknowledged: 7_300,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, TcpConfig::default());
    pair.run_for(Duration::from_millis(100));
    pair.lose = Box::new(|f| f.to == CLIENT);
    let already = pair.sent.len();
    assert_eq!(pair.write(CLIENT, &[5; 40_000]), 40_000);
    pair.transmit();
    let in_transit: usize = pair.sent[already..].iter().map(|f| f.payload.len()).sum();
    assert!((5_800..=7_300).contains(&in_transit), "{in_transit}");
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert_eq!(info.limit.current(), Limit::SendBuffer);
    pair.lose = Box::new(|_| false);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.read(SERVER).len(), 40_000);
}

/// RFC 9293 §3.10.7.4: SND.WND counts from SEG.ACK, so a segment whose ACK is
/// older than SND.UNA does not update it, even if its SEG.SEQ is newer than
/// SND.WL1.
#[test]
fn an_ack_older_than_snd_una_does_not_change_the_window() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.write(CLIENT, &[5; 1_000]);
    pair.run_for(Duration::from_secs(1));
    let send = |pair: &mut Pair| {
        pair.at(CLIENT, |connection, _| {
            (connection.send.snd_una, connection.send.snd_wnd)
        })
    };
    let (una, window) = send(&mut pair);
    for (age, updates) in [(500, false), (1, false), (0, true)] {
        pair.change = Box::new(move |f| {
            if f.to == CLIENT {
                (f.ack, f.window) = (f.ack - age, 7);
            }
        });
        // The segment has new payload, so its SEG.SEQ is newer than SND.WL1.
        pair.write(SERVER, &[6; 100]);
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.read(CLIENT).len(), 100, "the payload is accepted");
        let (una_after, window_after) = send(&mut pair);
        assert_eq!(una_after, una);
        assert_eq!(window_after != window, updates, "an ACK {age} bytes old");
    }
}

/// Creates a client with much to send to a server that takes 4,000 bytes and no
/// more.
fn camped(client: TcpConfig) -> Pair {
    let server = TcpConfig {
        receive_buffer: 4_000,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, server);
    pair.write(CLIENT, &[5; 20_000]);
    pair.run_for(Duration::from_secs(5));
    pair
}

#[test]
fn an_orphan_does_not_wait_for_a_window_that_stays_zero() {
    for (closes, ended) in [(false, None), (true, Some(CloseReason::TimedOut))] {
        let mut pair = camped(TcpConfig {
            orphan_retries: 5,
            ..TcpConfig::default()
        });
        if closes {
            pair.at(CLIENT, |connection, env| connection.close(env));
        }
        pair.run_for(Duration::from_secs(3_600));
        let ready = pair.at(CLIENT, |connection, env| connection.ready(env));
        assert_eq!(ready.closed, ended);
        let counters = &pair.ends[CLIENT].counters;
        assert_eq!(counters.abort_on_timeout, u64::from(closes));
        // The peer is alive and gets a reset.
        let server = pair.states()[SERVER];
        assert_eq!(server == TcpState::Closed, closes, "{server:?}");
        let held = pair.at(CLIENT, |connection, env| connection.blocks(env.pool));
        assert_eq!(held == 0, closes);
    }
}

#[test]
fn an_orphan_whose_peer_vanished_times_out_sooner() {
    for closes in [false, true] {
        let mut pair = camped(TcpConfig {
            orphan_retries: 5,
            ..TcpConfig::default()
        });
        pair.read(SERVER);
        pair.lose = Box::new(|_| true);
        if closes {
            pair.at(CLIENT, |connection, env| connection.close(env));
        }
        pair.run_for(Duration::from_secs(300));
        assert_eq!(pair.states()[CLIENT] == TcpState::Closed, closes);
        pair.run_for(Duration::from_secs(3_600));
        assert_eq!(pair.states()[CLIENT], TcpState::Closed);
    }
}

#[test]
fn the_user_timeout_also_ends_the_wait_for_a_window() {
    let mut pair = camped(TcpConfig {
        user_timeout: Duration::from_secs(30),
        ..TcpConfig::default()
    });
    // An hour of idle time before the wait does not count.
    let mut idle = Pair::established(
        TcpConfig {
            user_timeout: Duration::from_secs(30),
            ..TcpConfig::default()
        },
        TcpConfig {
            receive_buffer: 4_000,
            ..TcpConfig::default()
        },
    );
    idle.write(CLIENT, &[5; 4_000]);
    idle.run_for(Duration::from_secs(3_600));
    idle.write(CLIENT, &[5; 4_000]);
    for (name, pair, left) in [("at once", &mut pair, 20), ("after idling", &mut idle, 25)] {
        pair.run_for(Duration::from_secs(left));
        assert_eq!(pair.states()[CLIENT], TcpState::Established, "{name}");
        pair.run_for(Duration::from_secs(15));
        let ready = pair.at(CLIENT, |connection, env| connection.ready(env));
        assert_eq!(ready.closed, Some(CloseReason::TimedOut), "{name}");
    }
}

#[test]
fn the_smallest_segments_that_a_peer_may_ask_for_have_a_floor() {
    let mut pair = Pair::established(
        TcpConfig {
            timestamps: false,
            ..TcpConfig::default()
        },
        TcpConfig {
            mss_max: 1,
            mss_min: 1,
            fit_segments: 0,
            ..TcpConfig::default()
        },
    );
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert_eq!(info.mss, TcpConfig::default().mss_min);
    pair.write(CLIENT, &[5; 20_000]);
    pair.run_for(Duration::from_secs(1));
    let nodes = pair.ends[CLIENT].sent.capacity() - pair.ends[CLIENT].sent.free_count();
    assert!(nodes <= 20_000 / 48, "{nodes} pieces");
}

/// The probe's byte, which the peer refused, does not make Nagle delay the tail
/// once the window has opened.
#[test]
fn a_lost_window_probe_does_not_delay_the_tail_once_the_window_opens() {
    let small = TcpConfig {
        receive_buffer: 2_000,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(TcpConfig::default(), small);
    pair.lose = Box::new(|in_transit| in_transit.payload.len() == 1);
    pair.write(CLIENT, &[7; 2_130]);
    pair.run_for(Duration::from_secs(2));
    let probes = pair.at(CLIENT, |connection, env| {
        connection.info(env).zero_window_probes
    });
    assert!(probes > 0, "the window was closed");
    let mut read = pair.read(SERVER).len();
    pair.run_for(Duration::from_secs(2));
    read += pair.read(SERVER).len();
    assert_eq!(read, 2_130);
}

/// RFC 9293 §3.10.7.4, first step: a segment into a closed window is not acceptable, but its
/// ACK counts if it is valid. An invalid ACK is the reason for the discard, as with an open
/// window.
#[test]
fn a_segment_into_a_closed_window_is_discarded_for_its_ack_or_for_the_window() {
    for (beyond, shift, reason, is_acked) in [
        (0, 0, DiscardReason::OutsideWindow, true),
        (1, 0, DiscardReason::AckOfUnsent, false),
        // The segment does not begin with the next byte, so it may be old, and so may its ACK.
        (0, 1, DiscardReason::OutsideWindow, false),
    ] {
        let server = TcpConfig {
            receive_buffer: 4_000,
            ..TcpConfig::default()
        };
        let mut pair = Pair::established(TcpConfig::default(), server);
        pair.write(CLIENT, &[5; 20_000]);
        pair.run_for(Duration::from_secs(1));
        pair.lose = Box::new(|_| true);
        pair.write(SERVER, b"answer");
        let (snd_nxt, window) = pair.at(SERVER, |connection, _| {
            (connection.send.snd_nxt, connection.receive.window_left())
        });
        assert_eq!(window, 0);
        let probe = pair.sent.iter().rfind(|f| f.to == SERVER);
        let mut probe = probe.expect("a segment").clone();
        probe.seq = pair.at(SERVER, |connection, _| connection.receive.rcv_nxt) + shift;
        probe.ack = snd_nxt + beyond;
        probe.options.timestamps = None;
        probe.payload = alloc::vec![5; 1];
        let before = pair.ends[SERVER].discards.get(reason);
        pair.deliver(&probe);
        assert_eq!(
            pair.ends[SERVER].discards.get(reason),
            before + 1,
            "{reason}"
        );
        let outstanding = pair.at(SERVER, |connection, _| connection.send.outstanding());
        assert_eq!(outstanding == 0, is_acked, "{reason}, {shift}");
    }
}
