//! A full link that other flows use, too.
//!
//! Rule: the limit is the share of the link that the other flows leave to the first flow if the
//! first flow waits almost only for its congestion control, the link is full, and other flows carry
//! a part of the payload. This follows from the row's own run. No lever (a thing that could be
//! changed) is run: a lever of a host can only take payload from the other flows.

use fullpipe_diagnose::facts::VerdictParts;
use fullpipe_scenario::{Played, Setup, Shares};
use fullpipe_sim::link::Direction;
use fullpipe_tcp::Limit;

use crate::{
    cause::Cause,
    explanation::Explanation,
    proof, shown_by,
    wording::{ends_of, percent},
};

/// The link must be busy for at least this share of the time.
const FULL: f64 = 0.95;
/// The first flow must wait for its congestion control for at least this share of the time.
const CONGESTED: f64 = 0.9;
/// The other flows must carry at least this share of all payload.
const OTHERS: f64 = 0.1;
/// Limits of a sender that shares a full link.
const OF_SHARING: [Limit; 8] = [
    Limit::CwndSlowStart,
    Limit::CwndSteady,
    Limit::CwndAfterLoss,
    Limit::CwndAfterMark,
    Limit::CwndAfterIdle,
    Limit::Pacing,
    Limit::Recovery,
    Limit::Device,
];

/// Returns the explanation of `played`, a run of `setup`, if other flows on a full link are the
/// cause.
pub fn of(setup: &Setup, played: &Played) -> Option<Explanation> {
    let first = played.measured.flows.first()?;
    let others = 1.0 - first.payload_share;
    let shares = Shares::of(played.sender.times());
    let open = 1.0 - shares.share(Limit::Closing) - shares.share(Limit::Handshake);
    let waited: f64 = OF_SHARING.iter().map(|limit| shares.share(*limit)).sum();
    let is_shared = setup.flows.len() > 1
        && !setup.flow().is_udp()
        && others >= OTHERS
        && waited >= open * CONGESTED;
    let (link, way) = full_link(setup, played).filter(|_| is_shared)?;
    let name = &setup.links[link].name;
    let parts = VerdictParts {
        because: proof::of_shared_link(setup, played, (link, way)),
        ..VerdictParts::limited_by(format!(
            "{} `{name}`{}: they carry {} of all payload",
            Cause::SHARED_LINK.words,
            ends_of(setup, link, way),
            percent(others)
        ))
    };
    Some(Explanation {
        shown_by: shown_by::of_link(setup, link),
        ..Explanation::of(Cause::SHARED_LINK, parts)
    })
}

/// Returns the fullest link on the path of the first flow, if it is full, and the direction of the
/// payload.
fn full_link(setup: &Setup, played: &Played) -> Option<(usize, Direction)> {
    let flow = setup.flow();
    let route = setup.route(flow.from, flow.to).into_iter();
    let busy = |(number, way): &(usize, Direction)| {
        let link = &played.path.links[*number];
        match link.shared {
            true => link.busy_share(),
            false => link.direction(*way).full_share(),
        }
    };
    route
        .filter(|place| busy(place) >= FULL)
        .max_by(|one, other| busy(one).total_cmp(&busy(other)))
}
