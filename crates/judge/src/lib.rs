//! Draws random transfers, and judges explanations of them.
//!
//! Rule: the judge and the engine that explains have only two things in common: the experiment file
//! and the simulator. With its own seeds and its own list of levers (things to change), the judge
//! tries every lever of a world (a random transfer) alone, and levers of the hosts also together.
//! An [`Answer`] is compared with the truth. The truth is the best lever or combination of levers
//! of the hosts if its gain is large enough, otherwise the best of the other levers. A lever that
//! the engine lacks can therefore be the truth; it is called a missing lever.
//!
//! ```no_run
//! use fullpipe_judge::{Answer, World, judge};
//!
//! let engine = |_setup: &_, _seed| -> Result<Answer, String> { Ok(Answer::default()) };
//! let judged = judge(&World::draw(3), &engine).expect("the stack is right");
//! assert_eq!(judged.number, 3);
//! ```
//!
//! | part | module |
//! | --- | --- |
//! | the transfers that are drawn | `world`, `draw` |
//! | the goodput of a transfer with a change, and its error | `runs` |
//! | the levers that are tried | `levers` |
//! | the names of the engine's levers, and the levers that it lacks | `known` |
//! | levers that help together | `together` |
//! | the lever that helps most | `truth` |
//! | the judgement of one answer | `judged` |
//! | a summary of many judgements, and its thresholds | `tally` |
//! | limits inferred from captures, compared with the sender's own account | [`captures`] |
#![forbid(unsafe_code)]

pub mod captures;
mod draw;
mod family;
mod judged;
mod known;
mod levers;
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
