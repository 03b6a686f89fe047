//! The state of the receiving half: sequence variables and buffer.
//!
//! Rule: `rcv_nxt` ≤ `rcv_adv`, the right edge never retreats, and packet memory backs every byte
//! between `rcv_nxt` and `rcv_adv`. `reassembly` stores arriving payload, and `window` computes the
//! window.

use core::ops::Range;

use fullpipe_pool::{Holder, Instant, Pool, Ranges, Stream, record};

use super::{ack_policy::AckPolicy, autotune::RightSizing, edges::PastEdges, recent::RecentRanges};
use crate::{
    SeqNum,
    seq::{offset_of, seq_of},
};

/// Receive sequence variables and receive buffer. RFC 9293 §3.3.1.
#[derive(Debug)]
pub struct ReceiveHalf {
    /// Payload not yet read, with out-of-order payload in its final place;
    /// offset 0 is the first byte after the SYN.
    pub stream: Stream,
    /// Offsets above `rcv_nxt` that have arrived.
    pub(super) ranges: Ranges,
    /// Bytes of payload in `ranges`.
    pub(super) out_of_order: u32,
    /// Initial receive sequence number.
    pub irs: SeqNum,
    /// Next sequence number expected.
    pub rcv_nxt: SeqNum,
    /// The highest right edge that was advertised.
    pub rcv_adv: SeqNum,
    /// The last acknowledgment number sent.
    pub last_ack_sent: SeqNum,
    /// Sequence number of the peer's FIN, once seen.
    pub(super) fin: Option<SeqNum>,
    /// The peer's FIN arrived in order and is counted in `rcv_nxt`.
    pub(super) fin_received: bool,
    /// The ranges of out-of-order payload that changed last, newest first, as SACK blocks report
    /// them.
    pub(super) recent: RecentRanges,
    /// Payload that arrived twice, to be reported in the next ACK. RFC 2883.
    pub(super) duplicate: Range<SeqNum>,
    /// One past the last urgent byte announced. The number is cleared when that byte is read;
    /// otherwise it would seem to be ahead again 2³¹ bytes later. RFC 9293 §3.8.5.
    rcv_up: Option<SeqNum>,
    /// Largest segment received: the size of the peer's full segments.
    pub rcv_mss: u32,
    /// Payload of the last frame in bytes; a device may have merged several segments in
    /// it.
    pub frame: u32,
    /// Decides when an ACK leaves.
    pub ack: AckPolicy,
    /// The window as the peer knew it about a round trip ago.
    pub edges: PastEdges,
    /// The size that the buffer should have.
    pub sizing: RightSizing,
    /// Time at which payload last became readable.
    pub arrived: Instant,
    /// Bytes of payload received in order since the connection was last idle, if its
    /// window is small because it was idle; `None` if its window is an ordinary one.
    pub burst: Option<u32>,
    /// A window larger than two cells (parts of a block) may have been advertised.
    pub(super) was_large: bool,
    /// The last window advertised was zero.
    pub advertised_zero: bool,
    /// The window is smaller than the buffer because memory could not back it.
    pub short_of_memory: bool,
}

record!(ReceiveHalf {
    stream,
    ranges,
    out_of_order,
    irs,
    rcv_nxt,
    rcv_adv,
    last_ack_sent,
    fin,
    fin_received,
    recent,
    duplicate,
    rcv_up,
    rcv_mss,
    frame,
    ack,
    edges,
    sizing,
    arrived,
    burst,
    was_large,
    advertised_zero,
    short_of_memory
});

impl ReceiveHalf {
    /// Creates the half before anything was received; `irs` is the sequence
    /// number of the peer's SYN.
    pub fn new(irs: SeqNum, quick_acks: u32) -> Self {
        let next = irs + 1;
        Self {
            stream: Stream::new(Holder::Receive),
            ranges: Ranges::new(),
            out_of_order: 0,
            irs,
            rcv_nxt: next,
            rcv_adv: next,
            last_ack_sent: next,
            fin: None,
            fin_received: false,
            recent: RecentRanges::NONE,
            duplicate: irs..irs,
            rcv_up: None,
            rcv_mss: 0,
            frame: 0,
            ack: AckPolicy::new(quick_acks),
            edges: PastEdges::new(next),
            sizing: RightSizing::default(),
            arrived: Instant::ZERO,
            burst: None,
            was_large: true,
            advertised_zero: false,
            short_of_memory: false,
        }
    }

    /// Returns the sequence number of stream offset 0.
    pub(super) fn first(&self) -> SeqNum {
        self.irs + 1
    }

    /// Returns the stream offset of `seq`, computed from `rcv_nxt`, because an acceptable segment
    /// is less than 2³¹ away from `rcv_nxt`, however much payload is unread.
    pub(super) fn offset_of(&self, seq: SeqNum) -> u64 {
        offset_of(seq, self.first(), self.offset_of_rcv_nxt())
    }

    /// Returns the stream offset of `rcv_nxt`, which includes the FIN once it was received. The
    /// offset is computed from the first unread byte, which is less than 2³¹ away, because at most
    /// 1 GiB is unread.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(super) fn offset_of_rcv_nxt(&self) -> u64 {
        offset_of(self.rcv_nxt, self.first(), self.stream.start())
    }

    /// Returns the sequence number of stream offset `offset`.
    pub(super) fn seq_of(&self, offset: u64) -> SeqNum {
        seq_of(offset, self.first())
    }

    /// Returns the offset of the next byte expected.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub fn next_offset(&self) -> u64 {
        self.offset_of_rcv_nxt() - u64::from(self.fin_received)
    }

    /// Returns the bytes that the application can read now.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub fn readable(&self) -> u32 {
        self.next_offset().saturating_sub(self.stream.start()) as u32
    }

    /// Returns the bytes from `rcv_nxt` to the advertised right edge.
    pub fn window_left(&self) -> u32 {
        self.rcv_nxt.room_to(self.rcv_adv)
    }

    /// Returns the sequence number of the next byte that the application reads.
    fn read_up_to(&self) -> SeqNum {
        self.rcv_nxt - u32::from(self.fin_received) - self.readable()
    }

    /// Stores an urgent pointer, unless the application has read past it. `up` is one
    /// past the last urgent byte.
    pub fn note_urgent(&mut self, up: SeqNum) {
        if up.after(self.read_up_to()) {
            self.rcv_up = Some(self.rcv_up.map_or(up, |known| known.latest(up)));
        }
    }

    /// Returns the urgent bytes not yet read.
    pub fn urgent_left(&self) -> u32 {
        self.rcv_up.map_or(0, |up| self.read_up_to().room_to(up))
    }

    /// Forgets an urgent pointer that the application has read past.
    pub fn forget_urgent_read(&mut self) {
        let read = self.read_up_to();
        self.rcv_up = self.rcv_up.filter(|up| up.after(read));
    }

    /// Returns true if the peer's FIN has arrived in order.
    pub fn fin_received(&self) -> bool {
        self.fin_received
    }

    /// Returns true if payload waits behind a hole.
    pub fn has_hole(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Returns the number of separate pieces that wait behind holes.
    pub fn ranges(&self) -> u32 {
        self.ranges.count()
    }

    /// Returns true if the reader is slow: unread payload is at least a quarter of a buffer of
    /// `capacity` bytes, or at least as much as the window has left.
    ///
    /// If the buffer equals the bandwidth-delay product, a reader slower than the path
    /// leaves about half of it unread; a reader that reads at once leaves nothing.
    pub fn reader_lags(&self, capacity: u32) -> bool {
        let unread = self.readable();
        unread > 0 && unread >= (capacity / 4).min(self.window_left())
    }

    /// Copies readable payload into `out` and frees it. Returns the bytes
    /// copied.
    pub fn read(&mut self, out: &mut [u8], pool: &mut Pool) -> usize {
        let read = self.peek(out, pool);
        self.consume(read, pool);
        read
    }

    /// Copies readable payload into `out` and keeps it. Returns the bytes copied.
    pub fn peek(&self, out: &mut [u8], pool: &Pool) -> usize {
        let want = out.len().min(self.readable() as usize);
        self.stream
            .read_at(pool, self.stream.start(), &mut out[..want])
    }

    /// Passes readable payload to `take`, slice by slice, and frees the bytes that `take` consumed.
    /// `take` returns the number of bytes consumed; the read ends when this is less than the slice.
    pub fn read_with(&mut self, pool: &mut Pool, take: &mut dyn FnMut(&[u8]) -> usize) -> usize {
        let mut read = 0;
        for slice in self
            .stream
            .slices(pool, self.stream.start()..self.next_offset())
        {
            let took = take(slice).min(slice.len());
            read += took;
            if took < slice.len() {
                break;
            }
        }
        self.consume(read, pool);
        read
    }

    /// Frees `read` bytes at the front. After the last byte before a FIN was read, frees all
    /// memory.
    fn consume(&mut self, read: usize, pool: &mut Pool) {
        self.stream.advance(pool, read as u64);
        if self.fin_received && self.stream.is_empty() {
            self.stream.release(pool);
        }
    }

    /// Frees all memory beyond the readable payload, because nothing more will arrive.
    /// Without readable payload, frees the cell, too.
    pub fn forget_beyond_readable(&mut self, pool: &mut Pool) {
        self.forget_out_of_order(pool);
        self.stream.unreserve(pool, self.next_offset());
        if self.stream.is_empty() {
            self.stream.release(pool);
        }
    }

    /// Checks the invariants of this half.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn verify(&self, pool: &Pool) {
        self.stream.verify(pool);
        assert!(
            self.rcv_nxt.at_or_before(self.rcv_adv),
            "rcv_nxt beyond the advertised edge"
        );
        assert!(
            self.burst.is_some() || !self.stream.is_in_cell(),
            "an ordinary window is in a cell"
        );
        assert!(
            self.next_offset() <= self.stream.end().max(self.stream.start()),
            "unwritten payload counts as received"
        );
        for recent in self.recent.iter() {
            let mut ranges = self.ranges.iter(pool);
            assert!(
                ranges.any(|range| self.numbers(&range) == recent),
                "a SACK block is no range"
            );
        }
    }

    /// Frees all memory: nothing more will be read or received.
    pub fn release(&mut self, pool: &mut Pool) {
        self.forget_out_of_order(pool);
        self.stream.release(pool);
    }
}

#[cfg(test)]
mod tests;
