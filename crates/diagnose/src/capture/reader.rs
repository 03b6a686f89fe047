//! The segments of a capture file, one after another.
//!
//! Rule: once the head of the file is read, there are no errors. Reading ends at the first
//! mistake in the file, and [`CaptureReader::ending`] returns its place and the reason.

use std::io::Read;

use super::{
    dissector::{CaptureCounters, Dissector},
    file::{CaptureError, CaptureFile, Ending},
    icmp::ReturnedSegment,
    input::BytesRead,
    segment::{FlowKey, Segment},
};

/// Reads a capture in the format pcap or pcapng, plain or inside gzip or zstd.
///
/// Memory is one buffer of fixed size. The segments come in the order of the file; their times do
/// not decrease.
pub struct CaptureReader {
    file: CaptureFile,
    dissector: Dissector,
    ending: Option<Ending>,
}

impl CaptureReader {
    /// Reads the head of a capture. `count` counts the bytes taken from `source`, for a
    /// progress bar.
    ///
    /// # Errors
    /// Fails if `source` cannot be read or is not a capture. The error says what to do.
    pub fn open(
        source: impl Read + Send + 'static,
        count: BytesRead,
    ) -> Result<Self, CaptureError> {
        Ok(Self {
            file: CaptureFile::open(source, count)?,
            dissector: Dissector::new(),
            ending: None,
        })
    }

    /// Reads the next frame. Returns its segment, `Some(None)` if the frame has no segment, and
    /// `None` if there are no more frames.
    pub fn next_frame(&mut self) -> Option<Option<(FlowKey, Segment)>> {
        if self.ending.is_some() {
            return None;
        }
        match self.file.next_frame() {
            Ok(frame) => Some(self.dissector.on_frame(&frame)),
            Err(ending) => {
                self.ending = Some(ending);
                None
            }
        }
    }

    /// Takes the segment that the last frame, an ICMP error, returned, and its connection. `None`
    /// unless [`next_frame`](Self::next_frame) returned `Some(None)` for such an error.
    pub const fn take_returned(&mut self) -> Option<(FlowKey, ReturnedSegment)> {
        self.dissector.take_returned()
    }

    /// Time of the last frame read, in nanoseconds since the Unix epoch.
    pub fn now_ns(&self) -> i64 {
        self.dissector.now_ns()
    }

    /// The counts so far.
    pub fn counters(&self) -> CaptureCounters {
        CaptureCounters {
            dropped: self.file.dropped(),
            ..self.dissector.counters()
        }
    }

    /// Reason for which there are no more segments; `None` until the last segment was returned.
    pub const fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }
}

impl Iterator for CaptureReader {
    type Item = (FlowKey, Segment);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(found) = self.next_frame()? {
                return Some(found);
            }
        }
    }
}
