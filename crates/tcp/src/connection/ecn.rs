//! Explicit congestion notification between two ends. RFC 3168 §6.1.
//!
//! Rule: a mark is told to its sender on every ACK until the sender says that it
//! has slowed down, and it slows down once for a window of data. How much is
//! congestion control's word; who marks is the network's.

use fullpipe_wire::{Ecn, TcpFlags};

use super::{Connection, Env};
use crate::{EcnMode, Segment, SegmentOut, TcpConfig};

/// SYNs in a row that ask for ECN. Paths that drop such SYNs exist, so the next
/// does not ask. RFC 3168 §6.1.1.1.
const ASKING_SYNS: u32 = 2;

/// What one end remembers of the marks that it saw and that it was told of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnState {
    /// A SYN of ours asked for ECN.
    asked: bool,
    /// A SYN of ours did not: no packet of ours may claim that it can be marked.
    silent: bool,
    /// A mark was seen, and the peer has not said yet that it knows.
    echo: bool,
    /// The window was reduced, and the peer does not know it yet.
    cwr: bool,
}

impl EcnState {
    /// Whether `syn` asks for ECN, of a host that agrees. A SYN that is itself
    /// marked as capable shows a path that meddles with the field.
    pub(super) fn are_asked_for_by(syn: &Segment<'_>, config: &TcpConfig) -> bool {
        let both = syn.has(TcpFlags::ECE) && syn.has(TcpFlags::CWR);
        both && syn.ecn == Ecn::NotEct && config.ecn != EcnMode::Off
    }

    /// The flags of the SYN that leaves after `timeouts` without an answer.
    pub(super) fn syn_flags(&mut self, timeouts: u32, config: &TcpConfig) -> TcpFlags {
        if config.ecn == EcnMode::On && timeouts < ASKING_SYNS {
            self.asked = true;
            return TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR;
        }
        self.silent = true;
        TcpFlags::SYN
    }

    /// Whether the peer's SYN agrees to what ours asked for: with ACK by ECE
    /// alone, since both flags are a peer that sends back what it does not know;
    /// without ACK, in a simultaneous open, by asking too.
    pub(super) fn are_agreed_by(&self, syn: &Segment<'_>) -> bool {
        let (ece, cwr) = (syn.has(TcpFlags::ECE), syn.has(TcpFlags::CWR));
        if syn.has(TcpFlags::ACK) {
            self.asked && ece && !cwr
        } else {
            self.asked && !self.silent && ece && cwr
        }
    }

    /// Flags that every ACK carries.
    pub(super) fn ack_flags(&self) -> TcpFlags {
        if self.echo {
            TcpFlags::ECE
        } else {
            TcpFlags::NONE
        }
    }

    /// Whether the next new text carries CWR.
    pub(super) const fn owes_cwr(&self) -> bool {
        self.cwr
    }
}

impl Connection {
    /// `segment` carries text that was never sent: a router may mark it, and it
    /// says that the window was reduced. Nothing else may: not ACKs, SYNs,
    /// retransmissions or probes. RFC 3168 §6.1.4 to §6.1.6.
    pub(super) fn mark_ect(&mut self, segment: &mut SegmentOut) {
        if !self.may_be_marked() {
            return;
        }
        segment.ecn = Ecn::Ect0;
        if core::mem::take(&mut self.ecn.cwr) {
            segment.flags |= TcpFlags::CWR;
        }
    }

    /// The congestion window was reduced, for whatever reason: the peer is told.
    pub(super) fn owe_cwr(&mut self) {
        self.ecn.cwr = self.may_be_marked();
    }

    /// Whether packets of ours may claim that they can be marked.
    const fn may_be_marked(&self) -> bool {
        self.agreed.ecn && !self.ecn.silent
    }

    /// What a segment with text that is inside the window says. CWR ends the
    /// echo; a mark on the same segment begins it anew. Either change is told
    /// at once: the sender's window may be too small to fetch two segments.
    pub(super) fn note_mark(&mut self, segment: &Segment<'_>) {
        if !self.agreed.ecn {
            return;
        }
        if segment.has(TcpFlags::CWR) {
            self.ecn.echo = false;
            self.demand_ack();
        }
        if segment.ecn == Ecn::Ce && !self.ecn.echo {
            self.ecn.echo = true;
            self.demand_ack();
        }
    }

    /// Whether an ACK says that text of ours was marked; `delivered` bytes are
    /// new with it.
    pub(super) fn reports_congestion_mark(
        &self,
        segment: &Segment<'_>,
        delivered: u32,
        env: &mut Env<'_>,
    ) -> bool {
        let told = self.agreed.ecn && segment.has(TcpFlags::ECE) && !segment.has(TcpFlags::SYN);
        if told {
            let mss = self.mss(env).max(1);
            env.counters.delivered_ce += u64::from(delivered.div_ceil(mss));
        }
        told
    }
}
