//! Errors of the caller: a configuration, an open, a call on a TCP socket.
//!
//! Rule: nothing else is an error. A peer's mistake is discarded and counted, a bug in the stack
//! panics, and a full or empty buffer is an ordinary outcome. UDP's errors are in
//! [`UdpError`](crate::udp::UdpError).

use core::fmt;

use fullpipe_pool::knobs::KnobError;
use fullpipe_tcp::{CloseReason, SettingError};

/// The reason that [`Stack::new`](crate::Stack::new) refused its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A knob is out of range or contradicts another, or knobs ask for more memory than can
    /// be allocated.
    Knob(KnobError),
    /// The interface cannot work, for this reason.
    Interface(&'static str),
}

/// The reason that a listener or a connection was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The local address is not an address of this host.
    AddressNotOurs,
    /// Another socket has this local address and port, or this four-tuple.
    AddressInUse,
    /// The port of a listener or of a destination is 0.
    NoPort,
    /// Every ephemeral port (knobs `stack.ephemeral_low` and `_high`) is in use to
    /// this destination.
    NoFreePort,
    /// No route leads to the destination, or the destination is a broadcast or multicast address.
    NoRoute,
    /// Every connection is in use (knob `stack.connections`).
    TooManyConnections,
    /// Every listener is in use (knob `stack.listeners`).
    TooManyListeners,
    /// A setting of [`Tuning`](crate::Tuning) is refused, for this reason.
    Setting(SettingError),
}

/// The reason that a call on a connection or listener was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpError {
    /// No open connection or listener has this id.
    NoSuchHandle,
    /// The address of the listener was removed from this host.
    AddressRemoved,
    /// The application has closed this direction.
    Shutdown,
    /// The connection has ended, for this reason.
    Ended(CloseReason),
    /// The setting is refused, for this reason; the connection keeps the previous value.
    Setting(SettingError),
}

impl From<SettingError> for TcpError {
    fn from(error: SettingError) -> Self {
        Self::Setting(error)
    }
}

impl From<SettingError> for OpenError {
    fn from(error: SettingError) -> Self {
        Self::Setting(error)
    }
}

#[doc(hidden)]
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
            Self::AddressNotOurs => "the local address is not an address of this host",
            Self::AddressInUse => "the address and port are in use",
            Self::NoPort => "a listener and a destination need a port other than 0",
            Self::NoFreePort => "every ephemeral port to this destination is taken",
            Self::NoRoute => "no route leads to this destination",
            Self::TooManyConnections => {
                "all connections that the knob stack.connections allows are in use"
            }
            Self::Setting(error) => return error.fmt(f),
            Self::TooManyListeners => {
                "all listeners that the knob stack.listeners allows are in use"
            }
        })
    }
}

impl fmt::Display for TcpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchHandle => f.write_str("no open connection or listener has this id"),
            Self::AddressRemoved => {
                f.write_str("the listener's address was removed from this host")
            }
            Self::Shutdown => fullpipe_tcp::ConnectionError::Shutdown.fmt(f),
            Self::Ended(reason) => fullpipe_tcp::ConnectionError::Ended(*reason).fmt(f),
            Self::Setting(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ConfigError {}
impl core::error::Error for OpenError {}
impl core::error::Error for TcpError {}
