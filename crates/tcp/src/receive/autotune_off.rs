//! Stand-in for right-sizing in builds without the feature `autotune`.
//!
//! Rule: this file has the interface of `autotune.rs`. No buffer grows, so nothing is measured.

use fullpipe_pool::{
    Duration, Instant,
    record::{Record, RecordReader, RecordWriter},
};

/// Nothing, because no buffer grows.
#[derive(Clone, Copy, Debug, Default)]
pub struct RightSizing;

impl Record for RightSizing {
    fn pack(&self, _to: &mut RecordWriter<'_>) {}

    fn unpack(_from: &mut RecordReader<'_>) -> Self {
        Self
    }
}

impl RightSizing {
    /// Does nothing.
    pub const fn on_payload(&mut self, _echo_age: Option<Duration>) {}

    /// Returns `None`.
    pub const fn on_read(
        &mut self,
        _bytes: u32,
        _now: Instant,
        _min_rtt: Option<Duration>,
        _mss: u32,
    ) -> Option<u32> {
        None
    }
}
