//! The facts of a run: rows, their hosts, links and connections.
//!
//! Rule: times are nanoseconds from the start of the row. Sequence numbers count from the initial
//! sequence number, so SYN is 0 and the first byte of payload is 1; they do not wrap. Facts are
//! not interpreted here.

mod assembly;
mod captured;
mod columns;
mod episodes;
mod lost;
mod marks;
pub(crate) mod ranges;
mod shown_by;
pub(crate) mod unwrap;
mod usage;
mod verdict_parts;

#[cfg(test)]
mod tests;

pub use assembly::Assembly;
pub use captured::{captured_end, captured_ends, mark_lost};
pub use columns::{Bands, PoolLevels, RttSamples, SackBlocks, Segments, Windows};
pub use episodes::{Episode, Episodes};
pub use marks::{Mark, Marks};
pub use shown_by::ShownBy;
pub use usage::{BusyPeriods, DirectionUsage, LinkUsage, QueueLevels};
pub use verdict_parts::{ChangeLine, VerdictParts};

/// One experiment, run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The experiment's name.
    pub experiment: String,
    /// The experiment's title.
    pub title: String,
    /// Source of the published figures.
    pub source: Option<String>,
    /// The seed that repeats the run; a capture has none.
    pub seed: Option<u64>,
    /// Settings that were made on the command line.
    pub overrides: Vec<String>,
    /// The rows, in the order of the file.
    pub rows: Vec<Row>,
}

/// One row of the experiment's table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The row's label, with its point of a sweep if there is one.
    pub label: String,
    /// The row's label in the file.
    pub name: String,
    /// The row's point of a sweep.
    pub point: Vec<Coordinate>,
    /// Published figures.
    pub published: Vec<Figure>,
    /// The published outcome in words, if the source gives no number.
    pub published_outcome: Option<String>,
    /// Figures of other systems.
    pub peers: Vec<Peer>,
    /// Figures that this run measured.
    pub measured: Vec<Figure>,
    /// The outcome in one word.
    pub outcome: String,
    /// The verdict in its five parts.
    pub verdict: VerdictParts,
    /// The part of the graphs that shows the verdict's cause.
    pub shown_by: ShownBy,
    /// The path of the row's first flow, if it was recorded.
    pub path: Option<PathFacts>,
    /// Parameters whose values were chosen so that this row agrees with the published
    /// figures.
    pub fitted: Vec<String>,
    /// The file's note on the row.
    pub note: Option<String>,
    /// Number of seeds; with several, the figures are medians over them.
    pub seeds: u32,
    /// Series of the first seed.
    pub observed: Observed,
}

/// The path of a row's first flow: its links, its rate, and its round-trip time while its
/// queues are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathFacts {
    /// The sending host, as an index into [`Observed::hosts`].
    pub sender: usize,
    /// The receiving host, as an index into [`Observed::hosts`].
    pub receiver: usize,
    /// Links from sender to receiver: index into [`Observed::links`], and true if the
    /// payload crosses the link in its forward direction.
    pub links: Vec<(usize, bool)>,
    /// Rate of payload that the path carries if all segments are full, in bits per
    /// second; `None` if no link has a rate.
    pub payload_bps: Option<f64>,
    /// Round-trip time of a full segment, in nanoseconds.
    pub rtt_ns: u64,
    /// The setting that limited the flow; `None` if the limit is not a setting.
    pub bound: Option<SettingBound>,
}

/// A setting that bounds a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingBound {
    /// The setting by its name in its host's system, with its value.
    pub setting: String,
    /// The host with this setting.
    pub host: String,
    /// Bytes of payload that the setting allows in flight, if it bounds those.
    pub bytes: Option<u64>,
    /// Highest goodput that the setting allows, in bits per second, if it is known.
    pub at_most_bps: Option<f64>,
}

/// A quantity and its value. The unit is the end of its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name in JSON.
    pub name: &'static str,
    /// Heading in a table.
    pub heading: &'static str,
    /// Value.
    pub value: f64,
}

/// One setting of a point of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coordinate {
    /// Path of the setting.
    pub path: String,
    /// Its value, as written.
    pub value: String,
    /// Its value as a number, if it is one.
    pub number: Option<f64>,
}

/// Figures of another system for a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Peer {
    /// Name of the system.
    pub name: String,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// Series of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// End of observation.
    pub end_ns: u64,
    /// The hosts.
    pub hosts: Vec<Host>,
    /// The links.
    pub links: Vec<LinkUsage>,
    /// The connections, in the order in which they were opened.
    pub connections: Vec<Connection>,
    /// Trace records that were overwritten before they were read. If not 0, series have gaps.
    pub forgotten: u64,
}

/// A host with its packet memory and its processor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// Name in the experiment.
    pub name: String,
    /// Blocks of its pool.
    pub pool_blocks: u32,
    /// Bytes of a block.
    pub block_size: u32,
    /// Blocks of each holder over time.
    pub pool: PoolLevels,
    /// Periods in which its processor worked; empty if its work takes no time.
    pub cpu: BusyPeriods,
}

/// A connection, as its ends saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connection {
    /// The end that opened it, or the only one observed.
    pub first: Endpoint,
    /// The other end.
    pub second: Option<Endpoint>,
}

/// A connection as one of its ends sees it: a segment's time is the time at which this end
/// sent or received it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Endpoint {
    /// The host, as an index into [`Observed::hosts`].
    pub host: usize,
    /// Time at which this end was opened.
    pub opened_ns: u64,
    /// Segments sent. Their acknowledgment numbers are positions in the other direction.
    pub sent: Segments,
    /// Segments received.
    pub received: Segments,
    /// SACK blocks received, about payload that this end sent.
    pub sacks_received: SackBlocks,
    /// SACK blocks sent.
    pub sacks_sent: SackBlocks,
    /// Congestion window.
    pub windows: Windows,
    /// Round-trip times.
    pub rtts: RttSamples,
    /// The limit of its sender over time, as indices into
    /// [`SeenLimit::ALL`](crate::observe::SeenLimit), which begins with the limits of the stack.
    pub limits: Bands,
    /// The limit of its receiver over time, as indices into
    /// `fullpipe_tcp::ReceiveLimit::ALL`.
    pub receive_limits: Bands,
    /// Events.
    pub marks: Marks,
    /// Episodes of recovery and of congestion control.
    pub episodes: Episodes,
}

impl Connection {
    /// Both ends, the one that opened the connection first.
    pub fn ends(&self) -> impl Iterator<Item = &Endpoint> {
        std::iter::once(&self.first).chain(&self.second)
    }
}
