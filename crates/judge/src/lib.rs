//! Random transfers, and the judge of the explanations of them.
//!
//! Rule: the judge shares nothing with the engine that explains except the experiment
//! file, the list of levers and the simulator. With its own seeds, it tries every lever of a
//! world alone, and levers of the hosts also together. The truth, with which an [`Answer`] is
//! compared, is the best lever or combination of the hosts if its gain counts, otherwise the
//! best of the other levers.
//!
//! ```no_run
//! use fullpipe_judge::{Answer, World, judge};
//!
//! let engine = |_setup: &_, _seed| -> Result<Answer, String> { Ok(Answer::default()) };
//! let judged = judge(&World::draw(3), &engine).expect("the stack is right");
//! assert_eq!(judged.number, 3);
//! ```
//!
//! | question | module |
//! | --- | --- |
//! | which transfers are drawn | `world`, `draw` |
//! | how fast a transfer is with a change, and how certain that is | `runs` |
//! | which levers help together | `together` |
//! | which lever helps most | `truth` |
//! | what an answer is worth | `judged` |
//! | what many answers are worth, and the thresholds for it | `tally` |
//! | whether the limit inferred from a capture is the sender's own | [`captures`] |
#![forbid(unsafe_code)]

pub mod captures;
mod draw;
mod family;
mod judged;
mod runs;
mod tally;
mod together;
mod truth;
mod world;

#[cfg(test)]
mod tests;

pub use judged::{AdviceResult, Answer, Engine, Judged, Verdict, compare, engine_seed, judge};
pub use runs::Failure;
pub use tally::{Figure, Tally};
pub use truth::{Best, Truth};
pub use world::{World, dimensions};
