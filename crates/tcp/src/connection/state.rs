//! The states of a connection and the transitions that RFC 9293 allows.
//!
//! Rule: a pair of state and event that is not in the table is an error. LISTEN
//! is missing: listeners are in crate `fullpipe`.

use fullpipe_pool::record;

use TcpState::{
    CloseWait, Closed, Closing, Established, FinWait1, FinWait2, LastAck, SynReceived, SynSent,
    TimeWait,
};
use Trigger::{Close, FinAcked, FinArrived, HandshakeDone, Reset, SynArrived, TimeOver};

/// State of a connection. RFC 9293 §3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TcpState {
    /// SYN sent, no answer yet.
    SynSent,
    /// SYN sent and received (simultaneous open), not yet acknowledged.
    SynReceived,
    /// Data may flow in both directions.
    Established,
    /// This side closed; its FIN is not yet acknowledged.
    FinWait1,
    /// This side closed and its FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer closed; this side may still send.
    CloseWait,
    /// Both sides closed at the same time; this side's FIN is not yet
    /// acknowledged.
    Closing,
    /// The peer closed first, then this side; this side's FIN is not yet
    /// acknowledged.
    LastAck,
    /// Both sides closed; waits until old segments have left the network.
    TimeWait,
    /// No connection.
    Closed,
}

record!(
    enum TcpState {
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
    }
);

/// Event that moves a connection from one state to another.
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

/// A transition that RFC 9293 does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalTransition {
    /// State before the event.
    pub from: TcpState,
    /// The event.
    pub trigger: Trigger,
}

impl core::fmt::Display for TcpState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

impl TcpState {
    /// All states.
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

    /// Returns the state after `trigger`. RFC 9293 figure 5.
    ///
    /// # Errors
    /// Returns [`IllegalTransition`] if the event cannot happen in this state.
    // Hidden, because the crate `fullpipe` re-exports this type but not `Trigger`.
    #[doc(hidden)]
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

    /// Returns true if both SYNs have been exchanged and acknowledged.
    pub const fn is_synchronized(self) -> bool {
        match self {
            SynSent | SynReceived | Closed => false,
            Established | FinWait1 | FinWait2 | CloseWait | Closing | LastAck | TimeWait => true,
        }
    }

    /// Returns true if the application may still write.
    pub const fn may_write(self) -> bool {
        matches!(self, SynSent | SynReceived | Established | CloseWait)
    }

    /// Returns true if the peer may still send payload.
    pub const fn may_receive(self) -> bool {
        matches!(
            self,
            SynSent | SynReceived | Established | FinWait1 | FinWait2
        )
    }

    /// Returns the name in RFC 9293.
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
