//! The knobs of packet memory.
//!
//! The one rule: a configuration says how much memory there is and how it is
//! shared, never how it is used. Nothing is allocated here.

/// How much packet memory there is, and how it is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Number of blocks. At least 1.
    pub blocks: u32,
    /// Bytes in one block. At least 1.
    pub block_size: u32,
    /// Blocks guaranteed to senders: no other holder can take the last of them.
    pub send_floor: u32,
    /// Blocks guaranteed to receivers: no other holder can take the last of them.
    pub receive_floor: u32,
    /// What may be promised and held together, in percent of the blocks. At
    /// least 100; at 100 a promise is always kept.
    pub overcommit_percent: u32,
    /// Ranges that all reassembly queues and scoreboards may hold together.
    pub ranges: u32,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            blocks: 4096,
            block_size: 2048,
            send_floor: 0,
            receive_floor: 0,
            overcommit_percent: 100,
            ranges: 1024,
        }
    }
}

impl PoolConfig {
    /// Says in words what makes this configuration impossible, if anything.
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
            return Some("overcommit_percent below 100 would leave blocks that nobody can take");
        }
        if self.ranges == u32::MAX {
            return Some("at most 2^32 - 2 ranges");
        }
        None
    }
}
