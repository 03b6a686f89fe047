//! The results of a search for sufficient settings.
//!
//! Rule: the fields are those of the JSON output.

use fullpipe_explain::Explanation;
use fullpipe_scenario::{
    experiment::Setup,
    path::{Path, full_segment},
};
use serde::Serialize;

use super::request::SizeRequest;
use crate::report::{pretty, versioned};

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

/// The divisions that were tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Split {
    /// Name of the send buffer in the host's system.
    pub send_knob: String,
    /// Name of the receive buffer in the host's system.
    pub receive_knob: String,
    /// Index of the best division in the curve.
    pub best: usize,
    /// Every division, the smallest send buffer first.
    pub curve: Vec<Divided>,
    /// Result if each buffer may use all memory.
    pub undivided: Divided,
}

/// A division and its result when sending and receiving at the same time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Divided {
    /// Size of the send buffer, in the form of the host's system.
    pub send: String,
    /// Size of the receive buffer, in the form of the host's system.
    pub receive: String,
    /// Goodput sent, in Mbit/s.
    pub sent_mbps: f64,
    /// Goodput received, in Mbit/s.
    pub received_mbps: f64,
    /// Result of the worse direction: its goodput, as a share of its goodput with all memory while
    /// the other direction is idle.
    pub kept: f64,
}

impl Size {
    /// Returns the result as JSON, indented.
    pub fn json(&self) -> String {
        pretty(&versioned(self))
    }
}

impl AmpleResult {
    /// Creates the result of a host in `setup` before its run.
    pub(super) fn of(role: HostRole, setup: &Setup) -> Self {
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

    /// Sets the goodput, and the shares that follow from it.
    pub(super) fn set_goodput(&mut self, request: &SizeRequest, goodput_mbps: f64) {
        self.goodput_mbps = goodput_mbps;
        self.of_path = goodput_mbps / self.path_mbps;
        self.reaches_path = request.reaches(goodput_mbps, self.path_mbps);
    }
}
