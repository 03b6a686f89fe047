//! Answers that are used again until their time to live ends.
//!
//! Rule: the cache has a fixed number of entries. A full cache drops the entry whose time to live
//! ends first.

use std::collections::BTreeMap;

use fullpipe::Instant;

use crate::{
    answer::{Answer, Family},
    error::LookupError,
    name::DnsName,
};

/// An outcome of a lookup, and the time from which on the outcome may no longer be used.
#[derive(Clone, Debug)]
struct Entry {
    outcome: Result<Answer, LookupError>,
    ends: Instant,
}

/// The answers, positive and negative.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    entries: BTreeMap<(DnsName, Family), Entry>,
    capacity: usize,
}

impl Cache {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self {
            entries: BTreeMap::new(),
            capacity,
        }
    }

    /// Returns the outcome of the question, unless it is unknown or too old.
    pub(crate) fn get(
        &self,
        question: &(DnsName, Family),
        now: Instant,
    ) -> Option<Result<Answer, LookupError>> {
        let entry = self.entries.get(question)?;
        (entry.ends > now).then(|| entry.outcome.clone())
    }

    /// Adds an outcome. An outcome whose time to live is over is not added.
    pub(crate) fn insert(
        &mut self,
        question: (DnsName, Family),
        outcome: Result<Answer, LookupError>,
        (now, ends): (Instant, Instant),
    ) {
        if ends <= now || self.capacity == 0 {
            return;
        }
        if self.entries.len() >= self.capacity && !self.entries.contains_key(&question) {
            let first = self.entries.iter().min_by_key(|(_, entry)| entry.ends);
            if let Some(oldest) = first.map(|(question, _)| question.clone()) {
                self.entries.remove(&oldest);
            }
        }
        self.entries.insert(question, Entry { outcome, ends });
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}
