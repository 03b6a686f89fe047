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

/// The checkers that had something to judge. Only checkers that need several frames are listed; the
/// other checkers judge every frame of every world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCoverage {
    /// [`repeats`]: payload was sent after an ACK that shows the host which payload arrived.
    pub repeats: bool,
    /// [`pace`]: payload was sent while a pacing rate applied.
    pub pace: bool,
    /// [`rate`]: a rate sample was taken, and the path bounded that sample.
    pub rate: bool,
}

/// A violated rule, in words.
pub type Violation = String;
