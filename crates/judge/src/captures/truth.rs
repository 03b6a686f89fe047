//! The true account of a transfer: the time that its sender spent at each limit (such as the receive
//! window), which the simulated stack counts itself.
//!
//! Rule: the handshake and the time after FIN are excluded, because a capture does not begin and
//! end together with the stack's count. Pacing counts as a limit only if a pacing rate was
//! configured. Otherwise congestion control sets the rate, so the time of pacing is added to the
//! last limit that bounded the bytes in flight.

use std::fmt;

use fullpipe_diagnose::{account::Times, observe::SeenLimit};
use fullpipe_tcp::Limit;

/// Groups of limits that have the same cause, as in the lab's verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LimitGroup {
    /// The application writes no more.
    Application,
    /// The send buffer is full.
    SendBuffer,
    /// The receive window is full or zero.
    ReceiveWindow,
    /// The congestion window in slow start, or after an idle time.
    SlowStart,
    /// The congestion window after slow start, without a loss.
    Congestion,
    /// Recovery, and the congestion window after a loss.
    Loss,
    /// A configured pacing rate.
    Pacing,
    /// The device queue.
    Device,
    /// Nagle's algorithm.
    Nagle,
    /// Packet memory or the processor.
    Host,
    /// Unknown.
    Unknown,
}

impl LimitGroup {
    /// Every group, in the order of tables.
    pub const ALL: [Self; 11] = [
        Self::Application,
        Self::SendBuffer,
        Self::ReceiveWindow,
        Self::SlowStart,
        Self::Congestion,
        Self::Loss,
        Self::Pacing,
        Self::Device,
        Self::Nagle,
        Self::Host,
        Self::Unknown,
    ];

    /// Groups that bound the bytes in flight. If no pacing rate was configured, time of pacing is
    /// added to the group of this list that applied last.
    const BOUNDS: [Self; 5] = [
        Self::SendBuffer,
        Self::ReceiveWindow,
        Self::SlowStart,
        Self::Congestion,
        Self::Loss,
    ];

    /// Name of the group in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::SendBuffer => "send buffer",
            Self::ReceiveWindow => "receive window",
            Self::SlowStart => "slow start",
            Self::Congestion => "congestion",
            Self::Loss => "loss",
            Self::Pacing => "pacing",
            Self::Device => "device",
            Self::Nagle => "nagle",
            Self::Host => "host",
            Self::Unknown => "unknown",
        }
    }

    /// The group of `limit`; `None` for the handshake and for the time after FIN.
    pub const fn of(limit: SeenLimit) -> Option<Self> {
        let SeenLimit::Known(limit) = limit else {
            return Some(Self::Unknown);
        };
        Some(match limit {
            Limit::Application => Self::Application,
            Limit::SendBuffer => Self::SendBuffer,
            Limit::ReceiveWindow | Limit::ZeroWindow => Self::ReceiveWindow,
            Limit::CwndSlowStart | Limit::CwndAfterIdle => Self::SlowStart,
            Limit::CwndSteady | Limit::CwndAfterMark => Self::Congestion,
            Limit::CwndAfterLoss | Limit::Recovery => Self::Loss,
            Limit::Pacing => Self::Pacing,
            Limit::Device => Self::Device,
            Limit::Nagle => Self::Nagle,
            Limit::Memory | Limit::Processor => Self::Host,
            Limit::Handshake | Limit::Closing => return None,
        })
    }
}

/// Each group's share of a sender's time. The shares add up to 1, or all are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrueAccount {
    shares: [f64; LimitGroup::ALL.len()],
}

impl TrueAccount {
    /// Computes the account from consecutive limits and their times. If no pacing rate was
    /// configured (`has_rate` is false), the time of pacing is added to the last limit that bounded
    /// the bytes in flight.
    pub fn of(bands: impl Iterator<Item = (SeenLimit, f64)>, has_rate: bool) -> Self {
        let mut shares = [0.0; LimitGroup::ALL.len()];
        let mut before = LimitGroup::SlowStart;
        for (limit, seconds) in bands {
            let Some(group) = LimitGroup::of(limit) else {
                continue;
            };
            let group = match group {
                LimitGroup::Pacing if !has_rate => before,
                group => group,
            };
            shares[group as usize] += seconds;
            if LimitGroup::BOUNDS.contains(&group) {
                before = group;
            }
        }
        let all: f64 = shares.iter().sum();
        if all > 0.0 {
            shares.iter_mut().for_each(|share| *share /= all);
        }
        Self { shares }
    }

    /// Computes the account from the times of limits whose order is not known, as a kernel's reports
    /// about a socket give them. If no pacing rate was configured, only BBR after its startup paces a
    /// socket, so the time of pacing is added to the congestion window.
    pub fn of_times(times: &Times<SeenLimit>, has_rate: bool) -> Self {
        let bands = times.times().map(|(limit, time)| {
            let limit = match limit {
                SeenLimit::Known(Limit::Pacing) if !has_rate => Limit::CwndSteady.into(),
                limit => limit,
            };
            (limit, time.as_secs_f64())
        });
        Self::of(bands, has_rate)
    }

    /// The share of `group`, from 0 to 1.
    pub const fn share(&self, group: LimitGroup) -> f64 {
        self.shares[group as usize]
    }

    /// The group with the largest share.
    pub fn main(&self) -> LimitGroup {
        self.main_of(&LimitGroup::ALL)
    }

    /// The group of `groups` with the largest share.
    pub fn main_of(&self, groups: &[LimitGroup]) -> LimitGroup {
        let largest = groups
            .iter()
            .copied()
            .max_by(|a, b| self.share(*a).total_cmp(&self.share(*b)));
        largest.unwrap_or(LimitGroup::Unknown)
    }

    /// The largest difference between a share here and in `other`.
    pub fn difference(&self, other: &Self) -> f64 {
        let pairs = self.shares.iter().zip(&other.shares);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }
}

impl fmt::Display for TrueAccount {
    /// Writes the shares of at least 2 %, the largest first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups = LimitGroup::ALL;
        groups.sort_by(|a, b| self.share(*b).total_cmp(&self.share(*a)));
        let shown = groups.iter().filter(|group| self.share(**group) >= 0.02);
        let parts: Vec<_> = shown
            .map(|group| format!("{} {:.0} %", group.name(), 100.0 * self.share(*group)))
            .collect();
        f.write_str(&parts.join(", "))
    }
}
