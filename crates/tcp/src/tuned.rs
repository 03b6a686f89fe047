//! The size of a buffer that grows with the needs of its connection.
//!
//! Rule: the size is between the configured size and a maximum. The size grows only while
//! memory is plentiful, and shrinks under pressure. A smaller size never withdraws a
//! window that was advertised. The callers compute the size that is needed.

use fullpipe_pool::{
    Pressure,
    record::{Record, RecordReader, RecordWriter},
};

#[cfg(test)]
mod tests;

/// A buffer of 128 bytes or more has room for at least 128 bytes of payload.
const LEAST_PAYLOAD: u32 = 128;

/// The size of a buffer in bytes, and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunedSize {
    least: u32,
    most: u32,
    size: u32,
}

/// Few sizes are changed by applications or have grown, so they are usual numbers.
impl Record for TunedSize {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        for number in self.numbers() {
            to.usual(number);
        }
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        let [least, most, size] = core::array::from_fn(|_| from.usual());
        Self { least, most, size }
    }
}

impl TunedSize {
    /// Creates a size of `set` bytes that may grow to `most`. It cannot grow if `most` is
    /// no more than `set`.
    pub const fn new(set: u32, most: u32) -> Self {
        Self {
            least: set,
            most: if most > set { most } else { set },
            size: set,
        }
    }

    /// Creates the size of the payload in a buffer: `share` percent of the buffer's own size, which
    /// was set to `set` bytes and may grow to `max`. A buffer that cannot grow (`max` is no larger
    /// than `set`) counts as at most `limit` bytes.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub const fn for_payload(set: u32, max: u32, limit: u32, share: u32) -> Self {
        let (set, most) = if cfg!(feature = "autotune") && max > set {
            (set, max)
        } else if set > limit {
            (limit, limit)
        } else {
            (set, set)
        };
        Self::new(payload_of(set, share), payload_of(most, share))
    }

    /// Returns all fields.
    pub const fn numbers(self) -> [u32; 3] {
        [self.least, self.most, self.size]
    }

    /// Returns the bytes that the buffer may hold now.
    pub const fn get(self) -> u32 {
        self.size
    }

    /// Returns the largest size that the buffer may reach.
    pub const fn most(self) -> u32 {
        self.most
    }

    /// Returns true if the size may differ from the one that was set.
    pub const fn is_tuned(self) -> bool {
        cfg!(feature = "autotune") && self.most > self.least
    }

    /// Sets the size to `wanted` bytes within its bounds. Under pressure, the size does not grow,
    /// and shrinks to `fair` bytes or to the configured size, whichever is larger. Under high
    /// pressure, it shrinks to the configured size.
    pub fn follow(&mut self, wanted: u32, pressure: Pressure, fair: u32) {
        let wanted = wanted.clamp(self.least, self.most);
        self.size = match pressure {
            Pressure::Low => wanted,
            Pressure::Pressure => self.size.min(wanted).min(fair.max(self.least)),
            Pressure::High => self.least,
        };
    }
}

/// Returns `share` percent of a buffer of `bytes`, but at least [`LEAST_PAYLOAD`], or the whole
/// buffer if it is smaller.
const fn payload_of(bytes: u32, share: u32) -> u32 {
    let payload = (bytes as u64 * share as u64 / 100) as u32;
    if payload < LEAST_PAYLOAD && LEAST_PAYLOAD < bytes {
        LEAST_PAYLOAD
    } else if payload < LEAST_PAYLOAD {
        bytes
    } else {
        payload
    }
}
