//! The size of a buffer that grows with what its connection needs.
//!
//! Rule: between the size that was set and the most there may be; growth needs
//! plenty of memory, and pressure takes it back. A smaller size revokes nothing:
//! it is what may be taken from now on. What is needed is not decided here.

use fullpipe_pool::Pressure;

#[cfg(test)]
mod tests;

/// Fewest bytes of text that any buffer has.
const LEAST_PAYLOAD: u32 = 128;

/// A buffer's size in bytes, and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunedSize {
    least: u32,
    most: u32,
    size: u32,
}

impl TunedSize {
    /// Begins with `set` bytes and may grow to `most`; not at all if that is no
    /// more.
    pub const fn new(set: u32, most: u32) -> Self {
        Self {
            least: set,
            most: if most > set { most } else { set },
            size: set,
        }
    }

    /// What text may have of a buffer that was set to `set` bytes and may grow to
    /// `max`: `share` percent. One that does not grow counts no more than `limit`.
    pub const fn for_payload(set: u32, max: u32, limit: u32, share: u32) -> Self {
        let is_tuned = max > set;
        let set = if is_tuned || set < limit { set } else { limit };
        Self::new(payload_of(set, share), payload_of(max, share))
    }

    /// Bytes that the buffer may hold now.
    pub const fn get(self) -> u32 {
        self.size
    }

    /// Bytes that it may ever hold.
    pub const fn most(self) -> u32 {
        self.most
    }

    /// Whether it may be of another size than the one set.
    pub const fn is_tuned(self) -> bool {
        self.most > self.least
    }

    /// `wanted` bytes would be right; under pressure nobody has more than `fair`
    /// beyond what was set.
    pub fn follow(&mut self, wanted: u32, pressure: Pressure, fair: u32) {
        let wanted = wanted.clamp(self.least, self.most);
        self.size = match pressure {
            Pressure::Low => wanted,
            Pressure::Pressure => self.size.min(wanted).min(fair.max(self.least)),
            Pressure::High => self.least,
        };
    }
}

/// `share` percent of a buffer of `bytes`, if there is one.
const fn payload_of(bytes: u32, share: u32) -> u32 {
    let text = (bytes as u64 * share as u64 / 100) as u32;
    if text < LEAST_PAYLOAD && LEAST_PAYLOAD < bytes {
        LEAST_PAYLOAD
    } else if text < LEAST_PAYLOAD {
        bytes
    } else {
        text
    }
}
