//! How long written bytes wait before they leave for the first time.
//!
//! Rule: from the application's ledger and from the wire, as a capture beside a
//! log of writes would show it; nothing is asked of the stack.

use std::collections::VecDeque;

use fullpipe_pool::{Duration, Instant};

/// The bytes of one end that wait, and those that did.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Behind what was written, and when; what has left is not here.
    written: VecDeque<(u64, Instant)>,
    /// Bytes that have left.
    left: u64,
    /// Their waiting times, in nanoseconds.
    sum_ns: u128,
}

impl Waits {
    /// At `now` the application has written `written` bytes in all.
    pub fn wrote(&mut self, written: u64, now: Instant) {
        match self.written.back_mut() {
            Some((end, at)) if *at == now => *end = written,
            Some(_) | None => self.written.push_back((written, now)),
        }
    }

    /// At `now`, `left` bytes in all have left at least once.
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
