//! The ECN state of a connection: negotiation, echo and CWR. RFC 3168 §6.1.
//!
//! Rule: ECN is used only if both SYNs agree to it. `ecn` decides when to echo marks and
//! when to respond.

use fullpipe_pool::record;

use fullpipe_wire::{Ecn, TcpFlags};

use crate::{EcnMode, Segment, TcpConfig};

/// Number of SYNs that request ECN. Some paths drop such SYNs, so later SYNs do not request ECN.
/// RFC 3168 §6.1.1.1.
const REQUESTING_SYNS: u32 = 2;

/// ECN state of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnState {
    /// A SYN of this side requested ECN.
    pub(super) requested: bool,
    /// A SYN of this side did not request ECN, so no packet may be ECN-capable.
    pub(super) sent_plain_syn: bool,
    /// ECE is set on ACKs: a mark was received, and no CWR since.
    pub(super) echo: bool,
    /// CWR is due: the window was reduced.
    pub(super) cwr: bool,
}

record!(EcnState {
    requested,
    sent_plain_syn,
    echo,
    cwr
});

impl EcnState {
    /// Returns true if `syn` requests ECN and `config` allows it. If the packet of the SYN is
    /// itself ECN-capable, the request does not count, because the path must have changed the ECN
    /// field of the packet.
    pub(super) fn are_requested_by(syn: &Segment<'_>, config: &TcpConfig) -> bool {
        let both = syn.has(TcpFlags::ECE) && syn.has(TcpFlags::CWR);
        both && syn.ecn == Ecn::NotEct && mode(config) != EcnMode::Off
    }

    /// Returns the flags of the SYN that leaves after `timeouts` timeouts without an answer.
    pub(super) fn syn_flags(&mut self, timeouts: u32, config: &TcpConfig) -> TcpFlags {
        if mode(config) == EcnMode::On && timeouts < REQUESTING_SYNS {
            self.requested = true;
            return TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR;
        }
        self.sent_plain_syn = true;
        TcpFlags::SYN
    }

    /// Returns true if the peer's SYN agrees to the request. A SYN-ACK agrees by setting ECE
    /// without CWR, because a peer that returns both flags does not know ECN; a SYN without ACK, in
    /// a simultaneous open, agrees by requesting ECN too.
    pub(super) fn are_agreed_by(&self, syn: &Segment<'_>) -> bool {
        let (ece, cwr) = (syn.has(TcpFlags::ECE), syn.has(TcpFlags::CWR));
        if syn.has(TcpFlags::ACK) {
            cfg!(feature = "ecn") && self.requested && ece && !cwr
        } else {
            cfg!(feature = "ecn") && self.requested && !self.sent_plain_syn && ece && cwr
        }
    }

    /// Returns the flags that every ACK carries.
    pub(super) fn ack_flags(&self) -> TcpFlags {
        if cfg!(feature = "ecn") && self.echo {
            TcpFlags::ECE
        } else {
            TcpFlags::NONE
        }
    }

    /// Returns true if the next new payload carries CWR.
    pub(super) const fn owes_cwr(&self) -> bool {
        cfg!(feature = "ecn") && self.cwr
    }
}

/// Returns the knob `tcp.ecn`.
const fn mode(config: &TcpConfig) -> EcnMode {
    match cfg!(feature = "ecn") {
        true => config.ecn,
        false => EcnMode::Off,
    }
}
