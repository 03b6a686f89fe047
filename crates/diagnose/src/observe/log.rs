//! The segments of one connection, kept to fit a simulation, to draw graphs, and to merge two
//! captures.
//!
//! Rule: only the first [`SegmentLog::SEGMENTS`] segments are kept. The account of the connection
//! (time and bytes by limit) covers all segments.

use fullpipe_wire::{Ecn, SackBlock, SackBlocks, TcpFlags, TcpOptions, Timestamps};

use super::{ConnectionObserver, ObservedConnection};
use crate::capture::{Analysis, End, Segment};

/// Largest number of SYNs whose options are kept.
const SYNS: usize = 16;

/// A segment, reduced to the values that fitting, graphs and merging need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Time of the capture, in nanoseconds since the Unix epoch.
    pub at_ns: i64,
    /// The end that sent the segment.
    pub from: End,
    /// SEG.SEQ.
    pub seq: u32,
    /// SEG.ACK; has no meaning without the ACK flag.
    pub ack: u32,
    /// SEG.WND before scaling.
    pub window: u16,
    /// Control bits.
    pub flags: TcpFlags,
    /// Payload in bytes.
    pub payload: u32,
    /// TSval, if the segment has timestamps.
    pub tsval: Option<u32>,
    /// TSecr, if the segment has timestamps.
    pub tsecr: Option<u32>,
    /// ECN codepoint of the IP header.
    pub ecn: Ecn,
}

impl Noted {
    /// The segment without its timestamps.
    pub const fn without_timestamps(self) -> Self {
        Self {
            tsval: None,
            tsecr: None,
            ..self
        }
    }
}

/// A block of the SACK option of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotedSack {
    /// Index of the segment in the log.
    pub place: u32,
    /// First sequence number.
    pub left: u32,
    /// Sequence number after the last byte of the block.
    pub right: u32,
}

/// The first segments of a connection, in the order of the capture.
#[derive(Clone, Debug, Default)]
pub struct SegmentLog {
    segments: Vec<Noted>,
    sacks: Vec<NotedSack>,
    /// Options of the SYNs, each with the SYN's index in the log; at most [`SYNS`].
    syns: Vec<(u32, TcpOptions)>,
    /// Number of segments that were not kept.
    omitted: u64,
    /// True if a SYN was seen without the option SACK-permitted.
    refuses_sack: bool,
    /// True if a SYN was seen without the window scale option.
    refuses_scaling: bool,
    /// True if the capture lacks options of a segment.
    has_cut_options: bool,
}

impl SegmentLog {
    /// Largest number of segments that are kept. They take 12 MiB, and their SACK blocks take up to
    /// 12 MiB more.
    pub const SEGMENTS: usize = 1 << 18;

    /// Creates a log without segments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next segment.
    pub fn on_segment(&mut self, segment: &Segment) {
        self.has_cut_options |= segment.options_cut;
        if segment.flags.contains(TcpFlags::SYN) && !segment.options_cut {
            self.refuses_sack |= !segment.options.sack_permitted;
            self.refuses_scaling |= segment.options.window_scale.is_none();
        }
        if self.segments.len() >= Self::SEGMENTS {
            self.omitted += 1;
            return;
        }
        let place = self.segments.len() as u32;
        if segment.flags.contains(TcpFlags::SYN) && self.syns.len() < SYNS {
            self.syns.push((place, segment.options));
        }
        let blocks = segment.options.sack.as_slice().iter();
        self.sacks.extend(blocks.map(|block| NotedSack {
            place,
            left: block.left,
            right: block.right,
        }));
        self.segments.push(Noted {
            at_ns: segment.at_ns,
            from: segment.from,
            seq: segment.seq,
            ack: segment.ack,
            window: segment.window,
            flags: segment.flags,
            payload: segment.payload,
            tsval: segment.options.timestamps.map(|stamps| stamps.value),
            tsecr: segment.options.timestamps.map(|stamps| stamps.echo),
            ecn: segment.ecn,
        });
    }

    /// The segments.
    pub fn segments(&self) -> &[Noted] {
        &self.segments
    }

    /// The SACK blocks of the segments, in the order of the segments.
    pub fn sacks(&self) -> &[NotedSack] {
        &self.sacks
    }

    /// Initial sequence numbers of both ends; `None` for an end without a captured SYN.
    pub fn initial(&self) -> [Option<u32>; 2] {
        End::BOTH.map(|end| {
            let is_syn = |one: &&Noted| one.from == end && one.flags.contains(TcpFlags::SYN);
            self.segments.iter().find(is_syn).map(|syn| syn.seq)
        })
    }

    /// The segments as a capture returns them. Values that the log does not keep are missing.
    pub fn captured(&self) -> impl Iterator<Item = Segment> + '_ {
        let mut sacks = self.sacks.iter().peekable();
        let mut syns = self.syns.iter().peekable();
        let numbered = (0..).zip(&self.segments);
        numbered.map(move |(place, noted)| {
            let mut blocks = SackBlocks::NONE;
            while let Some(block) = sacks.next_if(|block| block.place == place) {
                let (left, right) = (block.left, block.right);
                blocks.push(SackBlock { left, right });
            }
            let syn = syns.next_if(|syn| syn.0 == place);
            let timestamps = noted.tsval.zip(noted.tsecr);
            let plain = TcpOptions {
                timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                sack: blocks,
                ..TcpOptions::NONE
            };
            Segment {
                at_ns: noted.at_ns,
                from: noted.from,
                seq: noted.seq,
                ack: noted.ack,
                flags: noted.flags,
                window: noted.window,
                payload: noted.payload,
                options: syn.map_or(plain, |syn| syn.1),
                ecn: noted.ecn,
                ..Segment::EMPTY
            }
        })
    }

    /// Returns the log with each time `t` replaced by `at(t)`.
    pub fn with_times(&self, at: impl Fn(i64) -> i64) -> Self {
        let mut log = self.clone();
        for segment in &mut log.segments {
            segment.at_ns = at(segment.at_ns);
        }
        log
    }

    /// Number of segments that were not kept because the log was full.
    pub const fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Returns true if the capture lacks options of a segment.
    pub const fn has_cut_options(&self) -> bool {
        self.has_cut_options
    }

    /// Returns true if a SYN without the window scale option was seen.
    pub const fn refuses_scaling(&self) -> bool {
        self.refuses_scaling
    }

    /// Returns true if a SYN without the option SACK-permitted was seen.
    pub const fn refuses_sack(&self) -> bool {
        self.refuses_sack
    }
}

/// A connection as a capture shows it, and its log if one was kept.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The connection.
    pub observed: ObservedConnection,
    /// The connection's segments, if they were kept.
    pub log: Option<SegmentLog>,
}

/// The analysis of a connection, which may keep its segments.
#[derive(Debug, Default)]
pub struct Follower {
    observer: ConnectionObserver,
    log: Option<SegmentLog>,
}

impl Follower {
    /// Creates the analysis of a connection. If `keeps_segments` is true, the analysis keeps the
    /// segments.
    pub fn new(keeps_segments: bool) -> Self {
        Self {
            observer: ConnectionObserver::new(),
            log: keeps_segments.then(SegmentLog::new),
        }
    }
}

impl Analysis for Follower {
    type Outcome = Followed;

    fn on_segment(&mut self, segment: &Segment) {
        self.observer.on_segment(segment);
        if let Some(log) = &mut self.log {
            log.on_segment(segment);
        }
    }

    fn conclude(self, end_ns: i64) -> Followed {
        Followed {
            observed: self.observer.finish(end_ns),
            log: self.log,
        }
    }
}
