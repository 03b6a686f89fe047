//! Error numbers, and the errors of the stack as error numbers.
//!
//! Rule: the numbers are Linux's on every platform, because C libraries use different numbers. A
//! function returns an error number negated.

use fullpipe::{
    CloseReason, ConfigError, OpenError, SettingError, TcpError, UdpError, config::KnobError,
};

/// No such knob, preset or name.
pub const FP_ENOENT: i32 = 2;
/// A callback of the host system ended the wait.
#[expect(dead_code, reason = "only callbacks return it")]
pub const FP_EINTR: i32 = 4;
/// No socket has this handle.
pub const FP_EBADF: i32 = 9;
/// Nothing to read, no room to write, or the call's time limit has passed: try again.
pub const FP_EAGAIN: i32 = 11;
/// The arena is too small, or every entry of a table is in use.
pub const FP_ENOMEM: i32 = 12;
/// A pointer is null or not aligned.
pub const FP_EFAULT: i32 = 14;
/// Another call on this stack is in progress. Either another thread has made that call, or a
/// callback of that call has made the refused call.
pub const FP_EBUSY: i32 = 16;
/// An argument is not valid.
pub const FP_EINVAL: i32 = 22;
/// Every socket of this kind is in use.
pub const FP_ENFILE: i32 = 23;
/// The peer or the application has closed this direction.
pub const FP_EPIPE: i32 = 32;
/// A value is outside its legal range.
pub const FP_ERANGE: i32 = 34;
/// The socket has no destination.
pub const FP_EDESTADDRREQ: i32 = 89;
/// The datagram is longer than the socket can send.
pub const FP_EMSGSIZE: i32 = 90;
/// The socket has no such option.
pub const FP_ENOPROTOOPT: i32 = 92;
/// The operation does not exist for this kind of socket.
pub const FP_EOPNOTSUPP: i32 = 95;
/// The address family is not supported.
pub const FP_EAFNOSUPPORT: i32 = 97;
/// The local address and port are in use.
pub const FP_EADDRINUSE: i32 = 98;
/// The address is not an address of this host, or every ephemeral port is in use.
pub const FP_EADDRNOTAVAIL: i32 = 99;
/// No route leads to the destination.
pub const FP_ENETUNREACH: i32 = 101;
/// This side has reset the connection.
pub const FP_ECONNABORTED: i32 = 103;
/// The peer has reset the connection.
pub const FP_ECONNRESET: i32 = 104;
/// The socket is connected already.
pub const FP_EISCONN: i32 = 106;
/// The socket is not connected.
pub const FP_ENOTCONN: i32 = 107;
/// The peer did not answer.
pub const FP_ETIMEDOUT: i32 = 110;
/// The peer refused the connection.
pub const FP_ECONNREFUSED: i32 = 111;
/// The peer cannot be reached.
pub const FP_EHOSTUNREACH: i32 = 113;
/// An earlier call has begun the handshake, which is not complete.
pub const FP_EALREADY: i32 = 114;
/// This call has begun the handshake, which is not complete.
pub const FP_EINPROGRESS: i32 = 115;

/// The reason that a call failed, as a positive error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

/// Returns the result of a call for C: a value that is not negative, or a negated error number.
pub(crate) fn returned(result: Result<i32, Errno>) -> i32 {
    result.unwrap_or_else(|Errno(number)| -number)
}

impl From<CloseReason> for Errno {
    fn from(reason: CloseReason) -> Self {
        Self(match reason {
            CloseReason::Finished => FP_EPIPE,
            CloseReason::Reset => FP_ECONNRESET,
            CloseReason::Refused => FP_ECONNREFUSED,
            CloseReason::TimedOut => FP_ETIMEDOUT,
            CloseReason::Unreachable => FP_EHOSTUNREACH,
            CloseReason::Aborted => FP_ECONNABORTED,
            CloseReason::AddressRemoved => FP_EADDRNOTAVAIL,
        })
    }
}

impl From<SettingError> for Errno {
    fn from(error: SettingError) -> Self {
        Self(match error {
            SettingError::OutOfRange { .. } => FP_ERANGE,
            SettingError::NoSuchCongestion => FP_ENOENT,
        })
    }
}

impl From<OpenError> for Errno {
    fn from(error: OpenError) -> Self {
        Self(match error {
            OpenError::AddressNotOurs | OpenError::NoFreePort => FP_EADDRNOTAVAIL,
            OpenError::AddressInUse => FP_EADDRINUSE,
            OpenError::NoPort => FP_EINVAL,
            OpenError::NoRoute => FP_ENETUNREACH,
            OpenError::TooManyConnections | OpenError::TooManyListeners => FP_ENFILE,
            OpenError::Setting(error) => return error.into(),
        })
    }
}

impl From<TcpError> for Errno {
    fn from(error: TcpError) -> Self {
        Self(match error {
            TcpError::NoSuchHandle => FP_EBADF,
            TcpError::AddressRemoved => FP_EADDRNOTAVAIL,
            TcpError::Shutdown => FP_EPIPE,
            TcpError::Ended(reason) => return reason.into(),
            TcpError::Setting(error) => return error.into(),
        })
    }
}

impl From<UdpError> for Errno {
    fn from(error: UdpError) -> Self {
        Self(match error {
            UdpError::NoSuchSocket => FP_EBADF,
            UdpError::TooManySockets => FP_ENFILE,
            UdpError::AddressInUse => FP_EADDRINUSE,
            UdpError::AddressNotOurs | UdpError::AddressRemoved | UdpError::NoFreePort => {
                FP_EADDRNOTAVAIL
            }
            UdpError::BadSource => FP_EINVAL,
            UdpError::BadDestination => FP_EDESTADDRREQ,
            UdpError::TooLong { .. } => FP_EMSGSIZE,
        })
    }
}

impl From<&KnobError> for Errno {
    fn from(error: &KnobError) -> Self {
        Self(match error {
            KnobError::Unknown { .. } => FP_ENOENT,
            KnobError::NotAValue { .. }
            | KnobError::Unavailable { .. }
            | KnobError::Contradiction { .. } => FP_EINVAL,
            KnobError::OutOfRange { .. } => FP_ERANGE,
            KnobError::TooLarge { .. } => FP_ENOMEM,
        })
    }
}

impl From<&ConfigError> for Errno {
    fn from(error: &ConfigError) -> Self {
        match error {
            ConfigError::Knob(error) => error.into(),
            ConfigError::Interface(_) => Self(FP_EINVAL),
        }
    }
}
