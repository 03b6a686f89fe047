//! The effect of changed settings, found by running the transfer with them. A lever is one thing
//! that somebody could change. [`matrix()`] runs every lever; [`explain`] runs the levers that
//! the unchanged run suggests.
//!
//! Rule: a gain is simulated, never computed from the stack's rules. A lever changes settings by
//! name, so that a new knob, impairment or congestion control needs only one row of a table.
//!
//! ```
//! use fullpipe_explain::matrix;
//! use fullpipe_scenario::Experiment;
//!
//! let text = r#"
//! title = "A small receive buffer"
//! hosts.near = {}
//! hosts.far = { set.tcp.receive_buffer = "8K" }
//! links.path = { between = ["near", "far"], rate = "10mbit", delay = "20ms" }
//! workload = { from = "near", to = "far", bytes = 100000 }
//! rows = [{ label = "8 KB" }]
//! "#;
//! let experiment = Experiment::parse("buffer", "buffer.toml", text).expect("no mistake");
//! let row = &experiment.rows[0];
//! let found = matrix(&row.label, &row.setup, 1, &|_done, _all| ()).expect("the stack is right");
//! let buffer = found.levers.iter().find(|line| line.lever == "far.tcp.receive_buffer");
//! assert!(buffer.expect("it is a lever").best_gain() > 0.5);
//! ```
//!
//! | task | module |
//! | --- | --- |
//! | list of changes and the values to try | `levers`, with `host`, `path`, `application` |
//! | speed of the transfer with a change | `twin` |
//! | every lever with its gain | [`matrix()`] |
#![forbid(unsafe_code)]

mod advice;
mod application;
mod bound;
mod cause;
mod caution;
mod clue;
mod engine;
mod explanation;
mod find;
mod gone;
mod host;
mod hosts;
mod lever;
mod levers;
mod matrix;
mod names;
mod own_words;
mod path;
mod proof;
mod search;
mod shared_link;
mod shown_by;
mod smaller;
mod twin;
mod whole;
mod wording;
mod work;

#[cfg(test)]
mod tests;

pub use advice::Advised;
pub use bound::Bound;
pub use cause::Cause;
pub use engine::{explain, explain_played};
pub use explanation::{Explanation, PathFault, Predicted, TriedLever};
pub use lever::{Ample, Change, Lever, LeverKind, changed};
pub use levers::all as levers_of;
pub use matrix::{Matrix, MatrixLine, Together, Tried, matrix};
pub use names::{NamedSetting, setting};
pub use path::is_random;
pub use twin::TwinFailure;
pub use wording::waits_for;
pub use work::{Effort, Progress};
