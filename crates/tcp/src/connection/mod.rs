//! One connection. It has no address, no device and no clock.
//!
//! Rule: three kinds of input (`on_segment`, `on_timeout`, the application's calls) change state
//! and send nothing; one output, `poll_segment`, makes every segment. Windows, limits and traces
//! therefore come from one place.
//!
//! Calling order for the owner: any number of inputs; `poll_segment` until it
//! returns `None`; sleep until `next_timeout`.

mod ack;
mod allowance;
mod buffers;
mod burst;
mod busy;
mod ecn;
mod ecn_state;
mod handshake;
mod header_prediction;
mod info;
mod input;
#[cfg(feature = "path-mtu")]
mod mtu_probing;
#[cfg(not(feature = "path-mtu"))]
#[path = "mtu_probing_off.rs"]
mod mtu_probing;
mod output;
mod payload;
mod rest;
mod segment_size;
mod settings;
mod socket;
mod state;
mod super_segment;
mod tcb;
mod time_wait;
mod timeouts;
mod timers;
mod user;

pub use burst::Burst;
pub use handshake::{ActiveOpen, HalfOpen};
pub use info::{Info, RecoveryState};
pub use input::IcmpError;
pub use rest::UsualNumbers;
pub use socket::{Events, Read, Ready, SocketOption, Tuning};
pub use state::{IllegalTransition, TcpState, Trigger};
pub use tcb::{Connection, Env};
pub use time_wait::TimeWait;
pub use timers::Timers;

#[cfg(test)]
mod tests;
