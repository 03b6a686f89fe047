//! Stand-in for path MTU discovery in builds without the feature `path-mtu`.
//!
//! Rule: this file has the interface of `mtu_probing.rs`, but discovers nothing. Segments have the
//! size that the first link carries, and routers may fragment their packets.

use super::{Connection, Env, IcmpError};
use crate::{Limit, SegmentOut, SeqNum, send::PacketTooBig};

/// Decision about a probe before other payload leaves. Without the feature, there is no probe.
pub(super) enum Probing {
    /// No probe.
    Idle,
    /// Never made.
    #[expect(dead_code, reason = "the interface of the discovery")]
    Waits(Limit),
    /// Never made.
    #[expect(dead_code, reason = "the interface of the discovery")]
    Due(u32),
}

impl Connection {
    /// Ignores the message: routers may fragment.
    pub(super) const fn on_packet_too_big(&mut self, _report: PacketTooBig, _env: &mut Env<'_>) {}

    /// Returns false.
    pub(super) const fn is_about_sack_ack(&self, _error: IcmpError, _seq: SeqNum) -> bool {
        false
    }

    /// Returns false.
    pub(super) const fn forbids_fragments(&self, _segment: &SegmentOut) -> bool {
        false
    }

    /// Does nothing.
    pub(super) const fn suspect_black_hole(&mut self, _env: &mut Env<'_>) {}

    /// Does nothing.
    pub(super) const fn note_size(&mut self, _segment: &SegmentOut, _env: &mut Env<'_>) {}

    /// Does nothing.
    pub(super) const fn note_arrival(&mut self, _env: &mut Env<'_>) {}

    /// Returns [`Probing::Idle`].
    pub(super) const fn probing(&mut self, _env: &Env<'_>) -> Probing {
        Probing::Idle
    }

    /// Is not called, because no probe is due.
    pub(super) fn mtu_probe(&mut self, _len: u32, _env: &mut Env<'_>) -> SegmentOut {
        unreachable!("no probe is due")
    }
}
