//! A link between two ends: its model, and the engine that carries frames.
//!
//! Rule: a [`LinkEngine`] reads no clock. `now` is an argument and arrival times
//! are results, so the same engine runs in virtual time and, between two TAP
//! devices, in real time. Each impairment is one file of this folder and draws from its own
//! generator, so that switching an impairment on does not change the draws of the others.
//!
//! A link reads only as far as the IP header: corruption changes only IP packets, marking needs a
//! sender that uses ECN, and a hop drops only IPv6 packets and IPv4 packets with DF set. Only ACK
//! thinning reads the TCP header.

mod ack_thinning;
mod burst_loss;
mod codel;
mod corruption;
mod counters;
mod delay;
mod duplication;
mod ecn_threshold;
mod engine;
mod frame;
mod frame_loss;
mod hop;
mod in_flight;
mod loss;
mod mark;
mod model;
mod outage;
mod queue;
mod radio;
mod rate;
mod reordering;
mod token_bucket;
#[cfg(feature = "recipes")]
mod truncation;
mod usage;

#[cfg(test)]
mod tests;

pub use ack_thinning::AckThinning;
pub use burst_loss::BurstLoss;
pub use codel::Codel;
pub use counters::LinkCounters;
pub use ecn_threshold::EcnThreshold;
pub use engine::{Delivery, LinkEngine};
pub use frame::{Direction, ETHERNET_HEADER_LEN};
pub use frame_loss::{FrameLoss, LostFrames};
pub use hop::Hop;
pub use model::{LinkError, LinkModel};
pub use outage::Outage;
pub use queue::Queue;
pub use radio::Radio;
pub use reordering::Reordering;
pub use token_bucket::TokenBucket;
pub use usage::Transmission;
