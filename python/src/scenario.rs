//! Experiments: from TOML, from the rate and round-trip time of a network path, or from a capture.
//!
//! Rule: a scenario is its TOML text. Settings of a run are applied to a copy and never to the text.

use std::{
    env,
    hash::{Hash, Hasher},
};

use fullpipe_lab::{
    Axis, Experiment, HostRole, TrialEnd, TrialPlan,
    catalogue::{self, ExperimentFile},
};
use pyo3::{prelude::*, types::PyMapping};

use crate::{
    answer::{Answer, AnswerOptions},
    arguments, errors,
};

/// An experiment: hosts, links, flows, and rows that change their settings.
///
/// Made by `Scenario.from_toml`, `Scenario.from_capture` or `Scenario.transfer`.
#[pyclass(frozen, eq, hash, module = "fullpipe", from_py_object)]
#[derive(Clone)]
pub struct Scenario {
    file: ExperimentFile,
    experiment: Experiment,
}

impl PartialEq for Scenario {
    fn eq(&self, other: &Self) -> bool {
        self.file == other.file
    }
}

impl Hash for Scenario {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.file.text.hash(state);
    }
}

impl Scenario {
    /// Parses a file.
    pub fn of(py: Python<'_>, file: ExperimentFile) -> PyResult<Self> {
        let experiment = file
            .parse()
            .map_err(|error| errors::catalogue(py, &error))?;
        Ok(Self { file, experiment })
    }

    /// Parses TOML text.
    pub fn of_text(py: Python<'_>, name: &str, text: String) -> PyResult<Self> {
        let file = ExperimentFile {
            name: name.to_string(),
            file: format!("{name}.toml"),
            text,
        };
        Self::of(py, file)
    }

    /// Returns the scenario that an argument names: a scenario, TOML text, a path, or the name of an
    /// experiment.
    pub fn from_argument(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = given.py();
        if let Ok(scenario) = given.cast::<Self>() {
            return Ok(scenario.get().clone());
        }
        let name = match arguments::path(given)? {
            Some(path) => path.to_string_lossy().into_owned(),
            None => given.extract::<String>()?,
        };
        if name.contains('\n') {
            return Self::of_text(py, "scenario", name);
        }
        let here = env::current_dir()?;
        let found = catalogue::find(&name, &here);
        Self::of(py, found.map_err(|error| errors::catalogue(py, &error))?)
    }

    /// Returns the experiment with settings and seeds, and only the row with the label `row` if one
    /// is given.
    pub fn prepared(
        &self,
        py: Python<'_>,
        settings: Option<&Bound<'_, PyMapping>>,
        row: Option<&str>,
        seeds: Option<u32>,
        axes: &[Axis],
    ) -> PyResult<Experiment> {
        let mut experiment = self.experiment.clone();
        if let Some(label) = row {
            experiment.rows.retain(|row| row.label == label);
            if experiment.rows.is_empty() {
                let labels = self.rows().join("`, `");
                let fix = format!(
                    "{} has no row with this label; the labels are `{labels}`",
                    self.file.name
                );
                return Err(errors::setting(py, &format!("row={label}"), fix));
            }
        }
        for (name, value) in arguments::settings(settings)? {
            let set = experiment.set(&name, &value);
            set.map_err(|error| errors::setting(py, &format!("{name}={value}"), error))?;
        }
        let valid = experiment.validate();
        valid.map_err(|error| errors::setting(py, "", error))?;
        if let Some(seeds) = seeds {
            experiment.rows.iter_mut().for_each(|row| row.seeds = seeds);
        }
        let swept = fullpipe_lab::sweep(&mut experiment, axes);
        swept.map_err(|error| errors::sweep(py, &error))?;
        Ok(experiment)
    }
}

#[pymethods]
impl Scenario {
    /// Reads an experiment: a path, the name of a built-in experiment, or TOML text (several
    /// lines).
    ///
    /// Raises ScenarioError with file, line, column and fix.
    #[staticmethod]
    fn from_toml(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::from_argument(source)
    }

    /// Fits an experiment to one connection of a capture.
    ///
    /// The arguments are those of `why`. Raises CaptureError if no experiment behaves like the
    /// connection.
    #[staticmethod]
    #[pyo3(signature = (source, *, flow=None, filter=None, preset="linux", progress=None))]
    fn from_capture(
        source: &Bound<'_, PyAny>,
        flow: Option<i128>,
        filter: Option<&str>,
        preset: &str,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options = AnswerOptions {
            flow,
            filter,
            preset,
            rows: 1,
            is_quick: false,
        };
        let py = source.py();
        let answer = Answer::of(source, &options, progress)?;
        Self::of_text(py, "twin", answer.twin_file(py)?)
    }

    /// Describes one transfer between a host with a preset and a stock Linux.
    ///
    /// rate: bit/s, or text such as "100mbit". rtt: round-trip time of the idle path, in seconds,
    /// or text such as "20ms". loss: probability below 1 that a frame with payload is lost.
    /// direction: "send" if the host with the preset sends, "receive" if it receives. queue: queue
    /// of the link, such as "50 packets". congestion: congestion control of the sender. size_bytes
    /// or duration (seconds, or text such as "20ms"): the payload or the time after which the
    /// transfer ends; give at most one of the two.
    #[staticmethod]
    #[pyo3(signature = (rate, rtt, *, loss=None, preset="default", direction="send", settings=None,
        queue=None, congestion=None, size_bytes=None, duration=None))]
    // Allow many arguments: each is a keyword of the Python function.
    #[allow(clippy::too_many_arguments)]
    fn transfer(
        rate: &Bound<'_, PyAny>,
        rtt: &Bound<'_, PyAny>,
        loss: Option<&Bound<'_, PyAny>>,
        preset: &str,
        direction: &str,
        settings: Option<&Bound<'_, PyMapping>>,
        queue: Option<String>,
        congestion: Option<String>,
        size_bytes: Option<i128>,
        duration: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = rate.py();
        let role = HostRole::ALL
            .into_iter()
            .find(|role| role.name() == direction);
        let role = role
            .ok_or_else(|| errors::setting(py, "direction", "expected \"send\" or \"receive\""))?;
        let duration = duration.map(|given| arguments::time("duration", given));
        let size_bytes = size_bytes.map(|bytes| arguments::whole(py, "size_bytes", bytes, 1));
        let end = match (size_bytes.transpose()?, duration.transpose()?) {
            (Some(_), Some(_)) => {
                let fix = "give size_bytes or duration, not both";
                return Err(errors::setting(py, "duration", fix));
            }
            (Some(bytes), None) => Some(TrialEnd::Bytes(bytes)),
            (None, Some(time)) => Some(TrialEnd::Time(time)),
            (None, None) => None,
        };
        let loss = loss.map(|given| arguments::share("loss", given));
        let plan = TrialPlan {
            preset: fullpipe::presets::find(preset)
                .map_err(|error| errors::setting(py, "preset", error))?,
            role,
            settings: arguments::settings(settings)?,
            rate_bps: arguments::rate(rate)?,
            rtt: arguments::time("rtt", rtt)?,
            loss: loss.transpose()?.unwrap_or(0.0),
            queue,
            congestion,
            end,
            seed: 1,
        };
        let text = plan.file().map_err(|error| errors::trial(py, &error))?;
        Self::of_text(py, "transfer", text)
    }

    /// Returns the experiment file as text. `fullpipe lab run` accepts it.
    fn to_toml(&self) -> String {
        self.file.text.clone()
    }

    /// Name of the experiment.
    #[getter]
    fn name(&self) -> String {
        self.file.name.clone()
    }

    /// Title of the experiment.
    #[getter]
    fn title(&self) -> String {
        self.experiment.title.clone()
    }

    /// Labels of the rows, in the order of the file.
    #[getter]
    fn rows(&self) -> Vec<String> {
        let rows = self.experiment.rows.iter();
        rows.map(|row| row.label.clone()).collect()
    }

    /// Returns the arguments of `_scenario`, for pickle.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (String, String, String))> {
        let ExperimentFile { name, file, text } = self.file.clone();
        let made = py.import("fullpipe._native")?.getattr("_scenario")?;
        Ok((made, (name, file, text)))
    }

    fn __repr__(&self) -> String {
        let Self { file, experiment } = self;
        format!(
            "<fullpipe.Scenario {}: {} rows>",
            file.name,
            experiment.rows.len()
        )
    }
}

/// Returns a scenario that pickle stored.
#[pyfunction]
#[pyo3(name = "_scenario")]
pub fn unpickled(py: Python<'_>, name: String, file: String, text: String) -> PyResult<Scenario> {
    Scenario::of(py, ExperimentFile { name, file, text })
}
