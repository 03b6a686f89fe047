//! Finds, by simulation, the smallest sufficient value of each knob (setting of the host) for a
//! path.
//!
//! Rule: one knob is searched at a time, while the host has ample amounts of every other resource
//! (amounts that do not limit). A goodput is sufficient if it reaches a given share of what the
//! path carries. If the host reaches this goodput with no value of the knob, a goodput is
//! sufficient if it reaches the given share of the host's best goodput. Each result is also printed
//! as a multiple of the bandwidth-delay product.
//!
//! | content | module |
//! | --- | --- |
//! | the host, its peer, the path, and the length of a run | `world` |
//! | goodput over seeds, and its confidence interval | `sample` |
//! | the result with ample resources, and each knob's curve | `search` |
//! | the best division of given memory between both directions | `split` |
//! | the runs and their progress | `runs` |
//! | the errors | `error` |
//! | the text output | `text` |

mod buffer;
mod error;
mod runs;
mod sample;
mod search;
mod split;
mod text;
mod world;

#[cfg(test)]
mod tests;

use fullpipe::presets::Preset;
use fullpipe_explain::Explanation;
use fullpipe_pool::Duration;
use fullpipe_scenario::{
    experiment::Setup,
    path::{Path, full_segment},
};
use serde::Serialize;

pub use error::SizeError;
pub use runs::SizeProgress;
pub use split::{Divided, Split};
pub use text::size_text;

use crate::report::{pretty, versioned};
use runs::Runs;

/// Input of a search: the path, the host, and the sufficient share.
#[derive(Clone, Debug)]
pub struct SizeRequest {
    /// Rate of the path, in bit/s.
    pub rate_bps: u64,
    /// Round-trip time of the idle path.
    pub rtt: Duration,
    /// Probability that a frame with payload is lost.
    pub loss: f64,
    /// Size of the host's packet memory in bytes; `None` for ample memory.
    pub memory: Option<u64>,
    /// Preset (default settings of a system) of the host.
    pub preset: &'static Preset,
    /// Settings as `--set` takes them. A setting without a prefix applies to the host. With the
    /// prefix `peer.`, `link.` or `workload.`, it applies to the other end, the path or the
    /// application, respectively.
    pub settings: Vec<(String, String)>,
    /// Percentage of the send buffer that must be free before a blocked writer continues.
    pub low_water: u32,
    /// Sufficient goodput, as a share of what the path carries. If no setting reaches that goodput,
    /// the share applies to the host's best goodput instead.
    pub share: f64,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// The path of a transfer, and the preset of the host under study.
#[derive(Clone, Copy, Debug)]
pub struct SizedPath {
    /// Rate of the slowest link, in bit/s.
    pub rate_bps: u64,
    /// Round-trip time of the idle path.
    pub rtt: Duration,
    /// Probability that a frame with payload is lost.
    pub loss: f64,
    /// Preset of the host.
    pub preset: &'static Preset,
}

impl SizedPath {
    /// Returns the path of the first flow of `setup`; `None` if no link has a rate.
    pub fn of(setup: &Setup) -> Option<Self> {
        let (rate_bps, rtt_s) = setup.bare_path();
        rate_bps.is_finite().then(|| Self {
            rate_bps: rate_bps as u64,
            rtt: Duration::from_micros((rtt_s * 1e6).round() as u64),
            loss: Path::of(setup, full_segment(setup)).loss,
            preset: setup.hosts[setup.subject].preset,
        })
    }
}

/// The smallest sufficient settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Size {
    /// The preset's name.
    pub preset: &'static str,
    /// Rate of the path, in bit/s.
    pub rate_bps: u64,
    /// Round-trip time of the idle path, in milliseconds.
    pub rtt_ms: f64,
    /// Probability that a frame with payload is lost, from 0 to 1.
    pub loss: f64,
    /// Size of the host's packet memory in bytes, if it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The settings of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Percentage of the send buffer that must be free before a blocked writer continues.
    pub low_water: u32,
    /// Bandwidth-delay product, in bytes.
    pub bdp_bytes: u64,
    /// Sufficient goodput, as a share of what the path carries. If no setting reaches that goodput,
    /// the share applies to the host's best goodput instead.
    pub share: f64,
    /// First seed, with which the search can be repeated.
    pub seed: u64,
    /// Results of the host with ample resources, as sender and as receiver.
    pub best: Vec<AmpleResult>,
    /// Results for each searched knob.
    pub knobs: Vec<KnobSize>,
    /// Best division of the given memory between sending and receiving.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
}

/// Role of a host in a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRole {
    /// The host sends to the peer.
    Send,
    /// The host receives from the peer.
    Receive,
}

impl HostRole {
    /// Both roles.
    pub const ALL: [Self; 2] = [Self::Send, Self::Receive];

    /// The role's name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }
}

/// Result of a host with ample amounts of every resource that the request does not fix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AmpleResult {
    /// The host's role: `send` or `receive`.
    pub direction: &'static str,
    /// Payload that the path carries in full segments, minus losses, in Mbit/s.
    pub path_mbps: f64,
    /// Goodput, in Mbit/s.
    pub goodput_mbps: f64,
    /// Goodput as a share of what the path carries.
    pub of_path: f64,
    /// True if `of_path` is sufficient.
    pub reaches_path: bool,
    /// Explanation of this run, if it does not reach the sufficient share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Explanation>,
}

/// A knob and its smallest sufficient value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KnobSize {
    /// Name of the knob in the host's system.
    pub knob: String,
    /// The host's role: `send` or `receive`.
    pub direction: &'static str,
    /// Best goodput, in Mbit/s: the largest of several candidates. The candidates are the mean with
    /// ample resources and, for each setting that was tried, the lower end of the 95 % confidence
    /// interval.
    pub best_mbps: f64,
    /// Sufficient goodput, in Mbit/s.
    pub enough_mbps: f64,
    /// True if `enough_mbps` is a share of what the path carries; false if it is a share of the
    /// best goodput.
    pub reaches_path: bool,
    /// Width of the 95 % confidence interval of a ratio, as a share of the ratio. The ratio is the
    /// goodput of `smallest` divided by the goodput with ample resources. Absent without losses.
    #[serde(rename = "interval_share", skip_serializing_if = "Option::is_none")]
    pub interval: Option<f64>,
    /// Number of seeds with which `smallest` was run.
    pub seeds: usize,
    /// The smallest sufficient setting; `None` if no setting suffices.
    pub smallest: Option<CurvePoint>,
    /// Every setting that was tried, the smallest first. For a buffer or memory, the last point is
    /// the run with ample resources.
    pub curve: Vec<CurvePoint>,
}

/// A setting and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The value in the form of the host's system.
    pub value: String,
    /// The value in bytes; for a buffer, the bytes of payload.
    pub bytes: u64,
    /// Goodput, in Mbit/s.
    pub goodput_mbps: f64,
    /// Quartiles over the seeds, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quartiles_mbps: Option<[f64; 2]>,
    /// Goodput as a share of the best goodput.
    pub share: f64,
    /// Goodput as a share of what the path carries.
    pub of_path: f64,
    /// The limit for which the sender waited longest at this setting.
    pub limit: &'static str,
}

/// Expected number of steps in the search of one knob. A step is a group of runs in parallel.
const STEPS_EACH: usize = 7;
/// Expected number of steps with ample resources, which precede the first knob.
const STEPS_BEFORE: usize = 4;

/// Searches the knobs of a host that sends and receives over a path. Calls `progress` with the
/// finished share.
///
/// # Errors
/// Fails if a setting or the path is refused, the memory is too small, the round-trip time is above
/// 5 s, the bandwidth-delay product exceeds the largest buffer, nothing arrives over the path, a
/// run fails, or `progress` returns `ControlFlow::Break`.
pub fn size(request: &SizeRequest, progress: &SizeProgress<'_>) -> Result<Size, SizeError> {
    if request.rtt > error::LONGEST_RTT {
        return Err(SizeError::TooFar);
    }
    if request.bdp() > error::LARGEST {
        return Err(SizeError::TooLong(request.bdp()));
    }
    let searched = search::SEARCHED.iter();
    let wanted = searched
        .clone()
        .filter(|searched| searched.is_wanted(request));
    let expected = wanted.count() * STEPS_EACH + STEPS_BEFORE;
    let runs = Runs::new(request.seed, expected, progress);
    let ample_by_role = HostRole::ALL.map(|role| search::ample(request, role, &runs));
    let mut ample_by_role = ample_by_role.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut knobs = Vec::new();
    for searched in searched {
        let ample = &mut ample_by_role[searched.role as usize];
        knobs.extend(search::search(request, searched, ample, &runs)?);
    }
    // The searches have also run the host with ample resources, with more seeds than before.
    // Compute the reported values again from all seeds.
    ample_by_role
        .iter_mut()
        .for_each(|ample| ample.update(request));
    let split = match request.memory {
        Some(_) => Some(split::split(request, &ample_by_role, &runs)?),
        None => None,
    };
    let settings = request.settings.iter();
    let settings = settings.map(|(name, value)| format!("{name}={value}"));
    Ok(Size {
        preset: request.preset.name,
        rate_bps: request.rate_bps,
        rtt_ms: request.rtt.as_secs_f64() * 1e3,
        loss: request.loss,
        memory: request.memory,
        settings: settings.collect(),
        low_water: request.low_water,
        bdp_bytes: request.bdp(),
        share: request.share,
        seed: request.seed,
        best: ample_by_role.into_iter().map(|ample| ample.best).collect(),
        knobs,
        split,
    })
}

impl Size {
    /// Returns the result as JSON, indented.
    pub fn json(&self) -> String {
        pretty(&versioned(self))
    }
}

impl AmpleResult {
    /// Creates the result of a host in `setup` before its run.
    fn of(role: HostRole, setup: &Setup) -> Self {
        let path = Path::of(setup, full_segment(setup));
        Self {
            direction: role.name(),
            path_mbps: path.payload_bps * (1.0 - path.loss) / 1e6,
            goodput_mbps: 0.0,
            of_path: 0.0,
            reaches_path: false,
            verdict: None,
        }
    }

    fn set_goodput(&mut self, request: &SizeRequest, goodput_mbps: f64) {
        self.goodput_mbps = goodput_mbps;
        self.of_path = goodput_mbps / self.path_mbps;
        self.reaches_path = request.reaches(goodput_mbps, self.path_mbps);
    }
}

impl SizeRequest {
    /// Number of seeds with which each setup runs at first.
    fn fewest_seeds(&self) -> usize {
        match self.loss > 0.0 {
            true => search::SEEDS.0,
            false => 1,
        }
    }

    /// Largest number of seeds of a setup: 1 if `loss` is 0.
    fn most_seeds(&self) -> usize {
        match self.loss > 0.0 {
            true => search::SEEDS.1,
            false => 1,
        }
    }

    /// Returns true if `best_mbps` is a sufficient share of what the path carries.
    fn reaches(&self, best_mbps: f64, path_mbps: f64) -> bool {
        best_mbps >= self.share * path_mbps
    }

    /// Returns the sufficient goodput for a host with the best goodput `best_mbps`.
    fn enough_mbps(&self, best_mbps: f64, path_mbps: f64) -> f64 {
        let of = match self.reaches(best_mbps, path_mbps) {
            true => path_mbps,
            false => best_mbps,
        };
        self.share * of
    }

    /// Sets the free part of the send buffer that the host's writer waits for.
    fn set_low_water(&self, setup: &mut Setup) {
        let flow = setup.flows.iter_mut().find(|flow| flow.from == 0);
        let set = flow.map(|flow| flow.set("low_water", &format!("{}%", self.low_water)));
        assert!(!matches!(set, Some(Err(_))), "below a hundred percent");
    }
}
