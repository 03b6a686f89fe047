//! A link between two ends: what it does to frames, and when they arrive.
//!
//! Rule: a [`LinkEngine`] knows no clock. `now` is an argument, arrival times
//! are results; so the same engine serves virtual time and, between two TAP
//! devices, real time. Each impairment is one file of this folder and draws
//! from a generator of its own, so that switching one on moves no other.
//!
//! A link does not look into frames beyond the IP header: corruption has to know
//! an IP packet from a frame whose damage nothing could detect, a mark needs a
//! packet whose sender takes part, and a hop must not drop what may be cut.

mod burst_loss;
mod codel;
mod corruption;
mod delay;
mod duplication;
mod ecn_threshold;
mod engine;
mod hop;
mod loss;
mod mark;
mod outage;
mod queue;
mod radio;
mod rate;
mod reordering;
mod token_bucket;

#[cfg(test)]
mod tests;

pub use burst_loss::BurstLoss;
pub use codel::Codel;
pub use ecn_threshold::EcnThreshold;
pub use engine::{Delivery, LinkCounters, LinkEngine};
pub use hop::Hop;
pub use outage::Outage;
pub use queue::Queue;
pub use radio::Radio;
pub use reordering::Reordering;
pub use token_bucket::TokenBucket;

use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of an Ethernet II header, which `mtu` does not count.
pub const ETHERNET_HEADER_LEN: usize = 14;

/// Which way a frame travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the link's first end to its second.
    Forward,
    /// From the link's second end to its first.
    Back,
}

impl Direction {
    /// Both, in index order.
    pub const ALL: [Self; 2] = [Self::Forward, Self::Back];

    /// 0 for forward, 1 for back.
    pub const fn index(self) -> usize {
        match self {
            Self::Forward => 0,
            Self::Back => 1,
        }
    }

    /// The other way.
    pub const fn reverse(self) -> Self {
        match self {
            Self::Forward => Self::Back,
            Self::Back => Self::Forward,
        }
    }
}

/// What a link does to every frame, the same in both directions.
///
/// A frame waits in the queue, is put on the wire when the token bucket and the
/// medium allow it, takes its serialization time, may be lost, and arrives
/// after the delay, perhaps late, twice or damaged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkModel {
    /// Bits a second on the wire, link header included; 0 when a frame takes no
    /// time.
    pub rate_bps: u64,
    /// Propagation, one way, in microseconds; a round trip takes twice this.
    pub delay_us: u64,
    /// Up to this much is added to the delay of a frame, evenly drawn, in
    /// microseconds. Frames stay in order: reordering is an impairment of its own.
    pub jitter_us: u64,
    /// Probability that a frame is lost, each for itself.
    pub loss: f64,
    /// Losses that come in bursts.
    pub burst_loss: Option<BurstLoss>,
    /// Frames that others overtake.
    pub reordering: Option<Reordering>,
    /// Probability that a frame arrives twice.
    pub duplication: f64,
    /// Probability that bits of an IP packet are flipped.
    pub corruption: f64,
    /// What holds frames that wait for the wire.
    pub queue: Queue,
    /// The queue reports congestion from this length on.
    pub ecn_threshold: Option<EcnThreshold>,
    /// The queue is kept short by what leaves it too late.
    pub codel: Option<Codel>,
    /// A shaper in front of the wire.
    pub token_bucket: Option<TokenBucket>,
    /// Both directions share one medium.
    pub radio: Option<Radio>,
    /// Largest IP packet in bytes; larger frames are dropped.
    pub mtu: usize,
    /// A hop half-way that carries less.
    pub hop: Option<Hop>,
    /// A time in which every frame is lost.
    pub outage: Option<Outage>,
}

impl Default for LinkModel {
    fn default() -> Self {
        Self::ideal()
    }
}

impl LinkModel {
    /// No delay, no limit, no loss.
    pub const fn ideal() -> Self {
        Self {
            rate_bps: 0,
            delay_us: 0,
            jitter_us: 0,
            loss: 0.0,
            burst_loss: None,
            reordering: None,
            duplication: 0.0,
            corruption: 0.0,
            queue: Queue::Unlimited,
            ecn_threshold: None,
            codel: None,
            token_bucket: None,
            radio: None,
            mtu: 1500,
            hop: None,
            outage: None,
        }
    }

    /// This link with everything random switched off: no loss, jitter,
    /// reordering, duplication or corruption; nor a hop that not everything may
    /// find a way through, nor an outage. Rate, delay and queue stay.
    #[must_use]
    pub const fn without_impairments(self) -> Self {
        Self {
            jitter_us: 0,
            loss: 0.0,
            burst_loss: None,
            reordering: None,
            duplication: 0.0,
            corruption: 0.0,
            hop: None,
            outage: None,
            ..self
        }
    }

    /// Checks every value against its range.
    ///
    /// # Errors
    /// The first field that is out of range, and its range.
    pub fn check(&self) -> Result<(), LinkError> {
        let burst = self.burst_loss.unwrap_or_default();
        let late = self.reordering.map_or(0.0, |reordering| reordering.chance);
        for (field, chance) in [
            ("loss", self.loss),
            ("duplication", self.duplication),
            ("corruption", self.corruption),
            ("reordering.chance", late),
            ("burst_loss.enter", burst.enter),
            ("burst_loss.leave", burst.leave),
            ("burst_loss.loss_good", burst.loss_good),
            ("burst_loss.loss_bad", burst.loss_bad),
        ] {
            if !(0.0..=1.0).contains(&chance) {
                return Err(LinkError {
                    field,
                    range: "a probability, 0 to 1",
                });
            }
        }
        if self.mtu < 68 {
            return Err(LinkError {
                field: "mtu",
                range: "at least 68 bytes (RFC 791)",
            });
        }
        if self.hop.is_some_and(|hop| hop.mtu < 68) {
            return Err(LinkError {
                field: "hop.mtu",
                range: "at least 68 bytes (RFC 791)",
            });
        }
        if self.codel.is_some_and(|codel| codel.interval_us == 0) {
            return Err(LinkError {
                field: "codel.interval_us",
                range: "at least 1 µs",
            });
        }
        if self.token_bucket.is_some_and(|bucket| bucket.rate_bps == 0) {
            return Err(LinkError {
                field: "token_bucket.rate_bps",
                range: "at least 1 bit/s",
            });
        }
        Ok(())
    }
}

/// Why a link's description was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkError {
    /// The field that is out of range.
    pub field: &'static str,
    /// What would have been accepted.
    pub range: &'static str,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link: {} must be {}", self.field, self.range)
    }
}

impl std::error::Error for LinkError {}
