//! The answer about captures, before it is shown to Python.
//!
//! Rule: `fullpipe-captures` reads and explains. A capture that is cut or damaged gives a partial
//! answer with warnings; only a file that cannot be opened or does not begin like a capture raises
//! an exception.

use fullpipe_captures::{Capture, Connections, Opened, Row, TwinAnswer, twin};
use fullpipe_diagnose::capture::{CaptureError, FlowFilter};
use fullpipe_fit::RecordedSizes;
use pyo3::{
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyByteArray, PyBytes, PyList, PyMemoryView, PyTuple},
};

use crate::{
    arguments::whole,
    errors,
    work::{Control, work},
};

/// Share of the whole progress that counts for reading, if a twin (a simulation of one connection)
/// is made afterwards.
const READING: f64 = 0.3;

/// Captures, their connections, and the twin of one connection.
pub struct Answer {
    /// The captures that were read.
    pub captures: Vec<Capture>,
    /// One table row per connection; the connections with the most lost time come first.
    pub rows: Vec<Row>,
    /// The connections.
    pub connections: Connections,
    /// The twin (a simulation that behaves like the connection) of the connection whose whole
    /// result was kept.
    pub twin: Option<TwinAnswer>,
    /// True if no twin was wanted.
    is_quick: bool,
    is_filtered: bool,
}

/// Options of an analysis.
pub struct AnswerOptions<'a> {
    /// Number of the connection whose whole result is kept.
    pub flow: Option<i128>,
    /// Filter in tcpdump's words.
    pub filter: Option<&'a str>,
    /// Preset of the twin's hosts.
    pub preset: &'a str,
    /// Maximum number of connections in the tables.
    pub rows: i128,
    /// True to make no twin and no verdict.
    pub is_quick: bool,
}

/// A source of packets with its name.
type Source = (String, Opened);

fn source(given: &Bound<'_, PyAny>) -> PyResult<Source> {
    // Another Python thread may change a bytearray or the memory of a memoryview during the work,
    // so its bytes are copied.
    let copied =
        match given.is_instance_of::<PyByteArray>() || given.is_instance_of::<PyMemoryView>() {
            true => Some(given.py().get_type::<PyBytes>().call1((given,))?),
            false => None,
        };
    if let Ok(bytes) = copied.as_ref().unwrap_or(given).cast::<PyBytes>() {
        let bytes = PyBackedBytes::from(bytes.clone());
        return Ok(("bytes".to_string(), Opened::of_bytes(bytes)));
    }
    let path: std::path::PathBuf = given.extract()?;
    let name = path.display().to_string();
    let opened = given.py().detach(|| Opened::open(&path));
    let opened = opened.map_err(|error| errors::opening(given.py(), &name, &error))?;
    match opened.recording() {
        Err(capture) => Ok((name, capture)),
        Ok(_) => {
            let fix = "this is a recording of `fullpipe watch`, not a capture; read it with the command `fullpipe why`";
            Err(errors::capture(given.py(), &name, fix))
        }
    }
}

fn sources(given: &Bound<'_, PyAny>) -> PyResult<Vec<Source>> {
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        if given.is_empty()? {
            let fix = "give at least one capture";
            return Err(errors::setting(given.py(), "source", fix));
        }
        return given.try_iter()?.map(|one| source(&one?)).collect();
    }
    Ok(vec![source(given)?])
}

/// Reads every source. An error has the name of its source.
fn read(
    sources: Vec<Source>,
    filter: Option<&FlowFilter>,
    (flow, rows): (Option<u64>, usize),
    control: &Control,
    part: f64,
) -> Result<(Vec<Capture>, Connections), (String, CaptureError)> {
    let mut collection = Connections::new(flow, rows);
    let mut captures = Vec::new();
    let count = sources.len() as f64;
    for (place, (name, opened)) in sources.into_iter().enumerate() {
        let progress = |share: f64| control.advance((place as f64 + share) / count * part);
        let read = fullpipe_captures::read(opened, filter, &mut collection, &progress);
        let (counters, warnings) = read.map_err(|error| (name.clone(), error))?;
        captures.push(Capture::new(&name, counters, warnings));
        collection.next_capture();
        if control.is_over() {
            break;
        }
    }
    collection.merge();
    Ok((captures, collection))
}

impl Answer {
    /// Reads and explains.
    pub fn of(
        given: &Bound<'_, PyAny>,
        options: &AnswerOptions<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = given.py();
        let preset = fullpipe::presets::find(options.preset)
            .map_err(|error| errors::setting(py, "preset", error))?;
        let filter = options.filter.map(str::parse::<FlowFilter>).transpose();
        let filter = filter.map_err(|error| errors::setting(py, "filter", error))?;
        let rows = whole(py, "rows", options.rows, 1)?;
        let flow = options.flow.map(|flow| whole(py, "flow", flow, 1));
        let flow = flow.transpose()?;
        let sources = sources(given)?;
        let found = work(py, progress, |control| {
            let part = if options.is_quick { 1.0 } else { READING };
            let (captures, connections) =
                read(sources, filter.as_ref(), (flow, rows), control, part)?;
            let answer = match options.is_quick {
                true => None,
                false => twin(&connections, preset, RecordedSizes::default(), &|share| {
                    control.advance(part + share * (1.0 - part))
                }),
            };
            Ok((captures, connections, answer))
        })?;
        let (captures, connections, twin) =
            found.map_err(|(name, error): (_, CaptureError)| errors::reading(py, &name, &error))?;
        if let Some(number) = flow
            && connections.full().is_none()
        {
            let last = connections.count();
            let same = connections.same().iter().find(|same| same.0 == number);
            let fix = match same {
                Some((_, earlier)) => {
                    format!(
                        "this connection is also connection {earlier}, of another capture; give flow={earlier} to merge the two captures"
                    )
                }
                None => {
                    format!("no connection has this number; the last connection is number {last}")
                }
            };
            return Err(errors::setting(py, &format!("flow={number}"), fix));
        }
        let rows = connections.sorted();
        Ok(Self {
            captures,
            rows,
            connections,
            twin,
            is_quick: options.is_quick,
            is_filtered: filter.is_some(),
        })
    }

    /// Returns the exception for a question about one connection that cannot be answered, because
    /// the captures have no connection or several.
    pub fn not_one(&self, py: Python<'_>) -> PyErr {
        match self.connections.distinct() {
            0 if self.is_filtered => {
                errors::setting(py, "filter", "no connection matches the filter")
            }
            0 => {
                let names = self.captures.iter().map(|capture| capture.name.as_str());
                let names = names.collect::<Vec<_>>().join(", ");
                errors::capture(py, &names, "no TCP connection was found")
            }
            count => {
                let fix = format!("there are {count} connections; choose one with flow=N");
                errors::setting(py, "flow", fix)
            }
        }
    }

    /// Returns the experiment file of the twin.
    pub fn twin_file(&self, py: Python<'_>) -> PyResult<String> {
        let answer = self.twin.as_ref().ok_or_else(|| {
            match self.is_quick && self.connections.full().is_some() {
                true => errors::setting(
                    py,
                    "quick",
                    "quick=True fits no experiment; call why without quick=True",
                ),
                false => self.not_one(py),
            }
        })?;
        let twin = answer.fitted();
        twin.map(|twin| twin.file()).ok_or_else(|| {
            let why = answer.doubt().unwrap_or_default();
            errors::capture(py, "", &why)
        })
    }
}
