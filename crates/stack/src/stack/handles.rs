//! The ids of sockets, events about them, and options for opening them.
//!
//! Rule: an id identifies one socket for ever. After that socket is closed, calls with
//! the id are refused, even if the slot is in use again.

use fullpipe_tcp::Tuning;

use crate::{slab::Key, udp::UdpId};

/// Identifies a connection of one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(crate) Key);

/// Identifies a listener of one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub(crate) Key);

impl ConnectionId {
    /// Returns the connection's slot, which is its number in the trace. A later
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
    /// A connection waits to be [accepted](crate::Stack::tcp_accept).
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
}

/// Options of a connection to be opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Settings of the connection; `None` uses the knobs.
    pub tuning: Option<Tuning>,
}
