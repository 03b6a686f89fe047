//! A lever: one thing that somebody could change, and two values to try.
//!
//! Rule: a lever changes settings by the paths that `--set` takes, so that each run can be
//! repeated from the command line. `levers` lists them.

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
    /// An amount that a host can have more of: buffers, caps, tables, memory, rings.
    Resource,
    /// A rule of a host: congestion control, Nagle, delayed ACK, options, timers.
    Rule,
    /// The sending or the receiving application.
    Application,
    /// A host's processor, or what its device can do.
    Processor,
    /// A link, in one direction or in both.
    Path,
}

impl LeverKind {
    /// Returns true for what can be set on a host.
    pub const fn is_of_host(self) -> bool {
        matches!(self, Self::Resource | Self::Rule)
    }
}

/// One setting and its new value, as `--set` takes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Change {
    /// Path of the setting.
    pub set: String,
    /// New value.
    pub to: String,
}

/// A change that can be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lever {
    /// Its name: the path of its first setting, followed by the value if the setting takes
    /// one of several named values.
    pub name: String,
    /// The setting of its host's system that makes the ample change, with its value, if that
    /// has one.
    pub called: Option<String>,
    /// The part of the transfer that it changes.
    pub kind: LeverKind,
    /// Cause of the limit, if it is the lever that helps most.
    pub cause: Cause,
    /// Clues that suggest it; empty if it is always worth a run.
    pub clues: &'static [Clue],
    /// The part of the setup that it changes.
    pub place: Place,
    /// The setting without the name of its host, link or flow.
    pub field: &'static str,
    /// Its present value.
    pub present: Option<String>,
    /// Present and ample number, if every number between them can be set.
    pub range: Option<[u64; 2]>,
    /// Settings for about twice of what is there; absent if there is only one other value.
    pub twice: Option<Vec<Change>>,
    /// Settings for as much as can be used, or the other value of a rule.
    pub ample: Vec<Change>,
}

/// The part of a setup that a lever changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Hosts, by their indices; several are changed together.
    Hosts(Vec<usize>),
    /// A link by its index, and its direction if only one is changed.
    Link(usize, Option<Direction>),
    /// The first flow.
    Flow,
}

/// Amounts that are ample for a row.
#[derive(Clone, Copy, Debug)]
pub struct Ample {
    /// Bytes of a buffer: sixteen bandwidth-delay products, queues included.
    pub bytes: u64,
    /// Payload that the path holds without a queue, in bytes; `None` without a rate.
    pub product: Option<u64>,
    /// Entries of a table.
    pub entries: u64,
    /// Most packet memory that a host may be given, in bytes; `None` without a bound.
    pub memory: Option<u64>,
}

impl Ample {
    /// Bandwidth-delay products in an ample buffer.
    const PRODUCTS: f64 = 16.0;
    /// Fewest and most bytes of an ample buffer.
    const BYTES: (u64, u64) = (1 << 20, 1 << 28);
    /// An ample table has one entry for this many bytes of an ample buffer.
    const PIECE: u64 = 256;

    /// The amounts for `setup`, whose measured rate is `bps` and whose round-trip time is
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

    /// As this, if a host may be given no more packet memory than `memory` bytes.
    pub fn within(self, memory: Option<u64>) -> Self {
        Self {
            bytes: memory.map_or(self.bytes, |most| self.bytes.min(most)),
            memory,
            ..self
        }
    }
}

/// Payload that the first flow's path holds without a queue, in bytes.
fn product_of(setup: &Setup) -> Option<u64> {
    let path = Path::of(setup, full_segment(setup));
    let bytes = path.payload_bps / 8.0 * path.rtt_s;
    bytes.is_finite().then_some(bytes as u64)
}

/// Returns `setup` with `changes`; `None` if one is refused or they contradict each other.
pub fn changed(setup: &Setup, changes: &[Change]) -> Option<Setup> {
    let mut setup = setup.clone();
    for change in changes {
        setup.set(&change.set, &change.to).ok()?;
    }
    setup.validate().ok().map(|()| setup)
}
