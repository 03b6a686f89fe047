//! Tests of the registration, choice and reuse of algorithms that the crate does not contain.

use std::string::ToString;

use super::*;
use crate::{
    TcpConfig,
    congestion::{AckSample, CongestionEvent, CongestionStart, Controller, controller::start_of},
};

const MSS: u32 = 1_000;

/// An algorithm whose window, in segments, counts how often the algorithm was started.
#[derive(Default)]
struct CountsStarts(u32);

impl CongestionControl for CountsStarts {
    fn start(&mut self, _start: &CongestionStart) {
        self.0 += 1;
    }

    fn cwnd(&self) -> u32 {
        self.0 * MSS
    }

    fn ssthresh(&self) -> u32 {
        u32::MAX
    }

    fn on_ack(&mut self, _sample: &AckSample) {}
    fn on_loss(&mut self, _event: &CongestionEvent) {}
    fn on_ecn(&mut self, _event: &CongestionEvent) {}
    fn on_timeout(&mut self, _event: &CongestionEvent, _first: bool) {}
    fn on_undo(&mut self) {}
    fn on_idle(&mut self, _restart_window: u32) {}
}

/// An algorithm with the smallest number of methods. A loss takes a segment from its window.
struct Smallest(u32);

impl CongestionControl for Smallest {
    fn start(&mut self, _start: &CongestionStart) {}

    fn cwnd(&self) -> u32 {
        self.0
    }

    fn on_ack(&mut self, _sample: &AckSample) {}

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.0 -= event.mss;
    }

    fn on_timeout(&mut self, _event: &CongestionEvent, _first: bool) {}
    fn on_idle(&mut self, _restart_window: u32) {}
}

#[test]
fn by_default_a_mark_is_a_loss_and_there_is_no_slow_start_and_no_undo() {
    let mut smallest = Smallest(10 * MSS);
    let event = CongestionEvent {
        mss: MSS,
        ..CongestionEvent::default()
    };
    smallest.on_ecn(&event);
    smallest.on_undo();
    assert_eq!(smallest.cwnd(), 9 * MSS);
    assert_eq!(smallest.ssthresh(), 9 * MSS);
    assert_eq!(smallest.limit(), crate::Limit::CwndAfterLoss);
}

fn start() -> CongestionStart {
    start_of(&TcpConfig::default(), MSS, 1)
}

#[test]
fn a_name_is_registered_once_and_never_that_of_a_built_in_algorithm() {
    let mut registry = CongestionRegistry::new();
    for algorithm in CongestionAlgorithm::ALL {
        let taken = registry.register(algorithm.name(), 1, CountsStarts::default);
        assert_eq!(taken, Err(RegisterError::NameTaken), "{algorithm}");
        assert_eq!(registry.find(algorithm.name()), Some((*algorithm).into()));
    }
    let mine = registry.register("mine", 1, CountsStarts::default);
    assert!(mine.is_ok());
    assert_eq!(registry.find("mine"), mine.ok());
    assert_eq!(
        registry.register("mine", 1, CountsStarts::default),
        Err(RegisterError::NameTaken)
    );
    assert_eq!(registry.find("yours"), None);
}

#[test]
fn an_instance_goes_from_one_connection_to_the_next_and_is_started_each_time() {
    let mut registry = CongestionRegistry::new();
    let mine = registry
        .register("mine", 1, CountsStarts::default)
        .expect("the name is free");
    for starts in 1..=3 {
        let mut controller = Controller::new(mine, &start(), &mut registry);
        assert_eq!(controller.cwnd(), starts * MSS);
        controller.release(&mut registry);
    }
}

#[test]
fn without_a_free_instance_a_connection_starts_cubic() {
    let mut registry = CongestionRegistry::new();
    let mine = registry
        .register("mine", 1, CountsStarts::default)
        .expect("the name is free");
    let mut first = Controller::new(mine, &start(), &mut registry);
    let mut second = Controller::new(mine, &start(), &mut registry);
    assert_eq!((first.cwnd(), second.cwnd()), (MSS, start().cwnd));
    // `second` has CUBIC in place of an instance, so its release gives nothing
    // back.
    second.release(&mut registry);
    first.release(&mut registry);
    let again = Controller::new(mine, &start(), &mut registry);
    assert_eq!(again.cwnd(), 2 * MSS);
}

#[test]
fn an_algorithm_that_replaces_another_starts_with_its_window() {
    let mut registry = CongestionRegistry::new();
    let mine = registry
        .register("mine", 1, CountsStarts::default)
        .expect("the name is free");
    let mut controller = Controller::new(mine, &start(), &mut registry);
    for &algorithm in CongestionAlgorithm::ALL {
        controller.change(algorithm.into(), &start(), &mut registry);
        assert_eq!(controller.cwnd(), MSS, "{algorithm}");
    }
    controller.change(mine, &start(), &mut registry);
    assert_eq!(
        controller.cwnd(),
        2 * MSS,
        "the same instance, started again"
    );
}

#[test]
fn a_connections_choice_precedes_the_default_and_the_default_the_knob() {
    let mut registry = CongestionRegistry::new();
    let (newreno, cubic, bbr) = (
        CongestionAlgorithm::NewReno,
        CongestionAlgorithm::Cubic,
        CongestionAlgorithm::Bbr,
    );
    assert_eq!(registry.resolve(None, cubic), cubic.into());
    registry.set_default(bbr.into());
    assert_eq!(registry.resolve(None, cubic), bbr.into());
    assert_eq!(
        registry.resolve(Some(newreno.into()), cubic),
        newreno.into()
    );
}

#[test]
fn a_choice_has_the_name_under_which_it_was_registered() {
    let mut registry = CongestionRegistry::new();
    let mine = registry.register("mine", 1, CountsStarts::default).unwrap();
    assert_eq!(registry.name(mine), Some("mine"));
    assert_eq!(
        registry.name(CongestionAlgorithm::Cubic.into()),
        Some("cubic")
    );
    assert_eq!(
        CongestionRegistry::new().name(mine),
        None,
        "of another host"
    );
    assert_eq!(std::format!("{registry:?}"), r#"["mine"]"#);
    let messages =
        [RegisterError::NameTaken, RegisterError::TooMany].map(|error| error.to_string());
    assert!(messages[0].contains("exists") && messages[1].contains("too many"));
}
