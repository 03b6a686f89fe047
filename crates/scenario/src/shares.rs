//! The limits of a row (scenario), and the account of the row. A limit is a reason that an end does
//! not send or read more. An account is the time and bytes for each limit.
//!
//! Rule: times and shares are types of `fullpipe_diagnose::account`; nothing is computed here.

use fullpipe_tcp::{Limit, ReceiveLimit};
use serde::Serialize;

pub use fullpipe_diagnose::account::{Shares, Times};

use crate::path_account::PathAccount;

/// Share of each limit in the time of a transfer, for both ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Limits {
    /// Limits of the sender.
    pub sender: Shares<Limit>,
    /// Limits of the receiver.
    pub receiver: Shares<ReceiveLimit>,
}

/// Time and bytes for each limit of both ends, and the frames of the path. The times add up to the
/// connections' lifetimes. The bytes add up to all bytes carried.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Account {
    /// Limits of the sender.
    pub sender: Times<Limit>,
    /// Limits of the receiver.
    pub receiver: Times<ReceiveLimit>,
    /// Frames of every link, and losses at every host.
    pub path: PathAccount,
}
