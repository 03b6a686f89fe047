//! Fits an experiment to a connection in a capture: the experiment then behaves like the
//! connection.
//!
//! A [`Follower`](fullpipe_diagnose::observe::Follower) reads the connection and keeps its first
//! segments. [`fit`] makes an experiment from these segments, runs it, and compares a capture of
//! the run with the original capture. If the two captures agree, the experiment is a *twin* of the
//! connection. [`CaptureTwin::explain`] finds the limit of a twin by running it with changes.
//!
//! Rule: only a twin that reproduces the capture may predict the result of a change. Otherwise
//! there is no advice, and the comparison names the difference.
//!
//! | step | module |
//! | --- | --- |
//! | payload, flights and round trips at the sender | `trace` |
//! | input for the first estimate | `evidence`, with `rate` |
//! | first estimate, from segments alone | `estimate`, with `path`, `losses`, `ends`, `application`, `reader`, `sizes` |
//! | the file of the experiment | `plan` |
//! | a run, and its capture | `run`, `frames` |
//! | capture and twin side by side | `misfit` |
//! | the candidates, and the choice | `variants`, `twin` |
#![forbid(unsafe_code)]

mod application;
mod ends;
mod estimate;
mod evidence;
mod failure;
pub mod frames;
mod losses;
mod misfit;
mod path;
mod plan;
mod rate;
mod reader;
mod run;
mod sizes;
mod trace;
mod twin;
mod variants;

#[cfg(test)]
mod tests;

pub use evidence::{RecordedSizes, SizedBy};
pub use failure::FitFailure;
pub use misfit::{Compared, Figures, Verdict};
pub use plan::{Basis, FittedValue, Plan};
pub use twin::{Candidate, CaptureTwin, FitOptions, fit};
