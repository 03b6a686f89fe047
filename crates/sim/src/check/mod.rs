//! Checkers: rules that hold in every world (simulated network) at every step.
//!
//! Rule: a checker only observes; a world runs the same with or without it. Each checker
//! is one file. A violation is described in words, with the numbers; the
//! [`World`](crate::World) adds place and time.

pub mod pace;
pub mod rate;
pub mod repeats;
pub mod silence;
pub mod windows;

/// The extent of the checks of a world (a simulated network). Three rules are always checked: a
/// stream ends after exactly the bytes written, no connection is silent for too long, and the world
/// makes progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// Checks every frame and every byte of a stream. Checks the memory and tables of hosts often:
    /// after each step of a host, if they are small.
    #[default]
    Whole,
    /// Checks the first [`SAMPLE`] frames that leave hosts, and all bytes that are read until these
    /// frames have left. Later, checks only the last bytes of each read. Checks the memory and
    /// tables of hosts rarely. Stacks verify checksums only if a link may damage frames.
    Sampled,
    /// Checks the last bytes of each read, but neither frames nor the memory and tables of hosts.
    /// Stacks verify checksums only if a link may damage frames.
    Streams,
}

/// Number of frames that [`Checks::Sampled`] checks.
pub const SAMPLE: u64 = 1_000;

impl Checks {
    /// Returns true if the next frame is checked, after `frames` frames have left hosts.
    pub const fn cover_frame(self, frames: u64) -> bool {
        match self {
            Self::Whole => true,
            Self::Sampled => frames < SAMPLE,
            Self::Streams => false,
        }
    }

    /// Number of blocks and connections of a host that may be checked in each step, on average;
    /// `None` if neither is checked.
    pub const fn each_step(self) -> Option<u32> {
        match self {
            Self::Whole => Some(64),
            Self::Sampled => Some(4),
            Self::Streams => None,
        }
    }
}

/// The checkers that had something to judge. Only the checkers that have nothing to judge in some
/// worlds are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCoverage {
    /// [`repeats`]: payload was sent after an ACK that shows the host which payload arrived.
    pub repeats: bool,
    /// [`pace`]: payload was sent while a pacing rate applied.
    pub pace: bool,
    /// [`rate`]: a rate sample was taken on a path whose rate bounds rate samples.
    pub rate: bool,
}

/// A violated rule, in words.
pub type Violation = String;
