//! The names of what an application holds, and what it may ask for when it
//! opens it.
//!
//! Rule: an id names one connection or listener for good; after that is gone
//! the id finds nothing, whoever uses the slot next.

use fullpipe_tcp::Tuning;

use crate::{slab::Key, udp::UdpId};

/// Names a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(crate) Key);

/// Names a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub(crate) Key);

impl ConnectionId {
    /// The connection's number in the trace; used again when it is gone.
    pub const fn index(self) -> u32 {
        self.0.index
    }
}

impl ListenerId {
    /// The listener's slot; used again when it is gone.
    pub const fn index(self) -> u32 {
        self.0.index
    }
}

/// Something changed about a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// Ask [`tcp_ready`](crate::Stack::tcp_ready) what.
    Tcp(ConnectionId),
    /// A connection waits to be [accepted](crate::Stack::tcp_accept).
    Accept(ListenerId),
    /// A datagram arrived, or the queue of those to be sent has room again.
    Udp(UdpId),
}

/// What a listener may be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenOptions {
    /// Connections that may wait to be accepted; `None`: knob `stack.backlog`.
    pub backlog: Option<u32>,
    /// What its connections start with; `None`: the knobs.
    pub tuning: Option<Tuning>,
}

/// What a new connection may be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// What it starts with; `None`: the knobs.
    pub tuning: Option<Tuning>,
}
