//! The part of the graphs that shows a cause.
//!
//! Rule: the part of the graphs follows from the place and the clues of the levers, and from the
//! sender's limits. A lever is a thing that could be changed; a clue is a sign in the run that
//! suggests a lever. Only the limits of applications are listed here, because levers of
//! applications have no clues. A link is shown only if it was busy; a loss or a delay is visible in
//! the sender's limits.

use fullpipe_diagnose::facts::ShownBy;
use fullpipe_scenario::{Played, Setup, Shares};
use fullpipe_sim::link::Direction;
use fullpipe_tcp::Limit;

use crate::{
    cause::Cause,
    clue::Clue,
    lever::{Lever, LeverKind, Place},
};

/// Smallest busy share of the time at which a link is shown.
pub const BUSY: f64 = 0.9;

/// Returns the part of the graphs that shows the cause of the limit in `played`, a run of `setup`
/// that `levers` speed up.
pub fn of(setup: &Setup, played: &Played, levers: &[&Lever]) -> ShownBy {
    let shares = Shares::of(played.sender.times());
    let waited = shares.largest_first().into_iter().map(|(limit, _)| limit);
    let waited: Vec<Limit> = waited.collect();
    let longest = || ShownBy::Limits(waited.iter().take(1).copied().collect());
    let Some(first) = levers.first() else {
        return longest();
    };
    match &first.place {
        Place::Link(link, direction) if is_busy(played, *link, *direction) => of_link(setup, *link),
        Place::Hosts(places) if works(setup, first, places[0]) => {
            ShownBy::Processor(setup.hosts[places[0]].name.clone())
        }
        Place::Hosts(_) | Place::Flow => {
            let clues = levers.iter().flat_map(|lever| lever.clues);
            let clues: Vec<Clue> = clues.copied().collect();
            let is_clue = |limit: &Limit| {
                clues.contains(&Clue::Sender(*limit)) || of_application(first).contains(limit)
            };
            let limits: Vec<Limit> = waited.iter().copied().filter(is_clue).collect();
            match limits.is_empty() {
                true => longest(),
                false => ShownBy::Limits(limits),
            }
        }
        Place::Link(..) => longest(),
    }
}

/// Returns the part of the graphs that shows `link`.
pub fn of_link(setup: &Setup, link: usize) -> ShownBy {
    ShownBy::Link(setup.links[link].name.clone())
}

/// The limits that the sender reports while an application is the cause. Levers of applications
/// have no clues, because they are always worth a run.
fn of_application(lever: &Lever) -> &'static [Limit] {
    match lever.cause {
        Cause::APPLICATION => &[Limit::Application],
        Cause::SLOW_READER => &[Limit::ZeroWindow, Limit::ReceiveWindow],
        Cause::CORK => &[Limit::Nagle],
        _ => &[],
    }
}

/// Returns true if a link was full for at least [`BUSY`] of the time. Considers only `direction`,
/// or the whole link if the directions share the medium or `direction` is `None`.
fn is_busy(played: &Played, link: usize, direction: Option<Direction>) -> bool {
    let account = &played.path.links[link];
    let of_direction = direction.map_or(0.0, |way| account.direction(way).full_share());
    let whole = match direction.is_none() || account.shared {
        true => account.busy_share(),
        false => 0.0,
    };
    of_direction.max(whole) >= BUSY
}

/// Returns true if `lever` changes the processor costs of host `place`, and these costs take time.
fn works(setup: &Setup, lever: &Lever, place: usize) -> bool {
    lever.kind == LeverKind::Processor && !setup.hosts[place].cpu.is_free()
}
