//! The window that this side advertises.
//!
//! Rule: an advertised byte is a reserved byte, and the right edge never retreats. The edge
//! advances in steps of a segment or half the buffer (RFC 9293 §3.8.6.2.2), so that the peer does
//! not send small segments.

use fullpipe_pool::{Holder, Pool, Pressure, Stream};

use super::half::ReceiveHalf;
use crate::{TcpConfig, segment::DEFAULT_MSS};

/// The bounds on the window.
#[derive(Clone, Copy, Debug)]
pub struct WindowRoom {
    /// Bytes that may be received and not yet read.
    pub capacity: u32,
    /// Percentage that the window may take of the blocks that are free or held by this connection.
    pub share: u32,
    /// Size of the peer's full segments: the largest one seen or, before the first, the MSS offered
    /// to the peer.
    pub mss: u32,
    /// Largest segment that the peer may send, seen or not.
    pub mss_most: u32,
    /// Shift count of the window field.
    pub scale: u8,
    /// The window limits the peer, so that the peer waits for window updates.
    pub limits_peer: bool,
}

/// Smallest number of blocks for the window of a connection. With a single block, the bytes left at
/// its end could be fewer than one unit of the window field, and the window would never advance.
pub const FEWEST_BLOCKS: u64 = 2;

/// Returns the share of `within_reach` bytes of memory that one window may have: `share`
/// percent, but at least the default MSS, which any peer may send at once.
pub fn fair_bytes(within_reach: u64, share: u32) -> u64 {
    let share = within_reach * u64::from(share) / 100;
    share.max(within_reach.min(DEFAULT_MSS.into()))
}

/// Returns the bytes that `stream` may have by [`fair_bytes`]: a share of the blocks that it holds
/// or could get. While idle connections have their windows in cells (parts of
/// blocks), some blocks are left to idle connections.
pub fn fair_share(stream: &Stream, share: u32, pool: &Pool) -> u64 {
    let own = stream.backing_blocks(pool);
    let room = pool
        .room(stream.holder())
        .saturating_sub(pool.kept_for_cells());
    let within_reach = u64::from(own) + u64::from(room);
    fair_bytes(within_reach * u64::from(pool.block_size()), share)
}

/// The largest window that a connection can ever advertise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargestWindow {
    /// Bytes, if the window begins at the start of a block.
    pub most: u32,
    /// Bytes that are certain: the window may begin anywhere in a block.
    pub always: u32,
}

impl LargestWindow {
    /// Creates the largest window of a buffer of `buffer` bytes if no other
    /// connection holds memory.
    pub fn new(buffer: u32, config: &TcpConfig, pool: &Pool) -> Self {
        let size = u64::from(pool.block_size());
        let memory = u64::from(pool.most(Holder::Receive)) * size;
        let fair = fair_bytes(memory, config.window_share).max(FEWEST_BLOCKS * size);
        Self {
            most: fair.min(buffer.into()) as u32,
            always: (fair - size + 1).min(buffer.into()) as u32,
        }
    }
}

/// In a window of more than 64 segments, an unused part of a segment is insignificant.
const MANY_SEGMENTS: u32 = 64;

/// Returns the bytes of the whole segments of `mss` bytes that are certain to fit into a window of
/// `bytes` bytes, wherever in a block the window begins. A peer that sends whole segments cannot
/// use the remaining bytes. Returns `bytes` if fewer than two segments are certain, or more than
/// [`MANY_SEGMENTS`].
fn whole_segments(bytes: u64, mss: u32, block_size: u32) -> u64 {
    let size = u64::from(block_size);
    let always = (bytes.div_ceil(size).max(1) - 1) * size + 1;
    let segments = (always / u64::from(mss.max(1))).min(u32::MAX.into()) as u32;
    match segments {
        2..=MANY_SEGMENTS => always - always % u64::from(mss),
        _ => bytes,
    }
}

impl ReceiveHalf {
    /// Reserves memory for the largest window, and returns the offset that the right edge could
    /// reach now: at least the advertised edge, unless memory does not back it.
    fn reachable_edge(&mut self, room: &WindowRoom, pool: &mut Pool) -> u64 {
        // Bound the window by its field, because the buffer may be larger than the field can
        // express.
        let field_max = self.next_offset() + (u64::from(u16::MAX) << room.scale);
        let wanted = (self.stream.start() + u64::from(room.capacity)).min(field_max);
        if let Some(edge) = self.idle_edge(wanted, room, pool) {
            return edge;
        }
        let advertised = self.offset_of(self.rcv_adv);
        let is_reserved = wanted.max(advertised) <= self.stream.reserved_end();
        if is_reserved && pool.pressure() == Pressure::Low {
            // Everything wanted is reserved, so the fair share does not matter.
            self.short_of_memory = false;
            return wanted.max(advertised);
        }
        let start = self.stream.start();
        let size = u64::from(pool.block_size());
        let fair = fair_share(&self.stream, room.share, pool);
        let fair_end = (start / size + fair.div_ceil(size).max(FEWEST_BLOCKS)) * size;
        let goal = wanted.min(fair_end).max(advertised);
        if pool.pressure() != Pressure::Low {
            // Give back the blocks beyond this goal, because other connections need them.
            self.stream.unreserve(pool, goal);
        }
        let backed = self.stream.reserve(pool, goal);
        self.short_of_memory = backed < wanted;
        let edge = if backed < wanted {
            start + whole_segments(backed - start, room.mss, pool.block_size())
        } else {
            wanted
        };
        edge.max(advertised.min(backed))
    }

    /// Returns the blocks that a first window would take if memory were
    /// plentiful.
    pub fn first_blocks(&self, room: &WindowRoom, pool: &Pool) -> u32 {
        let window = room.capacity.min(u16::MAX.into());
        (u64::from(window.div_ceil(pool.block_size())) + FEWEST_BLOCKS - 1) as u32
    }

    /// Reserves a first window. Returns false, and reserves nothing, if there
    /// is not enough memory to receive at all: the connection is then not
    /// opened.
    pub fn admit(&mut self, room: &WindowRoom, pool: &mut Pool) -> bool {
        self.reachable_edge(room, pool);
        let blocks = self.stream.backing_blocks(pool);
        let admitted = u64::from(blocks) >= FEWEST_BLOCKS || !self.short_of_memory;
        if !admitted {
            self.stream.unreserve(pool, 0);
        }
        admitted
    }

    /// Returns the bytes by which the right edge could advance now.
    pub fn window_growth(&mut self, room: &WindowRoom, pool: &mut Pool) -> u32 {
        if self.fin_received {
            return 0;
        }
        let edge = self.reachable_edge(room, pool);
        edge.saturating_sub(self.offset_of(self.rcv_adv))
            .min(u32::MAX.into()) as u32
    }

    /// Returns true if a growth by `growth` bytes is worth advertising: if it is at least a
    /// segment, or half of the largest window. RFC 9293 §3.8.6.2.2.
    pub fn is_worth_showing(&self, growth: u32, room: &WindowRoom) -> bool {
        let left = self.window_left();
        let whole = left.saturating_add(growth).saturating_add(self.readable());
        growth > 0 && (growth >= room.mss.min(whole / 2) || self.shows_all_growth(room))
    }

    /// Returns true if a growth by `growth` bytes is advertised with an ACK of its own.
    ///
    /// If less than a segment of window is left, the peer may have stopped, and any growth that is
    /// worth advertising is advertised. If the window limits the peer, the growth must be a segment
    /// or a 64th of the window, whichever is larger; otherwise two segments or a quarter of the
    /// window, whichever is larger. A growth of half of the window is always enough. If a device
    /// merges segments, a frame counts as a segment, because one ACK a frame is enough.
    pub fn update_is_due(&self, growth: u32, room: &WindowRoom) -> bool {
        if !self.is_worth_showing(growth, room) {
            return false;
        }
        if self.shows_all_growth(room) {
            return true;
        }
        let left = self.window_left();
        let whole = left.saturating_add(growth).saturating_add(self.readable());
        let full = room.mss.max(self.frame);
        let step = if room.limits_peer {
            (whole / MANY_SEGMENTS).max(full)
        } else {
            (whole / 4).max(2 * full)
        };
        left < room.mss || growth >= step.min(whole / 2)
    }

    /// Returns the window field of a segment that leaves now, and advances
    /// `rcv_adv`.
    ///
    /// The field counts in units of 2^scale from `rcv_nxt`. If the edge is not a whole number of
    /// units away, it is rounded up, and the bytes that this adds are reserved first. If memory for
    /// them is refused, the edge is rounded down. The peer then sees the edge up to one unit lower
    /// than before, but everything advertised so far is still accepted (RFC 7323 §2.4).
    pub fn window_field(&mut self, room: &WindowRoom, pool: &mut Pool) -> u16 {
        if self.fin_received {
            return self.field_for(self.window_left(), room.scale);
        }
        let growth = self.window_growth(room, pool);
        let mut edge = self.offset_of(self.rcv_adv);
        if self.is_worth_showing(growth, room) {
            edge += u64::from(growth);
        }
        let next = self.next_offset();
        let unit = 1u64 << room.scale;
        let most = u64::from(u16::MAX) * unit;
        let rounded_up = next + (edge - next).div_ceil(unit).saturating_mul(unit).min(most);
        if self.stream.reserve(pool, rounded_up) >= rounded_up {
            self.rcv_adv = self.rcv_adv.latest(self.seq_of(rounded_up));
            return ((rounded_up - next) >> room.scale) as u16;
        }
        let rounded_down = next + (edge - next) / unit * unit;
        self.rcv_adv = self.rcv_adv.latest(self.seq_of(rounded_down));
        ((rounded_down - next) >> room.scale).min(u16::MAX.into()) as u16
    }

    fn field_for(&self, bytes: u32, scale: u8) -> u16 {
        (bytes >> scale).min(u16::MAX.into()) as u16
    }
}

#[cfg(test)]
mod tests;
