//! The path of the first flow of a row (scenario), for graphs.
//!
//! Rule: nothing is judged here. For the capacity and the round-trip time, the larger of two values
//! is taken: the value of the idle path or the measured value. The explanation names the setting
//! that bounds the flow.

use fullpipe_diagnose::facts::{PathFacts, SettingBound};
use fullpipe_explain::Explanation;
use fullpipe_scenario::{
    Played, Setup,
    path::{Path, full_segment},
};
use fullpipe_sim::link::Direction;

/// Returns the path of the first flow of `setup`, with the setting that `found` names.
pub fn path_facts(setup: &Setup, played: &Played, found: Option<&Explanation>) -> PathFacts {
    let flow = setup.flow();
    let path = Path::of(
        setup,
        full_segment(setup).max(played.measured.segment_bytes),
    );
    // Take the measured rate if it exceeds `payload_bps`. A radio may carry more than
    // `payload_bps`, which assumes the worst case: an ACK for every second segment.
    let active_bps = match played.activity.share {
        0.0 => 0.0,
        share => played.measured.goodput_mbps * 1e6 / share,
    };
    let seen_s = played.min_rtt.map_or(0.0, |rtt| rtt.as_secs_f64());
    let rtt_s = path.rtt_s.max(seen_s);
    let route = setup.route(flow.from, flow.to);
    let forward = |(link, way)| (link, way == Direction::Forward);
    let payload_bps = path.payload_bps.max(active_bps);
    let bound = found.and_then(|found| found.bound.as_ref());
    PathFacts {
        sender: flow.from,
        receiver: flow.to,
        links: route.into_iter().map(forward).collect(),
        payload_bps: Some(payload_bps).filter(|bps| bps.is_finite()),
        rtt_ns: (rtt_s * 1e9) as u64,
        bound: bound.map(|bound| SettingBound {
            setting: bound.setting.clone(),
            host: bound.host.clone(),
            bytes: bound.bytes,
            at_most_bps: bound
                .bytes
                .filter(|_| rtt_s > 0.0)
                .map(|bytes| bytes as f64 * 8.0 / rtt_s * played.activity.at_once.max(1.0)),
        }),
    }
}
