//! Errors of the application's calls, and the reasons for which a connection
//! ends.
//!
//! Rule: errors are sorted by who caused them. This file has the errors that the caller causes. It
//! also has the reasons for the end of a connection, because the caller must learn of it. A mistake
//! of the peer is a [`DiscardReason`](crate::DiscardReason), and a full buffer is an outcome, not
//! an error.

use fullpipe_pool::record;

use core::fmt;

/// Reason for which an application's call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionError {
    /// The application has closed this direction.
    Shutdown,
    /// The connection has ended.
    Ended(CloseReason),
}

/// Reason for which a setting of a connection was refused. The connection keeps its old
/// setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// The value is outside the legal range.
    OutOfRange {
        /// Name of the setting's knob or, without a knob, of the setting's field in
        /// [`Tuning`](crate::Tuning).
        setting: &'static str,
        /// Smallest legal value.
        least: u64,
        /// Largest legal value.
        most: u64,
        /// Unit of the two values.
        unit: &'static str,
    },
    /// The host has no such congestion control algorithm: another host registered it.
    NoSuchCongestion,
}

/// Reason for which a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both sides closed their direction.
    Finished,
    /// The peer reset the connection.
    Reset,
    /// The peer answered the SYN with a reset.
    Refused,
    /// Too many timeouts in a row, or the user timeout.
    TimedOut,
    /// An ICMP error reported that the peer is unreachable.
    Unreachable,
    /// This side reset the connection.
    Aborted,
    /// The connection's local address was removed from this host.
    AddressRemoved,
}

record!(
    enum CloseReason {
        Finished,
        Reset,
        Refused,
        TimedOut,
        Unreachable,
        Aborted,
        AddressRemoved,
    }
);

impl CloseReason {
    /// Returns the reason in words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Finished => "closed by both sides",
            Self::Reset => "reset by the peer",
            Self::Refused => "refused by the peer",
            Self::TimedOut => "timed out: the peer did not answer",
            Self::Unreachable => "the peer cannot be reached",
            Self::Aborted => "reset by this side",
            Self::AddressRemoved => "this side's address was removed",
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shutdown => f.write_str("this direction of the connection is closed"),
            Self::Ended(reason) => write!(f, "the connection has ended: {reason}"),
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange {
                setting,
                least,
                most,
                unit,
            } => write!(f, "{setting} is outside {least} to {most} {unit}"),
            Self::NoSuchCongestion => f.write_str(
                "this host has no such congestion control algorithm: another host registered it",
            ),
        }
    }
}

impl core::error::Error for ConnectionError {}
impl core::error::Error for SettingError {}
