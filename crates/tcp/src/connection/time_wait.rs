//! A connection in TIME-WAIT that the application has closed and read.
//!
//! Rule: [`TimeWait`] keeps only what is needed to answer an old segment and to recognise
//! a new SYN, because a host may have thousands of these.

use fullpipe_pool::Instant;

use super::{Connection, TcpState};
use crate::SeqNum;

/// State of a connection in TIME-WAIT. RFC 9293 §3.6.1, RFC 6191.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWait {
    /// Next sequence number that this side would have sent.
    pub snd_nxt: SeqNum,
    /// Next sequence number expected: after the peer's FIN.
    pub rcv_nxt: SeqNum,
    /// The window field as last advertised, because the right edge does not retreat.
    pub window: u16,
    /// The peer's last TSval, if timestamps were used.
    pub ts_recent: Option<u32>,
    /// Start of this side's timestamp clock.
    pub timestamp_offset: u32,
    /// End of TIME-WAIT.
    pub until: Instant,
}

impl Connection {
    /// Returns the state to keep if the connection is an orphan (closed by its
    /// application) in TIME-WAIT without an ACK due; the connection may then be released.
    pub fn time_wait(&self, now: Instant) -> Option<TimeWait> {
        let over = self.state == TcpState::TimeWait && self.orphan && !self.receive.ack.is_due();
        if !over {
            return None;
        }
        Some(TimeWait {
            snd_nxt: self.send.snd_nxt,
            rcv_nxt: self.receive.rcv_nxt,
            window: (self.receive.window_left() >> self.agreed.rcv_wscale).min(u16::MAX.into())
                as u16,
            ts_recent: self.agreed.timestamps.then(|| self.timestamps.ts_recent()),
            timestamp_offset: self
                .timestamps
                .value(now)
                .wrapping_sub(now.as_millis() as u32),
            until: self.timers.linger.get()?,
        })
    }
}
