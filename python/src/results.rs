//! Runs of experiments: results, accounts, verdicts and series as tables.
//!
//! Rule: `fullpipe-lab` runs, explains and makes the columns.

use fullpipe_diagnose::facts::Run;
use fullpipe_lab::{
    Axis, Experiment, Records, Report, RunOptions, facts, layout::Layout, report_text,
};
use pyo3::{
    prelude::*,
    types::{PyDict, PyString},
};

use crate::{
    arguments::value_text, errors, page::page, scenario::Scenario, table::Table, work::work,
};

/// Width of texts, in characters.
const WIDTH: usize = 100;

/// Results of the rows of an experiment.
///
/// `row_number` (from 1) joins the tables. Times in `segments`, `series` and `episodes` are
/// nanoseconds from the start of the row.
#[pyclass(frozen, module = "fullpipe")]
pub struct Results {
    report: Report,
    /// Every segment and every series, if the rows were observed.
    observed: Option<Run>,
}

/// Options of a run.
struct RunKind {
    seed: u64,
    is_explained: bool,
    is_observed: bool,
}

fn run_experiment(
    py: Python<'_>,
    experiment: &Experiment,
    options: &RunKind,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let ran = work(py, progress, |control| {
        let rows = experiment.rows.len() as f64;
        let done = std::sync::Mutex::new(vec![0.0; experiment.rows.len()]);
        let advance = |place: usize, share: f64| {
            let mut done = done.lock().unwrap_or_else(|error| error.into_inner());
            done[place] = share;
            let _ = control.advance(done.iter().sum::<f64>() / rows);
        };
        let is_over = || control.is_over();
        let options = RunOptions {
            explain: options.is_explained,
            observe: options.is_observed,
            progress: &advance,
            cancel: Some(&is_over),
            ..RunOptions::plain(options.seed)
        };
        fullpipe_lab::run(experiment, &options)
    })?;
    let mut report = ran.map_err(|error| errors::run(py, &error))?;
    let observed = options.is_observed.then(|| facts(&mut report));
    Ok(Results { report, observed })
}

/// Runs every row of a scenario, without explanations.
///
/// scenario: a Scenario, TOML text, a path, or the name of a built-in experiment.
/// settings: values by name, as `--set` of the command takes them.
/// row: label of the only row to run. seeds: number of seeds of each row; with several, results are
/// medians. seed: the first of them. observe: keep segments and series of the first seed.
/// progress: True for a tqdm bar, or a function of the finished share.
#[pyfunction]
#[pyo3(signature = (scenario, settings=None, seeds=None, *, row=None, seed=1, observe=false, progress=None))]
pub fn run(
    scenario: &Bound<'_, PyAny>,
    settings: Option<&Bound<'_, PyDict>>,
    seeds: Option<u32>,
    row: Option<&str>,
    seed: u64,
    observe: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let py = scenario.py();
    let scenario = Scenario::from_argument(scenario)?;
    let experiment = scenario.prepared(py, settings, row, seeds, &[])?;
    let options = RunKind {
        seed,
        is_explained: false,
        is_observed: observe,
    };
    run_experiment(py, &experiment, &options, progress)
}

/// Runs every row and finds its limit, the setting to change and the result of the change.
///
/// The arguments are those of `run`. `verdicts` and `levers` of the results have rows.
#[pyfunction]
#[pyo3(signature = (scenario, settings=None, *, row=None, seed=1, observe=false, progress=None))]
pub fn explain(
    scenario: &Bound<'_, PyAny>,
    settings: Option<&Bound<'_, PyDict>>,
    row: Option<&str>,
    seed: u64,
    observe: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let py = scenario.py();
    let scenario = Scenario::from_argument(scenario)?;
    let experiment = scenario.prepared(py, settings, row, None, &[])?;
    let options = RunKind {
        seed,
        is_explained: true,
        is_observed: observe,
    };
    run_experiment(py, &experiment, &options, progress)
}

/// Runs every row with every combination of the values of a grid.
///
/// grid: values by setting. Values are a list, or a text such as "4K..1M*2" or "10ms..50ms+10ms".
/// The first setting changes slowest. Each swept setting is a column of `rows`, with its unit in
/// the name. The other arguments are those of `run`; explain=True adds verdicts.
#[pyfunction]
#[pyo3(signature = (scenario, grid, settings=None, seeds=None, *, row=None, seed=1, explain=false, progress=None))]
// Allow many arguments: each is a keyword of the Python function.
#[allow(clippy::too_many_arguments)]
pub fn sweep(
    scenario: &Bound<'_, PyAny>,
    grid: &Bound<'_, PyDict>,
    settings: Option<&Bound<'_, PyDict>>,
    seeds: Option<u32>,
    row: Option<&str>,
    seed: u64,
    explain: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let py = scenario.py();
    let scenario = Scenario::from_argument(scenario)?;
    let axes = grid.iter().map(|(name, values)| axis(&name, &values));
    let axes = axes.collect::<PyResult<Vec<_>>>()?;
    let experiment = scenario.prepared(py, settings, row, seeds, &axes)?;
    let options = RunKind {
        seed,
        is_explained: explain,
        is_observed: false,
    };
    run_experiment(py, &experiment, &options, progress)
}

/// Returns the values of each setting of a grid as texts, in order. A text such as "4K..1M*2" becomes
/// its values.
#[pyfunction]
pub fn grid_values(grid: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Vec<String>)>> {
    let axes = grid.iter().map(|(name, values)| axis(&name, &values));
    axes.map(|axis| axis.map(|axis| (axis.path, axis.values)))
        .collect()
}

fn axis(name: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>) -> PyResult<Axis> {
    let py = name.py();
    let path: String = name.extract()?;
    if values.is_instance_of::<PyString>() {
        let parsed = Axis::parse(&path, &values.extract::<String>()?);
        return parsed.map_err(|error| errors::setting(py, &path, error));
    }
    let values = values.try_iter()?.map(|value| value_text(&value?));
    let values = values.collect::<PyResult<Vec<_>>>()?;
    match values.is_empty() {
        true => Err(errors::setting(py, &path, "give at least one value")),
        false => Ok(Axis { path, values }),
    }
}

impl Results {
    fn observed(&self, py: Python<'_>) -> PyResult<&Run> {
        self.observed.as_ref().ok_or_else(|| {
            let fix = "run the scenario with observe=True to keep segments and series";
            errors::setting(py, "observe", fix)
        })
    }
}

#[pymethods]
impl Results {
    /// One record a row: settings, results, limits; the columns of `fullpipe lab run --output`.
    #[getter]
    fn rows(&self) -> PyResult<Table> {
        Table::of(Records::of(&self.report))
    }

    /// One record a connection: flow, connection, goodput_mbps.
    #[getter]
    fn connections(&self) -> PyResult<Table> {
        Table::of(Records::connections(&self.report))
    }

    /// One record a limit of an end of a row: seconds, share, payload_bytes.
    #[getter]
    fn accounts(&self) -> PyResult<Table> {
        Table::of(Records::accounts(&self.report))
    }

    /// One record an explained row: limit, knob, present and needed value, predicted goodput.
    #[getter]
    fn verdicts(&self) -> PyResult<Table> {
        Table::of(Records::verdicts(&self.report))
    }

    /// One record a change that was tried for an explanation: lever, changes, gain_share.
    #[getter]
    fn levers(&self) -> PyResult<Table> {
        Table::of(Records::levers(&self.report))
    }

    /// One record a segment that an end sent or received (observe=True).
    #[getter]
    fn segments(&self, py: Python<'_>) -> PyResult<Table> {
        Table::of(Records::segments(self.observed(py)?))
    }

    /// One record a value of a series: windows in bytes, times in microseconds (observe=True).
    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Table> {
        Table::of(Records::series(self.observed(py)?))
    }

    /// One record an episode of recovery or congestion control (observe=True).
    #[getter]
    fn episodes(&self, py: Python<'_>) -> PyResult<Table> {
        Table::of(Records::episodes(self.observed(py)?))
    }

    /// The table of `fullpipe lab run`, as text.
    #[getter]
    fn text(&self) -> String {
        report_text(&self.report, Layout::plain(WIDTH))
    }

    /// Returns the page with every graph (observe=True), as an object that notebooks show.
    fn page<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let run = self.observed(py)?;
        let html = py.detach(|| fullpipe_report::page(run));
        page(py, html)
    }

    fn __repr__(&self) -> String {
        let Report {
            experiment, rows, ..
        } = &self.report;
        format!("<fullpipe.Results of {experiment}: {} rows>", rows.len())
    }

    fn __str__(&self) -> String {
        self.text()
    }
}
