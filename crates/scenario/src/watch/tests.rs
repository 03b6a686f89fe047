//! Tests that events, sockets and counters agree with the results.

use std::ops::ControlFlow;

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::trace::{TraceEvent, TraceRecord};
use fullpipe_wire::TcpFlags;

use super::{
    Watch, Watched,
    events::{EventKind, EventLog},
};
use crate::{Experiment, Played, Scene};

const TEXT: &str = r#"
title = "t"
hosts.a = { set.tcp.send_buffer = "16K" }
hosts.b = { set.tcp.receive_buffer = "32K" }
links.wire = { between = ["a", "b"], rate = "10mbit", rtt = "20ms" }
workload = { from = "a", to = "b", bytes = "500K", write = "8K" }
[[rows]]
label = "small buffer"
[[rows]]
label = "slow reader"
set.a.tcp.send_buffer = "256K"
set.workload.read.stall_after = "100ms"
set.workload.read.stall_for = "2s"
[[rows]]
label = "small memory"
set.a.tcp.send_buffer = "256K"
set.a.pool.blocks = 64
set.a.pool.block_size = 512
[[rows]]
label = "cut"
set.a.tcp.send_buffer = "256K"
set.workload.bytes = "50M"
set.workload.give_up = "30s"
set.wire.back.loss = "100%"
"#;

const ALL: Watch = Watch {
    events: true,
    sockets: Some(Duration::from_millis(100)),
    counters: true,
};

/// Runs each row (scenario) of the experiment `text` with seed 1.
fn played(watch: Watch, text: &str) -> Vec<Played> {
    let experiment = Experiment::parse("t", "t.toml", text).unwrap();
    let rows = experiment.rows.iter().map(|row| {
        let mut scene = Scene::new(&row.setup, 1, false, watch);
        let played = scene.play(&|_share| ControlFlow::Continue(())).unwrap();
        played.expect("nothing breaks the run")
    });
    rows.collect()
}

fn count(watched: &Watched, is: impl Fn(&EventKind) -> bool) -> usize {
    watched
        .events
        .iter()
        .filter(|event| is(&event.what))
        .count()
}

#[test]
fn watching_changes_nothing() {
    let mut watched = played(ALL, TEXT);
    let plain = played(Watch::NONE, TEXT);
    for (row, plain) in watched.iter_mut().zip(&plain) {
        assert!(!row.watched.events.is_empty() && !row.watched.counters.is_empty());
        row.watched = Watched::default();
        assert_eq!(format!("{row:?}"), format!("{plain:?}"));
    }
}

#[test]
fn each_block_of_the_writer_is_followed_by_its_release() {
    let rows = played(ALL, TEXT);
    let watched = &rows[0].watched;
    let blocked = count(watched, |what| {
        matches!(what, EventKind::WriterBlocked { .. })
    });
    let released = count(watched, |what| {
        matches!(what, EventKind::WriterReleased { .. })
    });
    assert!(blocked > 10, "{blocked}");
    assert!(
        (released..=released + 1).contains(&blocked),
        "{blocked} and {released}"
    );
    assert!(watched.events.is_sorted_by_key(|event| event.at_ns));
    let last = watched
        .sockets
        .iter()
        .rfind(|socket| socket.host == "a")
        .unwrap();
    assert!(last.sndbuf_limited_ms > last.busy_ms / 2.0, "{last}");
    assert_eq!(last.rwnd_limited_ms, 0.0);
    assert_eq!(last.skmem.tb, 16 << 10);
}

#[test]
fn a_reader_that_stops_closes_the_window_and_opens_it_again_at_both_ends() {
    let rows = played(ALL, TEXT);
    let watched = &rows[1].watched;
    let of = |host: &str, is: fn(&EventKind) -> bool| {
        let events = watched.events.iter();
        let mut found = events.filter(|event| event.host == host && is(&event.what));
        found
            .next()
            .unwrap_or_else(|| panic!("never on {host}"))
            .at_ns
    };
    let advertised = of("b", |what| matches!(what, EventKind::WindowClosed));
    let received = of("a", |what| matches!(what, EventKind::PeerWindowClosed));
    let opened = of("b", |what| matches!(what, EventKind::WindowOpened { .. }));
    let reopened = of("a", |what| {
        matches!(what, EventKind::PeerWindowOpened { .. })
    });
    let probes = count(watched, |what| matches!(what, EventKind::Probe { .. })) as u64;
    assert_eq!(probes, watched.counters[0].value("TcpExtTCPWinProbe"));
    assert!(probes > 1, "{probes} in two seconds");
    assert!(advertised < received && received < opened && opened < reopened);
    assert!(opened > 2_000_000_000, "the reader reads after 2.1 s");
    let during = |socket: &&super::sockets::Socket| socket.at_ns == 1_500_000_000;
    let stalled: Vec<_> = watched.sockets.iter().filter(during).collect();
    let [sender, receiver] = &stalled[..] else {
        panic!("two ends, not {}", stalled.len());
    };
    assert_eq!(sender.snd_wnd, 0);
    assert!(sender.rwnd_limited_ms > 1_000.0, "{sender}");
    assert!(receiver.recv_q > 30_000 && receiver.skmem.r == u64::from(receiver.recv_q));
}

#[test]
fn full_memory_and_its_pressure_levels_are_events() {
    let rows = played(ALL, TEXT);
    let watched = &rows[2].watched;
    assert!(count(watched, |what| matches!(what, EventKind::NoMemory { .. })) > 0);
    assert!(count(watched, |what| matches!(what, EventKind::Pressure(_))) > 0);
}

#[test]
fn each_timeout_is_an_event_and_the_hosts_counter_agrees() {
    let text = TEXT.replace(
        "set.wire.back.loss = \"100%\"",
        "set.wire.back.loss = \"60%\"",
    );
    let rows = played(ALL, &text);
    let watched = &rows[3].watched;
    let events = count(watched, |what| matches!(what, EventKind::Timeout { .. })) as u64;
    assert!(events > 0);
    let sender = &watched.counters[0];
    assert_eq!(sender.host, "a");
    assert_eq!(sender.value("TcpExtTCPTimeouts"), events);
}

#[test]
fn an_aborted_connection_changes_to_closed_just_before_its_reset() {
    let text = TEXT.replace("bytes = \"500K\"", "bytes = \"50M\", vanish_after = \"1M\"");
    let rows = played(ALL, &text);
    let events = rows[0].watched.events.iter();
    let of_sender: Vec<_> = events.filter(|event| event.host == "a").collect();
    let [.., state, reset] = &of_sender[..] else {
        panic!("only {}", of_sender.len());
    };
    assert_eq!(state.what.to_string(), "UNCONN", "{state}");
    assert_eq!(reset.what, EventKind::ResetSent, "{reset}");
}

#[test]
fn an_arriving_reset_is_an_event_for_any_window_it_carries() {
    let mut log = EventLog::new(vec!["a".to_string()]);
    let opened = TraceEvent::Opened {
        passive: false,
        iss: 1,
        irs: 0,
    };
    let reset = TraceEvent::SegmentIn {
        flags: TcpFlags::RST | TcpFlags::ACK,
        seq: 1,
        ack: 1,
        window: 0,
        len: 0,
    };
    for (at, event) in [(0, opened), (7, reset)] {
        log.record(
            0,
            &TraceRecord {
                at: Instant::from_nanos(at),
                connection: 3,
                event,
            },
        );
    }
    let events: Vec<_> = log.finish().iter().map(ToString::to_string).collect();
    assert_eq!(
        events,
        [
            "   0.000000000 a#1          opened",
            "   0.000000007 a#1          reset received",
        ]
    );
}

const DATAGRAMS: &str = r#"
title = "t"
[hosts.a]
[hosts.b]
preset = "unet3"
cpu = { call = "200us", receive_packet = "50us" }
device.rx_descriptors = 3
[links.wire]
between = ["a", "b"]
rate = "100mbit"
delay = "1ms"
[workload]
from = "a"
to = "b"
protocol = "udp"
write = 1000
rate = "8mbit"
tick = "10ms"
duration = "1s"
[[rows]]
label = "bursts"
"#;

#[test]
fn an_overflowing_datagram_queue_gives_an_event_at_its_first_loss_and_when_it_has_room() {
    let rows = played(ALL, DATAGRAMS);
    let row = &rows[0];
    let events = &row.watched.events;
    let full = count(&row.watched, |what| *what == EventKind::ReceiveQueueFull);
    let room = events.iter().filter_map(|event| match event.what {
        EventKind::ReceiveQueueRoom { lost } => Some(lost),
        _ => None,
    });
    let lost: u64 = room.clone().sum();
    // Each burst of ten datagrams fills the queue once.
    assert!((90..=100).contains(&full), "{full}");
    assert_eq!(full, room.count());
    assert_eq!(Some(lost as f64), row.measured.udp_rcvbuf_errors);
    let ring: u64 = events
        .iter()
        .filter_map(|event| match event.what {
            EventKind::RingRoom { lost } => Some(lost),
            _ => None,
        })
        .sum();
    assert_eq!(ring, row.measured.rx_ring_drops);
    assert!(events.iter().all(|event| event.host == "b"));
    assert!(events.is_sorted_by_key(|event| event.at_ns));
}

#[test]
fn udp_sockets_are_shown_with_their_lost_datagrams() {
    // Record with a short interval, too, so that some records are between the starts of bursts.
    let often = Watch {
        sockets: Some(Duration::from_micros(1_700)),
        ..ALL
    };
    let rows = played(often, DATAGRAMS);
    let row = &rows[0];
    let sockets = &row.watched.udp_sockets;
    let last = sockets.iter().rfind(|socket| socket.host == "b").unwrap();
    assert_eq!(Some(last.skmem.d as f64), row.measured.udp_rcvbuf_errors);
    assert_eq!(last.recv_datagrams_most, 1);
    assert!(sockets.iter().any(|socket| socket.recv_q == 1_000));
}
