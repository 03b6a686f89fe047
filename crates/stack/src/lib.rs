//! A TCP/IP stack that moves bytes as fast as the path allows in the memory it
//! is given, and says of every connection which bound held it back.
//!
//! The one rule: a [`Stack`] is told what happened and asked what should leave;
//! it reads no clock, draws no random number, allocates nothing after
//! [`Stack::new`] and waits for nobody. A [`Device`](device::Device) lends it
//! frames, and [`turn`] moves them.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod config;
pub mod counters;
mod describe;
pub mod device;
mod egress;
mod error;
mod events;
pub mod icmp;
mod ingress;
pub mod ip;
pub mod link;
pub mod presets;
pub mod rate_limit;
mod ready;
mod slab;
mod stack;
mod tcp;
mod timer_wheel;
mod turn;
pub mod udp;

pub use config::Config;
pub use describe::Description;
pub use error::{ConfigError, OpenError, TcpError};
pub use fullpipe_pool::{Duration, Instant};
pub use fullpipe_tcp::{CloseReason, Info, Limit, Read, Ready, SocketOption, State, Tuning};
pub use fullpipe_wire::MacAddress;
pub use stack::{ConnectOptions, ConnectionId, Event, Interface, ListenOptions, ListenerId, Stack};
pub use turn::{Turn, turn};
pub use udp::{UdpError, UdpId, UdpReady, UdpReceived};
