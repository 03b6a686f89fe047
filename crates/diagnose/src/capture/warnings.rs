//! Warnings about a capture: reasons for which an answer is partial or less certain.
//!
//! Rule: a warning is a sentence about the capture, its consequence, and the remedy if there is
//! one. `docs/diagnosis.md` explains each warning by its name.

use std::fmt;

use super::{dissector::CaptureCounters, file::Ending, link_type::LinkType};

/// A warning about a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureWarning {
    /// The file ends inside a packet.
    Cut {
        /// Place of the incomplete packet, in decompressed bytes.
        at_byte: u64,
    },
    /// The file contradicts itself at a place; nothing after this place was read.
    Damaged {
        /// The place, in decompressed bytes.
        at_byte: u64,
        /// The contradiction.
        why: &'static str,
    },
    /// The file could not be read or decompressed to its end.
    Unreadable {
        /// Place of the first byte that could not be read, in decompressed bytes.
        at_byte: u64,
        /// Text of the error.
        error: String,
        /// True if the operating system failed, so the file itself may be good.
        is_of_system: bool,
    },
    /// The capture has no TCP segment.
    NoTcp,
    /// The capturing system dropped packets.
    Dropped(u64),
    /// Frames with link headers of types that this crate does not read.
    OtherLinks {
        /// Number of frames.
        frames: u64,
        /// The types; only the first few are remembered.
        types: Vec<LinkType>,
    },
    /// The snap length cuts frames before the end of the TCP header's first 20 bytes.
    HeaderCut {
        /// Number of frames.
        frames: u64,
        /// Largest number of captured bytes of a frame.
        snap_len: u32,
    },
    /// TCP options are cut or malformed.
    OptionsCut {
        /// Number of segments.
        segments: u64,
        /// Largest number of captured bytes of a frame that was cut; 0 if no frame was cut.
        snap_len: u32,
    },
    /// Headers contradict themselves.
    Malformed(u64),
    /// IP fragments other than the first of a packet.
    Fragments(u64),
    /// Copies of frames, which were left out.
    Duplicates(u64),
    /// Packets with an IP length of 0.
    BigPackets(u64),
    /// Frames without a time.
    MissingTimes(u64),
    /// Times before the previous one.
    BackwardTimes(u64),
    /// The clock was set back.
    ClockSteps(u64),
    /// Single times far from all others.
    AbsurdTimes(u64),
    /// All times are multiples of a unit of at least a millisecond.
    CoarseTimes {
        /// The unit in nanoseconds.
        unit_ns: i64,
    },
}

impl CaptureWarning {
    /// Returns the warnings about a capture with these counts and this ending, the worst first.
    pub fn all(counters: &CaptureCounters, ending: Option<&Ending>) -> Vec<Self> {
        let mut all = Vec::new();
        match ending {
            Some(&Ending::Cut { at_byte }) => all.push(Self::Cut { at_byte }),
            Some(&Ending::Damaged { at_byte, why }) => all.push(Self::Damaged { at_byte, why }),
            Some(Ending::Unreadable { at_byte, error }) => all.push(Self::Unreadable {
                at_byte: *at_byte,
                error: error.to_string(),
                is_of_system: error.raw_os_error().is_some(),
            }),
            Some(Ending::Complete) | None => {}
        }
        let CaptureCounters { snap_len, .. } = *counters;
        if counters.segments == 0 {
            all.push(Self::NoTcp);
        }
        let mut add = |count: u64, warning: Self| {
            if count > 0 {
                all.push(warning);
            }
        };
        let times = &counters.times;
        add(counters.dropped, Self::Dropped(counters.dropped));
        let (frames, types) = (counters.other_links, counters.unread_links.clone());
        add(frames, Self::OtherLinks { frames, types });
        let frames = counters.header_cut;
        add(frames, Self::HeaderCut { frames, snap_len });
        let segments = counters.options_cut;
        add(segments, Self::OptionsCut { segments, snap_len });
        add(counters.malformed, Self::Malformed(counters.malformed));
        add(counters.fragments, Self::Fragments(counters.fragments));
        add(counters.duplicates, Self::Duplicates(counters.duplicates));
        add(counters.big_packets, Self::BigPackets(counters.big_packets));
        add(times.missing, Self::MissingTimes(times.missing));
        add(times.backwards, Self::BackwardTimes(times.backwards));
        add(times.steps, Self::ClockSteps(times.steps));
        add(times.absurd, Self::AbsurdTimes(times.absurd));
        if let Some(unit_ns) = counters.time_unit_ns {
            all.push(Self::CoarseTimes { unit_ns });
        }
        all
    }

    /// Name in JSON and in `docs/diagnosis.md`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cut { .. } => "cut",
            Self::Damaged { .. } => "damaged",
            Self::Unreadable { .. } => "unreadable",
            Self::NoTcp => "no_tcp",
            Self::Dropped(_) => "dropped",
            Self::OtherLinks { .. } => "other_links",
            Self::HeaderCut { .. } => "header_cut",
            Self::OptionsCut { .. } => "options_cut",
            Self::Malformed(_) => "malformed",
            Self::Fragments(_) => "fragments",
            Self::Duplicates(_) => "duplicates",
            Self::BigPackets(_) => "big_packets",
            Self::MissingTimes(_) => "missing_times",
            Self::BackwardTimes(_) => "backward_times",
            Self::ClockSteps(_) => "clock_steps",
            Self::AbsurdTimes(_) => "absurd_times",
            Self::CoarseTimes { .. } => "coarse_times",
        }
    }

    /// Returns true if a part of the capture was not read.
    pub const fn is_partial(&self) -> bool {
        matches!(
            self,
            Self::Cut { .. } | Self::Damaged { .. } | Self::Unreadable { .. }
        )
    }
}

impl CaptureWarning {
    /// Writes a warning about times.
    fn fmt_times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingTimes(count) => write!(
                f,
                "{count} frames have no time, because they are in simple packet blocks: each counts with the time of the frame before it."
            ),
            Self::BackwardTimes(count) => write!(
                f,
                "{count} frames have a time up to a second before that of the previous frame: the previous time replaces it. If the capture merges interfaces, sort the file: reordercap OLD NEW."
            ),
            Self::ClockSteps(count) => write!(
                f,
                "The clock of the capturing host was set back {count} times by more than a second: each step was added to all later times."
            ),
            Self::AbsurdTimes(count) => write!(
                f,
                "{count} frames have a time more than a second before or more than a day after that of the previous frame, and the next frame does not confirm it: the previous time replaces it."
            ),
            Self::CoarseTimes { unit_ns } => write!(
                f,
                "All times are multiples of {} ms: shorter waits and round trips are invisible.",
                unit_ns / 1_000_000
            ),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for CaptureWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut { at_byte } => write!(
                f,
                "The file ends inside a packet, at byte {at_byte}: the capturing program was killed, or the file was copied incompletely. All packets before this one were read."
            ),
            Self::Damaged { at_byte, why } => write!(
                f,
                "The file is damaged at byte {at_byte}: {why}. Only the packets before this byte were read."
            ),
            Self::Unreadable { at_byte, error, .. } => write!(
                f,
                "The file could be read only up to byte {at_byte}: {error}."
            ),
            Self::NoTcp => f.write_str("There is no TCP segment in the capture."),
            Self::Dropped(count) => write!(
                f,
                "The capturing system dropped {count} packets: the path may have carried segments that are missing here. Capture with a larger buffer (tcpdump -B 65536) or fewer bytes of each packet (-s 128)."
            ),
            Self::OtherLinks { frames, types } => {
                let types: Vec<_> = types.iter().map(LinkType::to_string).collect();
                write!(
                    f,
                    "{frames} frames do not count, because fullpipe cannot read their link header (link type {}).",
                    types.join(", ")
                )
            }
            Self::HeaderCut { frames, snap_len } => write!(
                f,
                "{frames} frames do not count: of each, at most {snap_len} bytes were captured, which end before the end of the TCP header. Capture with tcpdump -s 128."
            ),
            Self::OptionsCut {
                segments,
                snap_len: 0,
            } => write!(
                f,
                "The TCP options of {segments} segments are malformed: the malformed option and all options after it are unknown."
            ),
            Self::OptionsCut { segments, snap_len } => write!(
                f,
                "The TCP options of {segments} segments were not captured completely, in frames of at most {snap_len} captured bytes: missing SACK blocks and timestamps are unknown. Capture with tcpdump -s 128."
            ),
            Self::Malformed(count) => write!(
                f,
                "{count} frames do not count, because their headers are invalid, for example with an impossible length."
            ),
            Self::Fragments(count) => write!(
                f,
                "{count} IP fragments do not count, because they have no TCP header: only the first fragment of a segment has one."
            ),
            Self::Duplicates(count) => write!(
                f,
                "{count} frames were captured twice, for example on a mirror port or on the device `any`; their copies were left out."
            ),
            Self::BigPackets(count) => write!(
                f,
                "{count} packets have an IP length of 0 (segmentation offload or BIG TCP): their length is taken from the length of the frame."
            ),
            Self::MissingTimes(_)
            | Self::BackwardTimes(_)
            | Self::ClockSteps(_)
            | Self::AbsurdTimes(_)
            | Self::CoarseTimes { .. } => self.fmt_times(f),
        }
    }
}
