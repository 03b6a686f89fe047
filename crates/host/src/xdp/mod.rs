//! An `AF_XDP` socket on an interface of this machine: the stack is one more host on the
//! wire, and the kernel's own stack does not see its frames.
//!
//! Rule: a program in the kernel gives the socket the frames to the host's MAC address, and
//! ARP packets that ask for the host's IP address. The kernel's own stack gets all other frames,
//! and every frame once the socket is closed. The program runs in the kernel's generic mode, which
//! copies frames but needs no support by a driver. Each frame carries one segment. The kernel can
//! complete the checksums of frames that are sent. Received frames must have complete checksums.

mod program;
mod rings;

use std::{
    io, mem,
    net::IpAddr,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant},
};

use fullpipe::{
    Interface,
    device::{Capabilities, Medium, RxMeta, TxMeta},
};

use self::rings::{Receiver, Sender};
use crate::{
    device::{HostDevice, LINK_HEADER_MAX},
    errno::{DeviceError, check},
    interface::Control,
    packet::socket::{make_promiscuous, open as open_packet_socket},
    spec::DeviceOptions,
    wire::{self, ASK_EVERY, Presence},
};

/// Time between two tries to send frames that the kernel has not taken.
const SEND_AGAIN: Duration = Duration::from_micros(200);
/// Longest wait until a receive queue is free after its last socket was closed.
const FREE_AFTER: Duration = Duration::from_secs(1);
/// Time between two tries to bind to a receive queue that is still busy.
const BIND_AGAIN: Duration = Duration::from_millis(10);

/// An `AF_XDP` socket bound to receive queue 0 of one interface.
#[derive(Debug)]
pub struct XdpSocket {
    /// The program is attached until this link is closed. Set by [`HostDevice::begin`]. This is the
    /// first field, so that the link is closed before the socket.
    link: OnceLock<OwnedFd>,
    socket: OwnedFd,
    /// The socket that sends; it shares the memory of `socket`. If one socket both sent and
    /// received, the kernel would also send whenever the driver's thread waits for a frame, and
    /// this would delay the thread.
    outlet: OwnedFd,
    receiver: Mutex<Receiver>,
    sender: Mutex<Sender>,
    /// The interface is promiscuous while this socket is open.
    _promiscuous: OwnedFd,
    name: String,
    index: u32,
    capabilities: Capabilities,
    presence: Presence,
}

impl XdpSocket {
    /// Opens an `AF_XDP` socket on the interface that `options` name. It receives nothing
    /// before [`HostDevice::begin`].
    ///
    /// # Errors
    /// Returns one line that names what is missing and what to do about it: there is no such
    /// interface, it is down, it has several receive queues or too large frames, this kernel has no
    /// `AF_XDP`, or this process lacks a capability.
    pub fn open(options: &DeviceOptions) -> Result<Self, DeviceError> {
        let name = &options.spec.name;
        let (index, mtu) = wire::find(options)?;
        let chunk = check_interface(name, mtu)?;
        let failed = |source| refused(name, source);
        let promiscuous = open_packet_socket().map_err(failed)?;
        make_promiscuous(&promiscuous, index).map_err(failed)?;
        let socket = open_socket().map_err(failed)?;
        let outlet = open_socket().map_err(failed)?;
        let (receiver, sender) = rings::set_up(&socket, &outlet, chunk).map_err(failed)?;
        bind_when_free(&socket, index).map_err(failed)?;
        bind(&outlet, index, Some(&socket)).map_err(failed)?;
        let mut capabilities = Capabilities::plain(Medium::Ethernet, mtu);
        capabilities.checksum_tx = options.checksum_offload && sender.completes_checksums();
        Ok(Self {
            link: OnceLock::new(),
            socket,
            outlet,
            receiver: Mutex::new(receiver),
            sender: Mutex::new(sender),
            _promiscuous: promiscuous,
            name: name.clone(),
            index,
            capabilities,
            presence: Presence::new(index),
        })
    }

    fn sender(&self) -> MutexGuard<'_, Sender> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks that frames of the interface can be received. Returns the size of a chunk, the memory for
/// one frame.
fn check_interface(name: &str, mtu: usize) -> Result<usize, DeviceError> {
    let failed = |source| DeviceError::new(format!("cannot query {name}"), source);
    let control = Control::open().map_err(failed)?;
    let unfit = |why: String, advice: String| {
        let source = io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        Err(DeviceError::new(format!("{name} {why}"), source).advise(advice))
    };
    let instead = format!("use packet:{name}");
    if !control.is_ethernet(name).map_err(failed)? {
        return unfit("is no Ethernet interface".into(), instead);
    }
    let queues = control.receive_queues(name).map_err(failed)?;
    if queues > 1 {
        return unfit(
            format!("has {queues} receive queues, and an AF_XDP socket reads only one"),
            format!("merge the queues (ethtool -L {name} combined 1), or {instead}"),
        );
    }
    match rings::chunk_for(mtu + LINK_HEADER_MAX) {
        Some(chunk) => Ok(chunk),
        None => unfit(
            format!("has an MTU of {mtu}, more than a buffer of an AF_XDP socket holds"),
            format!(
                "lower the MTU (ip link set {name} mtu {}), or {instead}",
                rings::FRAME_MAX - LINK_HEADER_MAX
            ),
        ),
    }
}

/// The error of opening the socket or attaching the program, with its remedy.
fn refused(name: &str, source: io::Error) -> DeviceError {
    let what = format!("cannot open an AF_XDP socket on {name}");
    let advice = match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "this needs the capabilities CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF: run as root".into()
        }
        Some(libc::EAFNOSUPPORT | libc::ENOSYS) => {
            format!("this kernel has no AF_XDP (CONFIG_XDP_SOCKETS): use packet:{name}")
        }
        Some(libc::EBUSY | libc::EEXIST) => format!(
            "another process has an XDP program or an AF_XDP socket on this interface: end that process, remove its XDP program (ip link set {name} xdp off), or use packet:{name}"
        ),
        Some(libc::EOPNOTSUPP | libc::EINVAL) => {
            format!(
                "this kernel or interface has no generic XDP (Linux 5.9 or later): use packet:{name}"
            )
        }
        Some(libc::ENOBUFS | libc::ENOMEM) => {
            "the limit on locked memory is too low: raise the limit (ulimit -l 32768), or run as root".into()
        }
        _ => return DeviceError::new(what, source),
    };
    DeviceError::new(what, source).advise(advice)
}

fn open_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed; nothing else owns the returned descriptor.
    let fd = check(unsafe { libc::socket(libc::AF_XDP, kind, 0) })?;
    // SAFETY: the kernel has just returned `fd`, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Binds `socket` to receive queue 0. Tries again while the queue is busy, because the kernel frees
/// the queue only a little after the close of its last socket.
fn bind_when_free(socket: &OwnedFd, index: u32) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match bind(socket, index, None) {
            Err(error)
                if error.raw_os_error() == Some(libc::EBUSY) && began.elapsed() < FREE_AFTER =>
            {
                thread::sleep(BIND_AGAIN);
            }
            done => return done,
        }
    }
}

/// Binds `socket` to receive queue 0, with the memory of the socket `owner` if there is one.
fn bind(socket: &OwnedFd, index: u32, owner: Option<&OwnedFd>) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: match owner {
            None => libc::XDP_COPY,
            Some(_) => libc::XDP_SHARED_UMEM,
        },
        sxdp_ifindex: index,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: owner.map_or(0, |owner| owner.as_raw_fd() as u32),
    };
    let len = mem::size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `address`, which the call only reads.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl HostDevice for XdpSocket {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn begin(&self, host: &Interface) -> io::Result<()> {
        wire::check_address(host.address)?;
        let IpAddr::V4(address) = host.address else {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "xdp devices carry only IPv4: use packet, tap or tun devices for IPv6",
            ));
        };
        if address.is_unspecified() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "xdp devices need a fixed address: use packet or tap devices for DHCP",
            ));
        }
        let link = program::attach(self.index, &self.socket, host.mac, address)
            .map_err(|source| io::Error::other(refused(&self.name, source)))?;
        if self.link.set(link).is_err() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if let Some(frame) = wire::announcement(host) {
            // Ignore a loss: a neighbour that has an older MAC address asks again after a while.
            let _ = self.send(&frame, TxMeta::default());
            self.flush();
        }
        Ok(())
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        let taken = {
            let receiver = self.receiver.lock();
            receiver
                .unwrap_or_else(PoisonError::into_inner)
                .take(buffer)
        };
        if let Some(len) = taken {
            return Ok((len, RxMeta::default()));
        }
        self.flush();
        Err(self.presence.nothing_read(false))
    }

    fn receive_within(&self) -> Option<Duration> {
        match self.sender().waiting() {
            0 => Some(ASK_EVERY),
            1.. => Some(SEND_AGAIN),
        }
    }

    fn send(&self, frame: &[u8], meta: TxMeta) -> io::Result<()> {
        match self.sender().put(frame, meta.checksum) {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Calls the kernel until it takes no more frames, because one call may take only some of the
    /// frames. Frames for which the interface has no room are tried again 200 µs later.
    fn flush(&self) {
        let mut waiting = self.sender().waiting();
        while waiting > 0 {
            let fd = self.outlet.as_raw_fd();
            // SAFETY: no payload and no address are passed.
            unsafe { libc::sendto(fd, ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0) };
            let left = self.sender().waiting();
            if left >= waiting {
                return;
            }
            waiting = left;
        }
    }
}
