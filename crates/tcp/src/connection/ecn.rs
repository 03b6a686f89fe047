//! Explicit congestion notification. RFC 3168 §6.1.
//!
//! Rule: a mark is echoed on every ACK until the peer reports with CWR that it
//! has reduced its window, and the window is reduced once for a window of data.
//! Congestion control decides by how much.

use fullpipe_wire::{Ecn, TcpFlags};

use super::{Connection, Env};
use crate::{EcnMode, Segment, SegmentOut, TcpConfig};

/// SYNs that request ECN. Some paths drop such SYNs, so that the next one does
/// not request it. RFC 3168 §6.1.1.1.
const REQUESTING_SYNS: u32 = 2;

/// ECN state of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnState {
    /// A SYN of this side requested ECN.
    requested: bool,
    /// A SYN of this side did not: no packet may be ECN-capable.
    sent_plain_syn: bool,
    /// ECE is set on ACKs: a mark was seen, and no CWR since.
    echo: bool,
    /// CWR is due: the window was reduced.
    cwr: bool,
}

impl EcnState {
    /// Returns true if `syn` requests ECN and `config` allows it. A SYN that is
    /// itself ECN-capable comes from a path that changes the field.
    pub(super) fn are_requested_by(syn: &Segment<'_>, config: &TcpConfig) -> bool {
        let both = syn.has(TcpFlags::ECE) && syn.has(TcpFlags::CWR);
        both && syn.ecn == Ecn::NotEct && config.ecn != EcnMode::Off
    }

    /// Returns the flags of the SYN that leaves after `timeouts` without an
    /// answer.
    pub(super) fn syn_flags(&mut self, timeouts: u32, config: &TcpConfig) -> TcpFlags {
        if config.ecn == EcnMode::On && timeouts < REQUESTING_SYNS {
            self.requested = true;
            return TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR;
        }
        self.sent_plain_syn = true;
        TcpFlags::SYN
    }

    /// Returns true if the peer's SYN agrees to the request. A SYN-ACK agrees
    /// with ECE alone, since a peer that returns both flags does not know ECN;
    /// a SYN without ACK, in a simultaneous open, agrees by requesting ECN too.
    pub(super) fn are_agreed_by(&self, syn: &Segment<'_>) -> bool {
        let (ece, cwr) = (syn.has(TcpFlags::ECE), syn.has(TcpFlags::CWR));
        if syn.has(TcpFlags::ACK) {
            self.requested && ece && !cwr
        } else {
            self.requested && !self.sent_plain_syn && ece && cwr
        }
    }

    /// Returns the flags that every ACK carries.
    pub(super) fn ack_flags(&self) -> TcpFlags {
        if self.echo {
            TcpFlags::ECE
        } else {
            TcpFlags::NONE
        }
    }

    /// Returns true if the next new payload carries CWR.
    pub(super) const fn owes_cwr(&self) -> bool {
        self.cwr
    }
}

impl Connection {
    /// Makes `segment`, which carries new payload, ECN-capable, and sets CWR if
    /// it is due. ACKs, SYNs, retransmissions and probes are never ECN-capable.
    /// RFC 3168 §6.1.4 to §6.1.6.
    pub(super) fn mark_ect(&mut self, segment: &mut SegmentOut) {
        if !self.may_be_marked() {
            return;
        }
        segment.ecn = Ecn::Ect0;
        if core::mem::take(&mut self.ecn.cwr) {
            segment.flags |= TcpFlags::CWR;
        }
    }

    /// Makes CWR due after a reduction of the congestion window.
    pub(super) fn owe_cwr(&mut self) {
        self.ecn.cwr = self.may_be_marked();
    }

    /// Returns true if packets of this connection may be ECN-capable.
    const fn may_be_marked(&self) -> bool {
        self.agreed.ecn && !self.ecn.sent_plain_syn
    }

    /// Takes CWR and the ECN field of an acceptable segment with payload. CWR
    /// ends the echo; a mark on the same segment starts it anew. An ACK is due
    /// at once after either: the sender's window may be too small for a second
    /// segment.
    pub(super) fn take_ecn(&mut self, segment: &Segment<'_>) {
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

    /// Returns true if the ACK reports a congestion mark. `delivered` bytes are
    /// newly delivered with it.
    pub(super) fn reports_congestion_mark(
        &self,
        segment: &Segment<'_>,
        delivered: u32,
        env: &mut Env<'_>,
    ) -> bool {
        let has_ece = self.agreed.ecn && segment.has(TcpFlags::ECE) && !segment.has(TcpFlags::SYN);
        if has_ece {
            let mss = self.mss(env).max(1);
            env.counters.delivered_ce += u64::from(delivered.div_ceil(mss));
        }
        has_ece
    }
}
