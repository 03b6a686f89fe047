//! The laboratory: experiments in files, run in virtual time, explained.
//!
//! One TOML file describes hosts with every knob, the links between them, a
//! transfer, and rows that change them and carry published figures. [`run`]
//! gives a [`Report`]: published beside measured, which limits held for what
//! share of the time, and a sentence for each row that names the binding one.
//!
//! Rule: a file and a seed are the whole input, so the same two give the same
//! bytes of output. Nothing here knows a terminal, a clock or a device.
#![forbid(unsafe_code)]

pub mod catalogue;
mod document;
pub mod experiment;
pub mod knobs_page;
mod measured;
mod mistake;
mod report;
mod run;
mod scene;
mod shares;
mod table;
pub mod units;
mod verdict;

pub use experiment::Experiment;
pub use knobs_page::knobs_markdown;
pub use measured::{Measured, Outcome, Quantity};
pub use mistake::Mistake;
pub use report::{Limits, Report, RowReport, json_array};
pub use run::{RunError, RunOptions, run};
pub use shares::Shares;
pub use table::text as report_text;
