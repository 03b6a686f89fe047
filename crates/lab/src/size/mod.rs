//! How much of each knob a path needs, found by searching the simulator.
//!
//! Rule: one knob is searched at a time while a host has ample of everything else,
//! and what it gives is compared with what the path carries, or with the most that
//! this host gives where that is less; so what is found is what that knob needs. What
//! is worked out from a formula stands beside it and decides nothing.
//!
//! | question | where |
//! | --- | --- |
//! | the host, its peer and the path, and how long they run | `world` |
//! | what ample of everything gives, and each knob's curve | `search` |
//! | how given memory is best divided between both directions | `split` |
//! | the runs, and how far they have come | `runs` |
//! | what people read | `text` |

mod runs;
mod search;
mod split;
mod text;
mod world;

#[cfg(test)]
mod tests;

use fullpipe::presets::Preset;
use fullpipe_pool::Duration;
use serde::Serialize;

pub use split::{Divided, Split};
pub use text::size_text;

use crate::{
    experiment::{Row, SettingError, Setup},
    mistake::Mistake,
    path::{Path, full_segment},
    report::{RowReport, pretty},
    run::RunError,
    units::grouped,
    verdict::{Cause, Verdict},
};
use runs::Runs;

/// What is asked.
#[derive(Clone, Debug)]
pub struct SizeRequest {
    /// Bits a second of the path.
    pub rate_bps: u64,
    /// Its round trip, empty.
    pub rtt: Duration,
    /// Frames that it loses, each for itself.
    pub loss: f64,
    /// All packet memory that the host has; ample where it is not said.
    pub memory: Option<u64>,
    /// What the host is like.
    pub preset: &'static Preset,
    /// Settings beside, as `--set` takes them: of the host, and with `peer.`, `link.`
    /// or `workload.` before them of what that names.
    pub settings: Vec<(String, String)>,
    /// Part of the send buffer that must be free before a writer who found it full
    /// goes on, in percent.
    pub low_water: u32,
    /// The share of what the path carries that is enough; of the best that this host
    /// gives, where that is less.
    pub share: f64,
    /// Seed of everything random.
    pub seed: u64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Size {
    /// The preset's name.
    pub preset: &'static str,
    /// Bits a second of the path.
    pub rate_bps: u64,
    /// Its round trip, in milliseconds.
    pub rtt_ms: f64,
    /// Frames that it loses, from 0 to 1.
    pub loss: f64,
    /// All packet memory of the host, where it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// What was set beside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Percent of the send buffer that its writer waits for.
    pub low_water: u32,
    /// Rate times round trip, in bytes.
    pub bdp_bytes: u64,
    /// The share of what the path carries that is enough; of the best that this host
    /// gives, where that is less.
    pub share: f64,
    /// The seed that repeats it.
    pub seed: u64,
    /// What the host gives with ample of everything, sending and receiving.
    pub best: Vec<AmpleResult>,
    /// Each knob.
    pub knobs: Vec<KnobSize>,
    /// How memory that was given is best divided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
}

/// What the host does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRole {
    /// It sends to the peer.
    Send,
    /// It receives from the peer.
    Receive,
}

impl HostRole {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Send, Self::Receive];

    /// The word in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }
}

/// What a host gives with ample of everything but what was given.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AmpleResult {
    /// What it does: `send` or `receive`.
    pub direction: &'static str,
    /// Text that the path carries in full segments, losses taken off, in Mbit/s.
    pub path_mbps: f64,
    /// What came of it, in Mbit/s.
    pub goodput_mbps: f64,
    /// The same over what the path carries.
    pub of_path: f64,
    /// Whether that is the share of what the path carries that is enough.
    pub reaches_path: bool,
    /// What binds then.
    pub verdict: Verdict,
}

/// One knob.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KnobSize {
    /// Its name in the host's system.
    pub knob: String,
    /// What the host does: `send` or `receive`.
    pub direction: &'static str,
    /// The most that any setting gave, ample of everything included, in Mbit/s.
    pub best_mbps: f64,
    /// What is enough, in Mbit/s.
    pub enough_mbps: f64,
    /// Whether that is the share of what the path carries; else it is of the best.
    pub reaches_path: bool,
    /// The smallest setting that is enough; none where none is.
    pub smallest: Option<CurvePoint>,
    /// What a verdict advises at the largest setting that is not enough: the formula's
    /// answer beside the search's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advised: Option<Advised>,
    /// Every setting that was tried, the smallest first, and ample at the end.
    pub curve: Vec<CurvePoint>,
}

/// A setting, and what it gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// As the host's system writes it.
    pub value: String,
    /// What that is in bytes: of a buffer, those that text may have.
    pub bytes: u64,
    /// Text over time, in Mbit/s.
    pub goodput_mbps: f64,
    /// Where the middle half of the seeds lies, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quartiles_mbps: Option<[f64; 2]>,
    /// The same over the best.
    pub share: f64,
    /// The same over what the path carries.
    pub of_path: f64,
    /// What binds at it.
    pub limit: Cause,
    /// What the verdict advises for the knob, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advised: Option<Advised>,
}

/// What a verdict advises for a knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advised {
    /// The value, as the host's system writes it.
    pub value: String,
    /// How it is worked out.
    pub formula: String,
}

/// Why nothing was found.
#[derive(Debug)]
pub enum SizeError {
    /// A setting is refused.
    Setting(SettingError),
    /// The memory that is given is too little for any setting.
    Memory(SettingError),
    /// So many bytes are on their way, which no buffer holds.
    TooLong(u64),
    /// The path cannot be.
    Path(Mistake),
    /// Nothing arrives, and why.
    Nothing(String),
    /// A checker found something.
    Run(RunError),
}

impl std::fmt::Display for SizeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setting(error) => error.fmt(f),
            Self::Memory(error) => write!(f, "so little memory is none at all: {error}"),
            Self::TooLong(bytes) => write!(
                f,
                "{} bytes are on their way, and the largest buffer holds {}",
                grouped(*bytes),
                grouped(search::LARGEST)
            ),
            Self::Path(mistake) => mistake.fmt(f),
            Self::Nothing(why) => f.write_str(why),
            Self::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SizeError {}

/// Steps that a search takes for each knob, and for both directions before the first.
const STEPS_EACH: usize = 7;
const STEPS_BEFORE: usize = 4;

/// Searches every knob of a host that sends and receives over a path. `progress` is
/// told the share that is done.
///
/// # Errors
/// A setting that is refused, nothing that arrives, or a run's.
pub fn size(wish: &SizeRequest, progress: &(dyn Fn(f64) + Sync)) -> Result<Size, SizeError> {
    if wish.bdp() > search::LARGEST {
        return Err(SizeError::TooLong(wish.bdp()));
    }
    let searched = search::SEARCHED.iter();
    let wanted = searched.clone().filter(|searched| searched.is_wanted(wish));
    let expected = wanted.count() * STEPS_EACH + STEPS_BEFORE;
    let runs = Runs::new(wish.seed, expected, progress);
    let ways = HostRole::ALL.map(|way| search::ample(wish, way, &runs));
    let ways = ways.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut knobs = Vec::new();
    for searched in searched {
        let ample = &ways[searched.way as usize];
        knobs.extend(search::search(wish, searched, ample, &runs)?);
    }
    let split = match wish.memory {
        Some(_) => Some(split::split(wish, &ways, &runs)?),
        None => None,
    };
    let settings = wish.settings.iter();
    let settings = settings.map(|(name, value)| format!("{name}={value}"));
    Ok(Size {
        preset: wish.preset.name,
        rate_bps: wish.rate_bps,
        rtt_ms: wish.rtt.as_secs_f64() * 1e3,
        loss: wish.loss,
        memory: wish.memory,
        settings: settings.collect(),
        low_water: wish.low_water,
        bdp_bytes: wish.bdp(),
        share: wish.share,
        seed: wish.seed,
        best: ways.into_iter().map(|ample| ample.best).collect(),
        knobs,
        split,
    })
}

impl Size {
    /// This as JSON, indented.
    pub fn json(&self) -> String {
        pretty(self)
    }
}

impl AmpleResult {
    /// What `report` says of `row`.
    fn of(wish: &SizeRequest, way: HostRole, row: &Row, report: &RowReport) -> Self {
        let path = Path::of(&row.setup, full_segment(&row.setup));
        let path_mbps = path.payload_bps * (1.0 - path.loss) / 1e6;
        let goodput_mbps = report.measured.goodput_mbps;
        Self {
            direction: way.name(),
            path_mbps,
            goodput_mbps,
            of_path: goodput_mbps / path_mbps,
            reaches_path: wish.reaches(goodput_mbps, path_mbps),
            verdict: report.verdict.clone(),
        }
    }
}

impl SizeRequest {
    /// Whether `best_mbps` is the share of what the path carries that is enough.
    fn reaches(&self, best_mbps: f64, path_mbps: f64) -> bool {
        best_mbps >= self.share * path_mbps
    }

    /// What is enough where nothing gives more than `best_mbps`.
    fn enough_mbps(&self, best_mbps: f64, path_mbps: f64) -> f64 {
        let of = match self.reaches(best_mbps, path_mbps) {
            true => path_mbps,
            false => best_mbps,
        };
        self.share * of
    }

    /// Has the host's writer wait for its part of the send buffer.
    fn set_low_water(&self, setup: &mut Setup) {
        let flow = setup.flows.iter_mut().find(|flow| flow.from == 0);
        let set = flow.map(|flow| flow.set("low_water", &format!("{}%", self.low_water)));
        assert!(!matches!(set, Some(Err(_))), "below a hundred percent");
    }
}
