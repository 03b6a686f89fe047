//! The level of memory use, in three steps.
//!
//! Rule: pressure begins when the use reaches `pool.pressure` and ends only below the lower
//! `pool.pressure_low`. With a single bound, buffers that shrink because of pressure would end the
//! pressure at once. Buffers decide how they react.

use crate::config::PoolConfig;

#[cfg(test)]
mod tests;

/// The level of packet memory: blocks held and promised, compared with the bounds that knobs set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Pressure {
    /// Memory is plentiful: buffers may grow.
    #[default]
    Low,
    /// Autotuned buffers stop growing, and those with more than their share shrink.
    Pressure,
    /// Autotuned buffers shrink to their initial size.
    High,
}

impl core::fmt::Display for Pressure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

impl Pressure {
    /// The level's name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Pressure => "pressure",
            Self::High => "high",
        }
    }
}

/// The level, and the blocks at which it changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gauge {
    level: Pressure,
    low: u64,
    pressure: u64,
    high: u64,
}

impl Gauge {
    /// The gauge of a pool of `limit` blocks, none of them held or promised.
    pub(super) fn new(config: &PoolConfig, limit: u64) -> Self {
        let blocks = |percent: u32| (limit * u64::from(percent)).div_ceil(100);
        Self {
            level: Pressure::Low,
            low: blocks(config.pressure_low),
            pressure: blocks(config.pressure),
            high: blocks(config.pressure_high),
        }
    }

    pub(super) fn level(&self) -> Pressure {
        self.level
    }

    /// Updates the level: `committed` blocks are held or promised now.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(super) fn follow(&mut self, committed: u64) {
        self.level = if committed >= self.high {
            Pressure::High
        } else if committed >= self.pressure {
            self.level.max(Pressure::Pressure)
        } else if committed >= self.low {
            self.level.min(Pressure::Pressure)
        } else {
            Pressure::Low
        };
    }
}
