//! The time that written bytes wait before their first transmission.
//!
//! Rule: the times come from the application's writes and from the wire, as from a log of writes
//! and a capture. The stack's own counts are not used.

use std::collections::VecDeque;

use fullpipe_pool::{Duration, Instant};

/// Waiting times of one end's bytes.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Writes not yet sent completely: the end of each as an offset in the stream, and its time.
    written: VecDeque<(u64, Instant)>,
    /// Bytes sent at least once.
    left: u64,
    /// Sum of the waiting times of these bytes, in nanoseconds.
    sum_ns: u128,
}

impl Waits {
    /// Notes that the application has written `written` bytes in total at `now`.
    pub fn wrote(&mut self, written: u64, now: Instant) {
        match self.written.back_mut() {
            Some((end, at)) if *at == now => *end = written,
            Some(_) | None => self.written.push_back((written, now)),
        }
    }

    /// Notes that `left` bytes in total have been sent at least once at `now`.
    pub fn left(&mut self, left: u64, now: Instant) {
        while self.left < left
            && let Some(&(end, at)) = self.written.front()
        {
            let upto = end.min(left);
            let bytes = upto - self.left;
            self.sum_ns += u128::from(now.since(at).as_nanos()) * u128::from(bytes);
            self.left = upto;
            if upto == end {
                self.written.pop_front();
            }
        }
    }

    /// The mean waiting time of all bytes that were sent.
    pub fn mean(&self) -> Duration {
        let mean = self.sum_ns.checked_div(self.left.into()).unwrap_or(0);
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
