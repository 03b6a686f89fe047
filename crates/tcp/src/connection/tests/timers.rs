//! Tests of timers that must run, and of timers that must not.

use super::*;

fn timeout(pair: &mut Pair, end: usize) -> Option<Instant> {
    pair.at(end, |connection, _| connection.next_timeout())
}

/// RFC 6298 §5.2: once everything is acknowledged the retransmission timer is off, and no
/// other timer runs.
#[test]
fn a_connection_with_nothing_to_do_has_no_timer() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.write(CLIENT, &[5; 20_000]);
    pair.write(SERVER, &[5; 20_000]);
    pair.run_for(Duration::from_millis(15));
    assert!(timeout(&mut pair, CLIENT).is_some());
    pair.run_for(Duration::from_secs(1));
    for end in [CLIENT, SERVER] {
        assert_eq!(pair.read(end).len(), 20_000);
    }
    pair.run_for(Duration::from_secs(1));
    assert_eq!(timeout(&mut pair, CLIENT), None);
    assert_eq!(timeout(&mut pair, SERVER), None);
    // FIN-WAIT-2 and CLOSE-WAIT wait for the applications.
    pair.at(CLIENT, |connection, env| connection.shutdown(env));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.states(), [TcpState::FinWait2, TcpState::CloseWait]);
    assert_eq!(timeout(&mut pair, CLIENT), None);
    assert_eq!(timeout(&mut pair, SERVER), None);
}

/// RFC 9293 §3.8.4: no keepalive probes leave in TIME-WAIT, because the peer may be gone.
#[test]
fn keepalive_goes_on_in_fin_wait_2_and_ends_in_time_wait() {
    let client = TcpConfig {
        keepalive_time: Duration::from_secs(5),
        keepalive_interval: Duration::from_secs(5),
        time_wait: Duration::from_secs(60),
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, TcpConfig::default());
    pair.at(CLIENT, |connection, env| connection.shutdown(env));
    pair.run_for(Duration::from_secs(20));
    assert_eq!(pair.states()[CLIENT], TcpState::FinWait2);
    let probes = pair.ends[CLIENT].counters.keepalive;
    assert!(probes >= 2, "{probes}");
    pair.at(SERVER, |connection, env| connection.shutdown(env));
    pair.run_for(Duration::from_secs(50));
    assert_eq!(pair.states()[CLIENT], TcpState::TimeWait);
    assert_eq!(pair.ends[CLIENT].counters.keepalive, probes);
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert_eq!(info.limit.current(), Limit::Closing);
}

/// Window probes are counted until the window opens or the peer accepts something.
#[test]
fn a_connection_is_stalled_while_its_window_probes_gain_nothing() {
    let server = TcpConfig {
        receive_buffer: 4_000,
        ..TcpConfig::default()
    };
    let stalled =
        |pair: &mut Pair| pair.at(CLIENT, |connection, env| connection.is_stalled(env.config));
    let mut pair = Pair::established(TcpConfig::default(), server);
    pair.write(CLIENT, &[5; 20_000]);
    pair.run_for(Duration::from_secs(30));
    assert!(stalled(&mut pair));
    // The window opens, and the segments sent into it are lost.
    pair.read(SERVER);
    pair.lose = Box::new(|f| !f.payload.is_empty());
    pair.run_for(Duration::from_millis(12));
    assert!(!stalled(&mut pair));
}

#[test]
fn a_stall_ends_when_the_peer_accepts_a_byte_of_a_window_that_stays_closed() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    // Make the server's window appear closed.
    pair.change = Box::new(|f| {
        if f.to == CLIENT {
            f.window = 0;
        }
    });
    pair.write(SERVER, b"window 0");
    pair.run_for(Duration::from_millis(50));
    pair.lose = Box::new(|f| f.to == SERVER && !f.payload.is_empty());
    pair.write(CLIENT, &[5; 10]);
    pair.run_for(Duration::from_secs(30));
    let stalled =
        |pair: &mut Pair| pair.at(CLIENT, |connection, env| connection.is_stalled(env.config));
    assert!(stalled(&mut pair));
    pair.lose = Box::new(|_| false);
    let una = pair.at(CLIENT, |connection, _| connection.send.snd_una);
    for _ in 0..100 {
        pair.run_for(Duration::from_millis(500));
        if pair.at(CLIENT, |connection, _| connection.send.snd_una) != una {
            break;
        }
    }
    assert!(!stalled(&mut pair));
}

/// draft-ietf-ccwg-bbr §4.1.2.4: a sender is application-limited if less than a segment waits
/// although more could leave.
#[test]
fn the_sample_of_a_small_write_is_application_limited() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.write(CLIENT, &[5; 100]);
    pair.run_for(Duration::from_millis(100));
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert!(info.app_limited && info.delivery_rate > 0);
}

/// The peer takes one segment per round trip, so the sender is limited by the peer's window
/// while at least one segment waits.
#[test]
fn the_samples_of_a_sender_with_a_full_segment_waiting_are_not_application_limited() {
    let client = TcpConfig {
        fit_segments: 0,
        ..TcpConfig::default()
    };
    let server = TcpConfig {
        window_scaling: false,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, server);
    pair.change = Box::new(|f| {
        if f.to == CLIENT {
            f.window = 1_448;
        }
    });
    pair.write(SERVER, b"the window is one segment");
    pair.run_for(Duration::from_millis(100));
    pair.write(CLIENT, &[5; 5 * 1_448]);
    pair.run_for(Duration::from_millis(200));
    assert_eq!(data_sent(&pair, CLIENT).count(), 5);
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert!(!info.app_limited);
}

/// Pieces written at one time count as one write: between two pieces the sender does not wait
/// for the application.
#[test]
fn pieces_written_at_one_time_make_no_application_limited_round_trip() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    for _ in 0..20 {
        pair.write(CLIENT, &[5; 1_448]);
    }
    // Run until the latest rate sample is of segments that left after the first ACKs.
    pair.run_for(Duration::from_millis(45));
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert!(!info.app_limited);
}

/// RFC 9293 §3.8.4, figure 13: keepalive ends after a simultaneous close, too.
#[test]
fn keepalive_ends_when_both_sides_have_closed_at_once() {
    let config = TcpConfig {
        keepalive_time: Duration::from_secs(5),
        keepalive_interval: Duration::from_secs(5),
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(config.clone(), config);
    for end in [CLIENT, SERVER] {
        pair.at(end, |connection, env| connection.shutdown(env));
    }
    pair.run_for(Duration::from_secs(30));
    for end in [CLIENT, SERVER] {
        assert_eq!(pair.states()[end], TcpState::TimeWait);
        assert_eq!(pair.ends[end].counters.keepalive, 0);
    }
}

/// RFC 7323 §2.2: the `TimeWait` of a connection answers with the same window field as the
/// connection.
#[test]
fn time_wait_keeps_the_window_field_and_the_clock() {
    let client = TcpConfig {
        receive_buffer: 1 << 20,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, TcpConfig::default());
    assert!(pair.at(CLIENT, |c, env| c.time_wait(env.now)).is_none());
    pair.at(CLIENT, |connection, env| connection.close(env));
    pair.run_for(Duration::from_millis(100));
    pair.at(SERVER, |connection, env| connection.shutdown(env));
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.states()[CLIENT], TcpState::TimeWait);
    let kept = pair.at(CLIENT, |c, env| c.time_wait(env.now));
    let kept = kept.expect("an orphan in TIME-WAIT");
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert!(info.agreed.rcv_wscale > 0);
    let last = pair.sent.iter().rfind(|f| f.to == SERVER).expect("an ACK");
    assert_eq!(kept.window, last.window);
    assert_eq!((kept.snd_nxt, kept.rcv_nxt), (last.seq, last.ack));
    let stamp = last.options.timestamps.expect("agreed");
    assert_eq!(kept.ts_recent, Some(stamp.echo));
    let clock = crate::options::TimestampClock::new(kept.timestamp_offset, 0, pair.now);
    let sent_at = last.due - pair.delay;
    assert_eq!(clock.value(sent_at), stamp.value);
}

/// RFC 9293 §3.8.3: R2 (knob `tcp.retries2`), or the user timeout, ends a wait for a next hop that
/// never answers. The waits double, and a segment that never left is no loss.
#[test]
fn a_wait_for_the_next_hop_ends_like_a_series_of_timeouts() {
    let ended_after = |user_timeout: u64, idle: u64| {
        let client = TcpConfig {
            retries2: 3,
            user_timeout: Duration::from_secs(user_timeout),
            ..TcpConfig::default()
        };
        let mut pair = Pair::established(client, TcpConfig::default());
        let rto = pair.at(CLIENT, |connection, env| connection.info(env).rto);
        pair.run_for(Duration::from_secs(idle));
        let start = pair.now;
        pair.at(CLIENT, |connection, env| {
            connection.write(b"segment", env).expect("may write")
        });
        let mut waits = Vec::new();
        for _ in 0..10 {
            pair.at(CLIENT, |connection, env| {
                connection.on_next_hop_pending(env);
                assert_eq!(connection.info(env).timeouts, 0);
            });
            let Some(next) = timeout(&mut pair, CLIENT) else {
                break;
            };
            waits.push((next.since(pair.now)).as_micros() / rto.as_micros());
            pair.now = next;
            pair.at(CLIENT, |connection, env| connection.on_timeout(env));
        }
        let ready = pair.at(CLIENT, |connection, env| connection.ready(env));
        assert_eq!(ready.closed, Some(CloseReason::TimedOut));
        (waits, pair.now.since(start), rto)
    };
    let (waits, total, rto) = ended_after(0, 0);
    assert_eq!(waits, [1, 2, 4, 8]);
    assert_eq!(total, rto * 15);
    for idle in [0, 3_600] {
        let (_, total, _) = ended_after(1, idle);
        assert_eq!(total, Duration::from_secs(1), "after {idle} s of idle time");
    }
}
