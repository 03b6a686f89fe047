//! Compares losses, delays and rates of a path, as inferred from both ends, with the counters of
//! the simulated links.
//!
//! Rule: the inference gets only the frames that the two hosts sent and received. The counters of
//! the links are the truth.

mod capture;
#[path = "../captured/mod.rs"]
mod captured;
mod drawn;
mod table;

use fullpipe_diagnose::inferred::{Confidence, DirectionInference, Inferred, LossReason, infer};
use fullpipe_pool::Duration;
use fullpipe_sim::link::{Direction, FrameLoss, LinkCounters};
use fullpipe_sim::{Family, HostId, Seed, WorldPlan};

use captured::Captured;
use drawn::{KINDS, Kind, Ran};
use table::{Agreed, Table};

/// Time for which a random world (a simulated network with its traffic) runs.
const RUN: Duration = Duration::from_secs(30);
/// Number of random worlds. Only worlds with two hosts are used.
const WORLDS: u64 = 150;
/// Number of worlds in which two transfers share the bottleneck.
const SHARED: u64 = 40;
/// Number of worlds for each impairment.
const OF_EACH: u64 = 4;

/// A random world of two hosts, as the soak test draws it; `None` if the world has more links or an
/// end that vanishes. The rules of the world are removed, because they drop frames outside links.
/// All flows have IPv4, because damage and ICMP errors are inferred only from frames of IPv4.
fn pair(seed: u64) -> Option<WorldPlan> {
    let mut plan = WorldPlan::draw(Seed(seed));
    plan.rules.clear();
    for flow in &mut plan.flows {
        flow.family = Family::V4;
    }
    let vanishes = format!("{:?}", plan.flows).contains("Vanish");
    (plan.links.len() == 1 && plan.parallel.is_none() && !vanishes).then_some(plan)
}

/// Both directions of a link: the inference and the truth.
fn directions<'a>(
    inferred: &'a fullpipe_diagnose::inferred::PathInference,
    truth: &'a [LinkCounters; 2],
) -> [(&'a DirectionInference, &'a LinkCounters); 2] {
    [(&inferred.forward, &truth[0]), (&inferred.back, &truth[1])]
}

#[test]
fn counts_of_frames_by_direction_are_exact_in_random_worlds() {
    let (mut lost, mut overtaken, mut overtaken_inferred) = (0, 0, 0);
    let mut copied = 0_u64;
    for plan in (0..WORLDS).filter_map(pair) {
        let mut world = plan.build();
        let hosts: Vec<HostId> = world.hosts().collect();
        let captured = Captured::start(&mut world, [hosts[0], hosts[1]]);
        world.try_run_for(RUN).expect("no rule is violated");
        let ends = captured.ends();
        let inferred = infer([&ends[0], &ends[1]], world.now().as_nanos());
        let link = world.links().next().expect("a link");
        let truth = Direction::ALL.map(|way| *world.link_engine(link).counters(way));
        for (own, truth) in directions(&inferred, &truth) {
            let frames = own.frames;
            let case = format!("seed {}: {frames:?}, {truth:?}", plan.seed);
            let sent = (frames.sent, frames.sent_bytes);
            assert_eq!(sent, (truth.offered, truth.offered_bytes), "{case}");
            let all = truth.lost.all();
            // Compare the difference of losses and copies: a copy cannot be distinguished from
            // another equal frame, but the difference between the two counts is known.
            let net = |lost: u64, copies: u64| lost as i64 - copies as i64;
            let off = net(frames.lost, frames.duplicated) - net(all, truth.duplicated);
            assert!(off.unsigned_abs() <= frames.undecided, "{case}");
            if truth.duplicated == 0 {
                let off = frames.lost.abs_diff(all);
                assert!(off <= frames.undecided, "{case}");
                assert_eq!(frames.damaged, truth.corrupted, "{case}");
                assert_eq!(frames.foreign, truth.hop_messages, "{case}");
            } else {
                copied += frames.lost.abs_diff(all);
                assert!(frames.damaged.abs_diff(truth.corrupted) <= 1, "{case}");
            }
            assert_eq!(frames.marked, truth.marked, "{case}");
            if frames.alike == 0 && truth.duplicated == 0 {
                assert_eq!(frames.overtaken, truth.overtaken, "{case}");
            }
            lost += frames.lost;
            if truth.duplicated == 0 {
                overtaken += truth.overtaken;
                overtaken_inferred += frames.overtaken;
            }
        }
    }
    println!(
        "{lost} lost, {copied} of them uncertain by copies; {overtaken} overtaken, \
         {overtaken_inferred} inferred"
    );
    assert!(lost > 5_000 && copied * 100 < lost, "{copied} of {lost}");
    let least = overtaken * 8 / 10;
    assert!((least..=overtaken).contains(&overtaken_inferred));
}

/// The true reason of a direction's losses. Returns `None` if fewer than twenty frames were lost,
/// or if fewer than nine of ten were lost for the same reason.
fn main_reason(truth: &LinkCounters) -> Option<FrameLoss> {
    let all = truth.lost.all();
    let most = truth.lost.iter().max_by_key(|(_, frames, _)| *frames)?;
    (all >= 20 && most.1 * 10 >= all * 9).then_some(most.0)
}

/// The inferred reason of most losses.
fn inferred_reason(own: &DirectionInference) -> LossReason {
    let reasons = LossReason::ALL.into_iter();
    let most = reasons.max_by_key(|reason| own.lost(*reason));
    most.unwrap_or(LossReason::Unclear)
}

/// The inferred reason that corresponds to the true reason `truth`.
fn expected(truth: FrameLoss, kind: Kind) -> Option<LossReason> {
    Some(match truth {
        FrameLoss::Random => LossReason::Random,
        FrameLoss::Burst => LossReason::Burst,
        FrameLoss::TokenBucket if kind == Kind::Policer => LossReason::Policer,
        FrameLoss::Queue | FrameLoss::TokenBucket | FrameLoss::EcnThreshold | FrameLoss::Codel => {
            LossReason::Queue
        }
        FrameLoss::PacketTooBig | FrameLoss::BlackHole => LossReason::MtuHole,
        FrameLoss::Outage => LossReason::Outage,
        FrameLoss::AckThinning | FrameLoss::TooLong | FrameLoss::LinkDown => return None,
    })
}

/// Compares a queue delay in milliseconds with the truth. Returns true if the difference is at most
/// 10 % or 1 ms.
fn is_near(own: f64, truth: Duration) -> bool {
    let truth = truth.as_secs_f64() * 1e3;
    (own - truth).abs() <= (truth * 0.1).max(1.0)
}

/// Returns true if the MTU hole of the first direction agrees with the truth.
fn hole_agrees(ran: &Ran) -> bool {
    let lost = &ran.truth[0].lost;
    let in_hole = lost.frames(FrameLoss::PacketTooBig) + lost.frames(FrameLoss::BlackHole);
    match (ran.inferred.forward.mtu_hole, ran.models[0].hop) {
        (Some(hole), Some(hop)) => {
            let longest = u32::from(hop.mtu) + 14;
            hole.passes_bytes <= longest
                && longest < hole.stops_bytes
                && hole.is_answered != hop.silent
        }
        (Some(_), None) => false,
        (None, _) => in_hole < 2,
    }
}

/// Returns true if the policer of the first direction, and its rate, agree with the truth.
fn policer_agrees(ran: &Ran) -> bool {
    let model = ran.models[0].token_bucket;
    let model = model.filter(|_| ran.kind == Kind::Policer);
    match (ran.inferred.forward.policer, model) {
        (Some(policer), Some(model)) => {
            (policer.rate_bps / model.rate_bps as f64 - 1.0).abs() < 0.02
        }
        (Some(_), None) => false,
        (None, _) => model.is_none() || ran.truth[0].lost.all() < 20,
    }
}

/// Returns true if the outages agree with the truth in direction and time.
fn outages_agree(ran: &Ran) -> bool {
    let lost = ran.truth.map(|truth| truth.lost.frames(FrameLoss::Outage));
    match (&ran.inferred.outages[..], ran.models[0].outage) {
        ([outage], Some(truth)) => {
            let [from, until] = [outage.from_ns / 1_000, outage.until_ns / 1_000];
            let overlap = from <= truth.after_us + truth.length_us && truth.after_us <= until;
            // Compare directions with at least two lost frames; a single lost frame is not a run of
            // losses.
            let same = |way: usize| (outage.lost[way] > 1) == (lost[way] > 1);
            overlap && same(0) && same(1)
        }
        ([], _) => lost[0] < 3,
        (_, _) => false,
    }
}

/// Compares one direction of a world with the truth.
fn compare(table: &mut Table, ran: &Ran, way: usize) {
    let (own, truth) = directions(&ran.inferred, &ran.truth)[way];
    let row = table.row(ran.kind, way);
    let case = format!("seed {}, {:?}, direction {way}", ran.seed, ran.kind);
    row.lost += truth.lost.all();
    row.lost_off += truth.lost.all().abs_diff(own.frames.lost);
    let reason = main_reason(truth).and_then(|reason| expected(reason, ran.kind));
    if let Some(reason) = reason {
        let found = inferred_reason(own);
        row.reasons.add(found == reason);
        if found != reason {
            println!("{case}: {reason:?} is {found:?}, {:?}", own.confidence);
        }
    }
    // Leave out outages, because the waits of frames that were lost in them are unknown.
    if let Inferred::Known(delay, Confidence::High) = own.queue_delay
        && ran.kind != Kind::Outage
    {
        let near = is_near(delay.mean_ms, truth.mean_wait());
        row.delays.add(near);
        if !near {
            println!("{case}: {delay:?} is {}", truth.mean_wait());
        }
    }
    // Leave out policers, because a policed direction hardly uses its wire.
    if let Inferred::Known(share, Confidence::High) = own.busy_share
        && ran.kind != Kind::Policer
    {
        // Add the time of the other direction on a radio, because a direction also waits for the
        // other one.
        let other = match ran.kind {
            Kind::Radio => ran.truth[1 - way].busy,
            _ => Duration::ZERO,
        };
        let full = (truth.busy + truth.shaped + other).as_secs_f64() / ran.seconds;
        let near = (share - full).abs() <= 0.02;
        row.shares.add(near);
        if !near {
            println!("{case}: busy {share:.3} is {full:.3}");
        }
    }
}

/// Compares `of_each` worlds of each impairment with the truth.
fn compare_worlds(of_each: u64) -> Table {
    let mut table = Table::default();
    for seed in 0..KINDS.len() as u64 * of_each {
        let ran = drawn::run(seed);
        for (name, agrees) in [
            ("MTU hole", hole_agrees(&ran)),
            ("policer", policer_agrees(&ran)),
            ("outage", outages_agree(&ran)),
        ] {
            table.row(ran.kind, 0).events.add(agrees);
            if !agrees {
                println!("seed {seed}, {:?}: {name} of {:?}", ran.kind, ran.inferred);
            }
        }
        compare(&mut table, &ran, 0);
        compare(&mut table, &ran, 1);
    }
    println!("{table}");
    table
}

#[test]
fn reasons_delays_and_rates_agree_with_the_truth_in_worlds_of_each_impairment() {
    let sum = compare_worlds(OF_EACH).sum();
    assert_eq!(sum.lost_off, 0);
    assert!(sum.reasons.all > 30 && sum.reasons.share() >= 0.97);
    assert!(sum.delays.all > 80 && sum.delays.share() >= 0.99);
    assert!(sum.shares.all > 40 && sum.shares.share() >= 0.97);
    assert!(sum.events.share() >= 0.99);
}

#[test]
#[ignore = "takes a minute: a thousand worlds"]
fn the_agreement_is_the_same_in_a_thousand_worlds() {
    let sum = compare_worlds(60).sum();
    assert_eq!(sum.lost_off, 0);
    assert!(sum.reasons.share() >= 0.97);
    assert!(sum.delays.share() >= 0.99);
    assert!(sum.shares.share() >= 0.97);
    assert!(sum.events.share() >= 0.99);
}

#[test]
fn other_traffic_in_the_same_queue_does_not_hide_the_reasons() {
    let (mut reasons, mut delays) = (Agreed::default(), Agreed::default());
    for seed in 0..SHARED {
        let ran = drawn::run_shared(seed);
        let (own, truth) = directions(&ran.inferred, &ran.truth)[0];
        let reason = main_reason(truth).and_then(|reason| expected(reason, ran.kind));
        if let Some(reason) = reason.filter(|_| own.frames.lost >= 20) {
            let found = inferred_reason(own);
            reasons.add(found == reason);
            if found != reason {
                println!("seed {seed}, {:?}: {reason:?} is {found:?}", ran.kind);
            }
        }
        // Compare the largest wait only: the mean wait of one transfer's frames differs from that
        // of all frames.
        if let Inferred::Known(delay, _) = own.queue_delay {
            let (own, truth) = (delay.largest_ms, truth.longest_wait.as_secs_f64() * 1e3);
            delays.add((own - truth).abs() <= (truth * 0.2).max(2.0));
        }
        let holes = own.mtu_hole.is_some() || own.policer.is_some();
        assert!(!holes && ran.inferred.outages.is_empty(), "seed {seed}");
    }
    println!("{reasons} reasons, {delays} delays");
    assert!(reasons.all > 10 && reasons.share() >= 0.95);
    assert!(delays.share() >= 0.9);
}
