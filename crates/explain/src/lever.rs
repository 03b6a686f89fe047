//! A lever: one thing that somebody could change, with one or two values to try.
//!
//! Rule: a lever changes settings by the names that `--set` takes, so that each run can be repeated
//! from the command line. `levers` lists all levers. A value is ample if a larger one would not
//! help.

use std::fmt;

use serde::Serialize;

use fullpipe_scenario::{
    experiment::Setup,
    path::{Path, full_segment},
};
use fullpipe_sim::link::Direction;

use crate::{cause::Cause, clue::Clue};

/// The part of the transfer that a lever changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeverKind {
    /// An amount that a host could have more of: buffers, caps, tables, memory, rings.
    Resource,
    /// A rule of a host: congestion control, Nagle, delayed ACK, options, timers.
    Rule,
    /// The sending or the receiving application.
    Application,
    /// A host's processor, or its device's offloads.
    Processor,
    /// A link, in one direction or in both.
    Path,
}

impl LeverKind {
    /// Returns true if levers of this kind change settings of a host.
    pub const fn is_of_host(self) -> bool {
        matches!(self, Self::Resource | Self::Rule)
    }
}

/// One setting and its new value, as `--set` takes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Change {
    /// Name of the setting, with its host, link or flow.
    pub set: String,
    /// New value.
    pub to: String,
}

impl fmt::Display for Change {
    /// Writes `SETTING=VALUE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.set, self.to)
    }
}

/// A change that can be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lever {
    /// The lever's name: the name of its first setting, followed by the value if the setting takes
    /// one of several named values.
    pub name: String,
    /// The change in the words of the host's system, with the ample value (`wmem_max = 67108864`);
    /// `None` if the system has no such setting.
    pub called: Option<String>,
    /// The part of the transfer that the lever changes.
    pub kind: LeverKind,
    /// Cause of the limit if this lever helps most.
    pub cause: Cause,
    /// Clues that suggest the lever; empty if it is always worth a run.
    pub clues: &'static [Clue],
    /// True if the lever rarely helps. Such a lever runs after the others, while the budget lasts.
    pub is_rare: bool,
    /// The part of the setup that the lever changes.
    pub place: Place,
    /// The setting without the name of its host, link or flow.
    pub field: &'static str,
    /// The setting's present value.
    pub present: Option<String>,
    /// The present and the ample number; `None` if not every number between them can be set.
    pub range: Option<[u64; 2]>,
    /// Settings with about twice the present amount; `None` if there is only one other value.
    pub twice: Option<Vec<Change>>,
    /// Settings with the ample amount, or with the other value of a rule.
    pub ample: Vec<Change>,
}

/// The part of a setup that a lever changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Indices of hosts; several hosts are changed together.
    Hosts(Vec<usize>),
    /// Index of a link, with a direction if only one is changed.
    Link(usize, Option<Direction>),
    /// The first flow.
    Flow,
}

/// Fields of a link that every link has; all others are impairments.
pub const USUAL: [&str; 5] = ["rate", "delay", "mtu", "queue", "radio"];

/// Ample amounts for one row (one transfer of an experiment).
#[derive(Clone, Copy, Debug)]
pub struct Ample {
    /// Bytes of a buffer: sixteen bandwidth-delay products, queues included.
    pub bytes: u64,
    /// Bandwidth-delay product of the path, without queues, in bytes; `None` if the path has no
    /// limited rate.
    pub product: Option<u64>,
    /// Entries of a table.
    pub entries: u64,
    /// Largest packet memory that a lever may give a host, in bytes; `None` without a bound.
    pub memory: Option<u64>,
}

impl Ample {
    /// Bandwidth-delay products in an ample buffer.
    const PRODUCTS: f64 = 16.0;
    /// Smallest and largest number of bytes of an ample buffer.
    const BYTES: (u64, u64) = (1 << 20, 1 << 28);
    /// Bytes of an ample buffer for each entry of an ample table.
    const PIECE: u64 = 256;

    /// Returns the amounts for `setup`, whose measured rate is `bps` and whose round-trip time is
    /// `rtt_s`.
    pub fn of(setup: &Setup, bps: f64, rtt_s: f64) -> Self {
        let (rate_bps, bare_rtt_s) = setup.bare_path();
        let rate = if rate_bps.is_finite() {
            rate_bps
        } else {
            bps * 4.0
        };
        let product = rate.max(bps) / 8.0 * rtt_s.max(bare_rtt_s).max(1e-3);
        let bytes = (product * Self::PRODUCTS) as u64;
        let bytes = bytes
            .clamp(Self::BYTES.0, Self::BYTES.1)
            .next_power_of_two();
        Self {
            bytes,
            product: product_of(setup),
            entries: (bytes / Self::PIECE).min(65_536),
            memory: None,
        }
    }

    /// Returns these amounts, reduced to at most `memory` bytes for a buffer and for the packet
    /// memory of a host.
    pub fn within(self, memory: Option<u64>) -> Self {
        Self {
            bytes: memory.map_or(self.bytes, |most| self.bytes.min(most)),
            memory,
            ..self
        }
    }
}

/// Bandwidth-delay product of the first flow's path, without queues, in bytes.
fn product_of(setup: &Setup) -> Option<u64> {
    let path = Path::of(setup, full_segment(setup));
    let bytes = path.payload_bps / 8.0 * path.rtt_s;
    bytes.is_finite().then_some(bytes as u64)
}

/// Returns `setup` with `changes`; `None` if a change is refused, or if the changed setup as a
/// whole is invalid.
pub fn changed(setup: &Setup, changes: &[Change]) -> Option<Setup> {
    let mut setup = setup.clone();
    for change in changes {
        setup.set(&change.set, &change.to).ok()?;
    }
    setup.validate().ok().map(|()| setup)
}
