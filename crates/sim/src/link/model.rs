//! The description of a link in one direction, and the ranges of its values.
//!
//! Rule: a model is a value that a TOML file can express. The engine (`engine.rs`)
//! carries the frames.

use serde::{Deserialize, Serialize};
use std::fmt;

use super::ack_thinning::AckThinning;
use super::burst_loss::BurstLoss;
use super::codel::Codel;
use super::ecn_threshold::EcnThreshold;
use super::hop::Hop;
use super::outage::Outage;
use super::queue::Queue;
use super::radio::Radio;
use super::reordering::Reordering;
use super::token_bucket::TokenBucket;

/// Everything that a link does to frames of one direction.
///
/// A frame waits in the queue, is put on the wire when the token bucket and the
/// medium allow it, takes its serialization time, may be lost, and arrives after
/// the delay, perhaps late, twice or corrupted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkModel {
    /// Bits per second on the wire, link header included; 0 means that frames take no
    /// time.
    pub rate_bps: u64,
    /// One-way propagation delay, in microseconds.
    pub delay_us: u64,
    /// Largest random addition to a frame's delay, evenly distributed, in
    /// microseconds. Frames stay in order; reordering is a separate impairment.
    pub jitter_us: u64,
    /// Probability that a frame is lost, independent of other frames.
    pub loss: f64,
    /// Losses that come in bursts.
    pub burst_loss: Option<BurstLoss>,
    /// Some frames are delayed, so that later frames overtake them.
    pub reordering: Option<Reordering>,
    /// Probability that a frame arrives twice.
    pub duplication: f64,
    /// Probability that bits of an IP packet are flipped.
    pub corruption: f64,
    /// Probability that the end of a frame is cut off.
    #[cfg(feature = "recipes")]
    pub truncation: f64,
    /// Pure ACKs are delayed, and only some of them are sent.
    pub ack_thinning: Option<AckThinning>,
    /// The queue of frames that wait for the wire.
    pub queue: Queue,
    /// Queue length from which packets are marked CE, or dropped if their sender does not use ECN.
    pub ecn_threshold: Option<EcnThreshold>,
    /// Drops or marks frames that waited too long.
    pub codel: Option<Codel>,
    /// A shaper before the wire.
    pub token_bucket: Option<TokenBucket>,
    /// Makes both directions share one half-duplex medium.
    pub radio: Option<Radio>,
    /// Largest IP packet in bytes; larger frames are dropped.
    pub mtu: usize,
    /// A hop with a smaller MTU in the middle of the link.
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
    /// A link with an MTU of 1500 bytes that delays, limits and loses nothing.
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
            #[cfg(feature = "recipes")]
            truncation: 0.0,
            ack_thinning: None,
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

    /// This link without loss, jitter, reordering, duplication, corruption, truncation, ACK
    /// thinning, hop and outage. Everything else stays, for example rate, delay and queue.
    #[must_use]
    pub const fn without_impairments(self) -> Self {
        Self {
            jitter_us: 0,
            loss: 0.0,
            burst_loss: None,
            reordering: None,
            duplication: 0.0,
            corruption: 0.0,
            #[cfg(feature = "recipes")]
            truncation: 0.0,
            ack_thinning: None,
            hop: None,
            outage: None,
            ..self
        }
    }

    /// Returns true if the link may change bytes of a frame or cut it off.
    pub const fn damages(&self) -> bool {
        #[cfg(feature = "recipes")]
        if self.truncation > 0.0 {
            return true;
        }
        self.corruption > 0.0
    }

    /// Checks every value against its range.
    ///
    /// # Errors
    /// Returns the first field that is out of range, and its range.
    pub fn check(&self) -> Result<(), LinkError> {
        let burst = self.burst_loss.unwrap_or_default();
        let late = self.reordering.map_or(0.0, |reordering| reordering.chance);
        for (field, chance) in [
            ("loss", self.loss),
            ("duplication", self.duplication),
            ("corruption", self.corruption),
            #[cfg(feature = "recipes")]
            ("truncation", self.truncation),
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

/// The error of a field that is out of range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkError {
    /// The field that is out of range.
    pub field: &'static str,
    /// The accepted range.
    pub range: &'static str,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link: {} must be {}", self.field, self.range)
    }
}

impl std::error::Error for LinkError {}
