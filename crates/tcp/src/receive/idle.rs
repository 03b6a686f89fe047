//! The window of an idle connection when packet memory is short.
//!
//! Rule: an idle connection has a cell, a part of a memory block, as its window. The connection
//! holds the cell and does not only reserve it: in an overcommitted pool, reserved memory may be
//! missing when payload arrives. If the peer sends a cell of payload without a pause, the window
//! becomes two cells; if the peer fills these too, the window becomes an ordinary one. An
//! advertised window is never withdrawn: after a pause, a large window shrinks only as the peer
//! sends into it. `window` computes ordinary windows.
//!
//! A full window is not the only sign that the peer is busy: the number of bytes that the peer sent
//! counts, too. With segments of half the window and a prompt reader, more window is advertised
//! before the second segment arrives, so the window is never full.

use fullpipe_pool::{Duration, Instant, Pool};

use super::{
    half::ReceiveHalf,
    window::{FEWEST_BLOCKS, WindowRoom},
};

/// Window in cells after the peer has filled its first cell. A peer that fills these cells too,
/// without a pause, is not idle.
const OPENED_CELLS: u32 = 2;

/// A connection that has received 16 cells of payload without a pause is not idle, even if its
/// window was never full. Applies only to a connection that has left its cell.
const BUSY_CELLS: u32 = 16;

/// Part of a cell: a peer has used its window if less than an eighth of a cell is left. RFC 9293
/// §3.8.6.2.1 keeps the peer from sending into so small a part of the window.
const REST: u32 = 8;

/// Returns the size of a cell in bytes if a cell can be a window: at least four units of the
/// window field, 2^`scale` bytes each, must fill the cell exactly.
pub fn usable_cell(scale: u8, pool: &Pool) -> Option<u32> {
    let (cell, unit) = (pool.cell_size(), 1 << scale);
    (unit <= cell / 4 && cell.is_multiple_of(unit)).then_some(cell)
}

/// Returns the window of an idle connection in bytes, if memory is short.
fn idle_window(scale: u8, pool: &Pool) -> Option<u32> {
    usable_cell(scale, pool).filter(|_| pool.is_short())
}

/// Returns the largest window in bytes that a SYN-ACK should advertise, if memory is short
/// for handshakes. Once the handshake is complete, the window may be an ordinary one.
pub fn handshake_window(scale: u8, pool: &Pool) -> Option<u32> {
    usable_cell(scale, pool).filter(|_| pool.is_short_for_handshakes())
}

impl ReceiveHalf {
    /// Takes a cell for a first window of `window` bytes, if memory is short and the window
    /// fits. Returns true if a cell was taken.
    pub fn begin_idle(&mut self, window: u32, scale: u8, pool: &mut Pool) -> bool {
        pool.is_short() && self.begin_in_cell(window, scale, pool)
    }

    /// Takes a cell for a first window of `window` bytes, if the window fits. Returns true if a
    /// cell was taken.
    pub fn begin_in_cell(&mut self, window: u32, scale: u8, pool: &mut Pool) -> bool {
        let fits = usable_cell(scale, pool).is_some_and(|cell| window <= cell);
        if !fits || !self.stream.enter_cell(pool) {
            return false;
        }
        (self.burst, self.was_large) = (Some(0), false);
        self.stream.reserve(pool, window.into());
        true
    }

    /// Notes that payload arrives at `now`. If the last payload arrived at least `pause` earlier
    /// and was read, the connection was idle. If memory is short, or the window is already small,
    /// such a pause makes the window small until the peer fills it.
    pub fn end_pause(&mut self, now: Instant, pause: Duration, scale: u8, pool: &mut Pool) {
        let was_idle = now.since(self.arrived) >= pause && self.stream.is_empty();
        if was_idle && (self.burst.is_some() || idle_window(scale, pool).is_some()) {
            let advertised = self.offset_of(self.rcv_adv);
            self.stream.unreserve(pool, advertised);
            self.burst = Some(0);
        }
    }

    /// Returns the offset to which the right edge of a connection that was idle can advance now,
    /// at most `most`. Returns `None` once its window is an ordinary one.
    pub(super) fn idle_edge(
        &mut self,
        most: u64,
        room: &WindowRoom,
        pool: &mut Pool,
    ) -> Option<u64> {
        let burst = self.burst?;
        let cell = pool.cell_size();
        let (small, rest) = self.idle_size(room, cell);
        let was_in_cell = self.stream.is_in_cell();
        let is_full = self.is_filled(burst, (small, rest), cell);
        let is_short = idle_window(room.scale, pool).is_some();
        // Leave the cell only if `kept` blocks stay free. With fewer, the connection could get a
        // window of a few bytes or none.
        let kept = pool.kept_for_cells().max(FEWEST_BLOCKS as u32);
        let is_busy = (is_full && burst > OPENED_CELLS * cell)
            || (!was_in_cell && burst >= BUSY_CELLS.saturating_mul(cell))
            || (burst > 0 && !is_short);
        if is_busy && self.stream.leave_cell(pool, kept) {
            (self.burst, self.was_large) = (None, true);
            return None;
        }
        let opens = was_in_cell && is_full && self.stream.leave_cell(pool, kept);
        let edge = if opens {
            self.next_offset() + u64::from(OPENED_CELLS * cell)
        } else if !self.was_large && self.stream.enter_cell(pool) {
            self.stream.start() + u64::from(cell)
        } else {
            self.next_offset() + u64::from(small)
        };
        let promised = self.offset_of(self.rcv_adv).max(self.stream.reserved_end());
        let goal = edge.min(most).max(promised);
        let backed = self.stream.reserve(pool, goal);
        let is_refused = was_in_cell && is_full && !opens;
        self.short_of_memory = is_refused || backed < goal;
        Some(backed)
    }

    /// Returns the window of this connection while it is idle, and the part of it that a
    /// peer with more to send may leave unused, in bytes.
    ///
    /// A peer that has seen a large window waits for its persist timer before it sends less than a
    /// full segment (RFC 9293 §3.8.6.2.1). A window that was large therefore stays at two segments
    /// of the largest size that the peer may send, and never becomes a cell. The largest size
    /// counts because all segments so far may have been smaller.
    fn idle_size(&self, room: &WindowRoom, cell: u32) -> (u32, u32) {
        if self.was_large {
            (room.mss_most.saturating_mul(2).max(cell), room.mss)
        } else {
            (cell, cell / REST)
        }
    }

    /// Returns true if the peer has used its idle window of `small` bytes, except for less than
    /// `rest` bytes. The peer has sent `burst` bytes without a pause.
    ///
    /// For a window that was large, only the bytes sent count. Up to a segment of such a window is
    /// sometimes not advertised, so a single segment would seem to fill the window.
    fn is_filled(&self, burst: u32, (small, rest): (u32, u32), cell: u32) -> bool {
        let left = self.stream.reserved_end() - self.next_offset();
        let used = burst.saturating_add(rest);
        let is_used = match (self.was_large, self.stream.is_in_cell()) {
            (true, _) => used > small,
            (false, true) => used > cell || left < rest.into(),
            (false, false) => used > cell * (1 + OPENED_CELLS) || left < rest.into(),
        };
        burst > 0 && is_used
    }

    /// Returns true if any growth of the window is advertised at once, unlike RFC 9293 §3.8.6.2.2.
    /// A peer that waits for room for a full segment, or for half of the largest window that it has
    /// seen, might send nothing into the remaining part of a cell. A window that was large has room
    /// for two segments. One segment therefore fits even before growth by the other is advertised,
    /// so growth need not be advertised at once.
    pub(super) fn shows_all_growth(&self, room: &WindowRoom) -> bool {
        let is_cell = self.burst.is_some() && !self.was_large;
        is_cell && self.stream.is_empty() && self.window_left() < room.mss_most
    }
}

#[cfg(test)]
mod tests;
