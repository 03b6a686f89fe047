//! PSH: the segments that ask the receiver to deliver at once. RFC 9293 §3.9.1.2.
//!
//! Rule: every write asks for a push (RFC 9293: SEND with PUSH). Requests that wait are
//! merged: among the writes whose ends are unsent, only the first and the last are
//! remembered.

use fullpipe_pool::record;

use crate::{PushPolicy, SeqNum};

/// Marks of a connection, each the sequence number after the marked byte.
#[derive(Clone, Copy, Debug)]
pub struct PushMarks {
    /// End of the first write that is not sent completely; at or before `snd_nxt` if there is none.
    write_end: SeqNum,
    /// End of the last new segment that carried PSH.
    pushed: SeqNum,
}

record!(PushMarks { write_end, pushed });

impl PushMarks {
    /// Creates the marks before anything was written.
    pub const fn new(iss: SeqNum) -> Self {
        let first = SeqNum(iss.0.wrapping_add(1));
        Self {
            write_end: first,
            pushed: first,
        }
    }

    /// Notes a write that ends at `end`.
    pub fn on_write(&mut self, end: SeqNum, snd_nxt: SeqNum) {
        if !self.write_end.after(snd_nxt) {
            self.write_end = end;
        }
    }

    /// Returns true if a segment with payload up to `end` carries PSH, and notes this PSH. `drains`
    /// means that the segment leaves nothing unsent.
    pub fn take(
        &mut self,
        end: SeqNum,
        drains: bool,
        max_snd_wnd: u32,
        policy: PushPolicy,
    ) -> bool {
        let half_window = self.pushed + max_snd_wnd / 2;
        let takes = match policy {
            PushPolicy::Write => drains || end == self.write_end || end.after(half_window),
            PushPolicy::Drained => drains,
            PushPolicy::Every => true,
            PushPolicy::Never => false,
        };
        if takes {
            self.pushed = self.pushed.latest(end);
        }
        takes
    }
}

#[cfg(test)]
mod tests;
