//! Tests of the receiver's limit: reader, buffer or memory.

use super::*;

fn receive_limit(pair: &mut Pair) -> ReceiveLimit {
    let info = pair.at(SERVER, |connection, env| connection.info(env));
    info.receive_limit.current()
}

/// Creates a server with a buffer of 4,000 bytes, in which the peer has left room for less than a
/// segment. The payload arrived 1 ms ago.
fn nearly_full() -> Pair {
    let server = TcpConfig {
        receive_buffer: 4_000,
        fit_segments: 0,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(TcpConfig::default(), server);
    pair.write(CLIENT, &[5; 2_896]);
    pair.run_for(Duration::from_millis(11));
    let left = pair.at(SERVER, |connection, env| connection.info(env).rcv_wnd);
    assert!((1..1_448).contains(&left), "{left}");
    pair
}

#[test]
fn a_window_with_room_for_less_than_a_segment_is_charged_to_the_slow_reader() {
    let mut pair = nearly_full();
    assert_eq!(receive_limit(&mut pair), ReceiveLimit::Reader);
}

/// An eighth of the round-trip time is 2.5 ms. 1 ms has passed when `nearly_full` returns.
#[test]
fn a_read_within_an_eighth_of_a_round_trip_shows_that_the_buffer_is_small() {
    for (ms, reads, expected) in [
        (0, 2_896, ReceiveLimit::Buffer),
        (1, 2_896, ReceiveLimit::Buffer),
        (2, 2_896, ReceiveLimit::Reader),
        (0, 2_895, ReceiveLimit::Reader),
    ] {
        let mut pair = nearly_full();
        pair.now += Duration::from_millis(ms);
        let read = pair.at(SERVER, |connection, env| {
            connection.read(&mut [0; 4_000][..reads], env)
        });
        assert_eq!(read, Ok(Read::Data(reads)));
        assert_eq!(
            receive_limit(&mut pair),
            expected,
            "{reads} bytes after {ms} ms"
        );
    }
}

#[test]
fn payload_behind_a_hole_waits_for_the_hole() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.lose = lose_nth_data(SERVER, 1);
    pair.write(CLIENT, &[5; 10_000]);
    pair.run_for(Duration::from_millis(11));
    assert_eq!(receive_limit(&mut pair), ReceiveLimit::Hole);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(receive_limit(&mut pair), ReceiveLimit::None);
}

/// RFC 9293 §3.7.1 bounds a segment by the peer's MSS. A peer with a small window gets
/// segments of which two fit into the window, so that one segment alone does not fill it.
#[test]
fn two_segments_fit_into_the_largest_window_of_the_peer() {
    for (segments, halves) in [(2, true), (0, false)] {
        let client = TcpConfig {
            fit_segments: segments,
            timestamps: false,
            ..TcpConfig::default()
        };
        let server = TcpConfig {
            receive_buffer: 2_000,
            fit_segments: 0,
            ..TcpConfig::default()
        };
        let mut pair = Pair::new(client.clone(), server);
        let before = pair.at(CLIENT, |connection, env| connection.mss(env));
        assert_eq!(before, 536, "the peer's window is not known");
        pair.run_for(Duration::from_millis(50));
        let info = pair.at(CLIENT, |connection, env| connection.info(env));
        let expected = if halves { info.max_snd_wnd / 2 } else { 1_460 };
        assert_eq!(info.mss, expected);
    }
}

#[test]
fn each_change_alone_is_an_event() {
    let none = Events::default();
    assert!(!none.any());
    for events in [
        Events {
            connected: true,
            ..none
        },
        Events {
            readable: true,
            ..none
        },
        Events {
            writable: true,
            ..none
        },
        Events {
            closed: true,
            ..none
        },
    ] {
        assert!(events.any(), "{events:?}");
    }
}

/// RFC 5681 §4.2: without SACK a peer counts one duplicate ACK for each segment out of order.
/// With SACK, the blocks of one ACK report all segments that arrived meanwhile.
#[test]
fn segments_out_of_order_are_acknowledged_one_by_one_only_without_sack() {
    for (sack, acks) in [(false, 3), (true, 1)] {
        let config = TcpConfig {
            sack,
            ..TcpConfig::default()
        };
        let mut pair = Pair::established(config.clone(), config);
        pair.lose = lose_nth_data(SERVER, 1);
        pair.write(CLIENT, &[5; 4 * 1_448]);
        pair.sent.clear();
        // Segments that arrive at one time are acknowledged after the last of them.
        pair.run_for(Duration::from_millis(10));
        assert_eq!(pair.sent.len(), acks, "sack {sack}");
    }
}

#[test]
fn payload_refused_or_repeated_is_counted() {
    let server = TcpConfig {
        holes: 1,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(TcpConfig::default(), server);
    pair.write(CLIENT, &[5; 6 * 1_448]);
    let path: Vec<_> = pair.path.drain(..).collect();
    for place in [2, 2, 4, 4] {
        pair.deliver(&path[place]);
    }
    let counters = &pair.ends[SERVER].counters;
    assert_eq!(counters.ofo_queue, 1);
    assert_eq!(counters.dsack_ofo_sent, 1, "the third segment came twice");
    assert_eq!(counters.ofo_drop, 2, "one piece and no more");
    assert_eq!(counters.rcvq_drop, 0);
    assert_eq!(
        pair.ends[SERVER].discards.get(DiscardReason::TooManyHoles),
        2
    );
}

#[test]
fn a_second_arrival_does_not_take_back_the_event_of_the_first() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.at(SERVER, |connection, _| connection.take_events());
    for payload in [b"first", b"other"] {
        pair.write(CLIENT, payload);
        pair.run_for(Duration::from_millis(50));
    }
    let events = pair.at(SERVER, |connection, _| connection.take_events());
    assert!(events.readable);
    let events = pair.at(SERVER, |connection, _| connection.take_events());
    assert!(!events.any());
}

/// A connection waits for memory if its writer was refused for lack of memory, or if the
/// window that memory could back is smaller than a segment.
#[test]
fn only_a_lack_of_memory_makes_a_connection_wait_for_it() {
    let waits = |pair: &mut Pair, end| pair.at(end, |connection, _| connection.waits_for_memory());
    let mut pair = Pair::with_a_small_server();
    for end in [CLIENT, SERVER] {
        assert!(!waits(&mut pair, end), "a window of several segments");
    }
    // The reader does not read: all memory is in use, and the window is closed.
    pair.write(CLIENT, &[5; 20_000]);
    pair.run_for(Duration::from_secs(2));
    assert!(waits(&mut pair, SERVER), "the window");
    assert!(!waits(&mut pair, CLIENT), "the writer has room");
    assert!(pair.write(SERVER, &[5; 20_000]) < 20_000);
    pair.read(SERVER);
    pair.run_for(Duration::from_millis(5));
    assert!(waits(&mut pair, SERVER), "the writer");
}

#[test]
fn a_writer_blocked_by_its_own_buffer_does_not_wait_for_memory() {
    let client = TcpConfig {
        send_buffer: 5_000,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, TcpConfig::default());
    assert_eq!(pair.write(CLIENT, &[5; 20_000]), 5_000);
    assert!(!pair.at(CLIENT, |connection, _| connection.waits_for_memory()));
}

/// A device may merge segments, so that one frame contains several full segments of the peer.
#[test]
fn the_segments_of_a_merged_frame_give_the_peers_segment_size() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.write(CLIENT, &[5; 1_000]);
    let frame = pair.path.pop_front().expect("it left");
    let merged = Segment {
        merged: 2,
        ..frame.segment()
    };
    pair.at(SERVER, |connection, env| {
        connection.on_segment(&merged, env);
        assert_eq!(connection.receive.rcv_mss, 500);
        assert_eq!(connection.receive.frame, 1_000);
    });
}
