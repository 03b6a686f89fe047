//! The truth: the sender's own limit clock.
//!
//! Rule: the handshake and the time after FIN are excluded, because a capture's lifetime begins
//! and ends at other moments than the clock's. Without a configured pacing rate, the rate derives from
//! the congestion window, and the time of pacing is added to the largest limit of that window. That of
//! BBR derives from the rate of delivery, so its time is added to the buffer that bounds
//! that rate, or else to the congestion window after slow start.

use std::fmt;

use fullpipe_diagnose::observe::SeenLimit;
use fullpipe_tcp::Limit;

/// Limits that have the same cause, as in the verdicts of the laboratory.
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
    /// The device.
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

    /// Name in tables.
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

/// Origin of a sender's pacing rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacingRate {
    /// It is configured.
    Configured,
    /// It derives from the congestion window.
    Window,
    /// It derives from the rate of delivery, as BBR's.
    Delivery,
}

impl PacingRate {
    /// Share of the time of pacing from which a buffer bounds the rate of delivery.
    const OF_PACING: f64 = 0.2;

    /// The group to which the time of pacing belongs.
    fn origin(self, shares: &[f64]) -> Option<LimitGroup> {
        let share = |group: &LimitGroup| shares[*group as usize];
        let largest = |groups: &[LimitGroup]| {
            let groups = groups.iter().copied();
            groups.max_by(|a, b| share(a).total_cmp(&share(b)))
        };
        let enough =
            |group: &LimitGroup| share(group) >= Self::OF_PACING * share(&LimitGroup::Pacing);
        use LimitGroup::{Congestion, Loss, ReceiveWindow, SendBuffer, SlowStart};
        match self {
            Self::Configured => None,
            Self::Window => largest(&[SlowStart, Congestion, Loss]),
            Self::Delivery => largest(&[SendBuffer, ReceiveWindow, Loss])
                .filter(enough)
                .or(Some(Congestion)),
        }
    }
}

/// Shares of the groups of a sender's limits. They add up to 1, or all are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrueAccount {
    shares: [f64; LimitGroup::ALL.len()],
}

impl TrueAccount {
    /// The account of `times` of a sender whose pacing rate has this origin.
    pub fn of(times: impl Iterator<Item = (SeenLimit, f64)>, pacing: PacingRate) -> Self {
        let mut shares = [0.0; LimitGroup::ALL.len()];
        for (limit, seconds) in times {
            if let Some(group) = LimitGroup::of(limit) {
                shares[group as usize] += seconds;
            }
        }
        let paced = shares[LimitGroup::Pacing as usize];
        if let Some(origin) = pacing.origin(&shares) {
            shares[LimitGroup::Pacing as usize] = 0.0;
            shares[origin as usize] += paced;
        }
        let all: f64 = shares.iter().sum();
        if all > 0.0 {
            shares.iter_mut().for_each(|share| *share /= all);
        }
        Self { shares }
    }

    /// The share of `group`, from 0 to 1.
    pub const fn share(&self, group: LimitGroup) -> f64 {
        self.shares[group as usize]
    }

    /// The group with the largest share.
    pub fn main(&self) -> LimitGroup {
        let largest = LimitGroup::ALL
            .into_iter()
            .max_by(|a, b| self.share(*a).total_cmp(&self.share(*b)));
        largest.unwrap_or(LimitGroup::Unknown)
    }

    /// The largest difference of a share to that of `other`.
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
