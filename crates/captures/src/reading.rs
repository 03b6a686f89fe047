//! Reads captures and their connections.
//!
//! Rule: everything readable is read. A file is an error only if it cannot be opened, if its
//! beginning cannot be read, or if it does not begin like a capture.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor},
    ops::ControlFlow,
    path::Path,
};

use fullpipe_diagnose::capture::{
    BytesRead, CaptureCounters, CaptureError, CaptureReader, CaptureWarning, FlowFilter,
    FlowLimits, FlowTable,
};

use crate::connections::Connections;

/// Largest number of frames after which a user's interrupt ends the reading.
const FRAMES: u64 = 1 << 16;

/// A capture that was read.
pub struct Capture {
    /// Name of the capture, as the user gave it.
    pub name: String,
    /// Counts of the capture's contents.
    pub counters: CaptureCounters,
    /// Reasons for which an answer is partial or less certain.
    pub warnings: Vec<CaptureWarning>,
}

impl Capture {
    /// Creates a capture with the name `name`.
    pub fn new(name: &str, counters: CaptureCounters, warnings: Vec<CaptureWarning>) -> Self {
        Self {
            name: name.to_string(),
            counters,
            warnings,
        }
    }
}

/// An open file, and its length if known.
pub struct Opened {
    source: Box<dyn BufRead + Send>,
    len: u64,
}

impl Opened {
    /// Opens the file at `path`; `-` is standard input.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or is a folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path.to_str() == Some("-") {
            let source = Box::new(BufReader::new(io::stdin()));
            return Ok(Self { source, len: 0 });
        }
        let file = File::open(path)?;
        let data = file.metadata()?;
        if data.is_dir() {
            let fix = "this is a folder; give the names of the capture files in it";
            return Err(io::Error::other(fix));
        }
        let source = Box::new(BufReader::new(file));
        let len = data.len();
        Ok(Self { source, len })
    }

    /// Returns an open file with the bytes `bytes`, which the caller has already read.
    pub fn of_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        let len = bytes.as_ref().len() as u64;
        let source = Box::new(Cursor::new(bytes));
        Self { source, len }
    }

    /// Returns the file as text if it begins with a brace, as a recording of `fullpipe watch`
    /// does. No capture begins with a brace.
    ///
    /// # Errors
    /// Returns the file itself if it is not a recording.
    pub fn recording(mut self) -> Result<Box<dyn BufRead + Send>, Self> {
        match self.source.fill_buf() {
            Ok([b'{', ..]) => Ok(self.source),
            // Ignore an error here: it occurs again when the file is read as a capture.
            Ok(_) | Err(_) => Err(self),
        }
    }
}

/// Reads one capture into `connections`. After each read of a part of the file, calls `progress`
/// with the share that was read, or with 0 if the length is unknown; if `progress` returns
/// `ControlFlow::Break`, reading ends as at the end of the file.
///
/// # Errors
/// Fails if the file does not begin like a capture, or if its beginning cannot be read.
pub fn read(
    opened: Opened,
    filter: Option<&FlowFilter>,
    connections: &mut Connections,
    progress: &dyn Fn(f64) -> ControlFlow<()>,
) -> Result<(CaptureCounters, Vec<CaptureWarning>), CaptureError> {
    let count = BytesRead::default();
    let Opened { source, len } = opened;
    let mut reader = CaptureReader::open(source, count.clone())?;
    let mut table = FlowTable::new(FlowLimits::DEFAULT, connections.analysis());
    let (mut bytes, mut frames) = (0, 0_u64);
    while let Some(found) = reader.next_frame() {
        if let Some((key, segment)) = found
            && filter.is_none_or(|filter| filter.chooses(&key))
        {
            table.on_segment(key, &segment, |flow| connections.add(flow));
        } else if let Some((key, returned)) = reader.take_returned() {
            table.on_returned(&key, returned);
        }
        frames += 1;
        // Call `progress` after new bytes, because a program may write a capture slowly. Call it
        // also after many frames, because a few compressed bytes may contain many frames.
        if count.get() != bytes || frames % FRAMES == 0 {
            bytes = count.get();
            let share = match len {
                0 => 0.0,
                len => (bytes as f64 / len as f64).min(1.0),
            };
            if progress(share).is_break() {
                break;
            }
        }
    }
    table.finish(reader.now_ns(), |flow| connections.add(flow));
    let counters = reader.counters();
    let warnings = CaptureWarning::all(&counters, reader.ending());
    Ok((counters, warnings))
}
