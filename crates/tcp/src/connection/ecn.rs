//! Explicit congestion notification. RFC 3168 §6.1.
//!
//! Rule: a mark is echoed on every ACK until the peer reports with CWR that it has
//! reduced its window. This side reduces its own window at most once for a window of
//! data; congestion control decides by how much.

use fullpipe_pool::Count;
use fullpipe_wire::{Ecn, TcpFlags};

use super::{Connection, Env};
use crate::{Segment, SegmentOut};

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
        self.agreed.has_ecn() && !self.ecn.sent_plain_syn
    }

    /// Processes CWR and the ECN field of an acceptable segment with payload. CWR ends
    /// the echo; a mark on the same segment starts the echo anew. CWR, and a mark that
    /// starts the echo, make an ACK due at once, because the sender's window may be
    /// too small for the second segment that would end the delay of the ACK.
    pub(super) fn take_ecn(&mut self, segment: &Segment<'_>) {
        if !self.agreed.has_ecn() {
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

    /// Returns true if the ACK reports a congestion mark. The ACK newly delivers `delivered` bytes.
    pub(super) fn reports_congestion_mark(
        &self,
        segment: &Segment<'_>,
        delivered: u32,
        env: &mut Env<'_>,
    ) -> bool {
        let has_ece =
            self.agreed.has_ecn() && segment.has(TcpFlags::ECE) && !segment.has(TcpFlags::SYN);
        if has_ece {
            let mss = self.mss(env).max(1);
            env.counters.delivered_ce += Count::from(delivered.div_ceil(mss));
        }
        has_ece
    }
}
