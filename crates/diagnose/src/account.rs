//! A connection's lifetime, divided among its limits. The stack's own clock, a capture,
//! or a live socket supplies the times.
//!
//! Rule: the shares add up to 1. Shares are kept in millionths; the remainder of
//! rounding is added to the shares that rounding reduced most.

#[cfg(test)]
mod tests;

use fullpipe_pool::Duration;
use fullpipe_tcp::limit::Reason;
use serde::{Serialize, Serializer, ser::SerializeMap};

const WHOLE: u64 = 1_000_000;

/// Time and bytes charged to each limit, over any number of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times<R> {
    /// Limit, time and bytes, in the order of the limits' declaration.
    parts: Vec<(R, Duration, u64)>,
}

impl<R> Default for Times<R> {
    fn default() -> Self {
        Self { parts: Vec::new() }
    }
}

impl<R: Reason> Times<R> {
    /// Adds the times and bytes of one more connection.
    pub fn add(&mut self, times: impl IntoIterator<Item = (R, Duration, u64)>) {
        for (limit, time, bytes) in times {
            match self.parts.iter_mut().find(|(known, ..)| *known == limit) {
                Some((_, sum, moved)) => {
                    *sum += time;
                    *moved += bytes;
                }
                None => self.parts.push((limit, time, bytes)),
            }
        }
    }

    /// Time and bytes that were charged since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let then = |limit: R| before.parts.iter().find(|(known, ..)| *known == limit);
        let parts = self.parts().map(|(limit, time, bytes)| {
            let (time_then, bytes_then) =
                then(limit).map_or((Duration::ZERO, 0), |(_, time, bytes)| (*time, *bytes));
            (limit, time - time_then, bytes - bytes_then)
        });
        Self {
            parts: parts.collect(),
        }
    }

    /// Time and bytes of each limit.
    pub fn parts(&self) -> impl Iterator<Item = (R, Duration, u64)> + '_ {
        self.parts.iter().copied()
    }

    /// Time of each limit.
    pub fn times(&self) -> impl Iterator<Item = (R, Duration)> + '_ {
        self.parts().map(|(limit, time, _)| (limit, time))
    }
}

impl<R: Reason> Serialize for Times<R> {
    /// Writes the seconds and bytes of each limit, without limits for which both are 0.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let held = self
            .parts()
            .filter(|(_, time, bytes)| !time.is_zero() || *bytes > 0);
        serializer.collect_map(held.map(|(limit, time, bytes)| {
            let held = Held {
                seconds: time.as_secs_f64(),
                bytes,
            };
            (limit.name(), held)
        }))
    }
}

/// Time charged to a limit, and the bytes that were sent in that time.
#[derive(Serialize)]
struct Held {
    seconds: f64,
    bytes: u64,
}

/// For each limit, the share of the whole time that is charged to this limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares<R> {
    /// Limit and millionths, in the order of the limits' declaration.
    parts: Vec<(R, u64)>,
}

impl<R> Default for Shares<R> {
    fn default() -> Self {
        Self { parts: Vec::new() }
    }
}

impl<R: Reason> Shares<R> {
    /// Computes the shares of `times`, pairs of limit and time. All shares are 0 if no
    /// time has passed.
    pub fn of(times: impl IntoIterator<Item = (R, Duration)>) -> Self {
        let times: Vec<_> = times.into_iter().collect();
        let total: u128 = times
            .iter()
            .map(|(_, time)| u128::from(time.as_nanos()))
            .sum();
        if total == 0 {
            return Self {
                parts: times.iter().map(|(limit, _)| (*limit, 0)).collect(),
            };
        }
        let scaled = |time: Duration| u128::from(time.as_nanos()) * u128::from(WHOLE);
        let mut parts: Vec<_> = times
            .iter()
            .map(|(limit, time)| (*limit, (scaled(*time) / total) as u64))
            .collect();
        let mut by_loss: Vec<_> = (0..times.len()).collect();
        by_loss.sort_by_key(|&place| std::cmp::Reverse(scaled(times[place].1) % total));
        let left = WHOLE - parts.iter().map(|(_, share)| share).sum::<u64>();
        for &place in by_loss.iter().take(left as usize) {
            parts[place].1 += 1;
        }
        Self { parts }
    }

    /// The share of `limit`, from 0 to 1.
    pub fn share(&self, limit: R) -> f64 {
        let part = self.parts.iter().find(|(known, _)| *known == limit);
        part.map_or(0.0, |(_, share)| *share as f64 / WHOLE as f64)
    }

    /// Limits with a share above 0, the largest first.
    pub fn largest_first(&self) -> Vec<(R, f64)> {
        let mut parts: Vec<_> = self.parts.iter().filter(|(_, share)| *share > 0).collect();
        parts.sort_by_key(|(_, share)| std::cmp::Reverse(*share));
        parts
            .into_iter()
            .map(|(limit, share)| (*limit, *share as f64 / WHOLE as f64))
            .collect()
    }
}

impl<R: Reason> Serialize for Shares<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.parts.len()))?;
        for (limit, share) in &self.parts {
            map.serialize_entry(limit.name(), &(*share as f64 / WHOLE as f64))?;
        }
        map.end()
    }
}
