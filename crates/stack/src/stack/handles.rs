//! The ids of sockets, events about them, and options for opening them.
//!
//! Rule: an id identifies one socket for ever. After the socket is closed, calls with
//! the id are refused, even if the slot is in use again.

use core::{fmt, net::SocketAddr};

use fullpipe_tcp::Tuning;

use crate::{slab::Key, udp::UdpId};

/// Identifies a connection of one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(crate) Key);

/// Identifies a listener of one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub(crate) Key);

impl ConnectionId {
    /// Returns the connection's slot, which is the connection's number in the trace. A later
    /// connection may get the same slot.
    pub const fn index(self) -> u32 {
        self.0.index
    }
}

impl ListenerId {
    /// Returns the listener's slot. A later listener may get the same slot.
    pub const fn index(self) -> u32 {
        self.0.index
    }
}

/// A change of a socket, reported by [`Stack::next_event`](crate::Stack::next_event).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// A connection changed: [`tcp_ready`](crate::Stack::tcp_ready) returns its state.
    Tcp(ConnectionId),
    /// A connection waits to be [accepted](crate::Stack::tcp_accept), or a SYN waits for the
    /// application's decision ([`tcp_next_request`](crate::Stack::tcp_next_request)).
    Accept(ListenerId),
    /// A datagram arrived, an error was reported, or the send queue has room again.
    Udp(UdpId),
}

/// Options of a listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenOptions {
    /// Connections that may wait to be accepted, at least 1; `None` uses the knob
    /// `stack.backlog`.
    pub backlog: Option<u32>,
    /// Settings of the listener's connections; `None` uses the knobs.
    pub tuning: Option<Tuning>,
    /// Listen at every port; the port in the listener's address is then 0. A listener at one port
    /// takes precedence for SYNs to that port.
    pub all_ports: bool,
    /// The application decides about each SYN before it is answered:
    /// [`tcp_next_request`](crate::Stack::tcp_next_request), then
    /// [`tcp_admit`](crate::Stack::tcp_admit) or [`tcp_refuse`](crate::Stack::tcp_refuse). A SYN
    /// that finds the table of handshakes full (knobs `stack.half_open` and
    /// `stack.half_open_per_source`) is dropped. No SYN cookie is sent, because an ACK with a valid
    /// cookie would open the connection without a decision.
    pub deferred: bool,
}

/// Identifies a SYN that waits for the application's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(crate) Key);

/// A SYN that waits for the application's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpRequest {
    /// The request.
    pub id: RequestId,
    /// Address and port that the peer wants to reach.
    pub local: SocketAddr,
    /// Address and port of the peer.
    pub remote: SocketAddr,
}

impl fmt::Display for SocketEvent {
    /// Writes the kind of the socket and its slot, such as `connection 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(id) => write!(f, "connection {}", id.index()),
            Self::Accept(id) => write!(f, "listener {}", id.index()),
            Self::Udp(id) => write!(f, "UDP socket {}", id.index()),
        }
    }
}

/// The way in which the application refuses a SYN or a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing listens at the port: a reset for a SYN, an ICMP error for a datagram. The peer's
    /// application gets `ECONNREFUSED`.
    Port,
    /// The host cannot be reached: an ICMP error. The peer's application gets `EHOSTUNREACH`.
    Host,
    /// The network cannot be reached: an ICMP error. The peer's application gets `ENETUNREACH`.
    Network,
    /// The peer gets no answer, and retransmits its SYN.
    Silent,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Port => "port unreachable",
            Self::Host => "host unreachable",
            Self::Network => "network unreachable",
            Self::Silent => "no answer",
        })
    }
}

/// Options of a connection to be opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Settings of the connection; `None` uses the knobs.
    pub tuning: Option<Tuning>,
}
