//! Compares the limit that is inferred from captures at several places of the path with the limit
//! that the simulated sender had.
//!
//! Rule: a transfer is captured once, as frames enter the link at either end. This capture equals a
//! capture in the middle of the path. For another place, the times of the sender's frames are
//! moved.

#[path = "../captured/mod.rs"]
mod captured;

use std::io::Cursor;

use fullpipe::{Config, config::CongestionAlgorithm};
use fullpipe_diagnose::{
    capture::{BytesRead, CaptureReader, End, Segment},
    observe::{ConnectionObserver, ObservedConnection, SeenLimit, Side},
};
use fullpipe_sim::{Deadline, LinkModel, MIB, Seed, World};
use fullpipe_tcp::Limit;

use captured::Captured;

/// One-way delay of the path, in microseconds.
const DELAY_US: u64 = 20_000;

/// The segments of a bulk transfer over a path that loses 1 % of the sender's frames. The client
/// sends the payload.
fn lossy_transfer(seed: u64, algorithm: CongestionAlgorithm, pacing: bool) -> Vec<Segment> {
    let captured = Captured::default();
    let mut world = World::new(Seed(seed));
    let back = LinkModel {
        rate_bps: 50_000_000,
        delay_us: DELAY_US,
        ..LinkModel::ideal()
    };
    let forward = LinkModel { loss: 0.01, ..back };
    let link = world.link_asymmetric(forward, back);
    let mut config = Config::default();
    (config.tcp.congestion, config.tcp.pacing) = (algorithm, pacing);
    let (client, server) = world.pair(&link, config);
    world.capture(Box::new(captured.clone())).expect("memory");
    world.tap_link(link, "path").expect("memory");
    let flow = world.send(client, server, 4 * MIB);
    world.run_until(flow.done(), Deadline::secs(60));
    world.finish_capture().expect("memory");
    let reader = CaptureReader::open(Cursor::new(captured.bytes()), BytesRead::default());
    let segments = reader.expect("a capture").map(|(_, segment)| segment);
    segments.collect()
}

/// The analysis of a capture whose distance from the sender is longer than half of the path by
/// `farther_us` microseconds.
fn seen_from(segments: &[Segment], farther_us: i64) -> ObservedConnection {
    let client = segments.first().map_or(End::A, |first| first.from);
    let mut moved = segments.to_vec();
    for segment in moved.iter_mut().filter(|segment| segment.from == client) {
        segment.at_ns += farther_us * 1_000;
    }
    moved.sort_by_key(|segment| segment.at_ns);
    let mut observer = ConnectionObserver::new();
    moved.iter().for_each(|one| observer.on_segment(one));
    observer.finish(moved.last().map_or(0, |last| last.at_ns))
}

/// The SYN-ACK is a little longer than an ACK, so ACKs reach the sender earlier than the round-trip
/// time of the handshake says. The payload that an ACK releases nevertheless follows this ACK.
#[test]
fn a_lossy_transfer_is_limited_by_its_window_wherever_it_is_captured() {
    for (seed, algorithm, pacing) in [
        (1, CongestionAlgorithm::Cubic, true),
        (2, CongestionAlgorithm::Cubic, false),
        (3, CongestionAlgorithm::NewReno, true),
        (4, CongestionAlgorithm::NewReno, false),
    ] {
        let segments = lossy_transfer(seed, algorithm, pacing);
        let delay_us = DELAY_US as i64;
        for (farther_us, side) in [
            (-delay_us, Side::Sender),
            (-delay_us / 2, Side::Middle),
            (0, Side::Middle),
            (delay_us, Side::Receiver),
        ] {
            let observed = seen_from(&segments, farther_us);
            let place = format!("seed {seed}, {farther_us} µs farther");
            assert_eq!(observed.vantage.side, side, "{place}");
            assert!(observed.vantage.has_timestamps, "{place}");
            let (limit, share, _) = observed.main_limit().expect("time has passed");
            let expected = SeenLimit::Known(Limit::CwndAfterLoss);
            assert_eq!(limit, expected, "{place}: {share}");
            assert!(share > 0.7, "{place}: {share}");
        }
    }
}
