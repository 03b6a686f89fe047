//! The time that written bytes wait before their first transmission.
//!
//! Rule: taken from the application's writes and the wire, as from a log of writes
//! beside a capture; the stack is not asked.

use std::collections::VecDeque;

use fullpipe_pool::{Duration, Instant};

/// Waiting times of one end's bytes.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Stream offset behind each write and its time, as far as not sent yet.
    written: VecDeque<(u64, Instant)>,
    /// Bytes sent at least once.
    left: u64,
    /// Sum of their waiting times, in nanoseconds.
    sum_ns: u128,
}

impl Waits {
    /// The application has written `written` bytes in all at `now`.
    pub fn wrote(&mut self, written: u64, now: Instant) {
        match self.written.back_mut() {
            Some((end, at)) if *at == now => *end = written,
            Some(_) | None => self.written.push_back((written, now)),
        }
    }

    /// The end has sent `left` bytes in all at least once at `now`.
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

    /// The mean over all bytes that have left.
    pub fn mean(&self) -> Duration {
        let mean = self.sum_ns.checked_div(self.left.into()).unwrap_or(0);
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
