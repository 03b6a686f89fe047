//! Events of a connection that a graph must always show.
//!
//! Rule: a mark is an unusual event. Facts about every segment are in columns of the
//! table of segments.

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mark {
    /// A retransmission timeout; the value is the number of consecutive timeouts.
    Timeout,
    /// The peer closed its window; the value is 0.
    ZeroWindow,
    /// The peer opened its window again; the value is its size in bytes.
    WindowOpened,
    /// A write was refused or cut short; the value is the number of bytes that were not
    /// accepted.
    WriterBlocked,
    /// The blocked writer was notified of room; the value is the room in bytes.
    WriterResumed,
    /// Packet memory had no free block. The value is the number of bytes that were
    /// requested.
    MemoryPressure,
    /// A segment of the peer was discarded; the value is an index into
    /// `fullpipe_tcp::DiscardReason::ALL`.
    Discard,
}

impl Mark {
    /// Every kind, in declaration order.
    pub const ALL: [Self; 7] = [
        Self::Timeout,
        Self::ZeroWindow,
        Self::WindowOpened,
        Self::WriterBlocked,
        Self::WriterResumed,
        Self::MemoryPressure,
        Self::Discard,
    ];

    /// Name on pages and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "retransmission timeout",
            Self::ZeroWindow => "zero window",
            Self::WindowOpened => "window opened",
            Self::WriterBlocked => "writer blocked",
            Self::WriterResumed => "writer resumed",
            Self::MemoryPressure => "memory pressure",
            Self::Discard => "discard",
        }
    }
}

/// Marks in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Time of each event.
    pub at_ns: Vec<u64>,
    /// Kind of each mark, as an index into [`Mark::ALL`].
    pub kind: Vec<u8>,
    /// Value of each mark, as [`Mark`] describes it.
    pub value: Vec<u32>,
}

impl Marks {
    pub(super) fn push(&mut self, at_ns: u64, mark: Mark, value: u32) {
        self.at_ns.push(at_ns);
        self.kind.push(mark as u8);
        self.value.push(value);
    }

    /// Number of marks.
    pub fn len(&self) -> usize {
        self.at_ns.len()
    }

    /// Returns true if there is no mark.
    pub fn is_empty(&self) -> bool {
        self.at_ns.is_empty()
    }

    /// Returns the indices of all marks of one kind.
    pub fn places(&self, mark: Mark) -> impl Iterator<Item = usize> {
        let kinds = self.kind.iter().enumerate();
        kinds
            .filter(move |(_, kind)| **kind == mark as u8)
            .map(|(place, _)| place)
    }
}
