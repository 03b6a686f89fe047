//! The window this side advertises.
//!
//! Rule: an advertised byte is a reserved byte, and the right edge never
//! retreats. It moves out in steps worth a segment or half the buffer
//! (RFC 9293 §3.8.6.2.2), so that the peer is never lured into sending a
//! small one.

use fullpipe_pool::{Holder, Pool, Pressure, Stream};

use super::ReceiveHalf;
use crate::{TcpConfig, options::DEFAULT_MSS};

/// What bounds the window.
#[derive(Clone, Copy, Debug)]
pub struct WindowRoom {
    /// Bytes that may be received and not yet read.
    pub capacity: u32,
    /// Largest share of the memory within reach, in percent.
    pub share: u32,
    /// The largest segment expected from the peer.
    pub mss: u32,
    /// Shift count of the window field.
    pub scale: u8,
    /// The peer uses up the window: it waits to hear of its growth.
    pub limits_peer: bool,
}

/// Blocks that every connection's window is given. With a single one, the bytes
/// left at its end could be fewer than the window field can express, and
/// nothing would ever move it on.
pub const FEWEST_BLOCKS: u64 = 2;

/// The part of `within_reach` bytes of memory that one window may have: `share`
/// percent, and at least what any peer may send at once, the default MSS.
pub fn fair_bytes(within_reach: u64, share: u32) -> u64 {
    let share = within_reach * u64::from(share) / 100;
    share.max(within_reach.min(DEFAULT_MSS.into()))
}

/// Bytes that `stream` may have by that rule now: of its own blocks and of those
/// that it could get.
pub fn fair_share(stream: &Stream, share: u32, pool: &Pool) -> u64 {
    let own = stream.held_blocks(pool) + stream.promised_blocks(pool);
    let within_reach = u64::from(own) + u64::from(pool.room(stream.holder()));
    fair_bytes(within_reach * u64::from(pool.block_size()), share)
}

/// The largest window there can ever be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargestWindow {
    /// Bytes when it begins where a block does.
    pub most: u32,
    /// Bytes wherever in a block it begins.
    pub always: u32,
}

impl LargestWindow {
    /// Of a buffer of `buffer` bytes in `pool`, whoever else holds memory.
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

/// With more segments than this in a window, part of one more is no loss.
const MANY_SEGMENTS: u32 = 64;

/// The whole segments of `mss` bytes in a window of `bytes` that ends where a
/// block of `block_size` bytes does: a peer leaves the rest unused, and an edge
/// that moves by blocks would cost it a segment now and then.
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
    /// Reserves what the window may grow to and returns the offset it could
    /// reach now: at least what was advertised, as long as that is backed.
    fn reachable_edge(&mut self, room: &WindowRoom, pool: &mut Pool) -> u64 {
        let start = self.stream.start();
        let size = u64::from(pool.block_size());
        let fair = fair_share(&self.stream, room.share, pool);
        let fair_end = (start / size + fair.div_ceil(size).max(FEWEST_BLOCKS)) * size;
        // A buffer may hold more than the field can tell of.
        let told = self.next_offset() + (u64::from(u16::MAX) << room.scale);
        let wanted = (start + u64::from(room.capacity)).min(told);
        let advertised = self.offset_of(self.rcv_adv);
        let goal = wanted.min(fair_end).max(advertised);
        if pool.pressure() != Pressure::Low {
            // Others need what no peer has been told of.
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

    /// Blocks that a first window would take if memory were plenty.
    pub fn first_blocks(&self, room: &WindowRoom, pool: &Pool) -> u32 {
        let window = room.capacity.min(u16::MAX.into());
        (u64::from(window.div_ceil(pool.block_size())) + FEWEST_BLOCKS - 1) as u32
    }

    /// Reserves a first window, if the fewest blocks are to be had; otherwise
    /// nothing, because a connection that cannot receive is not begun.
    pub fn admit(&mut self, room: &WindowRoom, pool: &mut Pool) -> bool {
        self.reachable_edge(room, pool);
        let blocks = self.stream.held_blocks(pool) + self.stream.promised_blocks(pool);
        let admitted = u64::from(blocks) >= FEWEST_BLOCKS || !self.short_of_memory;
        if !admitted {
            self.stream.unreserve(pool, 0);
        }
        admitted
    }

    /// How far the right edge could move out now. Bytes.
    pub fn window_growth(&mut self, room: &WindowRoom, pool: &mut Pool) -> u32 {
        if self.fin_received {
            return 0;
        }
        let edge = self.reachable_edge(room, pool);
        edge.saturating_sub(self.offset_of(self.rcv_adv))
            .min(u32::MAX.into()) as u32
    }

    /// Whether a growth by `growth` bytes is worth showing to the peer:
    /// a segment, or half of what the window can be. RFC 9293 §3.8.6.2.2.
    pub fn is_worth_showing(&self, growth: u32, room: &WindowRoom) -> bool {
        let left = self.window_left();
        let whole = left.saturating_add(growth).saturating_add(self.readable());
        growth > 0 && growth >= room.mss.min(whole / 2)
    }

    /// Whether the peer should hear of the growth now, without other reason to
    /// send. A peer that may be waiting hears of any useful amount; one that uses
    /// up its window as it grows hears of what makes a difference to it; to any
    /// other a quarter is soon enough. Where a device merges segments, frames
    /// count as they arrive: one ACK for each is enough.
    pub fn update_is_due(&self, growth: u32, room: &WindowRoom) -> bool {
        if !self.is_worth_showing(growth, room) {
            return false;
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

    /// The window field of a segment that leaves now. Moves `rcv_adv`.
    ///
    /// The field counts in units of 2^scale from `rcv_nxt`, so an edge that is
    /// not a whole number of units away is rounded up, and the bytes this adds
    /// are reserved first. Only when memory refuses them is it rounded down;
    /// the edge then shows less than one unit lower than before, while
    /// everything advertised so far is still accepted (RFC 7323 §2.4).
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
