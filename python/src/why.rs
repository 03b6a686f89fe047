//! Captures in Python: the tables, the verdict and the page of an answer.
//!
//! Rule: nothing is computed here; `fullpipe-captures` and `fullpipe-lab` make the columns.

use fullpipe_captures::{Capture, accounts, connection_tables, connections, run_facts};
use fullpipe_diagnose::{
    capture::{CaptureWarning, EndedFlow},
    facts::{Run, captured_ends},
    observe::{ObservedConnection, SegmentLog},
};
use fullpipe_lab::{Column, Records, Values, layout::Layout, of_explanations, verdict_text};
use pyo3::prelude::*;

use crate::{
    answer::{Answer, AnswerOptions},
    page::page,
    scenario::Scenario,
    table::Table,
};

/// Width of texts, in characters.
const WIDTH: usize = 100;

/// Connections and accounts of captures, and everything about one connection.
///
/// `connections` and `accounts` (seconds and bytes of each limit) have every connection, but at
/// most `rows`. `segments`, `limits`, `episodes`, `series` and `verdicts` are about one connection:
/// the only one, or number `flow`. Their times are nanoseconds from the first segment of the
/// connection.
#[pyclass(frozen, module = "fullpipe")]
pub struct Why(Answer);

/// Reads captures and finds what limits their connections.
///
/// source: a path, the bytes of a capture, or a list of them (two captures of one connection are
/// merged). Formats: pcap and pcapng, plain or inside gzip or zstd. flow: number of the connection
/// to explain, from 1; default: the only connection. filter: reads only the connections that match,
/// in tcpdump's words. preset: operating system of the hosts; the advice names its settings. quick:
/// finds only the account (seconds and bytes of each limit), without a simulation and a verdict.
/// rows: the maximum number of connections in the tables; those with the most lost time are kept.
/// progress: True for a tqdm bar, or a function of the finished share (0 to 1).
///
/// Raises CaptureError for a file that is no capture, ReadError for a file that cannot be opened or
/// read, SettingError for a wrong argument.
#[pyfunction]
#[pyo3(signature = (source, *, flow=None, filter=None, preset="linux", quick=false, rows=10_000, progress=None))]
pub fn why(
    source: &Bound<'_, PyAny>,
    flow: Option<i128>,
    filter: Option<&str>,
    preset: &str,
    quick: bool,
    rows: i128,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Why> {
    let options = AnswerOptions {
        flow,
        filter,
        preset,
        rows,
        is_quick: quick,
    };
    Answer::of(source, &options, progress).map(Why)
}

impl Why {
    /// Returns the connection whose whole result was kept, and its segments.
    fn one(&self, py: Python<'_>) -> PyResult<(&EndedFlow<ObservedConnection>, &SegmentLog)> {
        let one = self.0.connections.full().zip(self.0.connections.log());
        one.ok_or_else(|| self.0.not_one(py))
    }

    /// Returns one of segments, limits and episodes of the connection whose whole result was kept.
    fn table_of_one(&self, py: Python<'_>, wanted: fn([Records; 3]) -> Records) -> PyResult<Table> {
        let (flow, log) = self.one(py)?;
        Table::made(py, || {
            let tables = connection_tables(log, &flow.outcome);
            wanted(tables.map(|(_, records)| records))
        })
    }

    /// Returns the connection whose whole result was kept, as the run of an experiment.
    fn run(&self, py: Python<'_>) -> PyResult<Run> {
        let (flow, log) = self.one(py)?;
        let name = &self.0.captures[self.0.connections.full_capture()].name;
        let ends = match self.0.connections.merged() {
            Some((_, Ok(merged))) => merged.ends(),
            Some((_, Err(_))) | None => captured_ends(log, &flow.outcome),
        };
        Ok(run_facts(
            name,
            flow,
            ends,
            log.omitted(),
            self.0.twin.as_ref(),
        ))
    }
}

#[pymethods]
impl Why {
    /// One record per capture: packets, bytes, times, is_partial (0 or 1), warnings.
    #[getter]
    fn captures(&self, py: Python<'_>) -> PyResult<Table> {
        Table::made(py, || captures(&self.0.captures))
    }

    /// One record per connection, the one with the most lost time first; the columns of
    /// `fullpipe why --csv`.
    #[getter]
    fn connections(&self, py: Python<'_>) -> PyResult<Table> {
        Table::made(py, || connections(&self.0.captures, &self.0.rows))
    }

    /// One record per connection and limit: seconds, share of the lifetime, payload_bytes.
    #[getter]
    fn accounts(&self, py: Python<'_>) -> PyResult<Table> {
        Table::made(py, || accounts(&self.0.captures, &self.0.rows))
    }

    /// One record per segment of the connection.
    #[getter]
    fn segments(&self, py: Python<'_>) -> PyResult<Table> {
        self.table_of_one(py, |[segments, _, _]| segments)
    }

    /// One record per period with one limit of the connection: at_ns, until_ns, limit, confidence.
    #[getter]
    fn limits(&self, py: Python<'_>) -> PyResult<Table> {
        self.table_of_one(py, |[_, limits, _]| limits)
    }

    /// One record per episode of the connection, such as a recovery: at_ns, until_ns, count.
    #[getter]
    fn episodes(&self, py: Python<'_>) -> PyResult<Table> {
        self.table_of_one(py, |[_, _, episodes]| episodes)
    }

    /// One record per value of a series of the connection.
    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Table> {
        let run = self.run(py)?;
        Table::made(py, || Records::series(&run))
    }

    /// One record if the connection has an explanation: limit, knob, present and needed value.
    /// `settings` and `changes` name every setting of a change that needs several.
    #[getter]
    fn verdicts(&self, py: Python<'_>) -> PyResult<Table> {
        let one = self.0.connections.full().and_then(|flow| {
            let explained = self.0.twin.as_ref()?.explained()?;
            Some((flow.number, self.title(), explained))
        });
        Table::made(py, || of_explanations(one))
    }

    /// The verdict of the connection as text, or the reason for which there is none.
    #[getter]
    fn verdict(&self) -> String {
        match &self.0.twin {
            None if self.0.connections.distinct() == 0 => "The captures have no TCP connection, or none that matches the filter.".to_string(),
            None if self.0.connections.full().is_some() => {
                "There is no verdict, because of quick=True: call why without quick=True.".to_string()
            }
            None => {
                "There is no verdict, because there are several connections: choose one with flow=N, without quick=True.".to_string()
            }
            Some(answer) => match answer.explained() {
                Some(found) => verdict_text(&found.parts, Layout::plain(WIDTH)),
                None => answer.doubt().unwrap_or_default(),
            },
        }
    }

    /// Number of connections that the tables leave out.
    #[getter]
    fn left_out(&self) -> u64 {
        self.0.connections.distinct() - self.0.rows.len() as u64
    }

    /// Facts that make the answer partial or doubtful, with the name of the capture.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        let captures = self.0.captures.iter();
        let warnings = captures.flat_map(|capture| {
            let warnings = capture.warnings.iter();
            warnings.map(|warning| format!("{}: {warning}", capture.name))
        });
        warnings.collect()
    }

    /// Error of the operating system that ended the reading of a capture early; None without one.
    #[getter]
    fn read_error(&self) -> Option<String> {
        self.0.captures.iter().find_map(|capture| {
            let failed = capture.warnings.iter().find(|warning| {
                matches!(
                    warning,
                    CaptureWarning::Unreadable {
                        is_of_system: true,
                        ..
                    }
                )
            })?;
            Some(format!("{}: {failed}", capture.name))
        })
    }

    /// Returns the experiment that behaves like the connection.
    #[pyo3(name = "scenario")]
    fn to_scenario(&self, py: Python<'_>) -> PyResult<Scenario> {
        Scenario::of_text(py, "twin", self.0.twin_file(py)?)
    }

    /// Returns the page with the graphs of the connection, as an object that notebooks show.
    #[pyo3(name = "page")]
    fn to_page<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let run = self.run(py)?;
        let html = py.detach(|| fullpipe_report::page(&run));
        page(py, html)
    }

    /// Returns the connections as HTML, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        self.connections(py)?.to_html(py)
    }

    fn __repr__(&self) -> String {
        let count = self.0.connections.distinct();
        format!("<fullpipe.Why: {count} connections>")
    }
}

impl Why {
    /// Returns the names of the two ends of the connection whose whole result was kept.
    fn title(&self) -> String {
        self.0
            .connections
            .full_row()
            .map_or_else(String::new, |row| {
                format!("{} to {}", row.sender, row.receiver)
            })
    }
}

/// Returns a record for each capture.
fn captures(all: &[Capture]) -> Records {
    let text = |name: &str, of: fn(&Capture) -> String| Column {
        name: name.to_string(),
        values: Values::Text(all.iter().map(of).collect()),
    };
    let whole = |name: &str, of: fn(&Capture) -> u64| Column {
        name: name.to_string(),
        values: Values::Whole(all.iter().map(|one| Some(of(one))).collect()),
    };
    let decimal = |name: &str, of: fn(&Capture) -> f64| Column {
        name: name.to_string(),
        values: Values::Decimal(all.iter().map(|one| Some(of(one))).collect()),
    };
    Records {
        columns: vec![
            text("file", |one| one.name.clone()),
            whole("packets", |one| one.counters.frames),
            whole("bytes", |one| one.counters.bytes),
            whole("captured_bytes", |one| one.counters.captured_bytes),
            whole("tcp_segments", |one| one.counters.segments),
            whole("not_tcp", |one| one.counters.not_tcp),
            decimal("began_s", |one| one.counters.began_ns as f64 / 1e9),
            decimal("ended_s", |one| one.counters.ended_ns as f64 / 1e9),
            whole("is_partial", |one| {
                one.warnings.iter().any(CaptureWarning::is_partial).into()
            }),
            text("warnings", |one| {
                let warnings = one.warnings.iter().map(ToString::to_string);
                warnings.collect::<Vec<_>>().join("; ")
            }),
        ],
        count: all.len(),
    }
}
