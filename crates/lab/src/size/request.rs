//! The input of a search for sufficient settings.
//!
//! Rule: the request alone says which goodput is sufficient.

use fullpipe::presets::Preset;
use fullpipe_pool::Duration;
use fullpipe_scenario::experiment::Setup;

/// Smallest and largest number of seeds of a value on a path with losses. Each further step doubles
/// the number of seeds.
pub const SEEDS: (usize, usize) = (4, 128);

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

impl SizeRequest {
    /// Number of seeds with which each setup runs at first.
    pub(super) fn fewest_seeds(&self) -> usize {
        match self.loss > 0.0 {
            true => SEEDS.0,
            false => 1,
        }
    }

    /// Largest number of seeds of a setup: 1 if `loss` is 0.
    pub(super) fn most_seeds(&self) -> usize {
        match self.loss > 0.0 {
            true => SEEDS.1,
            false => 1,
        }
    }

    /// Returns true if `best_mbps` is a sufficient share of what the path carries.
    pub(super) fn reaches(&self, best_mbps: f64, path_mbps: f64) -> bool {
        best_mbps >= self.share * path_mbps
    }

    /// Returns the sufficient goodput for a host with the best goodput `best_mbps`.
    pub(super) fn enough_mbps(&self, best_mbps: f64, path_mbps: f64) -> f64 {
        let of = match self.reaches(best_mbps, path_mbps) {
            true => path_mbps,
            false => best_mbps,
        };
        self.share * of
    }

    /// Sets the free part of the send buffer that the host's writer waits for.
    pub(super) fn set_low_water(&self, setup: &mut Setup) {
        let flow = setup.flows.iter_mut().find(|flow| flow.from == 0);
        let set = flow.map(|flow| flow.set("low_water", &format!("{}%", self.low_water)));
        assert!(!matches!(set, Some(Err(_))), "below a hundred percent");
    }
}
