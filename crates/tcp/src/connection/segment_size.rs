//! The size of new segments: the full size, unless memory holds only a few segments and
//! the path could carry more.
//!
//! Rule: this file changes only how payload is cut into segments. Congestion control
//! and recovery count full segments.

use super::{Connection, Env};
use crate::fit::even_fit;

impl Connection {
    /// Returns the payload of each segment that leaves now, in bytes; at most [`mss`](Self::mss).
    pub(super) fn segment_size(&self, env: &Env<'_>) -> u32 {
        let mss = self.mss(env);
        self.cut(self.fitting_size(mss, env), mss)
    }

    /// Returns the segment size, at most `mss`, that fills the send buffer evenly.
    pub(super) fn fitting_size(&self, mss: u32, env: &Env<'_>) -> u32 {
        if self.path_is_full() {
            return mss;
        }
        even_fit(mss, self.payload_room(env), env.config.fit_segments)
    }

    /// Returns the size of the next segment; `fitting` is the
    /// [fitting size](Self::fitting_size).
    pub(super) fn cut(&self, fitting: u32, mss: u32) -> u32 {
        if fitting == mss {
            return mss;
        }
        self.pairs.cut(fitting, self.send.unsent()).clamp(1, mss)
    }

    /// Returns the bytes that the send buffer could hold now if the first byte lay at the worst
    /// place in a block.
    fn payload_room(&self, env: &Env<'_>) -> u32 {
        let stream = &self.send.stream;
        let free = env.pool.room(stream.holder());
        let blocks = stream.held_blocks(env.pool).saturating_add(free);
        let memory = u64::from(blocks.saturating_sub(1)) * u64::from(env.pool.block_size());
        u64::from(self.send_size.get()).min(memory.max(1)) as u32
    }

    /// Returns true if the smoothed round-trip time is over 1.5 times the smallest: segments wait
    /// in a queue, and smaller segments would only cost more headers.
    fn path_is_full(&self) -> bool {
        let srtt = self.rtt.srtt();
        self.rtt
            .min_rtt()
            .is_none_or(|min_rtt| srtt > min_rtt + min_rtt / 2)
    }
}
