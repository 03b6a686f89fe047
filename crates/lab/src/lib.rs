//! The laboratory: reads experiments from files, runs them in virtual time, and explains the
//! results.
//!
//! One TOML file describes hosts with all their knobs (settings of the stack), switches, links, and
//! flows. Its rows are scenarios that change these settings; a row may contain published results.
//! [`run`] returns a [`Report`]: measured and published results, each limit's share of the time,
//! and a verdict for each row.
//!
//! Rule: a file and a seed are the complete input, so the same file and seed give the same bytes
//! of output. Nothing in this crate depends on a terminal, a clock or a device.
//!
//! ```
//! use fullpipe_lab::{Experiment, RunOptions, layout::Layout, report_text, run};
//!
//! let text = r#"
//! title = "A send buffer and a long path"
//! hosts.near = {}
//! hosts.far = {}
//! [links.path]
//! between = ["near", "far"]
//! rate = "100mbit"
//! delay = "10ms"
//! [workload]
//! from = "near"
//! to = "far"
//! write = 16384
//! duration = "2s"
//! [[rows]]
//! label = "16 KB"
//! set.tcp.send_buffer = "16K"
//! [[rows]]
//! label = "32 KB"
//! set.tcp.send_buffer = "32K"
//! "#;
//! let experiment = Experiment::parse("buffer", "buffer.toml", text).expect("no mistake");
//! let options = RunOptions::plain(1);
//! let report = run(&experiment, &options).expect("every checker is content");
//! println!("{}", report_text(&report, Layout::plain(80)));
//! let limit = |row: &fullpipe_lab::RowReport| row.verdict.as_ref().map(|found| found.limit);
//! assert!(report.rows.iter().all(|row| limit(row) == Some(fullpipe_lab::Cause::SEND_BUFFER)));
//! ```
//!
//! # Steps from a file to a verdict
//!
//! | step | module |
//! | --- | --- |
//! | read the whole file, or refuse it with line, column and the nearest key | [`experiment`], [`Mistake`] |
//! | build the world of each row and seed: hosts with their knobs, links, flows | `fullpipe-scenario`, over `fullpipe-sim` |
//! | measure the row, and the shares of its limits | [`Measured`], [`Shares`] |
//! | find the cause, its proof, the setting to change and the predicted result | [`Explanation`], by `fullpipe-explain` |
//! | print a table for people, JSON for programs | [`report_text`], [`Report`] |
//!
//! With [`RunOptions::observe`], the hosts' traces are read while the rows run; [`facts()`] then
//! returns every segment and every series. With [`RunOptions::watch`], a row also has its events,
//! sockets and counters.
//!
//! [`catalogue`] finds an experiment by name, in the checkout or among the built-in ones.
//! [`knobs_markdown`] writes `docs/knobs.md` from the table of knobs.
#![forbid(unsafe_code)]

mod advise;
pub mod catalogue;
mod facts;
pub mod goodput_page;
pub mod grid;
mod kernel_row;
mod kernel_table;
pub mod knobs_page;
pub mod layout;
mod matrix_text;
mod outline;
mod path_facts;
mod processor_time;
mod records;
mod reference;
pub mod reference_page;
mod report;
mod run;
mod size;
mod sweep;
mod table;
mod trial;
mod verdict_text;
pub mod watch;
mod whole_file;

pub use advise::{Advice, AdviceEnd, AdviceStep, MOST_STEPS, advice_json, advice_text, advise};
pub use facts::facts;
pub use fullpipe_diagnose::facts::{ChangeLine, VerdictParts};
pub use fullpipe_explain::{
    Cause, Change, Effort, Explanation, LeverKind, Matrix, MatrixLine, Predicted, Together, Tried,
    TriedLever, TwinFailure, explain, matrix,
};
pub use fullpipe_scenario::{
    Account, Coordinate, Experiment, FlowMeasured, Form, Limits, Measured, Mistake, Outcome,
    Quantity, Shares, Spread, Summary, Times, experiment, hint, schema, template, units,
};
pub use goodput_page::goodput_markdown;
pub use kernel_row::{KernelAccount, KernelMeasured, KernelOutcome, KernelRow, MainLimit};
pub use kernel_table::kernel_text;
pub use knobs_page::knobs_markdown;
pub use matrix_text::{matrix_json, matrix_text};
pub use outline::{Outline, OutlineRow};
pub use processor_time::{ProcessorClock, ProcessorTime};
pub use records::{Column, Records, Values, of_explanations};
pub use reference::{FigureKind, FigureResult, PublishedRow, Reference};
pub use reference_page::reference_markdown;
pub use report::{JSON_SCHEMA, Report, RowReport, json_array};
pub use run::{RunError, RunOptions, run, run_by_row};
pub use size::{
    AmpleResult, CurvePoint, Divided, HostRole, KnobSize, Size, SizeError, SizeProgress,
    SizeRequest, SizedPath, Split, size, size_text,
};
pub use sweep::{Axis, SweepError, sweep};
pub use table::{ColumnError, Columns, TablePrinter, WIDE, text as report_text};
pub use trial::{Trial, TrialEnd, TrialError, TrialPlan, trial_text};
pub use verdict_text::verdict_text;
pub use watch::{Watch, Watched};
pub use whole_file::{WholeFile, WholeFileWriter, write_whole};
