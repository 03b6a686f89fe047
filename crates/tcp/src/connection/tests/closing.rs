//! Tests of the ends of connections.

use super::*;

fn shutdown(pair: &mut Pair, end: usize) {
    pair.at(end, |connection, env| connection.shutdown(env));
    pair.transmit();
}

fn close(pair: &mut Pair, end: usize) {
    pair.at(end, |connection, env| connection.close(env));
    pair.transmit();
}

#[test]
fn a_half_closed_connection_still_carries_payload_in_the_other_direction() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.write(CLIENT, b"request");
    shutdown(&mut pair, CLIENT);
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.states(), [TcpState::FinWait2, TcpState::CloseWait]);
    assert_eq!(pair.read(SERVER), b"request");
    assert_eq!(
        pair.at(SERVER, |c, env| c.read(&mut [0; 9], env)),
        Ok(Read::End)
    );
    pair.transfer(SERVER, 100_000, Duration::from_secs(10));
    shutdown(&mut pair, SERVER);
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.states(), [TcpState::TimeWait, TcpState::Closed]);
    pair.run_for(Duration::from_secs(61));
    assert_eq!(pair.states(), [TcpState::Closed, TcpState::Closed]);
}

#[test]
fn a_simultaneous_close_leaves_both_ends_in_time_wait() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    shutdown(&mut pair, CLIENT);
    shutdown(&mut pair, SERVER);
    pair.run_for(Duration::from_millis(15));
    assert_eq!(pair.states(), [TcpState::Closing; 2]);
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.states(), [TcpState::TimeWait; 2]);
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    let mut lost = false;
    pair.lose =
        Box::new(move |f| f.flags.contains(TcpFlags::FIN) && !core::mem::replace(&mut lost, true));
    pair.write(CLIENT, b"last words");
    shutdown(&mut pair, CLIENT);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.states()[CLIENT], TcpState::FinWait2);
    assert_eq!(pair.read(SERVER), b"last words");
}

#[test]
fn closing_with_unread_payload_resets_the_peer() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.write(CLIENT, b"is not read");
    pair.run_for(Duration::from_millis(100));
    close(&mut pair, SERVER);
    pair.run_for(Duration::from_millis(100));
    let ready = pair.at(CLIENT, |connection, env| connection.ready(env));
    assert_eq!(ready.closed, Some(CloseReason::Reset));
    assert_eq!(
        pair.ends[SERVER].pool.held(fullpipe_pool::Holder::Receive),
        0
    );
}

#[test]
fn payload_for_an_orphan_is_answered_with_a_reset() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    close(&mut pair, SERVER);
    pair.run_for(Duration::from_millis(50));
    pair.write(CLIENT, b"hello?");
    pair.run_for(Duration::from_millis(50));
    let ready = pair.at(CLIENT, |connection, env| connection.ready(env));
    assert_eq!(ready.closed, Some(CloseReason::Reset));
    assert_eq!(pair.ends[SERVER].counters.abort_on_data, 1);
}

#[test]
fn fin_wait_2_of_an_orphan_ends() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    close(&mut pair, CLIENT);
    pair.run_for(Duration::from_secs(59));
    assert_eq!(pair.states()[CLIENT], TcpState::FinWait2);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.states()[CLIENT], TcpState::Closed);
}

#[test]
fn every_block_returns_however_the_connection_ends() {
    type Ending = fn(&mut Pair);
    let endings: [(&str, Ending); 4] = [
        ("in order", |pair| {
            close(pair, CLIENT);
            pair.run_for(Duration::from_millis(50));
            pair.read(SERVER);
            close(pair, SERVER);
        }),
        ("abort", |pair| {
            pair.at(CLIENT, |connection, env| connection.abort(env))
        }),
        ("unread", |pair| close(pair, SERVER)),
        ("silence", |pair| pair.lose = Box::new(|_| true)),
    ];
    for (name, ending) in endings {
        let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
        pair.write(CLIENT, &[1; 40_000]);
        pair.write(SERVER, &[2; 300]);
        pair.run_for(Duration::from_millis(100));
        pair.read(CLIENT);
        ending(&mut pair);
        pair.run_for(Duration::from_secs(3_600));
        for end in &mut pair.ends {
            end.connection.as_mut().expect("still held").release(
                &mut end.pool,
                &mut end.sent,
                &mut end.congestion,
            );
            assert_eq!(end.pool.free_blocks(), end.pool.block_count(), "{name}");
            assert_eq!(end.pool.promised(), 0, "{name}");
            assert_eq!(end.sent.free_count(), end.sent.capacity(), "{name}");
        }
    }
}

#[test]
fn keepalive_ends_a_connection_to_a_vanished_peer_and_keeps_a_quiet_one() {
    let client = TcpConfig {
        keepalive_time: Duration::from_secs(10),
        keepalive_interval: Duration::from_secs(1),
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, TcpConfig::default());
    pair.run_for(Duration::from_secs(300));
    assert_eq!(pair.states(), [TcpState::Established; 2]);
    assert!(pair.ends[CLIENT].counters.keepalive >= 20);
    pair.lose = Box::new(|_| true);
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.states()[CLIENT], TcpState::Closed);
}

#[test]
fn the_user_timeout_bounds_the_time_payload_stays_unacknowledged() {
    let client = TcpConfig {
        user_timeout: Duration::from_secs(5),
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, TcpConfig::default());
    pair.lose = Box::new(|_| true);
    pair.write(CLIENT, b"now or never");
    pair.run_for(Duration::from_millis(4_900));
    assert_eq!(pair.states()[CLIENT], TcpState::Established);
    pair.run_for(Duration::from_millis(200));
    assert_eq!(pair.states()[CLIENT], TcpState::Closed);
}

/// RFC 9293 §3.10.7.4, eighth step: a repeated FIN restarts the wait of TIME-WAIT, because the
/// last ACK was lost. No other segment restarts it.
#[test]
fn a_repeated_fin_restarts_the_wait_of_time_wait() {
    for (flags, len, expected) in [
        (TcpFlags::ACK | TcpFlags::FIN, 0, TcpState::TimeWait),
        (TcpFlags::ACK | TcpFlags::PSH, 9, TcpState::Closed),
    ] {
        let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
        pair.write(SERVER, b"the end");
        shutdown(&mut pair, CLIENT);
        pair.run_for(Duration::from_millis(50));
        shutdown(&mut pair, SERVER);
        pair.run_for(Duration::from_millis(50));
        assert_eq!(pair.states(), [TcpState::TimeWait, TcpState::Closed]);
        let fin = pair.sent.iter().rfind(|f| f.to == CLIENT).expect("a FIN");
        assert!(fin.flags.contains(TcpFlags::FIN));
        let mut repeated = fin.clone();
        repeated.flags = flags;
        repeated.seq = repeated.seq - len as u32;
        repeated.payload = alloc::vec![7; len];
        pair.run_for(Duration::from_secs(40));
        pair.deliver(&repeated);
        pair.run_for(Duration::from_secs(59));
        assert_eq!(pair.states()[CLIENT], expected, "{flags:?}");
        pair.run_for(Duration::from_secs(2));
        assert_eq!(pair.states()[CLIENT], TcpState::Closed);
    }
}

#[test]
fn a_repeated_fin_before_time_wait_starts_no_wait() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    shutdown(&mut pair, CLIENT);
    pair.run_for(Duration::from_millis(50));
    let fin = pair.sent.iter().rfind(|f| f.flags.contains(TcpFlags::FIN));
    let fin = fin.expect("a FIN").clone();
    pair.deliver(&fin);
    pair.run_for(Duration::from_secs(3_600));
    assert_eq!(pair.states(), [TcpState::FinWait2, TcpState::CloseWait]);
}

/// RFC 7323 §3.2: a reset may carry the timestamps that were agreed.
#[test]
fn the_reset_of_an_abort_carries_the_timestamps() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.at(CLIENT, |connection, env| connection.abort(env));
    pair.transmit();
    let reset = pair.sent.last().expect("a reset");
    assert!(reset.flags.contains(TcpFlags::RST));
    assert!(reset.options.timestamps.is_some());
}

/// RFC 9293 §3.8.4: the probe's sequence number lies before the window, so that the peer
/// answers.
#[test]
fn a_keepalive_probe_repeats_the_last_acknowledged_sequence_number() {
    let client = TcpConfig {
        keepalive_time: Duration::from_secs(10),
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, TcpConfig::default());
    pair.write(CLIENT, b"request");
    pair.run_for(Duration::from_secs(5));
    pair.sent.clear();
    pair.run_for(Duration::from_secs(6));
    let una = pair.at(CLIENT, |connection, _| connection.send.snd_una);
    let [probe, answer] = &pair.sent[..] else {
        panic!("{:?}", pair.sent);
    };
    assert_eq!(
        (probe.to, probe.seq, probe.flags),
        (SERVER, una - 1, TcpFlags::ACK)
    );
    assert_eq!(
        (answer.to, answer.ack, probe.payload.len()),
        (CLIENT, una, 0)
    );
    assert_eq!(pair.ends[CLIENT].counters.keepalive, 1);
}
