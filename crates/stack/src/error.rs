//! What an application, or a configuration, can ask for in vain.
//!
//! Rule: errors are sorted by blame. These are the caller's; what peers do
//! wrong is discarded and counted, what we do wrong panics, and a full buffer
//! or an empty one is an outcome. UDP's are [`UdpError`](crate::udp::UdpError).

use core::fmt;

use fullpipe_pool::knobs::KnobError;
use fullpipe_tcp::CloseReason;

/// Why a stack could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A knob is out of range, or two contradict each other.
    Knob(KnobError),
    /// The interface cannot work.
    Interface(&'static str),
}

/// Why a listener or a connection could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The local address is not this host's.
    AddressNotOurs,
    /// Somebody has this address and port, or this pair of them.
    AddressInUse,
    /// A listener, or the other end, must have a port.
    NoPort,
    /// Every ephemeral port to this destination is taken.
    NoFreePort,
    /// No route leads to the destination, or it is not one host.
    NoRoute,
    /// Every connection is in use (knob `stack.connections`).
    TooManyConnections,
    /// Every listener is in use (knob `stack.listeners`).
    TooManyListeners,
}

/// Why a call on a connection or listener was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpError {
    /// No open connection or listener has this id.
    NoSuchHandle,
    /// This direction has been closed by the application.
    Shutdown,
    /// The connection has ended, for this reason.
    Ended(CloseReason),
}

impl From<fullpipe_tcp::ConnectionError> for TcpError {
    fn from(error: fullpipe_tcp::ConnectionError) -> Self {
        match error {
            fullpipe_tcp::ConnectionError::Shutdown => Self::Shutdown,
            fullpipe_tcp::ConnectionError::Ended(reason) => Self::Ended(reason),
        }
    }
}

impl From<KnobError> for ConfigError {
    fn from(error: KnobError) -> Self {
        Self::Knob(error)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Knob(error) => error.fmt(f),
            Self::Interface(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AddressNotOurs => "the local address is not this host's",
            Self::AddressInUse => "the address and port are in use",
            Self::NoPort => "a listener and a destination need a port other than 0",
            Self::NoFreePort => "every ephemeral port to this destination is taken",
            Self::NoRoute => "no route leads to this destination",
            Self::TooManyConnections => "every connection is in use (knob stack.connections)",
            Self::TooManyListeners => "every listener is in use (knob stack.listeners)",
        })
    }
}

impl fmt::Display for TcpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchHandle => f.write_str("no open connection or listener has this id"),
            Self::Shutdown => fullpipe_tcp::ConnectionError::Shutdown.fmt(f),
            Self::Ended(reason) => fullpipe_tcp::ConnectionError::Ended(*reason).fmt(f),
        }
    }
}

impl core::error::Error for ConfigError {}
impl core::error::Error for OpenError {}
impl core::error::Error for TcpError {}
