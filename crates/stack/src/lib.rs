//! A TCP/IP stack that works in a fixed packet memory and reports which limit stops each
//! connection from sending more.
//!
//! The stack does no I/O of its own: a program passes received frames and the time to it, and
//! takes the frames to send from it. The same stack therefore runs over a TAP device, in firmware
//! and in a simulator. The crate is `no_std` without the feature `simd`, has no `unsafe`, and
//! allocates only in [`Stack::new`] and [`Stack::register_congestion`], unless the knob
//! `stack.busy_connections` allows more.
//!
//! # Guide
//!
//! ## Calling order
//!
//! One [`Stack`] is one host. [`Stack::add_interface`] adds interfaces to its first one. A program
//! repeats:
//!
//! 1. [`Stack::receive`] for each frame that arrived;
//! 2. [`Stack::on_timeouts`];
//! 3. the application's calls (`tcp_…`, `udp_…`), in any order, for instance for
//!    each [`Stack::next_event`];
//! 4. [`Stack::transmit`];
//! 5. sleep until [`Stack::next_timeout`] or the next frame.
//!
//! [`turn()`] does steps 1, 2 and 4 with a [`Device`](device::Device). Calls change state
//! and send nothing: a write, a window update or a FIN leaves in the next `transmit`. No
//! call blocks. Every call that depends on the time takes it as an [`Instant`], which
//! must never decrease; its origin is the caller's choice.
//!
//! ## Ownership
//!
//! - The stack owns all packet memory, a [`Pool`] of equal blocks
//!   (`pool.blocks` × `pool.block_size`), and every table. Sizes are knobs.
//! - The device owns the frames. The stack reads a received frame in place and
//!   writes a frame to be sent into memory that the device lends.
//! - The application owns ids: [`ConnectionId`], [`ListenerId`], [`UdpId`]. An id names
//!   one socket. After the socket is closed, calls with its id are refused; a later socket
//!   never gets the same id.
//! - The secret of [`Stack::new`] protects one run of one host. The secret must be random if peers
//!   are not trusted, and new for each run.
//!
//! ## Errors
//!
//! | cause | result |
//! | --- | --- |
//! | the caller: wrong id, port in use, no route | `Err` with [`OpenError`], [`TcpError`] or [`UdpError`] |
//! | a knob out of range, an interface that cannot work | [`ConfigError`] |
//! | a full or an empty buffer | an outcome: 0 bytes, [`Read::Empty`], `Ok(false)` |
//! | the peer or the network: a malformed or unwanted packet | discarded and counted, see [`counters`] |
//! | the end of a connection | [`TcpError::Ended`] with a [`CloseReason`] |
//! | a bug in the stack | panic |
//!
//! ## Limits
//!
//! [`Stack::tcp_info`] returns the variables of a connection, and the time and bytes
//! charged to each [`Limit`] and [`ReceiveLimit`]; the times add up to the connection's
//! age. [`Stack::describe`] prints the bounds of a connection and the knob behind each.
//!
//! # Quick start
//!
//! Two stacks and a cable, in virtual time. The device is a pair of queues:
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
//!     // The secret must be random if peers are not trusted.
//!     Stack::new(&config, interface, [last; 16]).expect("the configuration is sound")
//! };
//! let (mut client, mut server) = (host(1), host(2));
//! let (mut near, mut far) = (Port::default(), Port::default());
//!
//! let mut now = Instant::ZERO;
//! let remote = (IpAddr::from([10, 0, 0, 2]), 7).into();
//! let listener = server.tcp_listen(remote, Default::default()).expect("the port is free");
//! let connection = client.tcp_connect(remote, None, Default::default(), now).expect("there is a route");
//!
//! let payload = vec![b'x'; 100_000];
//! let (mut written, mut read, mut accepted) = (0, 0, None);
//! while read < payload.len() {
//!     // No call blocks: a full buffer takes 0 bytes, an empty one returns none.
//!     written += client.tcp_write(connection, &payload[written..], now).expect("it is open");
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
//!     // The cable delays each frame by 10 ms.
//!     far.arrived.append(&mut near.sent);
//!     near.arrived.append(&mut far.sent);
//!     now += Duration::from_millis(10);
//!     assert!(now < Instant::from_secs(60), "the transfer takes about 2 s");
//! }
//!
//! // Most of the time is charged to the send buffer: 8 KiB for a round trip of 20 ms.
//! let info = client.tcp_info(connection, now).expect("it is open");
//! let (limit, time, _bytes) = info.limit.shares(now).max_by_key(|share| share.1).unwrap();
//! assert_eq!(limit.name(), "send_buffer");
//! assert!(time > info.age() / 2);
//! println!("{}", client.describe(connection, now).expect("it is open"));
//! ```
//!
//! # On a TAP device
//!
//! The crate `fullpipe-host` has TAP, TUN and packet devices for Linux, a thread
//! that calls [`turn()`], and blocking and async sockets:
//!
//! ```text
//! use fullpipe_host::{DeviceOptions, Runtime, TcpStream};
//! use std::io::Write;
//!
//! let mut options = DeviceOptions::new("tap:fp0".parse()?);
//! options.host_address = Some("10.9.0.1/24".parse()?); // the kernel's end
//! let runtime = Runtime::builder("10.9.0.2/24".parse()?).start(options.open()?)?;
//! let mut stream = TcpStream::connect(&runtime, "10.9.0.1:7".parse()?)?;
//! stream.write_all(b"hello")?;
//! println!("{}", stream.describe()?);
//! ```
//!
//! # On a TUN device
//!
//! Frames of a [`Medium::Ip`](device::Medium::Ip) device begin with the IP header: there
//! are no MAC addresses and no ARP. `file` is an open, non-blocking TUN device:
//!
//! ```no_run
//! use fullpipe::device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta};
//! use fullpipe::{Config, Instant, Interface, MacAddress, Stack, turn};
//! use std::{fs::File, io::{Read, Write}, thread, time};
//!
//! struct Tun { file: File, reading: [u8; 1500], lent: [u8; 1500] }
//!
//! impl Device for Tun {
//!     fn capabilities(&self) -> Capabilities { Capabilities::plain(Medium::Ip, 1500) }
//!     fn receive(&mut self) -> Option<Received<'_>> {
//!         let len = self.file.read(&mut self.reading).ok()?; // WouldBlock: none now
//!         Some(Received { frame: &self.reading[..len], meta: RxMeta::default() })
//!     }
//!     fn lend(&mut self, len: usize) -> Option<&mut [u8]> { self.lent.get_mut(..len) }
//!     fn send(&mut self, len: usize, _: TxMeta) {
//!         let _ = self.file.write(&self.lent[..len]); // an error is a lost packet
//!     }
//! }
//!
//! # fn secret() -> [u8; 16] { [0; 16] }
//! # fn open_tun() -> File { File::open("/dev/net/tun").expect("TUN is there") }
//! let mut device = Tun { file: open_tun(), reading: [0; 1500], lent: [0; 1500] };
//! let interface = Interface {
//!     mac: MacAddress::UNSPECIFIED,
//!     address: [10, 9, 0, 2].into(),
//!     prefix_len: 24,
//!     gateway: None,
//!     capabilities: device.capabilities(),
//! };
//! let mut stack = Stack::new(&Config::default(), interface, secret())?;
//! let start = time::Instant::now();
//! loop {
//!     let now = Instant::ZERO + start.elapsed().into();
//!     while let Some(_event) = stack.next_event() { /* the application's calls */ }
//!     if !turn(&mut stack, &mut device, now).more_work {
//!         thread::sleep(time::Duration::from_millis(1)); // or poll(2) until next_timeout
//!     }
//! }
//! # #[allow(unreachable_code)]
//! # Ok::<(), fullpipe::ConfigError>(())
//! ```
//!
//! # With static buffers
//!
//! A device in firmware lends its DMA buffers. The device below has four frames for each direction
//! in static memory, and the stack has 36 blocks of 196 bytes:
//!
//! ```
//! use fullpipe::device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta};
//! use fullpipe::{Config, Instant, Interface, MacAddress, Stack, turn};
//!
//! const FRAMES: usize = 4;
//!
//! /// Frames of one direction, as a DMA controller would share them.
//! struct Ring { frames: [[u8; 1514]; FRAMES], lens: [usize; FRAMES], first: usize, len: usize }
//!
//! impl Ring {
//!     const EMPTY: Self = Self { frames: [[0; 1514]; FRAMES], lens: [0; FRAMES], first: 0, len: 0 };
//! }
//!
//! struct Nic { rx: Ring, tx: Ring }
//!
//! impl Device for Nic {
//!     fn capabilities(&self) -> Capabilities { Capabilities::plain(Medium::Ethernet, 1500) }
//!     fn receive(&mut self) -> Option<Received<'_>> {
//!         let ring = &mut self.rx;
//!         ring.len = ring.len.checked_sub(1)?;
//!         let at = ring.first;
//!         ring.first = (at + 1) % FRAMES;
//!         Some(Received { frame: &ring.frames[at][..ring.lens[at]], meta: RxMeta::default() })
//!     }
//!     fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
//!         let ring = &mut self.tx;
//!         let at = (ring.first + ring.len) % FRAMES;
//!         if ring.len == FRAMES { None } else { Some(&mut ring.frames[at][..len]) }
//!     }
//!     fn send(&mut self, len: usize, _: TxMeta) {
//!         let ring = &mut self.tx;
//!         ring.lens[(ring.first + ring.len) % FRAMES] = len;
//!         ring.len += 1; // the interrupt handler takes it from here
//!     }
//! }
//!
//! static NIC: std::sync::Mutex<Nic> = std::sync::Mutex::new(Nic { rx: Ring::EMPTY, tx: Ring::EMPTY });
//! let mut nic = NIC.lock().unwrap();
//! let mut config = Config::default();
//! (config.pool.blocks, config.pool.block_size) = (36, 196);
//! (config.stack.connections, config.stack.half_open) = (2, 2);
//! config.stack.time_wait_entries = 4;
//! // Fields have no effect in a build without their feature; `Config::set` would refuse them there.
//! config.ip.reassembly_datagrams = 0;
//! (config.udp.sockets, config.udp.receive_queue, config.udp.send_queue) = (1, 4, 4);
//! let interface = Interface {
//!     mac: MacAddress([2, 0, 0, 0, 0, 1]),
//!     address: [10, 0, 0, 1].into(),
//!     prefix_len: 24,
//!     gateway: Some([10, 0, 0, 254].into()),
//!     capabilities: nic.capabilities(),
//! };
//! let mut stack = Stack::new(&config, interface, [7; 16]).expect("the configuration is sound");
//! let remote = ([192, 0, 2, 1], 80).into();
//! stack.tcp_connect(remote, None, Default::default(), Instant::ZERO).expect("there is a route");
//! let turned = turn(&mut stack, &mut *nic, Instant::ZERO);
//! assert_eq!(turned.sent, 1); // the ARP request for the gateway
//! ```
//!
//! # Modules
//!
//! - [`config`]: every knob with its default and range; [`presets`]: the knobs of known
//!   systems.
//! - [`device`]: the trait of a network device and its offloads.
//! - [`counters`]: MIB counters, and one counter for each reason to discard.
//! - [`limit`]: the clocks that charge time and bytes to limits.
//! - [`trace`]: the ring that records the events of connections.
//! - [`congestion`]: the trait of a congestion control algorithm, which a program can
//!   [register](Stack::register_congestion).
//!
//! # Features
//!
//! `simd` (default): checksums with vector instructions, chosen at run time on x86-64. The feature
//! needs std. Without the feature, this crate and its dependencies are `no_std`. The minimum Rust
//! version is 1.95.
//!
//! `all` (default) turns on every feature of the table below. A build saves code and memory by
//! leaving features out. [`Config::set`] refuses a knob of a feature that is off unless the value is 0,
//! false or off. The knob's field in [`Config`] has no effect, but must be in its range:
//!
//! | feature | content |
//! | --- | --- |
//! | `autotune` | buffers that grow with the rate of a connection |
//! | `bbr`, `cubic` | congestion control; without `cubic`, NewReno is the default |
//! | `cookies` | SYN cookies |
//! | `ecn` | explicit congestion notification |
//! | `fragments` | reassembly of received IP fragments |
//! | `icmp-errors` | ICMP errors, sent and received |
//! | `ipv6` | IPv6, neighbour discovery, ICMPv6; without it IPv6 addresses are refused |
//! | `limit-clock` | the times and bytes of limits; without it each is 0 |
//! | `loopback` | packets to this host's own addresses, 127.0.0.0/8 and ::1; off unless the knob `ip.loopback` is on |
//! | `names` | names of knobs in the errors of [`Stack::new`]; without it they name the knob's group, and numbers have no unit |
//! | `sack` | selective acknowledgments; without it RACK-TLP detects losses by duplicate ACKs |
//! | `slaac` | IPv6 autoconfiguration, duplicate address detection, reports of groups; off unless the knob `ip.autoconfiguration` is on |
//! | `path-mtu` | path MTU discovery; without it routers may fragment segments |
//! | `resting` | records of connections at rest, see the knob `stack.busy_connections` |
//! | `trace` | the ring of records |
//! | `udp` | UDP sockets |
//!
//! `fullpipe-host` and `fullpipe-sim`, not this
//! crate, write packet captures.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

/// The README's example, which the documentation tests compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod config;
pub mod counters;
mod describe;
pub mod device;
mod device_backlog;
mod egress;
mod error;
mod events;
mod footprint;
mod hash_index;
mod icmp;
mod ingress;
mod interface;
mod interface_id;
mod ip;
mod link;
#[cfg(feature = "loopback")]
mod loopback;
#[cfg(not(feature = "loopback"))]
#[path = "loopback_off.rs"]
mod loopback;
mod memory;
pub mod presets;
mod queues;
mod rate_limit;
mod row_number;
mod secret;
mod slab;
mod source_limit;
mod sources;
mod stack;
mod tcp;
mod timer_wheel;
mod turn;
#[cfg(feature = "udp")]
mod udp;
#[cfg(not(feature = "udp"))]
#[path = "udp_off.rs"]
mod udp;

/// Congestion control: the trait of an algorithm, the arguments of its methods, and the choice of
/// an algorithm.
pub mod congestion {
    #[doc(inline)]
    pub use fullpipe_tcp::congestion::{
        AckSample, CongestionChoice, CongestionControl, CongestionEvent, CongestionStart,
        FastestSample, FlightStart, LostRange, RateSample, RegisterError, RegisteredCongestion,
    };
}

/// Limit clocks: time and bytes by limit, of a sender and of a receiver.
pub mod limit {
    #[doc(inline)]
    pub use fullpipe_tcp::limit::{Clock, Limit, LimitClock, Reason, ReceiveClock, ReceiveLimit};
}

/// The trace: a ring of fixed-size records, one for each event of a connection.
///
/// The knob `trace.records` sets the size of the ring; [`Stack::trace`] and [`Stack::drain_trace`]
/// read the records.
pub mod trace {
    #[doc(inline)]
    pub use fullpipe_tcp::trace::{RecoveryEvent, Trace, TraceEvent, TraceRecord};
    #[doc(inline)]
    pub use fullpipe_wire::TcpFlags;

    #[cfg(doc)]
    use crate::Stack;
}

pub use config::Config;
pub use describe::Description;
pub use error::{ConfigError, OpenError, TcpError};
#[doc(inline)]
pub use fullpipe_pool::{Duration, Holder, Instant, ParseDurationError, Pool, Pressure, Rng};
#[doc(inline)]
pub use fullpipe_tcp::{
    Agreed, CloseReason, Info, Read, Ready, RecoveryState, SettingError, SocketOption, TcpState,
    Tuning,
};
#[doc(inline)]
pub use fullpipe_wire::MacAddress;
#[cfg(feature = "slaac")]
#[doc(inline)]
pub use fullpipe_wire::ndp::router::RouterPreference;
pub use icmp::PathError;
pub use ingress::ReceiveBatch;
pub use interface::Interface;
pub use interface_id::InterfaceId;
#[cfg(feature = "slaac")]
pub use ip::DefaultRouter;
pub use ip::{AddressError, Route, RouteEntry, RouteError, Routes, Subnet};
#[doc(inline)]
pub use limit::{Limit, LimitClock, ReceiveClock, ReceiveLimit};
pub use link::Reachability;
pub use memory::MemoryPart;
pub use stack::{
    ConnectOptions, ConnectionId, HostAddress, HostNeighbour, ListenOptions, ListenerId, Nodes,
    Refusal, RequestId, SocketEvent, Stack, TcpRequest,
};
pub use turn::{Turn, turn};
pub use udp::UdpId;
#[cfg(feature = "udp")]
pub use udp::{UdpError, UdpInfo, UdpQueue, UdpReady, UdpReceived};
