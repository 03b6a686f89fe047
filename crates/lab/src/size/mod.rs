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
//! | the input | `request` |
//! | the output | `result` |
//! | the errors | `error` |
//! | the text output | `text` |

mod buffer;
mod error;
mod request;
mod result;
mod runs;
mod sample;
mod search;
mod split;
mod text;
mod world;

#[cfg(test)]
mod tests;

use fullpipe::presets::Preset;
use fullpipe_pool::Duration;
use fullpipe_scenario::{
    experiment::Setup,
    path::{Path, full_segment},
};

pub use error::SizeError;
pub use request::SizeRequest;
pub use result::{AmpleResult, CurvePoint, Divided, HostRole, KnobSize, Size, Split};
pub use runs::SizeProgress;
pub use text::size_text;

use runs::Runs;

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
