//! A network in virtual time: hosts, links, flows, one seed.
//!
//! Rule: the same seed and the same calls give the same world (simulated network), to the
//! nanosecond and the byte. Time passes only from event to event; everything that an event causes
//! happens at the time of the event. Checkers observe every step and change nothing.
//!
//! `network.rs` builds worlds. `step.rs` handles an event. `serve.rs` and `processor.rs` do a
//! host's work, `wire.rs` and `watch.rs` carry and check frames. `run.rs` runs a world to its goal,
//! `inspect.rs` checks the world, and `account.rs` records, for each flow of datagrams, the time
//! for which each limit applied.

mod account;
mod addresses;
mod congestion;
mod datagrams;
mod demand;
mod host;
mod inspect;
mod network;
mod processor;
mod progress;
mod run;
mod serve;
mod step;
mod switch;
mod switch_ports;
mod usage;
mod watch;
mod wire;

#[cfg(test)]
mod tests;

pub use demand::{DatagramDemand, OverflowPlace};
pub use network::{Deadline, World};
