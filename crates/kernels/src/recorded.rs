//! The account (time by limit) of a sender, computed from a capture at the sender's host. The
//! capture is analysed while it is written.
//!
//! Rule: the analysis reads the same bytes that a capture file has. If the analysis falls behind,
//! the bytes wait in memory and the link is never delayed.

use std::{
    fs::File,
    io::{self, Read, Write},
    sync::mpsc::{self, Receiver, Sender},
};

use fullpipe_diagnose::{
    capture::{BytesRead, CaptureReader, EndedFlow, FlowKey, FlowLimits, FlowTable},
    observe::{Followed, Follower},
};

/// The writing end of a capture. Passes the bytes to the analysis and, if there is a file, also
/// to the file.
pub struct CaptureSink {
    analysis: Sender<Vec<u8>>,
    file: Option<io::BufWriter<File>>,
}

/// The reading end of a capture, for the analysis.
pub struct CaptureSource {
    parts: Receiver<Vec<u8>>,
    part: Vec<u8>,
    at: usize,
}

/// Creates both ends of a capture. If `file` is given, the capture is also written to it.
pub fn pipe(file: Option<File>) -> (CaptureSink, CaptureSource) {
    let (analysis, parts) = mpsc::channel();
    let sink = CaptureSink {
        analysis,
        file: file.map(|file| io::BufWriter::with_capacity(1 << 18, file)),
    };
    let source = CaptureSource {
        parts,
        part: Vec::new(),
        at: 0,
    };
    (sink, source)
}

impl Write for CaptureSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            file.write_all(bytes)?;
        }
        // Ignore the error: if the analysis has ended, the capture still continues.
        let _ = self.analysis.send(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Read for CaptureSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.part.len() {
            match self.parts.recv() {
                Ok(part) => (self.part, self.at) = (part, 0),
                Err(_) => return Ok(0),
            }
        }
        let count = buffer.len().min(self.part.len() - self.at);
        buffer[..count].copy_from_slice(&self.part[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Of all connections in the capture, the one with the most payload; with its segments if
/// `keeps_segments` is true.
pub fn largest_connection(
    source: CaptureSource,
    keeps_segments: bool,
) -> io::Result<Option<Followed>> {
    let opened = CaptureReader::open(source, BytesRead::default());
    let mut reader = opened.map_err(|error| io::Error::other(error.to_string()))?;
    let mut table = FlowTable::new(FlowLimits::DEFAULT, |_: &FlowKey| {
        Follower::new(keeps_segments)
    });
    let mut largest: Option<Followed> = None;
    let mut keep = |flow: EndedFlow<Followed>| {
        let seen = flow.outcome;
        let bytes = |seen: &Followed| seen.observed.data().payload_bytes;
        if largest
            .as_ref()
            .is_none_or(|known| bytes(known) < bytes(&seen))
        {
            largest = Some(seen);
        }
    };
    for (key, segment) in reader.by_ref() {
        table.on_segment(key, &segment, &mut keep);
    }
    table.finish(reader.now_ns(), &mut keep);
    Ok(largest)
}
