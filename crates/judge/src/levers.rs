//! The judge's own list of levers: everything that a person could change about a transfer.
//!
//! Rule: the list is made from the settings of a scenario, never from the list of the engine that
//! is judged. Therefore the judge also finds changes that help and that the engine cannot try.
//! A value is left out if the setup refuses it or if it changes nothing.

mod applications;
mod hosts;
mod path;

use fullpipe_explain::{Change, LeverKind};
use fullpipe_scenario::{Measured, Setup};

pub use hosts::present;

use crate::runs::changed;

/// Something that a person could change, with the values that the judge tries.
#[derive(Clone, Debug)]
pub struct Lever {
    /// The lever's first setting, followed by the value if the lever takes a named value. Names
    /// that the engine also has are spelled in the same way.
    pub name: String,
    /// The part of the transfer that the lever changes.
    pub kind: LeverKind,
    /// The changes that are tried, the ample value (with which the setting is no limit) last.
    pub values: Vec<Vec<Change>>,
}

impl Lever {
    /// The changes with the ample value.
    pub fn ample(&self) -> &[Change] {
        self.values.last().map_or(&[], Vec::as_slice)
    }
}

/// Amounts of a transfer's path, from which values are derived.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Rate of the path in bits per second; the measured goodput if the path has no rate.
    rate_bps: f64,
    /// Bandwidth-delay product in bytes.
    product: u64,
    /// Bytes of an ample buffer.
    ample: u64,
}

/// Bandwidth-delay products in an ample buffer.
const PRODUCTS: u64 = 8;
/// Smallest and largest number of bytes of an ample buffer.
const AMPLE: (u64, u64) = (2 << 20, 1 << 28);

impl Sizes {
    fn of(setup: &Setup, measured: &Measured) -> Self {
        let goodput_bps = measured.goodput_mbps * 1e6;
        let (rate_bps, rtt_s) = setup.bare_path();
        let is_limited = rate_bps.is_finite() && rate_bps > 0.0;
        let rate_bps = if is_limited { rate_bps } else { goodput_bps };
        // Queues make round trips longer than the bare path does.
        let rtt_s = rtt_s.max(measured.srtt_ms / 1e3);
        let product = (rate_bps / 8.0 * rtt_s) as u64;
        let ample = product.saturating_mul(PRODUCTS).clamp(AMPLE.0, AMPLE.1);
        Self {
            rate_bps,
            product: product.max(1_024),
            ample: ample.next_power_of_two(),
        }
    }
}

/// Returns every lever of the first flow of `setup`, whose unchanged run was `measured`.
pub fn all(setup: &Setup, measured: &Measured) -> Vec<Lever> {
    let sizes = Sizes::of(setup, measured);
    let levers = hosts::levers(setup, sizes)
        .into_iter()
        .chain(applications::levers(setup, sizes))
        .chain(path::levers(setup));
    levers
        .filter_map(|lever| {
            let values = lever.values.into_iter();
            let values: Vec<_> = values.filter(|value| is_other(setup, value)).collect();
            (!values.is_empty()).then_some(Lever { values, ..lever })
        })
        .collect()
}

/// Returns true if the setup accepts `changes`, and they change something.
fn is_other(setup: &Setup, changes: &[Change]) -> bool {
    changed(setup, changes).is_some_and(|other| other != *setup)
}

fn change(set: String, to: impl ToString) -> Change {
    Change {
        set,
        to: to.to_string(),
    }
}

#[cfg(test)]
mod tests;
