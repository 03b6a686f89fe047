//! Checkers: rules that hold in every world at every step.
//!
//! Rule: a checker only observes; a world runs the same with or without it. Each
//! checker is one file. A violation is reported in words with the numbers; the
//! [`World`](crate::World) adds place and time.

pub mod pace;
pub mod rate;
pub mod repeats;
pub mod silence;
pub mod windows;

/// The checkers that had something to judge, of those that need more than a single
/// frame. The others judge every frame of every world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCoverage {
    /// [`repeats`]: payload was sent after an ACK that the host must believe.
    pub repeats: bool,
    /// [`pace`]: payload was sent under a pacing rate.
    pub pace: bool,
    /// [`rate`]: a sample was taken where the path bounds it.
    pub rate: bool,
}

/// A violated rule, in words.
pub type Violation = String;
