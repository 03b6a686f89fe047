//! The result of a row (scenario) on hosts that this machine's kernel runs in real time.
//!
//! Rule: this file only declares the values; `fullpipe-kernels` measures them. A value that the
//! kernel does not report is absent. A setting that the kernel does not have is listed by name.

use fullpipe_diagnose::{
    account::{Shares, Times},
    observe::SeenLimit,
};
use fullpipe_tcp::Limit;
use serde::Serialize;

/// A row on kernel hosts: its result, or the reason that it was skipped.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum KernelRow {
    /// The row was run.
    Ran(Box<KernelMeasured>),
    /// The row cannot run on kernel hosts.
    Skipped {
        /// The reasons.
        skipped: String,
    },
}

impl KernelRow {
    /// The result; `None` if the row was skipped.
    pub fn measured(&self) -> Option<&KernelMeasured> {
        match self {
            Self::Ran(measured) => Some(measured),
            Self::Skipped { .. } => None,
        }
    }
}

/// Outcome of a transfer on kernel hosts, that is, hosts that the kernel runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelOutcome {
    /// The flow's duration passed, or all bytes arrived.
    #[default]
    Complete,
    /// The bound on real time was reached; the results cover the time until then.
    Cut,
    /// The connection was dropped.
    Dropped,
}

impl KernelOutcome {
    /// The word in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Cut => "cut",
            Self::Dropped => "dropped",
        }
    }
}

/// Results of a row on kernel hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelMeasured {
    /// Release number of the kernel.
    pub kernel: String,
    /// Congestion control of the first flow's sender, by the kernel's name for it.
    pub congestion_control: String,
    /// Outcome of the row.
    pub outcome: KernelOutcome,
    /// Bytes that the receiving applications read, divided by `elapsed_s`, in Mbit/s.
    pub goodput_mbps: f64,
    /// Time from the first call to connect until the last byte was read, or until the end of the
    /// flow's duration.
    pub elapsed_s: f64,
    /// Time from the read of the answer's first byte to the read of its last byte. `None` if the
    /// receiver sends no request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_s: Option<f64>,
    /// Bytes that the receiving applications read.
    pub delivered_bytes: u64,
    /// Segments that the senders retransmitted (`tcpi_total_retrans`).
    pub retransmitted_segments: u64,
    /// Smoothed round-trip time of the first sender at the end.
    pub srtt_ms: f64,
    /// Largest number of bytes that the first sender had in flight, according to the capture.
    pub largest_flight_bytes: u64,
    /// 99th percentile of the lateness with which frames left the link, in microseconds: the larger
    /// of the two directions' values. A large value means that the machine was busy.
    pub link_late_p99_us: u64,
    /// Account of the senders, from the kernel's information about their sockets.
    pub by_socket: KernelAccount,
    /// Account of the first flow's sender, from a capture at its host.
    pub by_capture: KernelAccount,
    /// Settings of the row that the kernel does not have, or that cannot be made in a network
    /// namespace.
    pub not_applied: Vec<String>,
    /// Facts that a reader needs to interpret the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An account (time and bytes by limit) of a sender on a kernel host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelAccount {
    /// The limit with the longest time. Handshake and closing are considered only if no other limit
    /// had time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main: Option<MainLimit>,
    /// Time and bytes for each limit.
    pub limits: Times<SeenLimit>,
}

/// The limit with the longest time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MainLimit {
    /// The limit.
    pub limit: SeenLimit,
    /// The limit's share of the time, from 0 to 1.
    pub share: f64,
}

impl MainLimit {
    /// Returns the main limit of `times`; `None` if no time has passed.
    pub fn of<L: Into<SeenLimit>>(
        times: impl IntoIterator<Item = (L, fullpipe_pool::Duration)>,
    ) -> Option<Self> {
        let times = times.into_iter().map(|(limit, time)| (limit.into(), time));
        let largest = Shares::of(times).largest_first();
        let is_transfer = |limit: SeenLimit| {
            ![Limit::Handshake, Limit::Closing]
                .map(SeenLimit::Known)
                .contains(&limit)
        };
        let found = largest.iter().find(|(limit, _)| is_transfer(*limit));
        let &(limit, share) = found.or(largest.first())?;
        Some(Self { limit, share })
    }
}

impl KernelAccount {
    /// Largest difference of two shares that count as equal, because the accounts may differ by
    /// this much. A limit whose share equals the largest share in this sense is also a main limit.
    const NEAR: f64 = 0.05;

    /// Returns true if both accounts have a main limit in common.
    pub fn agrees(&self, other: &Self) -> bool {
        let [own, its] = [self, other].map(Self::main_limits);
        own.iter().any(|limit| its.contains(limit))
    }

    /// Returns the main limit, and the limits whose shares are nearly as large.
    fn main_limits(&self) -> Vec<SeenLimit> {
        let Some(main) = self.main else {
            return Vec::new();
        };
        let shares = Shares::of(self.limits.times()).largest_first();
        let near = shares
            .into_iter()
            .filter(|(limit, share)| *limit == main.limit || *share >= main.share - Self::NEAR);
        near.map(|(limit, _)| limit).collect()
    }

    /// Creates the account of `limits`.
    pub fn of(limits: Times<SeenLimit>) -> Self {
        Self {
            main: MainLimit::of(limits.times()),
            limits,
        }
    }
}
