//! The window of an idle connection when packet memory is short.
//!
//! Rule: an idle connection has a cell as its window, which is held for it. A peer that
//! sends a cell without a pause is given two cells more, and a peer that sends those an
//! ordinary window. A request of less than three cells therefore leaves a connection that
//! fits a cell again. What was advertised is kept: a large window becomes small only as the peer
//! uses it. Ordinary windows are computed in `window`.
//!
//! The bytes sent decide, too, not only a window that is seen full: with segments of half
//! the window and a prompt reader, room is advertised before the second segment arrives.

use fullpipe_pool::{Duration, Instant, Pool};

use super::{
    half::ReceiveHalf,
    window::{FEWEST_BLOCKS, WindowRoom},
};

/// Window in cells after the first one was sent. A peer that sends this too, without a
/// pause, is not idle.
const OPENED_CELLS: u32 = 2;

/// Payload without a pause, in cells, after which a connection is not idle, however large
/// its window.
const BUSY_CELLS: u32 = 16;

/// Parts of a cell; a peer that has left less than one of its window has used it, because
/// the rest may be less than it sends at once (RFC 9293 §3.8.6.2.1).
const REST: u32 = 8;

/// Returns the size of a cell in bytes if cells are of use: some units of the window
/// field, 2^`scale` bytes each, must fill one.
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
    /// fits. Returns true if it has taken one.
    pub fn begin_idle(&mut self, window: u32, scale: u8, pool: &mut Pool) -> bool {
        pool.is_short() && self.begin_in_cell(window, scale, pool)
    }

    /// Takes a cell for a first window of `window` bytes, if it fits. Returns true if it has
    /// taken one.
    pub fn begin_in_cell(&mut self, window: u32, scale: u8, pool: &mut Pool) -> bool {
        let fits = usable_cell(scale, pool).is_some_and(|cell| window <= cell);
        if !fits || !self.stream.enter_cell(pool) {
            return false;
        }
        (self.burst, self.was_large) = (Some(0), false);
        self.stream.reserve(pool, window.into());
        true
    }

    /// Notes that payload arrives at `now`. After a pause of `pause`, the connection was
    /// idle: if memory is short, its window stays small.
    pub fn end_pause(&mut self, now: Instant, pause: Duration, scale: u8, pool: &mut Pool) {
        let was_idle = now.since(self.arrived) >= pause && self.stream.is_empty();
        if was_idle && (self.burst.is_some() || idle_window(scale, pool).is_some()) {
            let advertised = self.offset_of(self.rcv_adv);
            self.stream.unreserve(pool, advertised);
            self.burst = Some(0);
        }
    }

    /// Returns the offset that the right edge of a connection that was idle could reach
    /// now, at most `most`; `None` from the time when its window is an ordinary one.
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
        // Outside the cell a window of a few bytes, or none, would be worse than the cell.
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
    /// A peer that has seen a large window waits for its persist timer before it sends less
    /// than a full segment (RFC 9293 §3.8.6.2.1). A window that was large therefore stays
    /// at two segments, and never becomes a cell. Segments larger than all that it has sent
    /// may follow.
    fn idle_size(&self, room: &WindowRoom, cell: u32) -> (u32, u32) {
        if self.was_large {
            (room.mss_most.saturating_mul(2).max(cell), room.mss)
        } else {
            (cell, cell / REST)
        }
    }

    /// Returns true if the peer, which has sent `burst` bytes without a pause, has used its
    /// idle window of `small` bytes but for less than `rest`.
    ///
    /// A window that was large may have been advertised with up to a segment less. So only
    /// the bytes sent count, or a single segment would seem to fill it.
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

    /// Returns true if any growth of the window is advertised at once, in spite of silly
    /// windows (RFC 9293 §3.8.6.2.2): a peer that waits for room for a full segment, or for
    /// half of the largest window that it has seen, might send nothing into what is left of a
    /// cell. A window that was large has room for two segments. Until growth by one of them
    /// is advertised, the other fits.
    pub(super) fn shows_all_growth(&self, room: &WindowRoom) -> bool {
        let is_cell = self.burst.is_some() && !self.was_large;
        is_cell && self.stream.is_empty() && self.window_left() < room.mss_most
    }
}

#[cfg(test)]
mod tests;
