//! Test of an explanation with a congestion control from another crate.
//!
//! Rule: the test registers the algorithm as a user of the library does; no other file mentions
//! the algorithm.

use fullpipe::congestion::{AckSample, CongestionControl, CongestionEvent, CongestionStart};
use fullpipe_explain::{Cause, changed, explain};
use fullpipe_scenario::{Experiment, experiment::OutsideCongestion};

/// Segments in the window of [`FewSegments`].
const WINDOW: u32 = 4;

/// Congestion control whose window never grows.
#[derive(Default)]
struct FewSegments {
    mss: u32,
}

impl CongestionControl for FewSegments {
    fn start(&mut self, start: &CongestionStart) {
        self.mss = start.mss;
    }

    fn cwnd(&self) -> u32 {
        WINDOW * self.mss
    }

    fn ssthresh(&self) -> u32 {
        self.cwnd()
    }

    fn on_ack(&mut self, sample: &AckSample) {
        self.mss = sample.mss;
    }

    fn on_loss(&mut self, _event: &CongestionEvent) {}

    fn on_ecn(&mut self, _event: &CongestionEvent) {}

    fn on_timeout(&mut self, _event: &CongestionEvent, _is_first: bool) {}

    fn on_undo(&mut self) {}

    fn on_idle(&mut self, _flight: u32) {}
}

const FILE: &str = r#"
title = "Few segments"
hosts.near = { set.tcp.send_buffer = "1M" }
hosts.far = { set.tcp.receive_buffer = "1M" }
links.path = { between = ["near", "far"], rate = "10mbit", delay = "20ms" }
workload = { from = "near", to = "far", bytes = 1000000 }
rows = [{ label = "row" }]
"#;

fn experiment() -> Experiment {
    let mut experiment = Experiment::parse("few", "few.toml", FILE).expect("no mistake");
    let few = OutsideCongestion::new("few", FewSegments::default);
    experiment.register_congestion(&few);
    experiment
}

#[test]
fn a_registered_congestion_control_is_named_as_the_cause_and_a_built_in_one_offered() {
    let mut experiment = experiment();
    experiment
        .set("near.tcp.congestion", "few")
        .expect("it is registered");
    let setup = &experiment.rows[0].setup;
    let found = explain(setup, 1).expect("no checker finds a violation");
    assert_eq!(found.limit, Cause::CONGESTION, "{:?}", found.parts);
    assert_eq!(found.present.as_deref(), Some("few"));
    let words = &found.parts.limited_by;
    assert!(words.contains("tcp.congestion = few"), "{words}");
    let [advice] = &found.advice[..] else {
        panic!("one setting: {:?}", found.advice);
    };
    assert_eq!(advice.set, "near.tcp.congestion");
    assert!(
        ["cubic", "newreno", "bbr"].contains(&&*advice.to),
        "{advice:?}"
    );
    let next = changed(setup, &found.advice).expect("it is legal");
    assert_eq!(next.hosts[0].registered_congestion(), None);
    assert!(found.predicted.expect("an advice").goodput_mbps > 3.0);
}

#[test]
fn a_registered_congestion_control_that_is_not_chosen_changes_nothing() {
    let plain = Experiment::parse("few", "few.toml", FILE).expect("no mistake");
    let [own, other] = [experiment(), plain].map(|experiment| {
        let found = explain(&experiment.rows[0].setup, 1).expect("no checker finds a violation");
        (found.limit, found.levers)
    });
    assert_eq!(own, other);
}

#[test]
fn a_name_that_is_not_registered_is_refused() {
    let mut experiment = experiment();
    assert!(experiment.set("near.tcp.congestion", "fewer").is_err());
}
