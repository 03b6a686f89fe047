//! Stand-in for SYN cookies in builds without the feature `cookies`.
//!
//! Rule: this file has the interface of `syn_cookie.rs`. No cookie is made, and none is valid. The
//! queue of SYN-ACKs counts as full, so every value of the knob `stack.syn_cookies` acts as `off`.

use core::net::IpAddr;

use fullpipe_pool::Instant;
use fullpipe_tcp::{Segment, SeqNum};

use super::{answer_queues::Answer, four_tuple::FourTuple};
use crate::{interface_id::InterfaceId, secret::Secret};

/// The contents of a SYN that a cookie can encode; empty in this build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SynSummary;

impl SynSummary {
    /// Returns the empty contents.
    pub(crate) const fn from_syn(_syn: &Segment<'_>, _stamping: bool) -> Self {
        Self
    }

    /// Returns `like`.
    pub(crate) const fn syn<'a>(&self, like: &Segment<'a>) -> Segment<'a> {
        *like
    }
}

/// The generator and verifier of cookies, which does nothing.
#[derive(Debug)]
pub(crate) struct SynCookies;

impl SynCookies {
    /// Creates the value, without memory.
    pub(crate) const fn new(_secret: &Secret, _most: u32) -> Self {
        Self
    }

    /// Returns 0.
    pub(crate) const fn heap_bytes(&self) -> usize {
        0
    }

    /// Does nothing.
    pub(crate) const fn add_interface(&mut self) {}

    /// Returns true.
    pub(crate) const fn is_full(&self, _interface: InterfaceId) -> bool {
        true
    }

    /// Is not called, because the queue is full.
    pub(crate) const fn sequence(&self, _: &FourTuple, _: &SynSummary, _: Instant) -> SeqNum {
        SeqNum(0)
    }

    /// Is not called, because the queue is full.
    pub(crate) const fn answer(&mut self, _answer: Answer, _syn: &SynSummary, _now: Instant) {}

    /// Returns false.
    pub(crate) const fn may_return(&self, _now: Instant) -> bool {
        false
    }

    /// Returns `None`.
    pub(crate) const fn verify(
        &self,
        _tuple: &FourTuple,
        _ack: &Segment<'_>,
        _now: Instant,
    ) -> Option<SynSummary> {
        None
    }

    /// Returns `None`.
    pub(crate) const fn take(&mut self, _interface: InterfaceId) -> Option<Answer> {
        None
    }

    /// Does nothing.
    pub(crate) const fn forget_address(&mut self, _ip: IpAddr) {}

    /// Returns false.
    pub(crate) const fn has_for(&self, _interface: InterfaceId) -> bool {
        false
    }
}
