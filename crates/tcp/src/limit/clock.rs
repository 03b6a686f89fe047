//! The clock that charges time and bytes to reasons.
//!
//! Rule: one reason applies at a time, so the times add up to the clock's age.

use fullpipe_pool::{
    Duration, Instant,
    record::{Record, RecordReader, RecordWriter},
};

use super::reason::Reason;

/// A number of bytes below 256 TiB, in 6 bytes; a larger sum stays at the largest number.
#[derive(Clone, Copy, Debug)]
struct Bytes([u16; 3]);

impl Bytes {
    const ZERO: Self = Self([0; 3]);
    const MOST: u64 = (1 << 48) - 1;

    const fn new(bytes: u64) -> Self {
        let bytes = if bytes < Self::MOST {
            bytes
        } else {
            Self::MOST
        };
        Self([bytes as u16, (bytes >> 16) as u16, (bytes >> 32) as u16])
    }

    const fn get(self) -> u64 {
        let [low, middle, high] = self.0;
        low as u64 | (middle as u64) << 16 | (high as u64) << 32
    }
}

impl Record for Bytes {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        self.get().pack(to);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        Self::new(u64::unpack(from))
    }
}

/// Time and bytes charged to each of the first `N` reasons. The times add up to the clock's age
/// exactly.
#[derive(Clone, Debug)]
pub struct Clock<R: Reason, const N: usize> {
    current: R,
    since: Instant,
    time: [Duration; N],
    bytes: [Bytes; N],
}

impl<R: Reason + Record, const N: usize> Record for Clock<R, N> {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        let Self {
            current,
            since,
            time,
            bytes,
        } = self;
        current.pack(to);
        since.pack(to);
        time.pack(to);
        bytes.pack(to);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        Self {
            current: R::unpack(from),
            since: Instant::unpack(from),
            time: Record::unpack(from),
            bytes: Record::unpack(from),
        }
    }
}

impl<R: Reason, const N: usize> Clock<R, N> {
    /// Creates a clock that charges time to `reason` from `now` on.
    pub const fn start(reason: R, now: Instant) -> Self {
        Self {
            current: reason,
            since: now,
            time: [Duration::ZERO; N],
            bytes: [Bytes::ZERO; N],
        }
    }

    /// Returns the current reason.
    pub const fn current(&self) -> R {
        self.current
    }

    /// Charges time to `reason` from `now` on. Returns true if the reason
    /// changed.
    pub fn set(&mut self, reason: R, now: Instant) -> bool {
        if reason == self.current {
            return false;
        }
        self.time[self.current.index()] = self.time_at(self.current, now);
        self.current = reason;
        self.since = now;
        true
    }

    /// Charges `bytes`, which were just sent or received, to the current reason.
    pub fn charge_bytes(&mut self, bytes: u32) {
        let charged = &mut self.bytes[self.current.index()];
        *charged = Bytes::new(charged.get() + u64::from(bytes));
    }

    /// Returns the time charged to `reason` as of `now`.
    pub fn time_at(&self, reason: R, now: Instant) -> Duration {
        let running = if reason == self.current {
            now.since(self.since)
        } else {
            Duration::ZERO
        };
        self.time.get(reason.index()).copied().unwrap_or_default() + running
    }

    /// Returns the bytes charged to `reason`.
    pub fn bytes(&self, reason: R) -> u64 {
        self.bytes
            .get(reason.index())
            .map_or(0, |bytes| bytes.get())
    }

    /// Returns each reason with its time as of `now` and its bytes.
    pub fn shares(&self, now: Instant) -> impl Iterator<Item = (R, Duration, u64)> + '_ {
        R::all()
            .iter()
            .take(N)
            .map(move |&reason| (reason, self.time_at(reason, now), self.bytes(reason)))
    }
}
