//! A full link that other flows use, too.
//!
//! Rule: the account (time by limit) of the row's own run only suggests this cause. A run without
//! the other flows of the link proves it: the first flow must then be clearly faster. No lever (a
//! thing that could be changed) is run, because a lever of a host can only take payload from the
//! other flows.

use fullpipe_diagnose::facts::VerdictParts;
use fullpipe_scenario::{Outcome, Played, Setup, Shares};
use fullpipe_sim::link::{Direction, FrameLoss};
use fullpipe_tcp::Limit;

use crate::{
    cause::Cause,
    explanation::Explanation,
    proof::{self, SharedLink},
    shown_by,
    twin::{self, TwinFailure},
    wording::{ends_of, percent},
    work::Work,
};

/// The link must be busy for at least this share of the time.
const FULL: f64 = 0.95;
/// The connections must be open, not in the handshake or closing, for at least this share of the
/// time.
const OPEN: f64 = 0.5;
/// The senders must wait for their congestion control for at least this share of the open time.
const CONGESTED: f64 = 0.9;
/// The other flows must carry at least this share of the payload of the link.
const OTHERS: f64 = 0.1;
/// Without the other flows, the first flow must gain at least this share of its goodput.
const CLEAR: f64 = 0.05;
/// Limits of a sender that shares a full link, besides the repair of losses.
const OF_SHARING: [Limit; 3] = [
    Limit::CwndSlowStart,
    Limit::CwndSteady,
    Limit::CwndAfterMark,
];
/// Limits of a sender that repairs losses. They belong to a shared link if its queue lost the
/// frames.
const OF_REPAIR: [Limit; 2] = [Limit::CwndAfterLoss, Limit::Recovery];
/// Reasons for which a link loses a frame because other frames wait.
const IN_QUEUE: [FrameLoss; 4] = [
    FrameLoss::Queue,
    FrameLoss::TokenBucket,
    FrameLoss::EcnThreshold,
    FrameLoss::Codel,
];

/// Returns the explanation of `played`, runs of `setup` with the seeds from `seed` on, if other
/// flows on a full link are the cause.
///
/// # Errors
/// Returns a violation that a checker of the simulator found, or an interrupted run.
pub fn of(
    setup: &Setup,
    seed: u64,
    played: &Played,
    work: &Work<'_>,
) -> Result<Option<Explanation>, TwinFailure> {
    let Some(shared) = suspected(setup, played) else {
        return Ok(None);
    };
    let alone = without(setup, &shared.others);
    let (gain, runs) = gain_of(&alone, seed, played, work)?;
    if gain < CLEAR {
        return Ok(None);
    }
    Ok(Some(explanation(
        setup,
        played,
        &SharedLink { gain, ..shared },
        runs,
    )))
}

fn explanation(setup: &Setup, played: &Played, shared: &SharedLink, runs: usize) -> Explanation {
    let name = &setup.links[shared.link].name;
    let ends = match played.path.links[shared.link].shared {
        true => String::new(),
        false => ends_of(setup, shared.link, shared.way),
    };
    let parts = VerdictParts {
        because: proof::of_shared_link(setup, played, shared),
        ..VerdictParts::limited_by(format!(
            "{} `{name}`{ends}: they carry {} of its payload",
            Cause::SHARED_LINK.words,
            percent(shared.share)
        ))
    };
    Explanation {
        shown_by: shown_by::of_link(setup, shared.link),
        runs,
        ..Explanation::of(Cause::SHARED_LINK, parts)
    }
}

/// Returns the fullest link on the first flow's path that other flows share, if the account of
/// `played`, a run of `setup`, suggests that these flows are the cause. The gain is not known yet.
fn suspected(setup: &Setup, played: &Played) -> Option<SharedLink> {
    let is_usual = setup.flows.len() > 1
        && !setup.flow().is_udp()
        && played.measured.outcome == Outcome::Complete;
    if !is_usual {
        return None;
    }
    let shares = Shares::of(played.sender.times());
    let sum = |limits: &[Limit]| limits.iter().map(|limit| shares.share(*limit)).sum::<f64>();
    let open = 1.0 - sum(&[Limit::Closing, Limit::Handshake]);
    if open < OPEN {
        return None;
    }
    let flow = setup.flow();
    let route = setup.route(flow.from, flow.to);
    // The pacing rate derives from the congestion window, unless the sender caps it.
    let is_capped = setup.hosts[flow.from].config.tcp.pacing_rate_max > 0;
    let paced = if is_capped {
        0.0
    } else {
        shares.share(Limit::Pacing)
    };
    let busy = |shared: &SharedLink| {
        let link = &played.path.links[shared.link];
        match link.shared {
            true => link.busy_share(),
            false => link.direction(shared.way).full_share(),
        }
    };
    let is_cause = |shared: &SharedLink| {
        let repair = sum(&OF_REPAIR) * lost_in_queue(played, &route, (shared.link, shared.way));
        busy(shared) >= FULL
            && shared.share >= OTHERS
            && sum(&OF_SHARING) + paced + repair >= open * CONGESTED
    };
    let all = route.iter().map(|place| users(setup, played, *place));
    all.filter(is_cause)
        .max_by(|one, other| busy(one).total_cmp(&busy(other)))
}

/// Returns the flows besides the first that use a link in one direction, or in any direction if the
/// directions share the medium, and their share of the payload.
fn users(setup: &Setup, played: &Played, (link, way): (usize, Direction)) -> SharedLink {
    let is_medium = played.path.links[link].shared;
    let is_user = |number: &usize| {
        let flow = &setup.flows[*number];
        let mut route = setup.route(flow.from, flow.to).into_iter();
        route.any(|(own, direction)| own == link && (is_medium || direction == way))
    };
    let others: Vec<usize> = (1..setup.flows.len()).filter(is_user).collect();
    let carried = |number: usize| {
        let flows = &played.measured.flows;
        flows.get(number).map_or(0.0, |flow| flow.payload_share)
    };
    let more: f64 = others.iter().map(|number| carried(*number)).sum();
    SharedLink {
        link,
        way,
        share: more / (more + carried(0)).max(f64::MIN_POSITIVE),
        others,
        gain: 0.0,
    }
}

/// Returns the share of the frames lost on `route` or by a host that the queue of the link in
/// direction `full` lost; 0 if no frame was lost.
fn lost_in_queue(played: &Played, route: &[(usize, Direction)], full: (usize, Direction)) -> f64 {
    let on_links = played.path.along(route);
    let on_links: u64 = on_links.map(|(_, way)| way.counters.lost.all()).sum();
    let at_hosts = played.path.hosts.iter().flat_map(|host| host.losses());
    let at_hosts: u64 = at_hosts.map(|(_, frames)| frames).sum();
    let lost = &played.path.links[full.0].direction(full.1).counters.lost;
    let in_queue: u64 = IN_QUEUE.iter().map(|reason| lost.frames(*reason)).sum();
    in_queue as f64 / (on_links + at_hosts).max(1) as f64
}

/// Returns `setup` without the flows `others`.
fn without(setup: &Setup, others: &[usize]) -> Setup {
    let mut alone = setup.clone();
    let mut number = 0;
    alone.flows.retain(|_| {
        number += 1;
        !others.contains(&(number - 1))
    });
    alone
}

/// Runs `alone`, the row without the other flows, with the seeds of the row. Returns the gain of the first flow over `played`, as a share, and the number of
/// runs. A transfer that does not complete has no gain.
fn gain_of(
    alone: &Setup,
    seed: u64,
    played: &Played,
    work: &Work<'_>,
) -> Result<(f64, usize), TwinFailure> {
    let seeds = (0..u64::from(played.worlds.max(1))).map(|number| seed.wrapping_add(number));
    let runs = seeds.map(|seed| twin::of_row(alone, seed, &[], work));
    let runs: Vec<Played> = runs.collect::<Result<_, _>>()?;
    let count = runs.len();
    let after = Played::of_seeds(runs).measured;
    // The path of the first flow is the same in both.
    let gain = after.first_flow_mbps(alone) / played.measured.first_flow_mbps(alone) - 1.0;
    let is_complete = after.outcome == Outcome::Complete;
    Ok((if is_complete { gain } else { 0.0 }, count))
}
