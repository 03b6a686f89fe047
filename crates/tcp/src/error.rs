//! What an application can do wrong, and how a connection can end.
//!
//! Rule: errors are sorted by blame. These are the caller's, or news the caller
//! must hear; what the peer does wrong is a [`DiscardReason`](crate::DiscardReason), and a full
//! buffer is an outcome, not an error.

use core::fmt;

/// Why a call of the application could not be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionError {
    /// This direction has been closed by the application.
    Shutdown,
    /// The connection has ended, for this reason.
    Ended(CloseReason),
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both directions were closed in order.
    Finished,
    /// The peer reset it.
    Reset,
    /// The peer refused it: reset in answer to SYN.
    Refused,
    /// Too many timeouts, or the user timeout.
    TimedOut,
    /// The network reported for good that the peer cannot be reached.
    Unreachable,
    /// This side reset it.
    Aborted,
}

impl CloseReason {
    /// In words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Finished => "closed by both sides",
            Self::Reset => "reset by the peer",
            Self::Refused => "refused by the peer",
            Self::TimedOut => "timed out: the peer did not answer",
            Self::Unreachable => "the peer cannot be reached",
            Self::Aborted => "reset by this side",
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

impl core::error::Error for ConnectionError {}
