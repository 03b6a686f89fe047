//! Use of links and processors over time.
//!
//! Rule: nothing is rounded and nothing is stored twice. Periods without a gap between them are
//! merged. The length of a queue is read each time a frame leaves it, and stored if the length has
//! changed.

/// Periods in which a link or a processor was in use, in the order of time and without overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusyPeriods {
    /// Begin of each period.
    pub at_ns: Vec<u64>,
    /// End of each period.
    pub end_ns: Vec<u64>,
}

impl BusyPeriods {
    /// Adds a period, which begins no earlier than the last period.
    pub fn add(&mut self, from_ns: u64, until_ns: u64) {
        match self.end_ns.last_mut() {
            Some(end_ns) if *end_ns >= from_ns => *end_ns = until_ns.max(*end_ns),
            Some(_) | None => {
                self.at_ns.push(from_ns);
                self.end_ns.push(until_ns);
            }
        }
    }

    /// Number of periods.
    pub fn len(&self) -> usize {
        self.at_ns.len()
    }

    /// Returns true if there is no period.
    pub fn is_empty(&self) -> bool {
        self.at_ns.is_empty()
    }
}

/// Length of a link's queue in one direction, in frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueLevels {
    /// Times at which a frame left the queue and the length differed from the previous length.
    pub at_ns: Vec<u64>,
    /// Number of frames that remained in the queue.
    pub frames: Vec<u32>,
}

impl QueueLevels {
    /// Records that `frames` frames wait at `at_ns`, which is no earlier than the time of the last
    /// record.
    pub fn note(&mut self, at_ns: u64, frames: u32) {
        if self.frames.last().copied().unwrap_or(0) != frames {
            self.at_ns.push(at_ns);
            self.frames.push(frames);
        }
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.at_ns.len()
    }

    /// Returns true if the queue was empty each time that a frame left it.
    pub fn is_empty(&self) -> bool {
        self.at_ns.is_empty()
    }
}

/// One direction of a link over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectionUsage {
    /// Periods in which frames of this direction occupied the wire or the air.
    pub busy: BusyPeriods,
    /// Length of this direction's queue.
    pub queue: QueueLevels,
}

/// A link over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkUsage {
    /// Name in the experiment.
    pub name: String,
    /// True if both directions share one medium, as on a radio.
    pub is_shared: bool,
    /// The direction from the link's first end to its second end.
    pub forward: DirectionUsage,
    /// The direction from the link's second end to its first end.
    pub back: DirectionUsage,
}

impl LinkUsage {
    /// Creates a link that no frame has crossed yet.
    pub fn new(name: String, is_shared: bool) -> Self {
        Self {
            name,
            is_shared,
            ..Self::default()
        }
    }
}

impl DirectionUsage {
    /// Adds a frame that occupied the wire from `from_ns` until `until_ns`, while `waiting` frames
    /// were queued behind it.
    pub fn add(&mut self, from_ns: u64, until_ns: u64, waiting: u32) {
        self.busy.add(from_ns, until_ns);
        self.queue.note(from_ns, waiting);
    }
}
