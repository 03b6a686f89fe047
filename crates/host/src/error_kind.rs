//! The kinds of errors that sockets report.
//!
//! Rule: a kind is the one that the kernel's sockets would report.

use std::io;

use fullpipe::{CloseReason, OpenError};

/// Returns the error for a connection or a listener that the stack refused to open.
pub(crate) fn open_error(error: OpenError) -> io::Error {
    let kind = match error {
        OpenError::AddressNotOurs => io::ErrorKind::AddrNotAvailable,
        OpenError::AddressInUse | OpenError::NoFreePort => io::ErrorKind::AddrInUse,
        OpenError::NoPort | OpenError::Setting(_) => io::ErrorKind::InvalidInput,
        OpenError::NoRoute => io::ErrorKind::NetworkUnreachable,
        OpenError::TooManyConnections | OpenError::TooManyListeners => io::ErrorKind::OutOfMemory,
    };
    io::Error::new(kind, error)
}

/// Returns the kind for the end of a connection.
pub(crate) fn close_kind(reason: CloseReason) -> io::ErrorKind {
    match reason {
        CloseReason::Finished => io::ErrorKind::BrokenPipe,
        CloseReason::Reset => io::ErrorKind::ConnectionReset,
        CloseReason::Refused => io::ErrorKind::ConnectionRefused,
        CloseReason::TimedOut => io::ErrorKind::TimedOut,
        CloseReason::Unreachable => io::ErrorKind::HostUnreachable,
        CloseReason::Aborted => io::ErrorKind::ConnectionAborted,
        CloseReason::AddressRemoved => io::ErrorKind::AddrNotAvailable,
    }
}
