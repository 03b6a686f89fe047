//! A packet socket on an interface of this machine (`AF_PACKET`): the stack is
//! one more host on the wire.
//!
//! Rule: the interface's settings do not change, except that the interface is promiscuous while the
//! socket is open, because the stack has a MAC address of its own. Frames that the kernel sends on
//! the interface are not received. Received frames are read without a system call from a ring of
//! slots in memory that is shared with the kernel, and frames are sent many at a time.

mod message;
mod ring;
mod send;
pub(crate) mod socket;

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use fullpipe::{
    Interface,
    device::{Capabilities, Medium, RxMeta, TxMeta},
};

use self::message::{message, part};
use self::ring::{Front, ReceiveRing};
use crate::{
    device::{HostDevice, LINK_HEADER_MAX, OutgoingFrame},
    errno::DeviceError,
    spec::DeviceOptions,
    virtio::{self, PACKET_MAX, VNET_LEN},
    wire::{self, ASK_EVERY, Presence},
};

/// Socket option that puts a virtio header in front of each frame (`linux/if_packet.h`).
const PACKET_VNET_HDR: libc::c_int = 15;
/// Socket option that leaves out the frames that the kernel sends (`linux/if_packet.h`).
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// Size in bytes of the socket's queue. Frames that are larger than a slot of the ring wait in this
/// queue.
const LARGE_FRAMES: libc::c_int = 8 << 20;

/// A packet socket bound to one interface.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    ring: Mutex<ReceiveRing>,
    capabilities: Capabilities,
    presence: Presence,
}

impl PacketSocket {
    /// Opens a packet socket on the interface that `options` name.
    ///
    /// # Errors
    /// Returns one line that names what is missing and what to do about it: there is no such
    /// interface, it is down, or this process lacks `CAP_NET_RAW`.
    pub fn open(options: &DeviceOptions) -> Result<Self, DeviceError> {
        let name = &options.spec.name;
        let (index, mtu) = wire::find(options)?;
        let (socket, ring) = Self::bound(index).map_err(|source| {
            let what = format!("cannot open a packet socket on {name}");
            DeviceError::privileged(what, "CAP_NET_RAW", source)
        })?;
        let mut capabilities = Capabilities::plain(Medium::Ethernet, mtu);
        capabilities.checksum_tx = options.checksum_offload;
        if options.checksum_offload && options.segment_offload {
            capabilities.super_segment = PACKET_MAX;
        }
        Ok(Self {
            socket,
            ring: Mutex::new(ring),
            capabilities,
            presence: Presence::new(index),
        })
    }

    fn bound(index: u32) -> io::Result<(OwnedFd, ReceiveRing)> {
        let socket = socket::open()?;
        socket::set(&socket, PACKET_IGNORE_OUTGOING, &1_i32)?;
        socket::set(&socket, PACKET_VNET_HDR, &1_i32)?;
        // Only root may exceed the limit of the system. Without root the queue is smaller, and a
        // burst of large frames may lose some of them.
        let buffer = |option| socket::set_at(&socket, libc::SOL_SOCKET, option, &LARGE_FRAMES);
        buffer(libc::SO_RCVBUFFORCE).or_else(|_| buffer(libc::SO_RCVBUF))?;
        socket::make_promiscuous(&socket, index)?;
        let ring = ReceiveRing::new(&socket)?;
        socket::bind(&socket, index)?;
        Ok((socket, ring))
    }

    /// Reads the next frame of the socket's queue.
    fn read_queued(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        let mut head = [0; VNET_LEN];
        let mut parts = [
            part(head.as_mut_ptr(), VNET_LEN),
            part(buffer.as_mut_ptr(), buffer.len()),
        ];
        let mut message = message(&mut parts);
        // SAFETY: the message describes `head` and `buffer`, which are writable
        // and outlive the call.
        let count = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, 0) };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error());
        let len = match count {
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => {
                return Err(self.presence.nothing_read(true));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(self.presence.nothing_read(false));
            }
            count => count?.saturating_sub(VNET_LEN),
        };
        Ok((len, virtio::read(&head, &buffer[..len])))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl HostDevice for PacketSocket {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn begin(&self, host: &Interface) -> io::Result<()> {
        wire::check_address(host.address)?;
        socket::filter(&self.socket, host.mac)?;
        if let Some(frame) = wire::announcement(host) {
            // Ignore an error: if the announcement is lost, neighbours that know another MAC
            // address ask again after a while.
            let _ = self.send(&frame, TxMeta::default());
        }
        Ok(())
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        let mut head = [0; VNET_LEN];
        let front = {
            let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            ring.take(&mut head, buffer)
        };
        match front {
            Front::Copied { len, is_checked } => {
                let mut meta = virtio::read(&head, &buffer[..len]);
                meta.checksum_verified |= is_checked;
                Ok((len, meta))
            }
            Front::Empty { twice: false } => Err(io::ErrorKind::WouldBlock.into()),
            // If two calls in a row find the ring empty although the descriptor was readable,
            // either an error is pending or a frame is still in the queue. A frame remains there if
            // an earlier read returned an error instead. Reading the queue returns the error or the
            // frame.
            Front::Queued | Front::Empty { twice: true } => self.read_queued(buffer),
        }
    }

    fn receive_within(&self) -> Option<Duration> {
        Some(ASK_EVERY)
    }

    fn send(&self, frame: &[u8], meta: TxMeta) -> io::Result<()> {
        let frame = OutgoingFrame { bytes: frame, meta };
        send::many(&self.socket, &[frame]).map(drop)
    }

    fn send_all(&self, mut frames: &[OutgoingFrame<'_>]) -> usize {
        let offered = frames.len();
        while !frames.is_empty() {
            match send::many(&self.socket, frames) {
                Ok(sent) => frames = &frames[sent..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => frames = &frames[1..], // lost
            }
        }
        offered - frames.len()
    }

    fn frame_max(&self) -> usize {
        // Make room for merged frames even if this stack sends none, because other hosts may send
        // them.
        LINK_HEADER_MAX + self.capabilities.mtu.max(PACKET_MAX)
    }
}
