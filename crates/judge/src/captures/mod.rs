//! Accounts inferred from captures, judged by the stack's own limit clock.
//!
//! A case is a transfer whose limit is known by construction. It runs once in the simulator. Its
//! capture is read at the sender, at the receiver, and in the middle of the path, and
//! `fullpipe_diagnose::observe` gives an account of each.
//!
//! Rule: the truth is the longest limit of the sender's own clock. A case is its number: the same
//! number draws the same case.

mod draw;
mod frames;
mod judged;
mod tally;
mod truth;

#[cfg(test)]
mod tests;

pub use draw::{Case, Family};
pub use frames::{Captured, View};
pub use judged::{JudgedCapture, judge_case};
pub use tally::CaptureTally;
pub use truth::{LimitGroup, TrueAccount};
