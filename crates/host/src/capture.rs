//! A device that wraps a device and writes every frame to a pcapng file.
//!
//! Rule: what passes is recorded as it is and passed on; a file that cannot be
//! written ends the recording, never the traffic. Checksum offload is not passed
//! on, so that recorded frames are complete.

use std::{
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd},
    time::{SystemTime, UNIX_EPOCH},
};

use fullpipe::device::{Capabilities, Device, Medium, Received, TxMeta};

use crate::runtime::HostDevice;

const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const LINK_ETHERNET: u16 = 1;
const LINK_RAW_IP: u16 = 101;
/// Option: what a packet's direction was.
const OPTION_FLAGS: u16 = 2;
/// Option: the unit of times, as a negative power of ten.
const OPTION_RESOLUTION: u16 = 9;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// A device and the record of what passed it.
#[derive(Debug)]
pub struct Capture<D, W: Write> {
    device: D,
    record: Record<W>,
}

#[derive(Debug)]
struct Record<W: Write> {
    /// `None` once it could not be written.
    out: Option<W>,
    block: Vec<u8>,
}

impl<D: HostDevice, W: Write> Capture<D, W> {
    /// Wraps `device`; `out` should be buffered.
    ///
    /// # Errors
    /// When the head of the file cannot be written.
    pub fn new(device: D, out: W) -> io::Result<Self> {
        let medium = device.capabilities().medium;
        let mut record = Record {
            out: None,
            block: Vec::with_capacity(2048),
        };
        let mut out = out;
        out.write_all(record.head(medium))?;
        record.out = Some(out);
        Ok(Self { device, record })
    }
}

impl<W: Write> Record<W> {
    fn word(&mut self, word: u32) {
        self.block.extend(word.to_ne_bytes());
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend(code.to_ne_bytes());
        self.block.extend((value.len() as u16).to_ne_bytes());
        self.padded(value);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Ends the block that began at `start` and sets both its lengths.
    fn finish(&mut self, start: usize) {
        self.word(0); // end of options
        let len = (self.block.len() - start + 4) as u32;
        self.block[start + 4..start + 8].copy_from_slice(&len.to_ne_bytes());
        self.word(len);
    }

    fn head(&mut self, medium: Medium) -> &[u8] {
        let link = match medium {
            Medium::Ethernet => LINK_ETHERNET,
            Medium::Ip => LINK_RAW_IP,
        };
        self.word(SECTION);
        self.word(0);
        self.word(BYTE_ORDER);
        self.block.extend(1u16.to_ne_bytes()); // version 1.0
        self.block.extend(0u16.to_ne_bytes());
        self.block.extend(u64::MAX.to_ne_bytes()); // length of the section: unknown
        self.finish(0);
        let start = self.block.len();
        self.word(INTERFACE);
        self.word(0);
        self.block.extend(link.to_ne_bytes());
        self.block.extend(0u16.to_ne_bytes());
        self.word(0); // frames are whole, whatever their length
        self.option(OPTION_RESOLUTION, &[9]);
        self.finish(start);
        &self.block
    }

    fn packet(&mut self, frame: &[u8], direction: u32) {
        if self.out.is_none() {
            return;
        }
        let time = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos() as u64;
        self.block.clear();
        self.word(PACKET);
        self.word(0);
        self.word(0); // the only interface
        self.word((time >> 32) as u32);
        self.word(time as u32);
        self.word(frame.len() as u32);
        self.word(frame.len() as u32);
        self.padded(frame);
        self.option(OPTION_FLAGS, &direction.to_ne_bytes());
        self.finish(0);
        if self
            .out
            .as_mut()
            .is_some_and(|out| out.write_all(&self.block).is_err())
        {
            self.out = None;
        }
    }
}

impl<D: HostDevice, W: Write> Device for Capture<D, W> {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            checksum_tx: false,
            super_segment: 0,
            ..self.device.capabilities()
        }
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        let received = self.device.receive()?;
        self.record.packet(received.frame, INBOUND);
        Some(received)
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        self.device.lend(len)
    }

    fn send(&mut self, len: usize, meta: TxMeta) {
        // Asking again lends the same memory, with the frame in it.
        if let Some(frame) = self.device.lend(len) {
            self.record.packet(&frame[..len], OUTBOUND);
        }
        self.device.send(len, meta);
    }

    fn sent_bytes(&mut self) -> u64 {
        self.device.sent_bytes()
    }

    fn flush(&mut self) {
        self.device.flush();
    }
}

impl<D: HostDevice, W: Write + Send> HostDevice for Capture<D, W> {
    fn failure(&mut self) -> Option<io::Error> {
        self.device.failure()
    }
}

impl<D: AsFd, W: Write> AsFd for Capture<D, W> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl<D, W: Write> Drop for Capture<D, W> {
    fn drop(&mut self) {
        if let Some(out) = &mut self.record.out {
            // Nobody is left to be told.
            let _ = out.flush();
        }
    }
}

#[cfg(test)]
mod tests;
