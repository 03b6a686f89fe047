//! Stand-in for the loopback interface in builds without the feature `loopback`.
//!
//! Rule: this file has the methods of `loopback_calls.rs`. A host has no loopback interface.

use fullpipe_pool::Instant;

use super::Stack;
use crate::{config::Config, interface_id::InterfaceId, secret::Secret};

impl Stack {
    /// Does nothing.
    pub(crate) const fn add_loopback(&mut self, _config: &Config, _secret: &Secret) {}

    /// Returns `None`.
    pub const fn loopback(&self) -> Option<InterfaceId> {
        None
    }

    /// Does nothing.
    pub const fn loop_back(&mut self, _now: Instant, _budget: usize) {}
}
