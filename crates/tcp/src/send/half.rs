//! The state of the sending half: sequence variables and buffer.
//!
//! Rule: `snd_una` ≤ `snd_nxt`, `snd_nxt` never decreases, and the stream begins at
//! `snd_una` and holds exactly the payload not yet acknowledged. Writing is in `buffer`.

use core::ops::Range;

use fullpipe_pool::{Holder, Pool, Stream, record};

use super::{push::PushMarks, sizing::WriteBuffers};
use crate::{
    Limit, SeqNum,
    seq::{offset_of, seq_of},
};

/// A write that was refused or cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedWrite {
    /// Bytes that the application still wants to write.
    pub wanted: u32,
    /// Limit that cut the write: [`Limit::SendBuffer`] or [`Limit::Memory`].
    pub by: Limit,
    /// The application was notified of room and has not written since.
    pub woken: bool,
}

record!(BlockedWrite { wanted, by, woken });

/// Send sequence variables and send buffer. RFC 9293 §3.3.1.
#[derive(Debug)]
pub struct SendHalf {
    /// Payload from `snd_una` on. Whenever the stream becomes empty, offsets begin at 0 again, so
    /// that the next write has a whole block.
    pub stream: Stream,
    /// Sequence number of the stream's offset 0.
    pub first: SeqNum,
    /// Initial send sequence number.
    pub iss: SeqNum,
    /// Oldest unacknowledged sequence number.
    pub snd_una: SeqNum,
    /// Next sequence number to send for the first time.
    pub snd_nxt: SeqNum,
    /// The peer's window in bytes, counted from `snd_una`.
    pub snd_wnd: u32,
    /// Largest window that the peer ever advertised.
    pub max_snd_wnd: u32,
    /// Sequence number of the segment that last changed the window.
    pub(super) snd_wl1: SeqNum,
    /// Acknowledgment number of that segment.
    pub(super) snd_wl2: SeqNum,
    /// One past the last urgent byte. The number is cleared when that byte is acknowledged;
    /// otherwise it would seem to be ahead again 2³¹ bytes later. RFC 9293 §3.8.5.
    pub snd_up: Option<SeqNum>,
    /// The application closed its direction: FIN follows the payload.
    pub fin_queued: bool,
    /// The last write was refused or cut short.
    pub blocked: Option<BlockedWrite>,
    /// Boundaries of the buffers that were sized at the write (knob
    /// `tcp.segment_sizing`).
    pub buffers: WriteBuffers,
    /// Bytes that PSH marks.
    pub push: PushMarks,
}

record!(SendHalf {
    stream,
    first,
    iss,
    snd_una,
    snd_nxt,
    snd_wnd,
    max_snd_wnd,
    snd_wl1,
    snd_wl2,
    snd_up,
    fin_queued,
    blocked,
    buffers,
    push
});

impl SendHalf {
    /// Creates the half before SYN was sent.
    pub const fn new(iss: SeqNum) -> Self {
        Self {
            stream: Stream::new(Holder::Send),
            first: SeqNum(iss.0.wrapping_add(1)),
            iss,
            snd_una: iss,
            snd_nxt: iss,
            snd_wnd: 0,
            max_snd_wnd: 0,
            snd_wl1: SeqNum(0),
            snd_wl2: SeqNum(0),
            snd_up: None,
            fin_queued: false,
            blocked: None,
            buffers: WriteBuffers::new(),
            push: PushMarks::new(iss),
        }
    }

    /// Returns the stream offset of `seq`.
    pub fn offset_of(&self, seq: SeqNum) -> u64 {
        offset_of(seq, self.first, self.stream.start())
    }

    /// Returns the sequence number after the last byte written. FIN has this number once it
    /// is queued.
    pub fn payload_end(&self) -> SeqNum {
        seq_of(self.stream.end(), self.first)
    }

    /// Returns the bytes written and never sent.
    pub fn unsent(&self) -> u32 {
        self.snd_nxt.room_to(self.payload_end())
    }

    /// Returns the sequence numbers sent and not acknowledged: FlightSize in RFC 5681.
    pub fn outstanding(&self) -> u32 {
        self.snd_una.room_to(self.snd_nxt)
    }

    /// Returns `snd_una..snd_nxt`, the window of data of RFC 3168 §6.1.2.
    pub const fn window_of_data(&self) -> Range<SeqNum> {
        self.snd_una..self.snd_nxt
    }

    /// Returns the bytes from `snd_nxt` to the right edge of the peer's window; 0 if the
    /// edge is not beyond `snd_nxt`.
    pub fn window_room(&self) -> u32 {
        self.snd_nxt.room_to(self.snd_una + self.snd_wnd)
    }

    /// Returns the sequence number of a segment without payload: `snd_nxt`, or the right edge of the
    /// peer's window if a window probe lies beyond it. A peer discards a segment beyond its window,
    /// and with it the ACK. RFC 9293 §3.10.7.4.
    pub fn empty_segment_seq(&self) -> SeqNum {
        let edge = self.snd_una + self.snd_wnd;
        if edge.before(self.snd_nxt) {
            edge
        } else {
            self.snd_nxt
        }
    }

    /// Returns true if only FIN is left to send.
    pub fn fin_is_next(&self) -> bool {
        self.fin_queued && self.snd_nxt == self.payload_end()
    }

    /// Returns true if `ack` acknowledges this side's FIN.
    pub fn fin_acked_by(&self, ack: SeqNum) -> bool {
        self.fin_queued && ack == self.payload_end() + 1
    }

    /// Returns true if nothing waits to be sent or acknowledged.
    pub fn is_idle(&self) -> bool {
        self.snd_una == self.snd_nxt && self.unsent() == 0 && !self.fin_is_next()
    }

    /// Advances `snd_una` to `ack` and frees the payload below it.
    ///
    /// The caller has checked snd_una < ack ≤ snd_nxt (RFC 9293 §3.10.7.4,
    /// fifth step). Returns the bytes of payload newly acknowledged; SYN and
    /// FIN are not counted.
    ///
    /// # Panics
    /// Panics if `ack` is outside that range: accepting it would free unsent bytes.
    pub fn acknowledge(&mut self, ack: SeqNum, pool: &mut Pool) -> u32 {
        assert!(
            self.snd_una.before(ack) && ack.at_or_before(self.snd_nxt),
            "ack {ack} not in flight"
        );
        let acked = self.offset_of(ack).min(self.stream.end()) - self.stream.start();
        self.stream.advance(pool, acked);
        if acked > 0 && self.stream.is_empty() {
            self.begin_at_a_block();
        }
        // The window counts from `snd_una`: it shrinks by the bytes acknowledged.
        self.snd_wnd = self.snd_wnd.saturating_sub(self.snd_una.room_to(ack));
        self.snd_una = ack;
        self.snd_up = self.snd_up.filter(|up| up.after(ack));
        acked as u32
    }

    /// Moves the empty stream to the beginning of a block.
    ///
    /// The rest of the last block could be too small for a write that is taken whole or not
    /// at all (knob `tcp.write_atomic`), and that block may be all the memory there is for
    /// writers (knob `pool.send_floor`).
    fn begin_at_a_block(&mut self) {
        self.first = self.payload_end();
        self.stream.restart(0);
        self.buffers = WriteBuffers::new();
    }

    /// Stores the window of a segment unless the segment is older than the one that last changed
    /// the window (SND.WL1, SND.WL2; RFC 9293 §3.10.7.4). Returns true if the right edge of the
    /// window advanced.
    pub fn update_window(&mut self, seq: SeqNum, ack: SeqNum, window: u32) -> bool {
        let newer =
            self.snd_wl1.before(seq) || (self.snd_wl1 == seq && self.snd_wl2.at_or_before(ack));
        if !newer {
            return false;
        }
        let edge = self.snd_una + self.snd_wnd;
        self.set_window(seq, ack, window);
        edge.before(ack + window)
    }

    /// Sets the window without checking the segment's age, for the handshake.
    pub fn set_window(&mut self, seq: SeqNum, ack: SeqNum, window: u32) {
        self.snd_wnd = window;
        self.max_snd_wnd = self.max_snd_wnd.max(window);
        self.snd_wl1 = seq;
        self.snd_wl2 = ack;
    }
}
