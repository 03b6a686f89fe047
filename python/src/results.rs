//! Runs of experiments: results, accounts, verdicts and series as tables.
//!
//! Rule: this file only converts arguments; `fullpipe-lab` runs, explains and makes the columns.

use fullpipe_diagnose::facts::Run;
use fullpipe_lab::{
    Axis, Column, Records, Report, RunOptions, Values, facts, layout::Layout, report_text,
};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyMapping, PyString},
};

use crate::{
    arguments::{pairs, value_text, whole},
    errors,
    page::page,
    scenario::Scenario,
    table::Table,
    work::work,
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

/// A run that a function asks for.
struct Request<'a, 'py> {
    scenario: &'a Bound<'py, PyAny>,
    settings: Option<&'a Bound<'py, PyMapping>>,
    grid: Option<&'a Bound<'py, PyMapping>>,
    row: Option<&'a str>,
    seeds: Option<i128>,
    seed: i128,
    is_explained: bool,
    is_observed: bool,
    workers: Option<i128>,
    progress: Option<&'a Bound<'py, PyAny>>,
}

impl<'a, 'py> Request<'a, 'py> {
    /// Returns the request to run every row of a scenario with the scenario's own settings.
    fn plain(scenario: &'a Bound<'py, PyAny>) -> Self {
        Self {
            scenario,
            settings: None,
            grid: None,
            row: None,
            seeds: None,
            seed: 1,
            is_explained: false,
            is_observed: false,
            workers: None,
            progress: None,
        }
    }

    fn run(&self) -> PyResult<Results> {
        let py = self.scenario.py();
        let scenario = Scenario::from_argument(self.scenario)?;
        let axes = axes(self.grid)?;
        let seeds = self.seeds.map(|seeds| whole(py, "seeds", seeds, 1));
        let seeds = seeds.transpose()?;
        let workers = self.workers.map(|workers| whole(py, "workers", workers, 1));
        let workers = workers.transpose()?;
        let seed = whole(py, "seed", self.seed, 0)?;
        let experiment = scenario.prepared(py, self.settings, self.row, seeds, &axes)?;
        let (explain, observe) = (self.is_explained, self.is_observed);
        let ran = work(py, self.progress, |control| {
            let rows = experiment.rows.len() as f64;
            let done = std::sync::Mutex::new(vec![0.0; experiment.rows.len()]);
            let advance = |place: usize, share: f64| {
                let mut done = done.lock().unwrap_or_else(|error| error.into_inner());
                done[place] = share;
                let _ = control.advance(done.iter().sum::<f64>() / rows);
            };
            let is_over = || control.is_over();
            let options = RunOptions {
                explain,
                observe,
                progress: &advance,
                workers,
                cancel: Some(&is_over),
                ..RunOptions::plain(seed)
            };
            fullpipe_lab::run(&experiment, &options)
        })?;
        let mut report = ran.map_err(|error| errors::run(py, &error))?;
        let observed = observe.then(|| py.detach(|| facts(&mut report)));
        Ok(Results { report, observed })
    }
}

/// Runs every row of a scenario, without explanations.
///
/// scenario: a Scenario, TOML text, a path, or the name of a built-in experiment. settings: values
/// by name, as `--set` of the command takes them; a number has no unit, so a time or a rate is a
/// text such as "20ms". row: label of the only row to run. seeds: number of runs of each row, each
/// with another seed, at least 1; with several, results are medians. seed: the first seed. observe:
/// keeps segments, series and episodes of the first seed. progress: True for a tqdm bar, or a
/// function of the finished share (0 to 1).
///
/// Raises ScenarioError for a wrong scenario, SettingError for a wrong setting or argument.
#[pyfunction]
#[pyo3(signature = (scenario, settings=None, seeds=None, *, row=None, seed=1, observe=false, progress=None))]
pub fn run(
    scenario: &Bound<'_, PyAny>,
    settings: Option<&Bound<'_, PyMapping>>,
    seeds: Option<i128>,
    row: Option<&str>,
    seed: i128,
    observe: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let request = Request {
        settings,
        row,
        seeds,
        seed,
        is_observed: observe,
        progress,
        ..Request::plain(scenario)
    };
    request.run()
}

/// Runs every row and finds its limit, the setting to change and the result of the change.
///
/// The arguments are those of `run`. In the results, the tables `verdicts` and `levers` are filled.
#[pyfunction]
#[pyo3(signature = (scenario, settings=None, *, row=None, seed=1, observe=false, progress=None))]
pub fn explain(
    scenario: &Bound<'_, PyAny>,
    settings: Option<&Bound<'_, PyMapping>>,
    row: Option<&str>,
    seed: i128,
    observe: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let request = Request {
        settings,
        row,
        seed,
        is_explained: true,
        is_observed: observe,
        progress,
        ..Request::plain(scenario)
    };
    request.run()
}

/// Runs every row with every combination of the values of a grid.
///
/// grid: values by setting. Values are a list, or a text such as "4K..1M*2" or "10ms..50ms+10ms".
/// The first setting changes slowest. Each swept setting is a column of `rows`, with its unit in
/// the name. workers: the maximum number of simulations that run at the same time; None for one per
/// processor. explain: adds verdicts. The other arguments are those of `run`.
#[pyfunction]
#[pyo3(signature = (scenario, grid, settings=None, seeds=None, *, row=None, seed=1, explain=false, workers=None, progress=None))]
// Allow many arguments: each is a keyword of the Python function.
#[allow(clippy::too_many_arguments)]
pub fn sweep(
    scenario: &Bound<'_, PyAny>,
    grid: &Bound<'_, PyMapping>,
    settings: Option<&Bound<'_, PyMapping>>,
    seeds: Option<i128>,
    row: Option<&str>,
    seed: i128,
    explain: bool,
    workers: Option<i128>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let request = Request {
        settings,
        grid: Some(grid),
        row,
        seeds,
        seed,
        is_explained: explain,
        workers,
        progress,
        ..Request::plain(scenario)
    };
    request.run()
}

/// Returns the values of each setting of a grid as texts, in order.
///
/// A text such as "4K..1M*2" becomes its values.
#[pyfunction]
pub fn grid_values(grid: &Bound<'_, PyMapping>) -> PyResult<Vec<(String, Vec<String>)>> {
    let axes = axes(Some(grid))?.into_iter();
    Ok(axes.map(|axis| (axis.path, axis.values)).collect())
}

fn axes(grid: Option<&Bound<'_, PyMapping>>) -> PyResult<Vec<Axis>> {
    let axes = pairs(grid, axis)?;
    Ok(axes.into_iter().map(|(_, axis)| axis).collect())
}

fn axis(path: &str, values: &Bound<'_, PyAny>) -> PyResult<Axis> {
    let py = values.py();
    if values.is_instance_of::<PyBytes>() {
        let fix = "these are bytes; give a list of values, or a text";
        return Err(errors::setting(py, path, fix));
    }
    if values.is_instance_of::<PyString>() {
        let parsed = Axis::parse(path, &values.extract::<String>()?);
        return parsed.map_err(|error| errors::sweep(py, &error));
    }
    let Ok(values) = values.try_iter() else {
        let fix = "give a list of values, or a text such as \"4K..1M*2\"";
        return Err(errors::setting(py, path, fix));
    };
    let values = values.map(|value| value_text(path, &value?));
    let values = values.collect::<PyResult<Vec<_>>>()?;
    match values.is_empty() {
        true => Err(errors::setting(py, path, "give at least one value")),
        false => Ok(Axis {
            path: path.to_string(),
            values,
        }),
    }
}

impl Results {
    fn observed(&self, py: Python<'_>) -> PyResult<&Run> {
        self.observed.as_ref().ok_or_else(|| {
            let fix = "segments, series, episodes and the page need a run with observe=True";
            errors::setting(py, "observe", fix)
        })
    }
}

#[pymethods]
impl Results {
    /// One record per row: row_number, then settings, results, limits; the columns of
    /// `fullpipe lab run --output`.
    #[getter]
    fn rows(&self, py: Python<'_>) -> PyResult<Table> {
        Table::made(py, || {
            let mut records = Records::of(&self.report);
            let numbers = (1..).map(Some).take(records.count).collect();
            let column = Column {
                name: "row_number".to_string(),
                values: Values::Whole(numbers),
            };
            records.columns.insert(0, column);
            records
        })
    }

    /// One record per connection: flow, connection, goodput_mbps.
    #[getter]
    fn connections(&self, py: Python<'_>) -> PyResult<Table> {
        Table::made(py, || Records::connections(&self.report))
    }

    /// One record per row, end and limit: seconds, share, payload_bytes.
    #[getter]
    fn accounts(&self, py: Python<'_>) -> PyResult<Table> {
        Table::made(py, || Records::accounts(&self.report))
    }

    /// One record per explained row: limit, knob, present and needed value, predicted
    /// goodput; `settings` and `changes` name every setting of a change that needs several.
    #[getter]
    fn verdicts(&self, py: Python<'_>) -> PyResult<Table> {
        Table::made(py, || Records::verdicts(&self.report))
    }

    /// One record per change that was tried for an explanation: lever, changes, gain_share.
    #[getter]
    fn levers(&self, py: Python<'_>) -> PyResult<Table> {
        Table::made(py, || Records::levers(&self.report))
    }

    /// One record per segment that an end sent or received (observe=True).
    #[getter]
    fn segments(&self, py: Python<'_>) -> PyResult<Table> {
        let run = self.observed(py)?;
        Table::made(py, || Records::segments(run))
    }

    /// One record per value of a series: windows in bytes, times in microseconds (observe=True).
    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Table> {
        let run = self.observed(py)?;
        Table::made(py, || Records::series(run))
    }

    /// One record per episode of recovery or congestion control (observe=True).
    #[getter]
    fn episodes(&self, py: Python<'_>) -> PyResult<Table> {
        let run = self.observed(py)?;
        Table::made(py, || Records::episodes(run))
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
