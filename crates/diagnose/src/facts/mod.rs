//! What is known of a run: rows, their hosts, their connections.
//!
//! Rule: times are nanoseconds from the start of the row, and sequence numbers
//! are counted from the initial one, so that SYN is 0 and the first byte of
//! text is 1; they do not wrap. What the figures mean is said elsewhere.

mod assembly;
mod columns;
mod lost;
mod marks;
mod unwrap;
mod verdict_parts;

#[cfg(test)]
mod tests;

pub use assembly::Assembly;
pub use columns::{Bands, PoolLevels, RttSamples, SackBlocks, Segments, Windows};
pub use marks::{Mark, Marks};
pub use verdict_parts::{ChangeLine, VerdictParts};

/// One experiment, run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The experiment's name.
    pub experiment: String,
    /// What it shows.
    pub title: String,
    /// Where the published figures come from.
    pub source: Option<String>,
    /// The seed that repeats it.
    pub seed: u64,
    /// Settings that were given beside the file.
    pub overrides: Vec<String>,
    /// The rows, in the order of the file.
    pub rows: Vec<Row>,
}

/// One line of the experiment's table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// What the line is called, with its point where there is one.
    pub label: String,
    /// What it is called in the file.
    pub name: String,
    /// Where in a sweep it is.
    pub point: Vec<Coordinate>,
    /// What the source says came out.
    pub published: Vec<Figure>,
    /// The same in words, where the source gives no number.
    pub published_outcome: Option<String>,
    /// What came out for others.
    pub peers: Vec<Peer>,
    /// What came out here.
    pub measured: Vec<Figure>,
    /// How the row ended, in a word.
    pub outcome: String,
    /// The verdict in its five parts.
    pub verdict: VerdictParts,
    /// What was fitted on this row.
    pub fitted: Vec<String>,
    /// What the file says about the row.
    pub note: Option<String>,
    /// How many seeds it was run with; figures are then of all of them.
    pub seeds: u32,
    /// What was observed while it ran, of the first seed.
    pub observed: Observed,
}

/// A quantity with its value; its unit ends its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its heading in a table.
    pub heading: &'static str,
    /// Its value.
    pub value: f64,
}

/// One setting of a point of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coordinate {
    /// What was set.
    pub path: String,
    /// To what, as it was written.
    pub value: String,
    /// The same as a number, where it is one.
    pub number: Option<f64>,
}

/// What came out of a row for somebody else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Peer {
    /// Who.
    pub name: String,
    /// What.
    pub figures: Vec<Figure>,
}

/// What was observed of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// When observation ended.
    pub end_ns: u64,
    /// The hosts.
    pub hosts: Vec<Host>,
    /// The connections, in the order in which they were opened.
    pub connections: Vec<Connection>,
    /// Records of the trace that were overwritten before they were read; where
    /// this is not 0 the series have gaps.
    pub forgotten: u64,
}

/// A host and its packet memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// Its name in the experiment.
    pub name: String,
    /// Blocks of its pool.
    pub pool_blocks: u32,
    /// Bytes of a block.
    pub block_size: u32,
    /// Who held what of the pool over time.
    pub pool: PoolLevels,
}

/// A connection, as its ends saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connection {
    /// The end that opened it, or the only one observed.
    pub first: End,
    /// The other.
    pub second: Option<End>,
}

/// One end's view of a connection. A time in it is that of this end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct End {
    /// The host, by its place in [`Observed::hosts`].
    pub host: usize,
    /// When it came to be.
    pub opened_ns: u64,
    /// What it sent. The acknowledgments are of the other direction's bytes.
    pub sent: Segments,
    /// What arrived.
    pub received: Segments,
    /// SACK blocks that arrived: of bytes that this end sent.
    pub sacks_received: SackBlocks,
    /// SACK blocks that it sent.
    pub sacks_sent: SackBlocks,
    /// Its congestion window.
    pub windows: Windows,
    /// Its round-trip times.
    pub rtts: RttSamples,
    /// What held its sender back; indices into `fullpipe_tcp::Limit::ALL`.
    pub limits: Bands,
    /// What its receiver did to the other end; indices into
    /// `fullpipe_tcp::ReceiveLimit::ALL`.
    pub receive_limits: Bands,
    /// What happened at one moment and is worth a mark.
    pub marks: Marks,
}

impl Connection {
    /// Its ends, the one that opened it first.
    pub fn ends(&self) -> impl Iterator<Item = &End> {
        std::iter::once(&self.first).chain(&self.second)
    }
}
