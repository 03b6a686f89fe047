//! Sets of bytes of sequence space.
//!
//! Rule: ranges are sorted and do not touch each other, so a look-up is a binary search. A range
//! from `start` to `end` does not contain `end`.

/// Ranges of sequence space, sorted and apart from each other.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Returns true if all bytes from `start` to `end` are in the ranges.
    pub fn has(&self, start: u64, end: u64) -> bool {
        let place = self.0.partition_point(|range| range.1 < end);
        self.0.get(place).is_some_and(|range| range.0 <= start)
    }

    /// Returns true if at least one byte from `start` to `end` is in the ranges.
    pub fn has_some(&self, start: u64, end: u64) -> bool {
        let place = self.0.partition_point(|range| range.1 <= start);
        self.0.get(place).is_some_and(|range| range.0 < end)
    }

    /// Adds the bytes from `start` to `end`.
    pub fn add(&mut self, start: u64, end: u64) {
        let first = self.0.partition_point(|range| range.1 < start);
        let last = self.0.partition_point(|range| range.0 <= end);
        let joined = match self.0.get(first..last) {
            Some([one, .., other]) => (one.0.min(start), other.1.max(end)),
            Some([one]) => (one.0.min(start), one.1.max(end)),
            Some([]) | None => (start, end),
        };
        self.0.splice(first..last.max(first), [joined]);
    }

    /// Removes the bytes before `start`.
    pub fn remove_before(&mut self, start: u64) {
        self.0.retain_mut(|range| {
            range.0 = range.0.max(start);
            range.0 < range.1
        });
    }

    /// Number of ranges.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Number of bytes.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|range| range.1 - range.0).sum()
    }
}

#[cfg(test)]
mod tests;
