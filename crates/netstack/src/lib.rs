//! TCP and UDP flows for tokio, made from any stream of IP packets.
//!
//! Rule: the stack (`fullpipe`) has all state of TCP, and `fullpipe-host` drives the stack. This
//! crate only hands out flows: it asks the program about each SYN, returns the connection of an
//! admitted SYN, and sorts datagrams by flow. All memory is bounded: payload by the pool of the
//! stack, flows by the stack's tables, waiting datagrams by a limit in bytes.
//!
//! # Guide
//!
//! 1. [`NetstackBuilder::start`] takes a device: a TUN device of `fullpipe-host`, or one end of a
//!    [`PipeDevice`], whose other end is any stream of packets.
//! 2. [`TcpFlows::next`] returns each SYN as a [`TcpRequest`]. The program decides:
//!    [`TcpRequest::admit`] returns the [`TcpFlow`], [`TcpRequest::refuse`] sends a reset or an
//!    ICMP error.
//! 3. [`UdpFlows::next`] returns a [`UdpFlow`] for each pair of a peer and a destination.
//! 4. [`NetstackBuilder::start_with_echo`] also returns each echo request (ping) as an
//!    [`EchoRequest`]; otherwise the stack answers every request itself.
//! 5. [`relay`] copies a flow to another stream and back, with half-close, an idle timeout, and a
//!    [`RelayClock`] that measures how long the relay waits for each side.

/// Compiles the example of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod builder;
mod echo;
mod family;
pub mod forward;
mod limits;
mod pipe;
mod relay;
mod relay_clock;
mod tcp;
mod udp;

pub use builder::NetstackBuilder;
pub use echo::{EchoRequest, EchoRequests};
pub use limits::FlowLimits;
pub use pipe::{PacketPipe, PipeDevice};
pub use relay::relay;
pub use relay_clock::{RelayClock, RelayReport, RelaySide, Waiting};
pub use tcp::{TcpFlow, TcpFlows, TcpRequest};
pub use udp::{UdpFlow, UdpFlows, UdpSender};
