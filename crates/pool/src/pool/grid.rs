//! The grid of blocks under a stream: byte k × size begins a block.
//!
//! The one rule: an offset is divided by a power of two with a shift, because a division
//! takes longer than all other work of a short write.

/// Blocks of equal size, one after the other from offset 0 on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    size: u32,
    /// Binary logarithm of `size`; 0 if `size` is no power of two.
    shift: u8,
}

impl Grid {
    /// The grid of blocks of `size` bytes.
    pub(super) fn new(size: u32) -> Self {
        let shift = match size.is_power_of_two() {
            true => size.ilog2() as u8,
            false => 0,
        };
        Self { size, shift }
    }

    /// Bytes in a block.
    pub(crate) fn size(self) -> u32 {
        self.size
    }

    /// Number of the block with the byte at `offset`.
    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(crate) fn block_of(self, offset: u64) -> u64 {
        match self.shift {
            0 => offset / u64::from(self.size),
            shift => offset >> (shift % 64),
        }
    }

    /// Place of the byte at `offset` in its block.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn within(self, offset: u64) -> usize {
        match self.shift {
            0 => (offset % u64::from(self.size)) as usize,
            _ => (offset & u64::from(self.size - 1)) as usize,
        }
    }

    /// Number of blocks with bytes before `end`.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn blocks_before(self, end: u64) -> u64 {
        self.block_of(end) + u64::from(self.within(end) > 0)
    }
}

#[cfg(test)]
mod tests;
