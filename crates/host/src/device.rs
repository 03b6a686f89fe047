//! The trait of a network device that a [`Runtime`](crate::Runtime) can use.
//!
//! Rule: a device is a pair of non-blocking system calls. It has no state of the stack,
//! and holds no frame except between [`HostDevice::send`] and [`HostDevice::flush`].
//! Its methods take `&self`, because one thread may receive while another sends.

use std::{io, os::fd::AsFd, time::Duration};

use fullpipe::{
    Interface,
    device::{Capabilities, RxMeta, TxMeta},
};

/// Longest link header in bytes: Ethernet with a VLAN tag.
pub(crate) const LINK_HEADER_MAX: usize = 18;

/// A frame to be sent, with its metadata.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutgoingFrame<'a> {
    /// The frame.
    pub bytes: &'a [u8],
    /// Metadata of the frame.
    pub meta: TxMeta,
}

/// A network device of this machine.
///
/// The descriptor becomes readable when a frame waits, and writable when a device that
/// was full accepts frames again. One thread at a time calls [`receive`](Self::receive),
/// and one calls [`send`](Self::send) and [`flush`](Self::flush); the two threads may do
/// so at the same time.
pub trait HostDevice: AsFd + Send + Sync {
    /// The capabilities of the device, fixed for its lifetime.
    fn capabilities(&self) -> Capabilities;

    /// Prepares the device for the stack with the addresses of `host`. Called once, before the
    /// first frame. A device on a wire with other hosts then discards received frames that are
    /// for the other hosts.
    ///
    /// # Errors
    /// Returns one line that names what is wrong and what to do about it.
    fn begin(&self, _host: &Interface) -> io::Result<()> {
        Ok(())
    }

    /// Copies the next received frame into `buffer`, which has
    /// [`frame_max`](Self::frame_max) bytes. Returns the frame's length.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no frame waits. Any other error means that the device will never
    /// work again, and ends the runtime.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)>;

    /// Longest time between two calls of [`receive`](Self::receive) while the descriptor stays
    /// unreadable; `None` if the time has no limit. Called before each wait.
    fn receive_within(&self) -> Option<Duration> {
        None
    }

    /// Sends one frame.
    ///
    /// # Errors
    /// Returns `WouldBlock` if the device is full: the same frame is offered again when the
    /// descriptor is writable, but at the latest after 200 µs. After any other error, the frame
    /// counts as lost on the wire.
    fn send(&self, frame: &[u8], meta: TxMeta) -> io::Result<()>;

    /// Sends frames in order until the device is full. Returns the number of frames that were sent
    /// or lost; the remaining frames are offered again. A device that can send several frames with
    /// one system call overrides this method.
    fn send_all(&self, frames: &[OutgoingFrame<'_>]) -> usize {
        let mut done = 0;
        while let Some(frame) = frames.get(done) {
            match self.send(frame.bytes, frame.meta) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // After an error other than `WouldBlock`, the frame is lost, as on any wire: TCP
                // retransmits it.
                Ok(()) | Err(_) => done += 1,
            }
        }
        done
    }

    /// Sends the frames that [`send`](Self::send) has only collected. Called after each
    /// batch of frames.
    fn flush(&self) {}

    /// Total length of the frames that have left the device since it was opened. Called
    /// only if [`Capabilities::reports_sent`] is set.
    fn sent_bytes(&self) -> u64 {
        0
    }

    /// Largest frame in either direction, in bytes with its link header.
    fn frame_max(&self) -> usize {
        let capabilities = self.capabilities();
        LINK_HEADER_MAX + capabilities.mtu.max(capabilities.super_segment)
    }
}

impl HostDevice for Box<dyn HostDevice> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn begin(&self, host: &Interface) -> io::Result<()> {
        (**self).begin(host)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        (**self).receive(buffer)
    }

    fn receive_within(&self) -> Option<Duration> {
        (**self).receive_within()
    }

    fn send(&self, frame: &[u8], meta: TxMeta) -> io::Result<()> {
        (**self).send(frame, meta)
    }

    fn send_all(&self, frames: &[OutgoingFrame<'_>]) -> usize {
        (**self).send_all(frames)
    }

    fn flush(&self) {
        (**self).flush();
    }

    fn sent_bytes(&self) -> u64 {
        (**self).sent_bytes()
    }

    fn frame_max(&self) -> usize {
        (**self).frame_max()
    }
}
