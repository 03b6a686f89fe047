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

/// What a checker found wrong.
pub type Finding = String;
