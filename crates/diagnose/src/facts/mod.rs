//! The facts of a run of an experiment: its rows (scenarios), with their hosts, links and
//! connections.
//!
//! Rule: times are nanoseconds from the start of the row. Sequence numbers count from the initial
//! sequence number and do not wrap, so SYN is 0 and the first byte of payload is 1. Facts are not
//! interpreted here.

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

/// One run of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The experiment's name.
    pub experiment: String,
    /// The experiment's title.
    pub title: String,
    /// Source of the published results.
    pub source: Option<String>,
    /// The seed that repeats the run; `None` for a capture.
    pub seed: Option<u64>,
    /// Settings that were changed on the command line.
    pub overrides: Vec<String>,
    /// The rows, in the order of the file.
    pub rows: Vec<Row>,
}

/// One row of the experiment's table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The row's label, followed by the row's values of swept settings, and by the settings of the
    /// command line that replaced settings of the row.
    pub label: String,
    /// The row's label in the file.
    pub name: String,
    /// The settings by which the row differs from other rows of a sweep.
    pub point: Vec<Coordinate>,
    /// Published figures.
    pub published: Vec<Figure>,
    /// The published outcome in words, if the source gives no number.
    pub published_outcome: Option<String>,
    /// True if the published figures are about this row. False if `--set` changed the row.
    pub is_compared: bool,
    /// Published figures of other systems for this row.
    pub peers: Vec<Peer>,
    /// Figures that this run measured.
    pub measured: Vec<Figure>,
    /// The outcome in one word.
    pub outcome: String,
    /// The verdict in its five parts.
    pub verdict: VerdictParts,
    /// The part of the graphs in which the cause that the verdict names can be seen.
    pub shown_by: ShownBy,
    /// The path of the row's first flow, if the path was recorded.
    pub path: Option<PathFacts>,
    /// Parameters whose values were chosen so that this row agrees with the published
    /// figures.
    pub fitted: Vec<String>,
    /// The file's note on the row.
    pub note: Option<String>,
    /// Number of seeds. With several seeds, the figures are medians.
    pub seeds: u32,
    /// Series of the run with the first seed.
    pub observed: Observed,
}

/// The path of a row's first flow: its links, its rate, and its round-trip time with empty queues.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathFacts {
    /// The sending host, as an index into [`Observed::hosts`].
    pub sender: usize,
    /// The receiving host, as an index into [`Observed::hosts`].
    pub receiver: usize,
    /// Links from sender to receiver. Each entry has the link's index in [`Observed::links`], and
    /// true if payload crosses the link in the link's forward direction.
    pub links: Vec<(usize, bool)>,
    /// Highest rate of payload that the path can carry if all segments are full, in bits per
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
    /// Name of the setting in the system of its host, with its value.
    pub setting: String,
    /// The host that has this setting.
    pub host: String,
    /// Bytes of payload in flight that the setting allows; `None` if it does not limit bytes in
    /// flight.
    pub bytes: Option<u64>,
    /// Highest goodput that the setting allows, in bits per second; `None` if unknown.
    pub at_most_bps: Option<f64>,
}

/// A quantity and its value. The quantity's name ends in the unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name in JSON.
    pub name: &'static str,
    /// Heading in a table.
    pub heading: &'static str,
    /// Value.
    pub value: f64,
}

/// A setting that a sweep varies, with its value in one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coordinate {
    /// Path of the setting.
    pub path: String,
    /// Value of the setting, as written.
    pub value: String,
    /// Value of the setting as a number, if it is a number.
    pub number: Option<f64>,
}

/// Another system's figures for a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Peer {
    /// Name of the system.
    pub name: String,
    /// Figures of this system.
    pub figures: Vec<Figure>,
}

/// The series of a row.
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
    /// Number of trace records that were overwritten before they were read. If it is not 0, the
    /// series have gaps.
    pub forgotten: u64,
}

/// A host with its packet memory and its processor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// Name of the host in the experiment.
    pub name: String,
    /// Blocks of the host's pool.
    pub pool_blocks: u32,
    /// Size of a block in bytes.
    pub block_size: u32,
    /// Blocks of each holder of the pool over time.
    pub pool: PoolLevels,
    /// Periods in which the host's processor worked; empty if its work takes no time.
    pub cpu: BusyPeriods,
}

/// A connection, as seen by its ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connection {
    /// The end that opened the connection, or the only end that was observed.
    pub first: Endpoint,
    /// The other end.
    pub second: Option<Endpoint>,
}

/// A connection as one of its ends sees it. The time of a segment is the time at which this end
/// sent or received it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Endpoint {
    /// The host, as an index into [`Observed::hosts`].
    pub host: usize,
    /// Time at which this end was opened.
    pub opened_ns: u64,
    /// Segments sent. Their acknowledgment numbers are positions in the sequence space of the other
    /// direction.
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
    /// The sender's limit over time, as indices into [`SeenLimit::ALL`](crate::observe::SeenLimit),
    /// which begins with the limits of the stack.
    pub limits: Bands,
    /// The receiver's limit over time, as indices into `fullpipe_tcp::ReceiveLimit::ALL`.
    pub receive_limits: Bands,
    /// Events.
    pub marks: Marks,
    /// Episodes of recovery and of congestion control.
    pub episodes: Episodes,
}

impl Connection {
    /// Both ends. The end that opened the connection comes first.
    pub fn ends(&self) -> impl Iterator<Item = &Endpoint> {
        std::iter::once(&self.first).chain(&self.second)
    }
}
