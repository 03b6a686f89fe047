//! Reading captures into connections.
//!
//! Rule: what can be read is read. Only a file that cannot be opened, or whose beginning is not
//! that of a capture, is an error.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use fullpipe_diagnose::capture::{
    BytesRead, CaptureCounters, CaptureReader, CaptureWarning, FlowFilter, FlowLimits, FlowTable,
};
use fullpipe_perf::Stop;

use super::connections::Connections;

/// Segments between two updates of the progress bar.
const EVERY: u64 = 65_536;

/// A capture that was read.
pub struct Capture {
    /// Its name on the command line.
    pub name: String,
    pub counters: CaptureCounters,
    pub warnings: Vec<CaptureWarning>,
}

impl Capture {
    /// A capture called `name`.
    pub fn new(name: &str, counters: CaptureCounters, warnings: Vec<CaptureWarning>) -> Self {
        Self {
            name: name.to_string(),
            counters,
            warnings,
        }
    }
}

/// Reads one capture into `connections`.
pub fn read(
    path: &Path,
    filter: Option<&FlowFilter>,
    connections: &mut Connections,
    advance: &dyn Fn(f64),
    stop: &Stop,
) -> Result<(CaptureCounters, Vec<CaptureWarning>), String> {
    let count = BytesRead::default();
    let (source, len): (Box<dyn Read + Send>, u64) = match path.to_str() {
        Some("-") => (Box::new(io::stdin()), 0),
        _ => {
            let file = File::open(path).map_err(|error| error.to_string())?;
            let data = file.metadata().map_err(|error| error.to_string())?;
            if data.is_dir() {
                return Err("this is a folder; name the captures in it".to_string());
            }
            (Box::new(file), data.len())
        }
    };
    let opened = CaptureReader::open(source, count.clone());
    let mut reader = opened.map_err(|error| error.to_string())?;
    let mut table = FlowTable::new(FlowLimits::DEFAULT, connections.analysis());
    let mut until_update = EVERY;
    for (key, segment) in reader.by_ref() {
        if let Some(filter) = filter
            && !filter.chooses(&key)
        {
            continue;
        }
        table.on_segment(key, &segment, |flow| connections.add(flow));
        until_update -= 1;
        if until_update == 0 {
            until_update = EVERY;
            // Of a pipe the length is unknown.
            if len > 0 {
                advance((count.get() as f64 / len as f64).min(1.0));
            }
            if stop.is_raised() {
                break;
            }
        }
    }
    table.finish(reader.now_ns(), |flow| connections.add(flow));
    let counters = reader.counters();
    let warnings = CaptureWarning::all(&counters, reader.ending());
    Ok((counters, warnings))
}
