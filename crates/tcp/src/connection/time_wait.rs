//! What is left of a connection in TIME-WAIT once nobody reads from it.
//!
//! Rule: enough to answer an old segment and to recognise a new SYN, and
//! nothing more; the host keeps these by the thousand.

use fullpipe_pool::Instant;

use super::{Connection, TcpState};
use crate::SeqNum;

/// The remains of a connection. RFC 9293 §3.6.1, RFC 6191.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWait {
    /// Next sequence number this side would have sent.
    pub snd_nxt: SeqNum,
    /// Next sequence number expected: after the peer's FIN.
    pub rcv_nxt: SeqNum,
    /// The window field as it was last advertised: no edge retreats.
    pub window: u16,
    /// The peer's last TSval, if timestamps were used.
    pub ts_recent: Option<u32>,
    /// Start of this side's timestamp clock.
    pub timestamp_offset: u32,
    /// When it is over.
    pub until: Instant,
}

impl Connection {
    /// The remains, if the connection is in TIME-WAIT, has said everything and
    /// nobody holds it: it may then be released and replaced by them.
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
