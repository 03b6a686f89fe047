//! The file formats pcap and pcapng: frames in the order of the file.
//!
//! Rule: if a file is cut or damaged, the frames before the damage are returned first, and then the
//! place of the damage. A length in a file is compared with a limit before it is used, and never
//! decides how much memory is allocated.

mod pcap;
mod pcapng;
mod record;
mod refusal;

use std::io;

use super::{
    frame::Frame,
    input::{BytesRead, Input},
};
use pcap::Pcap;
use pcapng::Pcapng;
use record::Stop;

pub use refusal::CaptureError;

/// The reason for which the reading of a file ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ending {
    /// The whole file was read.
    Complete,
    /// The file ends inside a packet: the capturing program was killed, or the copy is incomplete.
    Cut {
        /// Place of the incomplete packet, in decompressed bytes.
        at_byte: u64,
    },
    /// The file contradicts itself at a place; nothing after this place was read.
    Damaged {
        /// Place of the contradiction, in decompressed bytes.
        at_byte: u64,
        /// The contradiction.
        why: &'static str,
    },
    /// The bytes cannot be read or decompressed further.
    Unreadable {
        /// Place of the first byte that could not be read, in decompressed bytes.
        at_byte: u64,
        /// The error of the system or of the decompression.
        error: io::Error,
    },
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A capture file that is read frame by frame.
pub(super) struct CaptureFile {
    input: Input,
    format: Format,
    /// Length of the last frame's record, which is consumed before the next frame is read.
    pending: usize,
}

impl CaptureFile {
    /// Reads the head of a capture.
    pub(super) fn open(
        source: impl io::Read + Send + 'static,
        count: BytesRead,
    ) -> Result<Self, CaptureError> {
        let mut input = Input::new(source, count).map_err(CaptureError::from)?;
        let is_any = input.need(4).map_err(CaptureError::from)?;
        if input.ready().is_empty() {
            return Err(CaptureError::Empty);
        }
        let format = if is_any && pcapng::begins(input.ready()) {
            Format::Pcapng(Pcapng::begin(&mut input)?)
        } else if let Some(pcap) = Pcap::begin(&mut input)? {
            Format::Pcap(pcap)
        } else {
            // Make up to 16 bytes ready for the error message; the format is known from the first
            // four.
            let _ = input.need(16);
            let ready = input.ready();
            return Err(CaptureError::NotACapture(
                ready[..ready.len().min(16)].to_vec(),
            ));
        };
        Ok(Self {
            input,
            format,
            pending: 0,
        })
    }

    /// Returns the next frame, or the reason for which there is none.
    pub(super) fn next_frame(&mut self) -> Result<Frame<'_>, Ending> {
        self.input.consume(std::mem::take(&mut self.pending));
        let placed = match &mut self.format {
            Format::Pcap(pcap) => pcap.next_frame(&mut self.input),
            Format::Pcapng(pcapng) => pcapng.next_frame(&mut self.input),
        };
        let placed = placed.map_err(|stop| self.ending(stop))?;
        self.pending = placed.record;
        let bytes = &self.input.ready()[placed.before..][..placed.captured];
        Ok(Frame {
            bytes,
            ..placed.frame
        })
    }

    /// Number of packets that the capturing system dropped, if the file contains this number;
    /// otherwise 0.
    pub(super) fn dropped(&self) -> u64 {
        match &self.format {
            Format::Pcap(_) => 0,
            Format::Pcapng(pcapng) => pcapng.dropped(),
        }
    }

    fn ending(&self, stop: Stop) -> Ending {
        let at_byte = self.input.offset();
        match stop {
            Stop::End => Ending::Complete,
            Stop::Cut => Ending::Cut { at_byte },
            Stop::Damaged(why) => Ending::Damaged { at_byte, why },
            // The decompressor reports an error of this kind if the file is cut.
            Stop::Failed(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Ending::Cut { at_byte }
            }
            Stop::Failed(error) => Ending::Unreadable { at_byte, error },
        }
    }
}
