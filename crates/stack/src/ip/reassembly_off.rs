//! Stand-in for reassembly in builds without the feature `fragments`: every received fragment is
//! discarded.
//!
//! Rule: this file has the interface of `reassembly.rs`, and behaves like it with the knob
//! `ip.reassembly_datagrams` at 0.

use fullpipe_pool::{Instant, Pool};

use crate::{
    config::IpConfig,
    counters::{Counters, Discard},
    ip::packet::{IpHeader, ReceivedFragment},
    secret::Secret,
};

/// A reassembled datagram, which this build never makes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reassembled<'a> {
    /// Header of the datagram.
    pub(crate) header: IpHeader,
    /// Payload.
    pub(crate) payload: &'a [u8],
}

/// The state of reassembly, which is empty.
#[derive(Debug)]
pub(crate) struct Reassembler;

impl Reassembler {
    /// Creates the value, without memory.
    pub(crate) const fn new(_config: &IpConfig, _secret: &Secret) -> Self {
        Self
    }

    /// Returns 0.
    pub(crate) const fn heap_bytes(&self) -> usize {
        0
    }

    /// Discards the fragment.
    pub(crate) fn on_fragment(
        &mut self,
        _fragment: &ReceivedFragment,
        _payload: &[u8],
        _pool: &mut Pool,
        _now: Instant,
        counters: &mut Counters,
    ) -> Option<Reassembled<'_>> {
        counters.mib.ip_reasm_reqds += 1;
        counters.discard(Discard::FragmentNoMemory);
        None
    }

    /// Does nothing.
    pub(crate) const fn on_timeout(&mut self, _: &mut Pool, _: Instant, _: &mut Counters) {}

    /// Returns `None`.
    pub(crate) const fn next_timeout(&self) -> Option<Instant> {
        None
    }

    /// Does nothing.
    #[cfg(test)]
    pub(crate) const fn release(&mut self, _pool: &mut Pool) {}
}
