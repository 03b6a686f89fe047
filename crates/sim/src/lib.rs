//! A network in virtual time: hosts with whole stacks, links with impairments,
//! applications that verify every byte, and checkers.
//!
//! The one rule: everything follows from a seed. A [`World`] reads no clock, draws
//! no entropy and iterates nothing in hash order, so the same seed and the same
//! calls give the same frames at the same nanoseconds.
//!
//! ```
//! use fullpipe::Config;
//! use fullpipe_sim::{Deadline, LinkModel, MIB, Seed, World, rule::drop_nth_data_packet};
//!
//! let mut world = World::new(Seed(7));
//! let link = world.link(LinkModel { delay_us: 10_000, ..LinkModel::ideal() });
//! let (client, server) = world.pair(&link, Config::default());
//! world.rule(drop_nth_data_packet(40));
//! let flow = world.send(client, server, MIB);
//! world.run_until(flow.done(), Deadline::secs(5)); // checkers every step
//! assert_eq!(world.facts(flow).bytes, MIB);
//! ```
//!
//! Transfers that a file describes are in `fullpipe-scenario`, and real devices in
//! `fullpipe-host`. [`link::LinkEngine`] takes the time as an argument, so it also runs links
//! between real devices.
#![forbid(unsafe_code)]

mod account;
pub mod app;
mod arrivals;
pub mod check;
mod cpu;
mod datagrams;
mod device;
pub mod event_queue;
mod facts;
mod failure;
mod flow;
mod ids;
pub mod link;
mod meter;
pub mod packet;
mod pattern;
pub mod pcapng;
mod random_world;
pub mod rule;
mod segment;
mod soak;
mod socket;
#[cfg(test)]
mod test_frames;
mod text_forms;
mod waits;
mod world;
pub mod world_plan;

pub use account::{DatagramAccount, Overflow};
pub use cpu::{CpuModel, FrameCost};
pub use datagrams::{DatagramFacts, DatagramFlowId, DatagramPlan, Pace};
pub use device::{DeviceModel, Merge};
pub use facts::{EndFacts, Facts};
pub use failure::WorldFailure;
pub use flow::{FlowId, Goal, Side, Stage};
pub use ids::{Family, HostId, LinkId, Seed, SwitchId};
pub use link::LinkModel;
pub use soak::{WorldSummary, soak, soak_bursts, soak_captured};
pub use world::{DatagramDemand, Deadline, OverflowPlace, World};
pub use world_plan::{WorldFileError, WorldPlan};

/// 1,024 bytes.
pub const KIB: u64 = 1 << 10;
/// 1,048,576 bytes.
pub const MIB: u64 = 1 << 20;
