//! Limits and account of a row.
//!
//! Rule: times and shares are those of `fullpipe_diagnose::account`; nothing is computed here.

use fullpipe_tcp::{Limit, ReceiveLimit};
use serde::Serialize;

pub use fullpipe_diagnose::account::{Shares, Times};

use crate::path_account::PathAccount;

/// Both ends' limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Limits {
    /// Limits of the sender.
    pub sender: Shares<Limit>,
    /// Limits that the receiver set.
    pub receiver: Shares<ReceiveLimit>,
}

/// Limits of both ends in seconds and bytes, and the frames of the path. The limits add up
/// to the connections' lifetime and to the bytes that moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Account {
    /// Limits of the sender.
    pub sender: Times<Limit>,
    /// Limits that the receiver set.
    pub receiver: Times<ReceiveLimit>,
    /// Frames of every link, and losses at every host.
    pub path: PathAccount,
}
