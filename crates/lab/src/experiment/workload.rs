//! What the hosts of an experiment do: one transfer, as a tester would make it.
//!
//! Rule: a transfer ends after a time or after an amount, never both. How a
//! byte travels is not known here.

use fullpipe_pool::{Duration, knobs::parse_count};

use super::setting::SettingError;

/// When the sender stops writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// So long after it was connected.
    After(Duration),
    /// When it has written this many bytes; the transfer is over when all have
    /// been read.
    Bytes(u64),
}

/// One transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The host that writes, by its place in the experiment.
    pub from: usize,
    /// The host that reads.
    pub to: usize,
    /// Bytes the sender hands over with each write.
    pub write: u32,
    /// When the sender stops.
    pub stop: Stop,
    /// An amount that has not arrived by then is given up.
    pub give_up: Duration,
}

/// Fields that `set` takes, and what their values look like.
pub const WORKLOAD_FIELDS: &[(&str, &str)] = &[
    (
        "write",
        "a number of bytes such as 16384 or 16K, at least 1",
    ),
    ("duration", "a time such as 30s, above 0"),
    (
        "bytes",
        "a number of bytes such as 2000000 or 4M, at least 1",
    ),
    ("give_up", "a time such as 600s, above 0"),
];

impl Workload {
    /// What a transfer between two hosts does when nothing else is said:
    /// writes of 16 KiB for ten seconds.
    pub const fn new(from: usize, to: usize) -> Self {
        Self {
            from,
            to,
            write: 16 << 10,
            stop: Stop::After(Duration::from_secs(10)),
            give_up: Duration::from_secs(600),
        }
    }

    /// Sets the field called `field` from text. Of `duration` and `bytes` the
    /// last one set counts.
    ///
    /// # Errors
    /// An unknown field, or a text that is none of its values.
    pub fn set(&mut self, field: &str, text: &str) -> Result<(), SettingError> {
        let names = WORKLOAD_FIELDS.iter().map(|(name, _)| *name);
        let (_, expected) = *WORKLOAD_FIELDS
            .iter()
            .find(|(name, _)| *name == field)
            .ok_or_else(|| SettingError::unknown("workload field", field, names))?;
        self.try_set(field, text)
            .ok_or_else(|| SettingError::NotAValue {
                name: format!("workload.{field}"),
                given: text.to_string(),
                expected,
            })
    }

    fn try_set(&mut self, field: &str, text: &str) -> Option<()> {
        match field {
            "write" => self.write = amount(text)?.try_into().ok()?,
            "duration" => self.stop = Stop::After(time(text)?),
            "bytes" => self.stop = Stop::Bytes(amount(text)?),
            "give_up" => self.give_up = time(text)?,
            _ => return None,
        }
        Some(())
    }
}

fn amount(text: &str) -> Option<u64> {
    parse_count(text).filter(|amount| *amount > 0)
}

fn time(text: &str) -> Option<Duration> {
    text.trim()
        .parse()
        .ok()
        .filter(|time| *time > Duration::ZERO)
}
