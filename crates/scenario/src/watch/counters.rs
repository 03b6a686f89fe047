//! A host's counters at the end of a row (scenario), as `nstat` prints them.
//!
//! Rule: counters have the names of the MIBs. Counters with the value 0 are omitted. A rate is
//! the value divided by the row's elapsed time.

use std::fmt;

use fullpipe::Stack;
use serde::{Serialize, Serializer, ser::SerializeMap};

/// The counters of one host at the end of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCounters {
    /// Name of the host.
    pub host: String,
    /// Elapsed time of the row, in seconds.
    pub elapsed_s: f64,
    /// Name and value of each counter that is not 0.
    pub counters: Vec<(&'static str, u64)>,
}

impl HostCounters {
    /// Returns the counters of `stack` in a row that took `elapsed_s` seconds.
    pub fn of(host: &str, stack: &Stack, elapsed_s: f64) -> Self {
        let all = stack.counters().iter().chain(stack.tcp_counters().iter());
        Self {
            host: host.to_string(),
            elapsed_s,
            counters: all.filter(|(_, value)| *value > 0).collect(),
        }
    }

    /// Returns the value of the counter called `name`.
    pub fn value(&self, name: &str) -> u64 {
        let found = self.counters.iter().find(|(known, _)| *known == name);
        found.map_or(0, |(_, value)| *value)
    }
}

impl fmt::Display for HostCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "#{}", self.host)?;
        for (name, value) in &self.counters {
            let rate = *value as f64 / self.elapsed_s.max(f64::MIN_POSITIVE);
            writeln!(f, "{name:<32}{value:<16}{rate:>10.1}")?;
        }
        Ok(())
    }
}

impl Serialize for HostCounters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Values<'a>(&'a [(&'static str, u64)]);
        impl Serialize for Values<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().copied())
            }
        }
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("host", &self.host)?;
        map.serialize_entry("elapsed_s", &self.elapsed_s)?;
        map.serialize_entry("counters", &Values(&self.counters))?;
        map.end()
    }
}
