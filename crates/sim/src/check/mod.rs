//! What must hold in every world, at every step.
//!
//! Rule: a checker watches and never acts; a world with checkers runs exactly
//! as one without. Each is one file. What is wrong is said in words that name
//! the numbers; the [`World`](crate::World) adds where, when and how to replay.

pub mod pace;
pub mod rate;
pub mod repeats;
pub mod silence;
pub mod windows;

/// Which of the checkers that need more than a frame found something to judge in a
/// world. The others judge every frame of every world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCoverage {
    /// [`repeats`]: text left after an ACK that its host must believe.
    pub repeats: bool,
    /// [`pace`]: text left at a rate.
    pub pace: bool,
    /// [`rate`]: a sample was taken where the path bounds it.
    pub rate: bool,
}

/// What a checker found wrong.
pub type Violation = String;
