//! Tests of a connection's reports: trace, counters, info, and the checks of its state.

use fullpipe_pool::knobs::KnobTable;

use super::*;
use crate::{
    SettingError,
    config::EcnMode,
    trace::{RecoveryEvent, TraceEvent},
};

fn events(pair: &Pair, end: usize) -> Vec<TraceEvent> {
    let records = pair.ends[end].trace.iter();
    records.map(|record| record.event).collect()
}

#[test]
fn the_trace_has_every_kind_of_event_of_a_transfer_with_losses() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.lose = lose_nth_data(SERVER, 3);
    pair.write(CLIENT, &[5; 14_480]);
    pair.run_for(Duration::from_secs(1));
    pair.lose = Box::new(|f| f.to == SERVER);
    pair.write(CLIENT, &[5; 100_000]);
    pair.run_for(Duration::from_millis(600));
    let client = events(&pair, CLIENT);
    let has = |of: &[TraceEvent], wanted: fn(&TraceEvent) -> bool| of.iter().any(wanted);
    for (name, wanted) in [
        (
            "opened",
            (|e| matches!(e, TraceEvent::Opened { passive: false, .. })) as fn(&_) -> bool,
        ),
        ("state", |e| *e == TraceEvent::State(TcpState::Established)),
        ("SYN-SENT", |e| *e == TraceEvent::State(TcpState::SynSent)),
        ("segment in", |e| matches!(e, TraceEvent::SegmentIn { .. })),
        ("segment out", |e| {
            matches!(e, TraceEvent::SegmentOut { .. })
        }),
        ("sack", |e| matches!(e, TraceEvent::Sack { .. })),
        ("rtt", |e| matches!(e, TraceEvent::Rtt { .. })),
        ("window", |e| matches!(e, TraceEvent::Window { .. })),
        ("limit", |e| matches!(e, TraceEvent::Limit(_))),
        ("retransmission", |e| {
            matches!(e, TraceEvent::Retransmission { .. })
        }),
        ("timeout", |e| matches!(e, TraceEvent::Timeout(1))),
        ("blocked", |e| matches!(e, TraceEvent::WriterBlocked { .. })),
    ] {
        assert!(has(&client, wanted), "{name}");
    }
    let server = events(&pair, SERVER);
    for (name, wanted) in [
        (
            "opened",
            (|e| matches!(e, TraceEvent::Opened { passive: true, .. })) as fn(&_) -> bool,
        ),
        ("sack", |e| matches!(e, TraceEvent::Sack { .. })),
        ("hole", |e| {
            *e == TraceEvent::ReceiveLimit(ReceiveLimit::Hole)
        }),
    ] {
        assert!(has(&server, wanted), "{name}");
    }
}

/// RFC 7323 §2.2: the window in bytes is the window field, shifted by the scale of the segment's
/// sender.
#[test]
fn both_traces_give_the_window_of_a_segment_in_bytes() {
    let config = TcpConfig {
        receive_buffer: 1 << 20,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(config.clone(), config);
    pair.write(CLIENT, b"segment");
    pair.run_for(Duration::from_millis(200));
    let sent = pair
        .sent
        .iter()
        .rfind(|f| f.to == SERVER && !f.payload.is_empty());
    let (seq, field) = sent.map(|f| (f.seq.0, f.window)).expect("it left");
    let scale = pair.at(CLIENT, |connection, env| {
        connection.info(env).agreed.rcv_wscale
    });
    assert!(scale > 0);
    let bytes = u32::from(field) << scale;
    let out = events(&pair, CLIENT).into_iter().any(|event| {
        matches!(event, TraceEvent::SegmentOut { seq: s, window, len: 7, .. } if s == seq && window == bytes)
    });
    let arrived = events(&pair, SERVER).into_iter().any(|event| {
        matches!(event, TraceEvent::SegmentIn { seq: s, window, len: 7, .. } if s == seq && window == bytes)
    });
    assert!(out && arrived, "{bytes} bytes");
}

#[test]
fn info_has_the_age_and_the_memory_of_a_connection() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    let info = pair.at(SERVER, |connection, env| connection.info(env));
    assert_eq!(info.age(), Duration::from_millis(20));
    assert!(
        info.receive_blocks > 0,
        "reserved for the advertised window"
    );
    let promised = pair.ends[SERVER].pool.promised();
    assert_eq!(info.receive_blocks, promised);
    pair.write(CLIENT, &[5; 3_000]);
    pair.run_for(Duration::from_millis(100));
    let info = pair.at(SERVER, |connection, env| connection.info(env));
    let pool = &pair.ends[SERVER].pool;
    let held = pool.held(fullpipe_pool::Holder::Receive);
    assert!(held > 0 && pool.promised() > 0);
    assert_eq!(info.receive_blocks, held + pool.promised());
    let blocks = pair.at(SERVER, |connection, env| connection.blocks(env.pool));
    assert_eq!(blocks, info.receive_blocks + info.send_blocks);
}

#[test]
#[should_panic(expected = "snd_nxt before snd_una")]
fn the_checks_of_a_connection_find_a_broken_rule() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.at(CLIENT, |connection, env| {
        connection.send.snd_una += 1;
        connection.verify(env.now, env.pool, env.sent);
    });
}

/// Counters of the MIB (RFC 4022) and of Linux's `nstat`.
#[test]
fn a_transfer_with_losses_counts_what_happened() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.lose = lose_nth_data(SERVER, 3);
    pair.write(CLIENT, &[5; 14_480]);
    pair.run_for(Duration::from_secs(1));
    let sent = pair.sent.iter().filter(|f| f.to == SERVER).count() as u64;
    let got = pair.sent.iter().filter(|f| f.to == CLIENT).count() as u64;
    let counters = pair.ends[CLIENT].counters.clone();
    assert_eq!(counters.active_opens, 1);
    assert_eq!(counters.out_segs + counters.retrans_segs, sent);
    assert_eq!(counters.retrans_segs, 1);
    assert_eq!(counters.fast_retrans, 1);
    assert_eq!(counters.orig_data_sent, 10);
    // Add the listener's SYN-ACK, which is not in `sent`. The SYN-ACK does not count as an ACK
    // without payload.
    assert_eq!(counters.in_segs, got + 1);
    assert_eq!(counters.pure_acks, got);
    let info = pair.at(CLIENT, |connection, env| connection.info(env));
    assert_eq!(info.fast_recoveries, 1);
    assert_eq!(info.bytes_acked, 14_480);
    assert_eq!(info.bytes_sent, 14_480);
    assert_eq!(info.bytes_retransmitted, 1_448);
    assert_eq!((info.segments_sent, info.segments_retransmitted), (11, 1));
    assert_eq!(info.full_sized_sent, 11);
    let counters = &pair.ends[SERVER].counters;
    assert_eq!(counters.passive_opens, 1);
    assert_eq!(counters.ofo_queue, 7);
    assert_eq!(counters.hp_hits, 2);
    let info = pair.at(SERVER, |connection, env| connection.info(env));
    assert_eq!(info.bytes_received, 14_480);
}

#[test]
fn every_setting_out_of_its_range_is_refused_by_name() {
    const LOW: TcpConfig = TcpConfig::LOWEST;
    const HIGH: TcpConfig = TcpConfig::HIGHEST;
    let registry = CongestionRegistry::new();
    let legal = Tuning::from_config(&TcpConfig::default());
    assert_eq!(legal.check(&registry), Ok(()));
    type Change = fn(&mut Tuning);
    let changes: [(&str, Change); 12] = [
        ("tcp.send_buffer", |t| t.send_buffer = HIGH.send_buffer + 1),
        ("tcp.send_buffer_max", |t| {
            t.send_buffer_max = HIGH.send_buffer_max + 1
        }),
        ("tcp.receive_buffer", |t| {
            t.receive_buffer = HIGH.receive_buffer + 1
        }),
        ("tcp.receive_buffer_max", |t| {
            t.receive_buffer_max = HIGH.receive_buffer_max + 1
        }),
        ("send_low_water", |t| t.send_low_water = (1 << 30) + 1),
        ("unsent_low_water", |t| t.unsent_low_water = (1 << 30) + 1),
        ("receive_low_water", |t| t.receive_low_water = (1 << 30) + 1),
        ("tcp.mss_max", |t| t.mss_max = LOW.mss_max - 1),
        ("tcp.unacknowledged", |t| {
            t.unacknowledged = LOW.unacknowledged - 1
        }),
        ("tcp.out_of_order", |t| {
            t.out_of_order = HIGH.out_of_order + 1
        }),
        ("tcp.keepalive_probes", |t| {
            t.keepalive_probes = HIGH.keepalive_probes + 1
        }),
        ("tcp.syn_retries", |t| t.syn_retries = HIGH.syn_retries + 1),
    ];
    for (name, change) in changes {
        let mut tuning = legal;
        change(&mut tuning);
        let Err(SettingError::OutOfRange { setting, .. }) = tuning.check(&registry) else {
            panic!("{name} was taken");
        };
        assert_eq!(setting, name);
    }
    // Times are reported in milliseconds.
    let tuning = Tuning {
        keepalive_interval: HIGH.keepalive_interval + Duration::from_millis(1),
        ..legal
    };
    let refused = SettingError::OutOfRange {
        setting: "tcp.keepalive_interval",
        least: LOW.keepalive_interval.as_micros() / 1_000,
        most: HIGH.keepalive_interval.as_micros() / 1_000,
        unit: "ms",
    };
    assert_eq!(tuning.check(&registry), Err(refused));
}

/// Returns the timeouts and the changes of recovery that the client has recorded, without the first
/// `skip` of them.
fn recoveries(pair: &Pair, skip: usize) -> Vec<TraceEvent> {
    let all = events(pair, CLIENT);
    let kept =
        |event: &&TraceEvent| matches!(event, TraceEvent::Recovery(_) | TraceEvent::Timeout(_));
    all.iter().filter(kept).skip(skip).copied().collect()
}

#[test]
fn the_trace_has_the_begin_and_the_end_of_recoveries_and_their_causes() {
    use RecoveryEvent::{FastRecovery, MarkResponse, Recovered, TailProbe, Undone};
    let config = TcpConfig {
        ecn: EcnMode::On,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(config.clone(), config);
    let mut expected = Vec::new();
    let mut step = |pair: &mut Pair, name: &str, bytes: usize, news: &[TraceEvent]| {
        pair.write(CLIENT, &alloc::vec![5; bytes]);
        pair.run_for(Duration::from_secs(5));
        pair.read(SERVER);
        assert_eq!(recoveries(pair, expected.len()), news, "{name}");
        expected.extend_from_slice(news);
        pair.lose = Box::new(|_| false);
        pair.change = Box::new(|_| {});
        pair.delay = Duration::from_millis(10);
    };
    let of = TraceEvent::Recovery;
    pair.lose = lose_nth_data(SERVER, 3);
    step(
        &mut pair,
        "a loss",
        14_480,
        &[of(FastRecovery), of(Recovered)],
    );
    pair.change = Box::new(|it| {
        if !it.payload.is_empty() && it.ecn == Ecn::Ect0 {
            it.ecn = Ecn::Ce;
        }
    });
    step(&mut pair, "a mark", 2_896, &[of(MarkResponse)]);
    pair.lose = lose_nth_data(SERVER, 10);
    step(&mut pair, "a lost tail", 10 * 1_448, &[of(TailProbe)]);
    pair.delay = Duration::from_secs(1);
    let late = [1, 2, 3].map(TraceEvent::Timeout);
    let late = [&late[..], &[of(Undone)]].concat();
    step(&mut pair, "a delay", 1_448, &late);
}
