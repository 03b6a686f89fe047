//! A connection's lifetime, divided among its limits.
//!
//! Rule: the shares add up to 1. They are kept in millionths; the remainder of rounding
//! is added to the shares that rounding reduced most.

#[cfg(test)]
mod tests;

use fullpipe_pool::Duration;
use serde::{Serialize, Serializer, ser::SerializeMap};

const WHOLE: u64 = 1_000_000;

/// Time and bytes charged to each limit, over any number of connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Name, time and bytes, in the order of the limits' declaration.
    parts: Vec<(&'static str, Duration, u64)>,
}

impl Times {
    /// Adds the times and bytes of one more connection.
    pub fn add(&mut self, times: impl IntoIterator<Item = (&'static str, Duration, u64)>) {
        for (name, time, bytes) in times {
            match self.parts.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, sum, moved)) => {
                    *sum += time;
                    *moved += bytes;
                }
                None => self.parts.push((name, time, bytes)),
            }
        }
    }

    /// The increase since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let then = |name: &str| before.parts.iter().find(|(known, ..)| *known == name);
        let parts = self.parts().map(|(name, time, bytes)| {
            let (_, time_then, bytes_then) = then(name).copied().unwrap_or_default();
            (name, time - time_then, bytes - bytes_then)
        });
        Self {
            parts: parts.collect(),
        }
    }

    /// Name, time and bytes of each limit.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, Duration, u64)> + '_ {
        self.parts.iter().copied()
    }

    /// Name and time of each limit.
    pub fn times(&self) -> impl Iterator<Item = (&'static str, Duration)> + '_ {
        self.parts().map(|(name, time, _)| (name, time))
    }
}

impl Serialize for Times {
    /// Writes seconds and bytes of limits that are not 0.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let held = self
            .parts()
            .filter(|(_, time, bytes)| !time.is_zero() || *bytes > 0);
        serializer.collect_map(held.map(|(name, time, bytes)| {
            let held = Held {
                seconds: time.as_secs_f64(),
                bytes,
            };
            (name, held)
        }))
    }
}

/// Time charged to a limit, and the bytes that moved in that time.
#[derive(Serialize)]
struct Held {
    seconds: f64,
    bytes: u64,
}

/// Share of the time charged to each limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Name and millionths, in the order of the limits' declaration.
    parts: Vec<(&'static str, u64)>,
}

impl Shares {
    /// Shares of `times`, given as name and time. All are 0 if no time has passed.
    pub fn of(times: impl IntoIterator<Item = (&'static str, Duration)>) -> Self {
        let times: Vec<_> = times.into_iter().collect();
        let total: u128 = times
            .iter()
            .map(|(_, time)| u128::from(time.as_nanos()))
            .sum();
        if total == 0 {
            return Self {
                parts: times.iter().map(|(name, _)| (*name, 0)).collect(),
            };
        }
        let scaled = |time: Duration| u128::from(time.as_nanos()) * u128::from(WHOLE);
        let mut parts: Vec<_> = times
            .iter()
            .map(|(name, time)| (*name, (scaled(*time) / total) as u64))
            .collect();
        let mut by_loss: Vec<_> = (0..times.len()).collect();
        by_loss.sort_by_key(|&place| std::cmp::Reverse(scaled(times[place].1) % total));
        let left = WHOLE - parts.iter().map(|(_, share)| share).sum::<u64>();
        for &place in by_loss.iter().take(left as usize) {
            parts[place].1 += 1;
        }
        Self { parts }
    }

    /// The share of the limit called `name`, from 0 to 1.
    pub fn share(&self, name: &str) -> f64 {
        let part = self.parts.iter().find(|(limit, _)| *limit == name);
        part.map_or(0.0, |(_, share)| *share as f64 / WHOLE as f64)
    }

    /// Limits with a share above 0, the largest first.
    pub fn largest_first(&self) -> Vec<(&'static str, f64)> {
        let mut parts: Vec<_> = self.parts.iter().filter(|(_, share)| *share > 0).collect();
        parts.sort_by_key(|(_, share)| std::cmp::Reverse(*share));
        parts
            .into_iter()
            .map(|(name, share)| (*name, *share as f64 / WHOLE as f64))
            .collect()
    }
}

impl Serialize for Shares {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.parts.len()))?;
        for (name, share) in &self.parts {
            map.serialize_entry(name, &(*share as f64 / WHOLE as f64))?;
        }
        map.end()
    }
}

/// Both ends' limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Limits {
    /// Limits of the sender.
    pub sender: Shares,
    /// Limits that the receiver set.
    pub receiver: Shares,
}

/// Limits of both ends in seconds and bytes. They add up to the connections' lifetime and
/// to the bytes that moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Account {
    /// Limits of the sender.
    pub sender: Times,
    /// Limits that the receiver set.
    pub receiver: Times,
}
