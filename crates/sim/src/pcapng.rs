//! Writes frames to a pcapng file for Wireshark and tshark.
//!
//! Rule: a capture changes nothing in the simulated network, and times are exact, in nanoseconds.
//! The file has one section, an interface description for each tap (a captured host or link), and
//! an enhanced packet for each frame.

use std::io::{self, Write};

use fullpipe_pool::Instant;

#[cfg(test)]
mod tests;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const OPTION_END: u16 = 0;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_TIME_RESOLUTION: u16 = 9;
const NANOSECONDS: u8 = 9;
const PACKET_FLAGS: u16 = 2;

/// The first header of an interface's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// An Ethernet II header.
    Ethernet,
    /// An IP header.
    Ip,
}

impl LinkType {
    const fn code(self) -> u16 {
        match self {
            Self::Ethernet => 1,
            Self::Ip => 101,
        }
    }
}

/// Direction of a frame, seen from the captured host or link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureDirection {
    /// Received.
    Inbound,
    /// Sent.
    Outbound,
}

/// Identifies an interface of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapId(u32);

/// A capture in progress.
pub struct Capture {
    out: Box<dyn Write + Send>,
    taps: u32,
    block: Vec<u8>,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture")
            .field("taps", &self.taps)
            .finish_non_exhaustive()
    }
}

impl Capture {
    /// Starts a capture; `out` should be buffered.
    ///
    /// # Errors
    /// Returns the error of the writer.
    pub fn new(out: Box<dyn Write + Send>) -> io::Result<Self> {
        let mut capture = Self {
            out,
            taps: 0,
            block: Vec::new(),
        };
        capture.u32(BYTE_ORDER_MAGIC);
        capture.u16(1);
        capture.u16(0);
        capture.block.extend(u64::MAX.to_le_bytes()); // section length not given
        capture.write_block(SECTION_HEADER)?;
        Ok(capture)
    }

    /// Adds an interface called `name`.
    ///
    /// # Errors
    /// Returns the error of the writer.
    pub fn tap(&mut self, name: &str, link_type: LinkType) -> io::Result<TapId> {
        self.u16(link_type.code());
        self.u16(0);
        self.u32(0); // no limit on the length of a frame
        self.option(INTERFACE_NAME, name.as_bytes());
        self.option(INTERFACE_TIME_RESOLUTION, &[NANOSECONDS]);
        self.option(OPTION_END, &[]);
        self.write_block(INTERFACE_DESCRIPTION)?;
        self.taps += 1;
        Ok(TapId(self.taps - 1))
    }

    /// Adds a frame that passed `tap` at `at`.
    ///
    /// # Errors
    /// Returns the error of the writer.
    pub fn frame(
        &mut self,
        tap: TapId,
        at: Instant,
        passage: Option<CaptureDirection>,
        frame: &[u8],
    ) -> io::Result<()> {
        self.u32(tap.0);
        self.u32((at.as_nanos() >> 32) as u32);
        self.u32(at.as_nanos() as u32);
        let len = u32::try_from(frame.len()).map_err(io::Error::other)?;
        self.u32(len);
        self.u32(len);
        self.padded(frame);
        if let Some(passage) = passage {
            let flags: u32 = match passage {
                CaptureDirection::Inbound => 1,
                CaptureDirection::Outbound => 2,
            };
            self.option(PACKET_FLAGS, &flags.to_le_bytes());
            self.option(OPTION_END, &[]);
        }
        self.write_block(ENHANCED_PACKET)
    }

    /// Flushes the writer.
    ///
    /// # Errors
    /// Returns the error of the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn u16(&mut self, value: u16) {
        self.block.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend(value.to_le_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(value.len() as u16);
        self.padded(value);
    }

    /// Writes the block's type, its length, its body and its length again.
    fn write_block(&mut self, kind: u32) -> io::Result<()> {
        let total = (self.block.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&total)?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&total)?;
        self.block.clear();
        Ok(())
    }
}
