//! Buffers that are too large for a short queue.
//!
//! Rule: a larger buffer overflows a short queue again and again, but a short part of a transfer may
//! contain only the first overflow. If the queue overflowed, a buffer of one bandwidth-delay product
//! is therefore run on the whole transfer, once. This run is not bounded by the budget: it takes
//! about as many events as the row's own run.

use fullpipe_scenario::{Played, Setup, experiment::is_policed};
use fullpipe_sim::link::FrameLoss;

use crate::{
    lever::{Lever, LeverKind},
    search::{Gain, Search},
    twin::TwinFailure,
    whole::Whole,
};

/// Sizes of buffers that bound the payload in flight.
const BUFFERS: [&str; 2] = ["tcp.send_buffer", "tcp.receive_buffer"];

/// Returns true if `lever` makes a buffer smaller.
pub fn is_smaller_buffer(lever: &Lever) -> bool {
    lever.kind == LeverKind::Rule && BUFFERS.contains(&lever.field)
}

/// Frames that `played`, a run of `setup`, lost in full queues on the path of the first flow's
/// payload, for each frame with payload. A policer has no queue.
pub fn overflows(setup: &Setup, played: &Played) -> f64 {
    let flow = setup.flow();
    let route = setup.route(flow.from, flow.to);
    let lost = route.iter().map(|(number, way)| {
        let lost = &played.path.links[*number].direction(*way).counters.lost;
        let is_policed = is_policed(&setup.links[*number].link(*way));
        let shaped = lost.frames(FrameLoss::TokenBucket);
        lost.frames(FrameLoss::Queue) + if is_policed { 0 } else { shaped }
    });
    let worlds = u64::from(played.worlds.max(1));
    let sent = played.measured.data_segments.max(1) * worlds;
    lost.sum::<u64>() as f64 / sent as f64
}

/// Runs the whole transfer, `played` without changes, with a buffer of one bandwidth-delay product:
/// the send buffer if it is larger, otherwise the receive buffer. Returns the gain if it helps.
///
/// # Errors
/// Returns a violation that a checker of the simulator found.
pub fn of(
    search: &Search<'_>,
    whole: &Whole<'_>,
    played: &Played,
) -> Result<Option<Gain>, TwinFailure> {
    let setup = search.setup;
    let is_certain = search.twin.seeds() == 1 && played.worlds == 1;
    let is_plain = setup.flows.len() == 1 && !setup.flow().is_udp();
    if !is_certain || !is_plain || overflows(setup, played) == 0.0 {
        return Ok(None);
    }
    for field in BUFFERS {
        let is_own = |lever: &Lever| is_smaller_buffer(lever) && lever.field == field;
        let own = search.levers.iter().filter(|lever| is_own(lever));
        // The levers of one buffer are half of the present size and, if it is smaller than the
        // present size, the bandwidth-delay product.
        if own.count() < 2 {
            continue;
        }
        let Some(place) = search.levers.iter().rposition(is_own) else {
            continue;
        };
        let changes = &search.levers[place].ample;
        if let Some(gain) = whole.with(&[place], changes)? {
            return Ok(Some(gain).filter(Gain::is_worth));
        }
    }
    Ok(None)
}
