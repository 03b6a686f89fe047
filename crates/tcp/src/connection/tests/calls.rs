//! Tests of the application's calls at unusual times.

use super::*;
use crate::{ConnectionError, trace::TraceEvent};

#[test]
fn a_direction_closed_before_the_handshake_ends_takes_no_payload() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    let write = |pair: &mut Pair| pair.at(CLIENT, |c, env| c.write(b"late", env));
    let writable = |pair: &mut Pair| pair.at(CLIENT, |c, env| c.ready(env).writable);
    assert_eq!(write(&mut pair), Ok(0), "no memory before the handshake");
    assert!(!writable(&mut pair));
    pair.at(CLIENT, |connection, env| connection.shutdown(env));
    assert_eq!(write(&mut pair), Err(ConnectionError::Shutdown));
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.states(), [TcpState::FinWait2, TcpState::CloseWait]);
    assert_eq!(write(&mut pair), Err(ConnectionError::Shutdown));
    assert!(
        !writable(&mut pair),
        "there is room, but the direction is closed"
    );
    let server = pair.at(SERVER, |c, env| c.ready(env));
    assert!(server.writable && server.readable && server.peer_closed);
}

/// If the connection counted as writable earlier, a program that polls would repeat the refused
/// write again and again, without a wait.
#[test]
fn after_a_refused_whole_write_a_connection_is_writable_when_all_of_it_fits() {
    let config = TcpConfig {
        send_buffer: 10_000,
        write_atomic: true,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(config, TcpConfig::default());
    let writable = |pair: &mut Pair| pair.at(CLIENT, |c, env| c.ready(env).writable);
    let write =
        |pair: &mut Pair, length| pair.at(CLIENT, |c, env| c.write(&[7; 20_000][..length], env));
    assert_eq!(write(&mut pair, 6_000), Ok(6_000));
    assert!(writable(&mut pair), "there is room");
    assert_eq!(write(&mut pair, 6_000), Ok(0));
    assert!(!writable(&mut pair), "less room than was asked for");
    pair.run_for(Duration::from_millis(500));
    assert!(writable(&mut pair), "the first write was acknowledged");
    assert_eq!(write(&mut pair, 20_000), Ok(0), "more than the buffer");
    assert!(!writable(&mut pair));
}

#[test]
fn calls_after_the_end_give_its_reason() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.at(SERVER, |connection, env| connection.abort(env));
    pair.run_for(Duration::from_millis(100));
    let ended = ConnectionError::Ended(CloseReason::Reset);
    let write = pair.at(CLIENT, |c, env| c.write(b"late", env));
    assert_eq!(write, Err(ended));
    let read = pair.at(CLIENT, |c, env| c.read(&mut [0; 9], env));
    assert_eq!(read, Err(ended));
    let ready = pair.at(CLIENT, |c, env| c.ready(env));
    assert!(ready.writable && ready.readable && !ready.connected);
}

#[test]
fn a_close_before_the_handshake_ends_is_the_end() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    pair.transmit();
    pair.at(CLIENT, |connection, env| {
        connection.close(env);
        assert!(connection.is_gone());
        assert_eq!(connection.ready(env).closed, Some(CloseReason::Aborted));
    });
    assert_eq!(pair.ends[CLIENT].pool.promised(), 0);
    assert_eq!(pair.ends[CLIENT].counters.attempt_fails, 1);
}

#[test]
fn an_orphan_aborted_for_its_memory_is_counted_and_resets_its_peer() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.write(CLIENT, &[5; 50_000]);
    pair.at(CLIENT, |connection, env| {
        connection.close(env);
        connection.abort_for_memory(env);
    });
    assert_eq!(pair.ends[CLIENT].counters.abort_on_memory, 1);
    let held = pair.at(CLIENT, |connection, env| connection.blocks(env.pool));
    assert_eq!(held, 0);
    pair.run_for(Duration::from_millis(100));
    let ready = pair.at(SERVER, |c, env| c.ready(env));
    assert_eq!(ready.closed, Some(CloseReason::Reset));
}

#[test]
fn nothing_unread_is_not_readable_even_if_the_window_is_full() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.at(SERVER, |connection, env| {
        connection.receive.rcv_adv = connection.receive.rcv_nxt;
        assert!(!connection.ready(env).readable);
    });
}

#[test]
fn a_low_water_that_falls_below_what_is_unread_is_an_event() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    let set = |pair: &mut Pair, bytes| {
        pair.at(SERVER, |connection, env| {
            let option = SocketOption::ReceiveLowWater(bytes);
            connection.set(option, env).expect("a legal value");
        });
    };
    let readable = |pair: &mut Pair| pair.at(SERVER, |c, _| c.take_events().readable);
    set(&mut pair, 100);
    pair.write(CLIENT, &[5; 50]);
    pair.run_for(Duration::from_millis(50));
    assert!(!readable(&mut pair));
    set(&mut pair, 51);
    assert!(!readable(&mut pair));
    set(&mut pair, 50);
    set(&mut pair, 49);
    assert!(readable(&mut pair));
}

/// RFC 9293 §3.8.6.3: the application may ask the stack to send a delayed ACK now.
#[test]
fn quick_ack_sends_the_ack_that_waits_and_no_other() {
    for (on, waiting, acks) in [(true, true, 1), (false, true, 0), (true, false, 0)] {
        let server = TcpConfig {
            quick_acks: 0,
            ..TcpConfig::default()
        };
        let mut pair = Pair::established(TcpConfig::default(), server);
        if waiting {
            pair.write(CLIENT, b"segment");
            pair.run_for(Duration::from_millis(11));
        }
        pair.sent.clear();
        pair.at(SERVER, |connection, env| {
            let option = SocketOption::QuickAck(on);
            connection.set(option, env).expect("a legal value");
        });
        pair.transmit();
        assert_eq!(pair.sent.len(), acks, "{on}, waiting: {waiting}");
    }
}

#[test]
fn two_writes_before_the_next_poll_both_leave() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.at(CLIENT, |connection, env| {
        for _ in 0..2 {
            assert_eq!(connection.write(&[5; 100], env), Ok(100));
            assert!(connection.wants_output());
        }
    });
}

#[test]
fn a_refused_write_records_what_was_asked_and_what_was_taken() {
    let client = TcpConfig {
        send_buffer: 5_000,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, TcpConfig::default());
    let fill = |pair: &mut Pair| {
        pair.at(CLIENT, |connection, env| {
            connection.write_with(&mut |room| room.len(), env)
        })
    };
    assert_eq!(fill(&mut pair), Ok(5_000));
    assert_eq!(fill(&mut pair), Ok(0));
    let blocked = pair.ends[CLIENT]
        .trace
        .iter()
        .filter_map(|record| match record.event {
            TraceEvent::WriterBlocked { asked, taken } => Some((asked, taken)),
            _ => None,
        });
    let blocked: Vec<_> = blocked.collect();
    assert_eq!(blocked.last(), Some(&(1, 0)), "{blocked:?}");
}

/// Freed memory opens a window that was closed for lack of memory.
#[test]
fn freed_memory_opens_the_window_and_wakes_the_writer() {
    let mut pair = Pair::with_a_small_server();
    let mut hog = fullpipe_pool::Stream::new(fullpipe_pool::Holder::Datagram);
    hog.append(&mut pair.ends[SERVER].pool, &[0; 8_000]);
    pair.write(CLIENT, &[5; 20_000]);
    pair.run_for(Duration::from_secs(2));
    pair.write(SERVER, &[5; 20_000]);
    pair.read(SERVER);
    pair.run_for(Duration::from_millis(100));
    pair.at(SERVER, |connection, _| connection.take_events());
    let (before, writable) = pair.at(SERVER, |connection, env| {
        let info = connection.info(env);
        (
            info.rcv_nxt.wrapping_add(info.rcv_wnd),
            connection.ready(env).writable,
        )
    });
    hog.release(&mut pair.ends[SERVER].pool);
    pair.at(SERVER, |connection, env| connection.on_memory(env));
    pair.transmit();
    let after = pair.at(SERVER, |connection, env| {
        let info = connection.info(env);
        info.rcv_nxt.wrapping_add(info.rcv_wnd)
    });
    let events = pair.at(SERVER, |connection, _| connection.take_events());
    assert!(after.wrapping_sub(before) as i32 > 0, "{before} to {after}");
    assert!(events.writable || writable);
}
