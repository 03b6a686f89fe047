//! Test of a congestion control algorithm that the stack does not contain, in simulated hosts.

use fullpipe::{
    Config,
    config::CongestionAlgorithm,
    congestion::{AckSample, CongestionControl, CongestionEvent, CongestionStart, RegisterError},
};
use fullpipe_sim::{Deadline, EndFacts, HostId, LinkModel, Seed, World};

/// Window of [`FewSegments`] in segments.
const WINDOW: u32 = 3;
const BYTES: u64 = 200_000;

/// An algorithm whose window is three segments, whatever happens.
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

    fn controls_recovery(&self) -> bool {
        true
    }

    fn on_ack(&mut self, sample: &AckSample) {
        self.mss = sample.mss;
    }

    fn on_loss(&mut self, _event: &CongestionEvent) {}

    fn on_timeout(&mut self, _event: &CongestionEvent, _first: bool) {}

    fn on_idle(&mut self, _restart_window: u32) {}
}

/// Sends [`BYTES`] over a round trip of 20 ms between two hosts that `prepare` set
/// up. Returns the sender's facts and the number of round trips that the transfer took.
fn transfer(prepare: impl FnOnce(&mut World, HostId)) -> (EndFacts, u64) {
    let mut world = World::new(Seed(3));
    let link = world.link(LinkModel {
        delay_us: 10_000,
        ..LinkModel::ideal()
    });
    let (client, server) = world.pair(&link, Config::default());
    prepare(&mut world, client);
    let flow = world.send(client, server, BYTES);
    world.run_until(flow.done(), Deadline::secs(10));
    let facts = world.facts(flow);
    assert_eq!(facts.bytes, BYTES);
    let last = facts.server.last_read.expect("the server has read");
    (facts.client, last.as_micros() / 20_000)
}

#[test]
fn a_registered_algorithm_sizes_the_window_of_a_simulated_host() {
    let (facts, round_trips) = transfer(|world, client| {
        let few = world
            .register_congestion(client, "few", FewSegments::default)
            .expect("the name is free");
        world.set_default_congestion(client, few);
        assert_eq!(world.stack(client).congestion_name(few), Some("few"));
    });
    let info = facts.info.expect("it was connected");
    assert_eq!(info.cwnd, WINDOW * info.mss);
    let windows = BYTES / u64::from(info.cwnd);
    assert!(
        (windows..windows + 5).contains(&round_trips),
        "{round_trips} round trips for {windows} windows"
    );
}

#[test]
fn without_a_choice_the_knob_applies() {
    let (facts, round_trips) = transfer(|world, client| {
        world
            .register_congestion(client, "few", FewSegments::default)
            .expect("the name is free");
    });
    let info = facts.info.expect("it was connected");
    assert!(info.cwnd > WINDOW * info.mss);
    assert!(round_trips < 10, "{round_trips}");
}

#[test]
fn a_built_in_algorithm_can_be_chosen_for_one_host() {
    let (facts, _) = transfer(|world, client| {
        world.set_default_congestion(client, CongestionAlgorithm::NewReno);
    });
    let info = facts.info.expect("it was connected");
    assert_eq!(
        info.tuning.congestion,
        Some(CongestionAlgorithm::NewReno.into())
    );
}

#[test]
fn a_name_is_registered_once_at_each_host() {
    let mut world = World::new(Seed(3));
    let link = world.link(LinkModel::ideal());
    let (one, other) = world.pair(&link, Config::default());
    for (host, name, is_free) in [
        (one, "few", true),
        (one, "few", false),
        (one, "cubic", false),
        (other, "few", true),
    ] {
        let result = world.register_congestion(host, name, FewSegments::default);
        assert_eq!(
            result.err(),
            (!is_free).then_some(RegisterError::NameTaken),
            "{name}"
        );
    }
}
