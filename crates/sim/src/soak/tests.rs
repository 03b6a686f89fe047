//! Tests that run a few random worlds (networks and traffic drawn from a seed) with every checker.

use fullpipe_pool::{Duration, Rng};

use super::*;
use crate::{CpuModel, FrameCost, check::Checks};

#[test]
fn a_handful_of_random_worlds_hold_every_checker() {
    for seed in 0..10 {
        if let Err(failure) = soak(&WorldPlan::draw(Seed(seed))) {
            panic!("{failure}");
        }
    }
}

/// Costs of a processor, most of them below a frame's time on a slow link.
fn draw_cpu(rng: &mut Rng) -> CpuModel {
    let mut up_to = |low, high| {
        let octave = rng.between(low, high);
        rng.below(1 << octave)
    };
    let mut cost = || FrameCost {
        packet: Duration::from_nanos(up_to(8, 17)),
        byte_ps: up_to(4, 16),
    };
    let (receive, send) = (cost(), cost());
    CpuModel {
        receive,
        send,
        call: Duration::from_nanos(up_to(8, 17)),
        applications_first: up_to(1, 1) == 0,
    }
}

#[test]
fn worlds_of_slow_processors_hold_every_checker() {
    for seed in 0..10 {
        let mut plan = WorldPlan::draw(Seed(seed));
        let mut rng = Rng::seeded(seed).fork_named("cpu");
        // A host with a processor has one interface.
        plan.parallel = None;
        plan.flows.iter_mut().for_each(|flow| flow.parallel = false);
        for host in &mut plan.hosts {
            host.cpu = Some(draw_cpu(&mut rng));
        }
        if let Err(failure) = soak(&plan) {
            panic!("{failure}");
        }
    }
}

#[test]
fn bursts_change_no_frame() {
    for seed in 0..20 {
        if let Err(failure) = soak_bursts(&WorldPlan::draw(Seed(seed))) {
            panic!("{failure}");
        }
    }
}

#[test]
fn the_extent_of_the_checks_changes_no_frame() {
    for seed in 0..5 {
        let plan = WorldPlan::draw(Seed(seed));
        let run = |checks| {
            let hash = CaptureHash::default();
            let mut world = plan.build();
            world.set_checks(checks);
            world.capture(Box::new(hash.clone())).expect("no I/O");
            for host in 0..world.host_count() {
                world.tap_host(HostId(host), "host").expect("no I/O");
            }
            let summary = super::run(&plan, &mut world).expect("no violation");
            (summary.steps, summary.lasted, hash.value())
        };
        let whole = run(Checks::Whole);
        for checks in [Checks::Sampled, Checks::Streams] {
            assert_eq!(run(checks), whole, "seed {seed}, {checks:?}");
        }
    }
}

#[test]
fn a_world_is_the_same_each_time() {
    let plan = WorldPlan::draw(Seed(3));
    assert_eq!(soak(&plan), soak(&plan));
}

/// A writer that only counts the bytes written.
#[derive(Clone, Default)]
struct Counted(std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .fetch_add(bytes.len(), std::sync::atomic::Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn capturing_a_world_changes_nothing_in_it() {
    let written = Counted::default();
    let plan = WorldPlan::draw(Seed(3));
    let captured = soak_captured(&plan, Box::new(written.clone())).unwrap();
    assert_eq!(captured, soak(&plan));
    let frames = captured.unwrap().frames as usize;
    // The capture contains each frame that left, with at least 14 bytes of link header.
    assert!(written.0.load(std::sync::atomic::Ordering::Relaxed) > 14 * frames);
}

/// Worlds in which hosts lose addresses, and worlds in which each host has two interfaces.
#[test]
fn worlds_of_absences_and_second_links_hold_every_checker() {
    let kinds: [fn(&WorldPlan) -> bool; 2] = [
        |plan| !plan.absences.is_empty(),
        |plan| plan.flows.iter().any(|flow| flow.parallel),
    ];
    for has in kinds {
        let plans = (100..).map(|seed| WorldPlan::draw(Seed(seed)));
        for plan in plans.filter(has).take(5) {
            if let Err(failure) = soak(&plan) {
                panic!("{failure}");
            }
        }
    }
}
