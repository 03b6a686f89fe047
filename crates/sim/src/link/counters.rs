//! Counts of the frames of one direction of a link.
//!
//! Rule: counters are always on, and nothing is stored for each frame. The engine counts; the
//! readers of the counters compute shares and means.

use fullpipe_pool::Duration;

use super::frame_loss::LostFrames;

/// Counts of the frames of one direction.
///
/// Every frame is counted once: `offered` + `duplicated` + `hop_messages` equals the sum of
/// `delivered`, all of `lost`, and the frames that are still inside the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames given to the link.
    pub offered: u64,
    /// Bytes of the frames in `offered`, link headers included, as in all counts of bytes.
    pub offered_bytes: u64,
    /// Frames put on the wire, including frames that were lost on the wire.
    pub carried: u64,
    /// Bytes of the frames put on the wire.
    pub carried_bytes: u64,
    /// Frames that arrived, duplicates included.
    pub delivered: u64,
    /// Bytes of the frames that arrived.
    pub delivered_bytes: u64,
    /// Frames that did not arrive, by reason.
    pub lost: LostFrames,
    /// Frames marked with CE, by CoDel or above the ECN threshold.
    pub marked: u64,
    /// Frames delayed by the reordering impairment; other frames may have overtaken them.
    pub reordered: u64,
    /// Frames delivered after a frame that was put on the wire later.
    pub overtaken: u64,
    /// Frames delivered twice.
    pub duplicated: u64,
    /// Frames delivered with flipped bits.
    pub corrupted: u64,
    /// ICMP messages with which a hop answered frames of the opposite direction.
    pub hop_messages: u64,
    /// Largest number of frames that waited in the queue at one time.
    pub longest_queue: usize,
    /// Largest number of bytes that waited in the queue at one time.
    pub longest_queue_bytes: u64,
    /// Sum of the times that the frames put on the wire had waited in the queue.
    pub waited: Duration,
    /// Longest time that a frame put on the wire had waited in the queue.
    pub longest_wait: Duration,
    /// Time for which frames of this direction used the wire, or the radio's air (backoff
    /// and access time included).
    pub busy: Duration,
    /// Time for which the wire was idle because the first frame in the queue waited for tokens
    /// of the token bucket.
    pub shaped: Duration,
}

impl LinkCounters {
    /// Mean time that a frame waited in the queue; zero if no frame was carried.
    pub fn mean_wait(&self) -> Duration {
        Duration::from_nanos(self.waited.as_nanos() / self.carried.max(1))
    }

    /// Adds the counts of another run. A field for a largest value keeps the larger of the two
    /// values.
    pub fn add(&mut self, other: &Self) {
        let Self {
            offered,
            offered_bytes,
            carried,
            carried_bytes,
            delivered,
            delivered_bytes,
            lost,
            marked,
            reordered,
            overtaken,
            duplicated,
            corrupted,
            hop_messages,
            longest_queue,
            longest_queue_bytes,
            waited,
            longest_wait,
            busy,
            shaped,
        } = other;
        for (own, more) in [
            (&mut self.offered, offered),
            (&mut self.offered_bytes, offered_bytes),
            (&mut self.carried, carried),
            (&mut self.carried_bytes, carried_bytes),
            (&mut self.delivered, delivered),
            (&mut self.delivered_bytes, delivered_bytes),
            (&mut self.marked, marked),
            (&mut self.reordered, reordered),
            (&mut self.overtaken, overtaken),
            (&mut self.duplicated, duplicated),
            (&mut self.corrupted, corrupted),
            (&mut self.hop_messages, hop_messages),
        ] {
            *own += more;
        }
        self.lost.add(lost);
        self.longest_queue = self.longest_queue.max(*longest_queue);
        self.longest_queue_bytes = self.longest_queue_bytes.max(*longest_queue_bytes);
        self.waited += *waited;
        self.longest_wait = self.longest_wait.max(*longest_wait);
        self.busy += *busy;
        self.shaped += *shaped;
    }
}

#[cfg(test)]
mod tests;
