//! The states of a connection and the transitions RFC 9293 allows.
//!
//! Rule: a pair that is not in the table does not happen. LISTEN is not here:
//! a listener is not a connection yet, and lives with the addresses.

use TcpState::{
    CloseWait, Closed, Closing, Established, FinWait1, FinWait2, LastAck, SynReceived, SynSent,
    TimeWait,
};
use Trigger::{Close, FinAcked, FinArrived, HandshakeDone, Reset, SynArrived, TimeOver};

/// Where a connection stands. RFC 9293 §3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TcpState {
    /// SYN sent, nothing heard.
    SynSent,
    /// SYN sent and received (simultaneous open), not yet acknowledged.
    SynReceived,
    /// Data flows both ways.
    Established,
    /// Closed here; FIN not yet acknowledged.
    FinWait1,
    /// Closed here and acknowledged; the peer may still send.
    FinWait2,
    /// The peer closed; this side may still send.
    CloseWait,
    /// Both closed at once; FIN not yet acknowledged.
    Closing,
    /// The peer closed first, then this side; FIN not yet acknowledged.
    LastAck,
    /// Both closed; waits for old segments to die.
    TimeWait,
    /// No connection.
    Closed,
}

/// What moves a connection from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A SYN without ACK arrived in SYN-SENT: simultaneous open.
    SynArrived,
    /// Both SYNs are acknowledged.
    HandshakeDone,
    /// The application closed its direction.
    Close,
    /// The peer's FIN is next in order.
    FinArrived,
    /// The peer acknowledged our FIN.
    FinAcked,
    /// The connection was reset, refused or timed out.
    Reset,
    /// 2 MSL are over.
    TimeOver,
}

/// A transition that RFC 9293 does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalTransition {
    /// The state it was in.
    pub from: TcpState,
    /// What happened.
    pub trigger: Trigger,
}

impl TcpState {
    /// Every state.
    pub const ALL: &'static [Self] = &[
        SynSent,
        SynReceived,
        Established,
        FinWait1,
        FinWait2,
        CloseWait,
        Closing,
        LastAck,
        TimeWait,
        Closed,
    ];

    /// The state after `trigger`. RFC 9293 figure 5.
    pub const fn next(self, trigger: Trigger) -> Result<Self, IllegalTransition> {
        Ok(match (self, trigger) {
            (SynSent, SynArrived) => SynReceived,
            (SynSent | SynReceived, HandshakeDone) => Established,
            (SynSent, Close) => Closed,
            (SynReceived | Established, Close) => FinWait1,
            (CloseWait, Close) => LastAck,
            (SynReceived | Established, FinArrived) => CloseWait,
            (FinWait1, FinArrived) => Closing,
            (FinWait2, FinArrived) => TimeWait,
            (FinWait1, FinAcked) => FinWait2,
            (Closing, FinAcked) => TimeWait,
            (LastAck, FinAcked) => Closed,
            (TimeWait, TimeOver) => Closed,
            (_, Reset) => Closed,
            (from, trigger) => return Err(IllegalTransition { from, trigger }),
        })
    }

    /// Whether both SYNs have been exchanged and acknowledged.
    pub const fn is_synchronized(self) -> bool {
        match self {
            SynSent | SynReceived | Closed => false,
            Established | FinWait1 | FinWait2 | CloseWait | Closing | LastAck | TimeWait => true,
        }
    }

    /// Whether the application may still write.
    pub const fn may_write(self) -> bool {
        matches!(self, SynSent | SynReceived | Established | CloseWait)
    }

    /// Whether the peer may still send text.
    pub const fn may_receive(self) -> bool {
        matches!(
            self,
            SynSent | SynReceived | Established | FinWait1 | FinWait2
        )
    }

    /// The name of RFC 9293.
    pub const fn name(self) -> &'static str {
        match self {
            SynSent => "SYN-SENT",
            SynReceived => "SYN-RECEIVED",
            Established => "ESTABLISHED",
            FinWait1 => "FIN-WAIT-1",
            FinWait2 => "FIN-WAIT-2",
            CloseWait => "CLOSE-WAIT",
            Closing => "CLOSING",
            LastAck => "LAST-ACK",
            TimeWait => "TIME-WAIT",
            Closed => "CLOSED",
        }
    }
}

#[cfg(test)]
mod tests;
