//! The knobs (settings) of packet memory.
//!
//! Rule: a configuration states how much memory there is and how it is shared. Nothing is
//! allocated here.

crate::knobs! {
    /// The size of packet memory, and how it is shared.
    pub struct PoolConfig in "pool" {
        /// Blocks of packet memory.
        blocks: u32 = 4096, legal 1 => u32::MAX - 1, drawn 4 => 256, "blocks";
        /// Size of a block.
        block_size: u32 = 2048, legal 1 => 1 << 30, drawn 64 => 2048, "bytes";
        /// Cells (equal parts) into which a block can be divided. Once a quarter of the pool is
        /// used or reserved, the receive window of a newly accepted or idle connection is only one
        /// cell instead of whole blocks. After the peer has sent a cell of payload without a
        /// pause, the window grows to two cells, and after these to an ordinary window of blocks. Cells are not used if this knob is 1, or if a cell has
        /// less than 256 bytes. A connection uses a cell only if the cell is a whole number of units
        /// of its window field, and at least four. For a cell of 512 bytes, this holds unless the
        /// connection's window may exceed 8 MB.
        cells: u32 = 4, legal 1 => 16, drawn 1 => 4, "cells";
        /// Blocks guaranteed to senders: only senders can take these blocks. Without this floor,
        /// windows advertised to peers could use all the memory that an answer to those peers
        /// needs.
        send_floor: u32 = 2, legal 1 => u32::MAX - 1, drawn 1 => 8, "blocks";
        /// Blocks guaranteed to receivers: only receivers can take these blocks. A block that is
        /// divided into cells counts as taken.
        receive_floor: u32 = 2, legal 1 => u32::MAX - 1, drawn 1 => 8, "blocks";
        /// Limit on blocks used and reserved together, in percent of all blocks. At 100, all
        /// advertised windows together fit into the pool. More than 100 lets more idle connections
        /// advertise a window, at the risk that a block is missing when payload arrives; `cells`
        /// has the same effect without this risk.
        overcommit_percent: u32 = 100, legal 100 => 100_000, drawn 100 => 100, "%";
        /// Share of used and reserved blocks below which memory pressure (see `pressure`) ends.
        pressure_low: u32 = 70, legal 1 => 100, drawn 30 => 70, "%";
        /// Share of used and reserved blocks at which memory pressure begins: autotuned buffers stop
        /// growing, and the largest shrink.
        pressure: u32 = 80, legal 1 => 100, drawn 70 => 90, "%";
        /// Share of used and reserved blocks at which all autotuned buffers shrink to their initial
        /// size.
        pressure_high: u32 = 95, legal 1 => 100, drawn 90 => 100, "%";
        /// Ranges of out-of-order payload that all reassembly queues together may use. 0 means one
        /// range for each 8 KiB of the pool, but at least 1,024.
        ranges: u32 = 0, legal 0 => u32::MAX - 1, drawn 16 => 1024, "ranges";
    }
}

/// Smallest number of ranges of out-of-order payload in a pool, if `pool.ranges` is 0.
const FEWEST_RANGES: u64 = 1_024;
/// Bytes of packet memory for each range. 8 KiB are about six segments of 1,460 bytes, so a pool
/// full of out-of-order payload can have one hole (gap between ranges) for every six segments.
const BYTES_PER_RANGE: u64 = 8 << 10;

impl PoolConfig {
    /// Returns the bytes of all blocks.
    pub const fn bytes(&self) -> u64 {
        self.blocks as u64 * self.block_size as u64
    }

    /// Returns the number of ranges of all reassembly queues: the knob `pool.ranges`, or, if
    /// that is 0, a number that follows from the pool's size.
    pub fn range_count(&self) -> u32 {
        match self.ranges {
            0 => (self.bytes() / BYTES_PER_RANGE).clamp(FEWEST_RANGES, u64::from(u32::MAX) - 1)
                as u32,
            set => set,
        }
    }

    /// Returns the reason why this configuration is impossible, if it is.
    #[inline(never)]
    pub fn contradiction(&self) -> Option<&'static str> {
        if self.blocks == 0 || self.blocks == u32::MAX {
            return Some("a pool needs at least 1 and at most 2^32 - 2 blocks");
        }
        if self.block_size == 0 {
            return Some("a block needs at least 1 byte");
        }
        if (self.blocks as usize)
            .checked_mul(self.block_size as usize)
            .is_none()
        {
            return Some("blocks x block_size is more than this machine can address");
        }
        if u64::from(self.send_floor) + u64::from(self.receive_floor) > u64::from(self.blocks) {
            return Some("send_floor and receive_floor together exceed the number of blocks");
        }
        if self.overcommit_percent < 100 {
            return Some(
                "overcommit_percent must be at least 100: less would leave blocks that can never be used",
            );
        }
        if self.pressure_low > self.pressure || self.pressure > self.pressure_high {
            return Some(
                "pressure_low must be at most pressure, and pressure at most pressure_high",
            );
        }
        if self.ranges == u32::MAX {
            return Some("at most 2^32 - 2 ranges");
        }
        None
    }
}
