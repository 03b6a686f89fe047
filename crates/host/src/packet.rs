//! A packet socket on an interface of this machine (`AF_PACKET`): the stack is
//! one more host on the wire.
//!
//! Rule: the interface's settings do not change, except that it is promiscuous while the
//! socket is open, because the stack has a MAC address of its own. Frames that the kernel
//! sends on the interface are not received.

use std::{
    io, mem,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use fullpipe::device::{Capabilities, Medium, RxMeta, TxMeta};

use crate::{
    device::HostDevice,
    errno::{DeviceError, check},
    interface::{self, Control},
    spec::DeviceOptions,
    virtio::{self, PACKET_MAX, VNET_LEN},
};

/// Socket options of `linux/if_packet.h` that take a number.
const PACKET_VNET_HDR: libc::c_int = 15;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// Every EtherType, in network byte order.
const EVERY_PROTOCOL: u16 = (libc::ETH_P_ALL as u16).to_be();

/// Interval at which the existence of the interface is checked while nothing arrives.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// A packet socket bound to one interface.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    /// Index of the interface.
    index: u32,
    capabilities: Capabilities,
    opened: Instant,
    /// Time of the last check that the interface exists, in nanoseconds after `opened`.
    asked_ns: AtomicU64,
}

impl PacketSocket {
    /// Opens a packet socket on the interface that `options` name.
    ///
    /// # Errors
    /// One line that names what is missing and what to do about it: there is no such
    /// interface, it is down, or this process lacks `CAP_NET_RAW`.
    pub fn open(options: &DeviceOptions) -> Result<Self, DeviceError> {
        let name = &options.spec.name;
        let refused = |what: &str, advice: &str| {
            let source = io::Error::from_raw_os_error(libc::EINVAL);
            Err(DeviceError::new(format!("{what} {name}"), source).advise(advice))
        };
        if options.mtu.is_some() || options.host_address.is_some() {
            return refused(
                "cannot set an MTU or an address on",
                "a packet socket leaves its interface as it is: use ip link and ip addr",
            );
        }
        let failed =
            |what: String| move |source| DeviceError::privileged(what, "CAP_NET_RAW", source);
        let control = Control::open().map_err(failed("cannot query interfaces".into()))?;
        let Some(index) = interface::index(name) else {
            return refused("there is no interface", "ip link lists them");
        };
        let up = control.is_up(name);
        if !up.map_err(failed(format!("cannot read the state of {name}")))? {
            return refused(
                "nothing passes the interface",
                "bring it up: ip link set up",
            );
        }
        let mtu = control.mtu(name);
        let mtu = mtu.map_err(failed(format!("cannot read the MTU of {name}")))?;
        let socket = Self::bound(index, options.checksum_offload)
            .map_err(failed(format!("cannot open a packet socket on {name}")))?;
        let mut capabilities = Capabilities::plain(Medium::Ethernet, mtu);
        capabilities.checksum_tx = options.checksum_offload;
        if options.checksum_offload && options.segment_offload {
            capabilities.super_segment = PACKET_MAX;
        }
        Ok(Self {
            socket,
            index,
            capabilities,
            opened: Instant::now(),
            asked_ns: AtomicU64::new(0),
        })
    }

    /// Returns the error of a read that found no frame. `is_down` is true if the kernel has just
    /// reported that the interface went down.
    ///
    /// ENETDOWN is not enough to detect a deletion. The kernel reports it once, to whichever call
    /// comes first. If the interface is already down and is then deleted, the kernel reports
    /// nothing more.
    fn nothing(&self, is_down: bool) -> io::Error {
        let now_ns = self.opened.elapsed().as_nanos() as u64;
        let since_ns = now_ns.saturating_sub(self.asked_ns.load(Ordering::Relaxed));
        if is_down || since_ns >= ASK_EVERY.as_nanos() as u64 {
            self.asked_ns.store(now_ns, Ordering::Relaxed);
            // The interface was deleted, or moved to another namespace. If a deletion has only
            // begun, the next check detects it.
            if !interface::exists(self.index) {
                return io::Error::from_raw_os_error(libc::ENODEV);
            }
        }
        // Frames of an interface that is down arrive again when it is up.
        io::ErrorKind::WouldBlock.into()
    }

    fn bound(index: u32, vnet: bool) -> io::Result<OwnedFd> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers are passed; nothing else owns the returned descriptor. With
        // protocol 0 nothing is received before the socket is bound.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: as above.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        set(&socket, PACKET_IGNORE_OUTGOING, &1)?;
        set(&socket, PACKET_VNET_HDR, &libc::c_int::from(vnet))?;
        set(&socket, libc::PACKET_ADD_MEMBERSHIP, &promiscuous(index))?;
        // SAFETY: `sockaddr_ll` is plain data, for which zero is a value.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as libc::c_ushort;
        address.sll_protocol = EVERY_PROTOCOL;
        address.sll_ifindex = index as libc::c_int;
        let len = mem::size_of_val(&address) as libc::socklen_t;
        // SAFETY: the pointer and the length describe `address`, which the call
        // only reads.
        check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
        Ok(socket)
    }

    fn has_header(&self) -> bool {
        self.capabilities.checksum_tx
    }
}

/// Returns the membership that makes interface `index` pass frames for any station.
const fn promiscuous(index: u32) -> libc::packet_mreq {
    libc::packet_mreq {
        mr_ifindex: index as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    }
}

/// Sets a socket option whose value is a `T`.
fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let (at, len) = (&raw const *value, mem::size_of::<T>() as libc::socklen_t);
    // SAFETY: the pointer and the length describe `value`, which the call only
    // reads; each option is set with the type that it takes.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, at.cast(), len) })
        .map(drop)
}

/// Creates a message of `parts`; the pointers in it are valid as long as `parts`.
fn message(parts: &mut [libc::iovec]) -> libc::msghdr {
    // SAFETY: `msghdr` is plain data, for which zero is a value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _;
    message
}

fn part(base: *mut u8, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: base.cast(),
        iov_len: len,
    }
}

fn moved(count: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
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

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        let mut head = [0; VNET_LEN];
        let skipped = if self.has_header() { VNET_LEN } else { 0 };
        let mut parts = [
            part(head.as_mut_ptr(), skipped),
            part(buffer.as_mut_ptr(), buffer.len()),
        ];
        let mut message = message(&mut parts);
        // SAFETY: the message describes `head` and `buffer`, which are writable
        // and outlive the call.
        let count = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, 0) };
        let len = match moved(count) {
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => {
                return Err(self.nothing(true));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(self.nothing(false));
            }
            count => count?.saturating_sub(skipped),
        };
        Ok((len, virtio::read(&head, &buffer[..len])))
    }

    fn receive_within(&self) -> Option<Duration> {
        Some(ASK_EVERY)
    }

    fn send(&self, frame: &[u8], meta: TxMeta) -> io::Result<()> {
        let mut head = virtio::write(meta);
        let skipped = if self.has_header() { VNET_LEN } else { 0 };
        let mut parts = [
            part(head.as_mut_ptr(), skipped),
            part(frame.as_ptr().cast_mut(), frame.len()),
        ];
        let message = message(&mut parts);
        // SAFETY: the message describes `head` and `frame`, which the call only
        // reads and which outlive it.
        let count = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const message, 0) };
        match moved(count) {
            // The interface's queue is full.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            count => count.map(drop),
        }
    }
}
