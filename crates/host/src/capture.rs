//! A device that wraps another device and records every frame to a pcapng file.
//!
//! Rule: frames pass unchanged. A separate thread writes the file; if writing fails, the recording
//! ends and the traffic continues. The wrapped device's offloads are not offered to the stack, so
//! that recorded frames are complete.

use std::{
    fmt,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread::{self, JoinHandle},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use fullpipe::{
    Interface,
    device::{Capabilities, Medium, RxMeta, TxMeta},
};

use crate::device::HostDevice;

const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const LINK_ETHERNET: u16 = 1;
const LINK_RAW_IP: u16 = 101;
/// Option: a packet's direction.
const OPTION_FLAGS: u16 = 2;
/// Option: the unit of times, as a negative power of ten.
const OPTION_RESOLUTION: u16 = 9;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// Largest number of frames that wait to be written. While this many wait, sending and receiving
/// block.
const QUEUE: usize = 1_024;

/// A device and the recording of its frames.
///
/// The file is complete when this value has been dropped. Open the device without checksum
/// offload: otherwise the kernel leaves out checksums of the frames that it sends.
pub struct Capture<D> {
    device: D,
    /// `None` only while this value is being dropped.
    frames: Option<SyncSender<RecordedFrame>>,
    writer: Option<JoinHandle<()>>,
    /// True if the last frame was recorded, but the full device refused it. When the same frame is
    /// offered again, it must not be recorded again.
    is_recorded: AtomicBool,
}

impl<D: fmt::Debug> fmt::Debug for Capture<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

/// A frame that waits to be written.
struct RecordedFrame {
    /// Time of day, in nanoseconds.
    time_ns: u64,
    direction: u32,
    bytes: Vec<u8>,
}

impl<D: HostDevice> Capture<D> {
    /// Wraps `device` and records to `out`, which should be buffered.
    ///
    /// # Errors
    /// Fails if the head of the file cannot be written, or the system cannot create a thread.
    pub fn new(device: D, out: impl Write + Send + 'static) -> io::Result<Self> {
        let mut file = CaptureFile::begin(out, device.capabilities().medium)?;
        let (frames, recorded) = mpsc::sync_channel(QUEUE);
        let writer = thread::Builder::new()
            .name("capture".into())
            .spawn(move || file.record(&recorded))?;
        Ok(Self {
            device,
            frames: Some(frames),
            writer: Some(writer),
            is_recorded: AtomicBool::new(false),
        })
    }

    fn record(&self, direction: u32, frame: &[u8]) {
        let Some(frames) = &self.frames else {
            return;
        };
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        // Ignore the error: after a failed write, nothing reads the channel, and the frame is not
        // recorded.
        let _ = frames.send(RecordedFrame {
            time_ns: time.unwrap_or_default().as_nanos() as u64,
            direction,
            bytes: frame.to_vec(),
        });
    }
}

/// A pcapng file of one section and one interface.
struct CaptureFile<W> {
    out: W,
    block: Vec<u8>,
}

impl<W: Write> CaptureFile<W> {
    fn begin(out: W, medium: Medium) -> io::Result<Self> {
        let block = Vec::with_capacity(2048);
        let mut file = Self { out, block };
        file.head(medium);
        file.out.write_all(&file.block)?;
        Ok(file)
    }

    /// Writes frames until the sending end of the channel is dropped or a frame cannot be written.
    fn record(&mut self, frames: &Receiver<RecordedFrame>) {
        for frame in frames {
            if self.packet(&frame).is_err() {
                return;
            }
        }
        // No caller is left to receive an error.
        let _ = self.out.flush();
    }

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

    /// Ends the block that began at `start`, and writes the block's length at both ends of the
    /// block.
    fn finish(&mut self, start: usize) {
        self.word(0); // end of options
        let len = (self.block.len() - start + 4) as u32;
        self.block[start + 4..start + 8].copy_from_slice(&len.to_ne_bytes());
        self.word(len);
    }

    fn head(&mut self, medium: Medium) {
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
        self.word(0); // no limit on a frame's length
        self.option(OPTION_RESOLUTION, &[9]);
        self.finish(start);
    }

    fn packet(&mut self, frame: &RecordedFrame) -> io::Result<()> {
        let len = frame.bytes.len() as u32;
        self.block.clear();
        self.word(PACKET);
        self.word(0);
        self.word(0); // the only interface
        self.word((frame.time_ns >> 32) as u32);
        self.word(frame.time_ns as u32);
        self.word(len);
        self.word(len);
        self.padded(&frame.bytes);
        self.option(OPTION_FLAGS, &frame.direction.to_ne_bytes());
        self.finish(0);
        self.out.write_all(&self.block)
    }
}

impl<D: HostDevice> HostDevice for Capture<D> {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            checksum_tx: false,
            super_segment: 0,
            ..self.device.capabilities()
        }
    }

    fn begin(&self, host: &Interface) -> io::Result<()> {
        self.device.begin(host)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        let (len, meta) = self.device.receive(buffer)?;
        self.record(INBOUND, &buffer[..len]);
        Ok((len, meta))
    }

    fn receive_within(&self) -> Option<Duration> {
        self.device.receive_within()
    }

    fn send(&self, frame: &[u8], meta: TxMeta) -> io::Result<()> {
        // Record the frame before it is sent: otherwise its answer could be recorded first.
        if !self.is_recorded.swap(false, Ordering::Relaxed) {
            self.record(OUTBOUND, frame);
        }
        let outcome = self.device.send(frame, meta);
        let is_full = matches!(&outcome, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        self.is_recorded.store(is_full, Ordering::Relaxed);
        outcome
    }

    fn flush(&self) {
        self.device.flush();
    }

    fn sent_bytes(&self) -> u64 {
        self.device.sent_bytes()
    }

    fn frame_max(&self) -> usize {
        self.device.frame_max()
    }
}

impl<D: AsFd> AsFd for Capture<D> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl<D> Drop for Capture<D> {
    fn drop(&mut self) {
        self.frames = None; // ends the writer
        if let Some(writer) = self.writer.take() {
            // If the writer panicked, its thread has printed the message.
            let _ = writer.join();
        }
    }
}

#[cfg(test)]
mod tests;
