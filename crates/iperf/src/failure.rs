//! The reasons that a test ends early.
//!
//! Rule: the stack's errors are passed on unchanged.

use core::fmt;

use fullpipe::{CloseReason, OpenError, TcpError, UdpError};

/// The reason that a test ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The connection was not opened.
    Open(OpenError),
    /// A call on the connection was refused, or the connection has ended.
    Connection(TcpError),
    /// A call on the UDP socket was refused.
    Udp(UdpError),
    /// A TCP peer sent nothing for ten seconds, or a UDP server did not answer the last datagram.
    Silence,
}

impl Failure {
    /// Returns the failure of a connection that ended for `reason`.
    pub(crate) const fn ended(reason: CloseReason) -> Self {
        Self::Connection(TcpError::Ended(reason))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => error.fmt(f),
            Self::Connection(error) => error.fmt(f),
            Self::Udp(error) => error.fmt(f),
            Self::Silence => f.write_str("the peer does not answer"),
        }
    }
}

impl core::error::Error for Failure {}
