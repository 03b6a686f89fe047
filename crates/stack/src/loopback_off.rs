//! Stand-in for the loopback device in builds without the feature `loopback`.
//!
//! Rule: this file has the methods of `loopback.rs` that other files call. There is no device.

/// The device, which does not exist.
#[derive(Debug)]
pub(crate) enum Loopback {}

impl Loopback {
    /// Is not called.
    pub(crate) const fn heap_bytes(&self) -> usize {
        match *self {}
    }
}
