//! A TCP/IP stack that moves bytes as fast as the path allows in the memory it
//! is given, and says of every connection which bound held it back.
//!
//! The one rule: a [`Stack`] is told what happened and asked what should leave;
//! it reads no clock, draws no random number, allocates nothing after
//! [`Stack::new`] and waits for nobody. A [`Device`](device::Device) lends it
//! frames, and [`turn`] moves them.
//!
//! # Quick start
//!
//! Two stacks and a cable, in virtual time. Of a device the stack asks four
//! things; this one is a pair of queues:
//!
//! ```
//! use core::net::IpAddr;
//! use fullpipe::device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta};
//! use fullpipe::{Config, Duration, Instant, Interface, MacAddress, Read, Stack, turn};
//! use std::{collections::VecDeque, mem};
//!
//! #[derive(Default)]
//! struct Port { arrived: VecDeque<Vec<u8>>, reading: Vec<u8>, lent: Vec<u8>, sent: VecDeque<Vec<u8>> }
//!
//! const PLAIN: Capabilities = Capabilities::plain(Medium::Ethernet, 1500);
//!
//! impl Device for Port {
//!     fn capabilities(&self) -> Capabilities { PLAIN }
//!     fn receive(&mut self) -> Option<Received<'_>> {
//!         self.reading = self.arrived.pop_front()?;
//!         Some(Received { frame: &self.reading, meta: RxMeta::default() })
//!     }
//!     fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
//!         self.lent.resize(len, 0);
//!         Some(&mut self.lent)
//!     }
//!     fn send(&mut self, len: usize, _: TxMeta) {
//!         self.lent.truncate(len);
//!         self.sent.push_back(mem::take(&mut self.lent));
//!     }
//! }
//!
//! let host = |last: u8| {
//!     let interface = Interface {
//!         mac: MacAddress([2, 0, 0, 0, 0, last]),
//!         address: IpAddr::from([10, 0, 0, last]),
//!         prefix_len: 24,
//!         gateway: None,
//!         capabilities: PLAIN,
//!     };
//!     let mut config = Config::default();
//!     config.set("tcp.send_buffer", "8K").expect("in range"); // any knob, by its name
//!     // The secret must be random where peers are not ours.
//!     Stack::new(&config, interface, [last; 16]).expect("the configuration is sound")
//! };
//! let (mut client, mut server) = (host(1), host(2));
//! let (mut near, mut far) = (Port::default(), Port::default());
//!
//! let mut now = Instant::ZERO;
//! let at = (IpAddr::from([10, 0, 0, 2]), 7).into();
//! let listener = server.tcp_listen(at, Default::default()).expect("the port is free");
//! let connection = client.tcp_connect(at, None, Default::default(), now).expect("there is a route");
//!
//! let text = vec![b'x'; 100_000];
//! let (mut written, mut read, mut accepted) = (0, 0, None);
//! while read < text.len() {
//!     // No call waits: a full buffer takes 0 bytes, an empty one gives none.
//!     written += client.tcp_write(connection, &text[written..], now).expect("it is open");
//!     if let Some((id, _peer)) = server.tcp_accept(listener, now).expect("it listens") {
//!         accepted = Some(id);
//!     }
//!     let mut out = [0; 4096];
//!     while let Some(id) = accepted
//!         && let Read::Data(count) = server.tcp_read(id, &mut out, now).expect("it is open")
//!     {
//!         read += count;
//!     }
//!     turn(&mut client, &mut near, now);
//!     turn(&mut server, &mut far, now);
//!     // The cable: whatever was sent arrives 10 ms later.
//!     far.arrived.append(&mut near.sent);
//!     near.arrived.append(&mut far.sent);
//!     now += Duration::from_millis(10);
//!     assert!(now < Instant::from_secs(60), "it takes far less");
//! }
//!
//! // What held it back, and for how long: the times add up to its age.
//! let info = client.tcp_info(connection, now).expect("it is open");
//! let (limit, time, _bytes) = info.limit.shares(now).max_by_key(|share| share.1).unwrap();
//! assert_eq!(limit.name(), "send_buffer");
//! assert!(time > info.age() / 2);
//! println!("{}", client.describe(connection, now).expect("it is open"));
//! ```
//!
//! A program sleeps until [`Stack::next_timeout`] or the next frame instead of
//! counting milliseconds; `fullpipe-host` does that on a thread over a TAP
//! device, with blocking sockets, and `fullpipe-sim` does it for whole networks
//! with links that lose, delay and reorder.
//!
//! # What is where
//!
//! - [`config`]: every knob, one row each; [`presets`]: named sets of values.
//! - [`device`]: what a network device must do, and what it may offer.
//! - [`Stack`]: the calls of an application (`tcp_…`, `udp_…`) and of whoever
//!   drives it (`receive`, `on_timeouts`, `transmit`, `next_timeout`).
//! - [`counters`]: standard MIB names, and one counter for each reason to
//!   discard.
//! - [`congestion`], [`limit`], [`trace`]: the types of a congestion control
//!   algorithm, of the limit clocks and of the trace.
//!
//! # Features
//!
//! `simd` (default): checksums with vector instructions, chosen at run time on
//! x86-64; needs std. Without it the crate and everything below is `no_std`.
//!
//! What is not here: IPv6, which will be folders beside `v4`; loss of packets on
//! purpose, captures and clocks, which belong to devices and those who drive.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod config;
pub mod counters;
mod describe;
pub mod device;
mod device_backlog;
mod egress;
mod error;
mod events;
mod hash_index;
mod icmp;
mod ingress;
mod ip;
mod link;
pub mod presets;
mod queues;
mod rate_limit;
mod secret;
mod slab;
mod sources;
mod stack;
mod tcp;
mod timer_wheel;
mod turn;
mod udp;

/// Congestion control: the trait of an algorithm, and the values that its
/// methods take.
pub mod congestion {
    pub use fullpipe_tcp::congestion::{
        AckSample, CongestionChoice, CongestionControl, CongestionEvent, CongestionStart,
        FastestSample, FlightStart, LostRange, RateSample, RegisterError, RegisteredCongestion,
    };
}

/// Time and bytes by limit: the bounds on a sender, and those on a receiver.
pub mod limit {
    pub use fullpipe_tcp::limit::{Clock, Limit, LimitClock, Reason, ReceiveClock, ReceiveLimit};
}

/// The trace: a ring of records of what happened, for
/// [`Stack::trace`] and [`Stack::drain_trace`].
pub mod trace {
    pub use fullpipe_tcp::trace::{Trace, TraceEvent, TraceRecord};
    pub use fullpipe_wire::TcpFlags;
}

pub use config::Config;
pub use describe::Description;
pub use error::{ConfigError, OpenError, TcpError};
pub use fullpipe_pool::{Duration, Holder, Instant, ParseDurationError, Pool, Pressure, Rng};
pub use fullpipe_tcp::{
    Agreed, CloseReason, Info, Read, Ready, RecoveryPhase, SocketOption, TcpState, Tuning,
};
pub use fullpipe_wire::MacAddress;
pub use icmp::PathError;
pub use ip::{Route, RouteError, Routes, Subnet};
pub use limit::{Limit, LimitClock, ReceiveClock, ReceiveLimit};
pub use stack::{
    ConnectOptions, ConnectionId, Interface, ListenOptions, ListenerId, Nodes, SocketEvent, Stack,
};
pub use turn::{Turn, turn};
pub use udp::{UdpError, UdpId, UdpInfo, UdpQueue, UdpReady, UdpReceived};
