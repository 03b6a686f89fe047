//! Draws random worlds: transfers with a path, hosts and applications of random settings.
//!
//! Rule: each dimension (a property of a world) is a row of a table. Each dimension has a random
//! generator forked by its name, so a new dimension does not change the draws of the others.
//! Settings that the host or the path refuses are left out. Most worlds are small, because the judge
//! runs them hundreds of times: they have at most about 3,000 segments with payload and take at most
//! about five minutes of virtual time. A tenth has at least 7,000 segments: of these
//! transfers the engine runs only a part.

mod datagrams;
mod dimension;
mod hosts;
mod path;
mod plan;
pub(crate) use plan::{micros, one, spread};
mod workload;

use fullpipe_pool::Rng;

use dimension::{Dimension, Protocol};
use plan::Plan;

/// Every dimension, in the order in which they are added.
pub fn dimensions() -> impl Iterator<Item = &'static Dimension> {
    let tables = [
        path::DIMENSIONS,
        hosts::DIMENSIONS,
        workload::DIMENSIONS,
        datagrams::DIMENSIONS,
    ];
    // Dimensions whose times depend on the length of the transfer come last.
    tables
        .into_iter()
        .flatten()
        .chain(workload::IN_MID_TRANSFER)
}

/// Share of the worlds that transfer datagrams.
const DATAGRAMS: f64 = 0.14;

/// Draws the file of the world with this number, and the names of its dimensions. The dimension
/// `wanted` is included even if it is not drawn.
pub fn world(number: u64, wanted: Option<&str>) -> (String, Vec<&'static str>) {
    let rng = Rng::seeded(number ^ 0x0c0f_fee0);
    let of = |name: &str| rng.fork_named(name);
    let wanted = dimensions().find(|dimension| Some(dimension.name) == wanted);
    let is_udp = match wanted.map_or(Protocol::Any, |dimension| dimension.protocol) {
        Protocol::Any => of("datagrams").chance(DATAGRAMS),
        Protocol::Tcp => false,
        Protocol::Udp => true,
    };
    let protocol = if is_udp { Protocol::Udp } else { Protocol::Tcp };
    let mut plan = Plan::new(&rng, is_udp);
    let mut found = Vec::new();
    let fits = |dimension: &&Dimension| [Protocol::Any, protocol].contains(&dimension.protocol);
    let mut is_sized = false;
    for dimension in dimensions().filter(fits) {
        let mut rng = of(dimension.name);
        let is_wanted = wanted.is_some_and(|wanted| wanted.name == dimension.name);
        // Draw the chance even for the wanted dimension, so that later draws stay the same.
        if !(rng.chance(dimension.chance) || is_wanted) {
            continue;
        }
        let is_late = workload::IN_MID_TRANSFER
            .iter()
            .any(|late| late.name == dimension.name);
        if is_late && !is_sized {
            plan.add_amount(of("amount"));
            is_sized = true;
        }
        let before = plan.accepted();
        (dimension.add)(&mut plan, rng);
        if plan.accepted() > before {
            found.push(dimension.name);
        }
    }
    if !is_sized {
        plan.add_amount(of("amount"));
    }
    let title = format!("World {number}: {}", found.join(", "));
    (plan.file(&title), found)
}

#[cfg(test)]
mod tests;
