//! Tells a reset that ended its connection from one that the connection survived.
//!
//! Rule: a connection survived a reset if the end that sent the reset, or in whose name somebody
//! else sent it, later sends another segment that is no reset. A receiver answers a reset outside
//! its window, or with another sequence number than RCV.NXT, with a challenge ACK and stays
//! connected (RFC 5961 §3.2).

use fullpipe_wire::TcpFlags;

use super::segment::{End, Segment};

/// A segment that left before a reset may pass the tap up to this many nanoseconds after it.
const REORDERING_NS: i64 = 3_000_000;

#[derive(Clone, Copy, Debug)]
struct Reset {
    by: End,
    at_ns: i64,
    seq: u32,
}

/// The resets of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resets(Option<Reset>);

impl Resets {
    /// Takes the next segment of the connection. Returns true if it begins or ends the state
    /// [`is_reset`](Self::is_reset).
    pub(crate) fn on_segment(&mut self, segment: &Segment) -> bool {
        let is_reset = segment.flags.contains(TcpFlags::RST);
        match self.0 {
            None if is_reset => {
                self.0 = Some(Reset {
                    by: segment.from,
                    at_ns: segment.at_ns,
                    seq: segment.seq,
                });
                true
            }
            Some(reset) if !is_reset && segment.from == reset.by => {
                let is_later = segment.at_ns.saturating_sub(reset.at_ns) > REORDERING_NS;
                let is_after = segment.seq.wrapping_sub(reset.seq) as i32 >= 0;
                let is_alive = is_later || (is_after && segment.sequence_len() > 0);
                self.0 = self.0.filter(|_| !is_alive);
                is_alive
            }
            None | Some(_) => false,
        }
    }

    /// Returns true if a reset passed and the connection has not survived it.
    pub(crate) const fn is_reset(&self) -> bool {
        self.0.is_some()
    }
}
