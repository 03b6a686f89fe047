//! The smallest sufficient settings for a path, and presets.
//!
//! Rule: this file only converts arguments and results; `fullpipe-lab` searches.

use fullpipe::presets::{PRESETS, find};
use fullpipe_lab::{Records, Size, SizeRequest, SizedPath, layout::Layout, size_text};
use pyo3::{
    prelude::*,
    types::{PyDict, PyMapping},
};

use crate::{arguments, errors, scenario::Scenario, table::Table, work::work};

/// Width of texts, in characters.
const WIDTH: usize = 100;

/// The smallest sufficient buffers and packet memory for a path.
#[pyclass(frozen, module = "fullpipe")]
pub struct Sizes(Size);

/// Searches the smallest buffers and packet memory that suffice for a path.
///
/// scenario: a scenario whose first row gives rate, round-trip time, loss and preset; or give rate
/// (bit/s or "100mbit") and rtt (seconds or "20ms", at most 5 s) instead. loss: probability, from 0
/// to below 1, that a frame with payload is lost. preset: default "default". memory: packet memory
/// of the host in bytes; None gives the host more than the transfer needs. low_water: percent of
/// the send buffer that must be free before a blocked writer continues, 0 to 90. share: goodput
/// that suffices, as a share (below 1) of the goodput that the path carries. progress: True for a
/// tqdm bar, or a function of the finished share (0 to 1).
#[pyfunction]
#[pyo3(signature = (scenario=None, *, rate=None, rtt=None, loss=None, preset=None, memory=None,
    settings=None, low_water=0, share=0.95, seed=1, progress=None))]
// Allow many arguments: each is a keyword of the Python function.
#[allow(clippy::too_many_arguments)]
pub fn size(
    py: Python<'_>,
    scenario: Option<&Bound<'_, PyAny>>,
    rate: Option<&Bound<'_, PyAny>>,
    rtt: Option<&Bound<'_, PyAny>>,
    loss: Option<&Bound<'_, PyAny>>,
    preset: Option<&str>,
    memory: Option<i128>,
    settings: Option<&Bound<'_, PyMapping>>,
    low_water: i128,
    share: f64,
    seed: i128,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Sizes> {
    if !(share > 0.0 && share < 1.0) {
        return Err(errors::setting(
            py,
            "share",
            "expected a share above 0 and below 1",
        ));
    }
    if !(0..=90).contains(&low_water) {
        return Err(errors::setting(py, "low_water", "expected 0 to 90 percent"));
    }
    let path = path(py, scenario, (rate, rtt), loss, preset)?;
    let request = SizeRequest {
        rate_bps: path.rate_bps,
        rtt: path.rtt,
        loss: path.loss,
        memory: memory
            .map(|memory| arguments::whole(py, "memory", memory, 1))
            .transpose()?,
        preset: path.preset,
        settings: arguments::settings(settings)?,
        low_water: low_water as u32,
        share,
        seed: arguments::whole(py, "seed", seed, 0)?,
    };
    let found = work(py, progress, |control| {
        fullpipe_lab::size(&request, &|share| control.advance(share))
    })?;
    found.map(Sizes).map_err(|error| errors::size(py, &error))
}

/// Returns the path that the arguments describe: that of a scenario, or of a rate and a round-trip
/// time.
fn path(
    py: Python<'_>,
    scenario: Option<&Bound<'_, PyAny>>,
    (rate, rtt): (Option<&Bound<'_, PyAny>>, Option<&Bound<'_, PyAny>>),
    loss: Option<&Bound<'_, PyAny>>,
    preset: Option<&str>,
) -> PyResult<SizedPath> {
    match (scenario, rate, rtt) {
        (Some(_), None, None) if loss.is_some() || preset.is_some() => {
            let argument = if loss.is_some() { "loss" } else { "preset" };
            let fix = "the scenario has a value of its own; change the scenario, or give rate and rtt instead of the scenario";
            Err(errors::setting(py, argument, fix))
        }
        (Some(scenario), None, None) => {
            let experiment = Scenario::from_argument(scenario)?;
            let experiment = experiment.prepared(py, None, None, None, &[])?;
            let path = experiment
                .rows
                .first()
                .and_then(|row| SizedPath::of(&row.setup));
            path.ok_or_else(|| errors::setting(py, "scenario", "the path of the scenario has no rate; give rate and rtt instead of the scenario"))
        }
        (None, Some(rate), Some(rtt)) => Ok(SizedPath {
            rate_bps: arguments::rate(rate)?,
            rtt: arguments::time("rtt", rtt)?,
            loss: match loss {
                Some(given) => arguments::share("loss", given)?,
                None => 0.0,
            },
            preset: find(preset.unwrap_or("default"))
                .map_err(|error| errors::setting(py, "preset", error))?,
        }),
        _ => {
            let fix = "give either a scenario, or both rate and rtt";
            Err(errors::setting(py, "scenario", fix))
        }
    }
}

#[pymethods]
impl Sizes {
    /// One record per knob and direction: the smallest sufficient value, bytes, goodput_mbps.
    #[getter]
    fn knobs(&self, py: Python<'_>) -> PyResult<Table> {
        Table::made(py, || Records::sizes(&self.0))
    }

    /// One record per value that was tried: bytes, goodput_mbps, of_path_share, limit.
    #[getter]
    fn curves(&self, py: Python<'_>) -> PyResult<Table> {
        Table::made(py, || Records::size_curves(&self.0))
    }

    /// Bandwidth-delay product in bytes.
    #[getter]
    fn bdp_bytes(&self) -> u64 {
        self.0.bdp_bytes
    }

    /// The answer of `fullpipe size`, as text.
    #[getter]
    fn text(&self) -> String {
        size_text(&self.0, Layout::plain(WIDTH))
    }

    fn __repr__(&self) -> String {
        format!("<fullpipe.Sizes of {} knobs>", self.0.knobs.len())
    }

    fn __str__(&self) -> String {
        self.text()
    }
}

/// Returns every knob of a host with its value in a preset, by name.
#[pyfunction]
pub fn preset<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let found = find(name).map_err(|error| errors::setting(py, "preset", error))?;
    let config = found.config();
    let knobs = PyDict::new(py);
    for name in fullpipe::Config::names() {
        if let Some(value) = config.get(name) {
            knobs.set_item(name, value)?;
        }
    }
    Ok(knobs)
}

/// Returns the names of the presets.
#[pyfunction]
pub fn presets() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}
