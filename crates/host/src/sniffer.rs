//! The IP packets that an interface of this machine sends and receives (`AF_PACKET`), for an
//! analysis.
//!
//! Rule: nothing is sent and no setting changes; the interface does not become promiscuous. The
//! kernel removes link headers and VLAN tags, so packets of all interfaces have the same form.

use std::{
    io, mem,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr,
    time::Duration,
};

use crate::{
    errno::{DeviceError, check},
    interface,
};

/// Every EtherType, in network byte order.
const EVERY_PROTOCOL: u16 = (libc::ETH_P_ALL as u16).to_be();
/// Size in bytes of the socket's receive buffer.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;
/// Longest wait of [`Sniffer::next_packet`].
const WAIT: Duration = Duration::from_millis(100);
/// Socket option for the statistics of a packet socket, which `libc` does not define.
const PACKET_STATISTICS: libc::c_int = 6;
/// Name that stands for all interfaces.
const ANY: &str = "any";

/// A packet of an interface, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SniffedPacket {
    /// Time at which the kernel saw the packet, in nanoseconds since the Unix epoch; 0 if unknown.
    pub at_ns: i64,
    /// Number of the packet's bytes that were copied to the buffer.
    pub captured: usize,
    /// Bytes of the whole packet.
    pub len: usize,
    /// True if the packet is IPv4 or IPv6.
    pub is_ip: bool,
    /// Relation to this host, as in `linux/if_packet.h`: 0 to 2 received, 3 overheard, 4 sent.
    pub packet_type: u8,
}

/// A socket that receives a copy of every packet of an interface.
#[derive(Debug)]
pub struct Sniffer {
    socket: OwnedFd,
    dropped: u64,
}

impl Sniffer {
    /// Opens an interface by its name; `any` stands for all.
    ///
    /// # Errors
    /// Fails if there is no such interface, or this process lacks `CAP_NET_RAW`. The error is one
    /// line that names the remedy.
    pub fn open(name: &str) -> Result<Self, DeviceError> {
        let index = match name {
            ANY => 0,
            name => interface::index(name).ok_or_else(|| {
                let source = io::Error::from_raw_os_error(libc::ENODEV);
                DeviceError::new(format!("cannot capture on {name}"), source)
                    .advise("ip link lists the interfaces")
            })?,
        };
        let socket = Self::bound(index).map_err(|source| {
            DeviceError::privileged(format!("cannot capture on {name}"), "CAP_NET_RAW", source)
        })?;
        Ok(Self { socket, dropped: 0 })
    }

    fn bound(index: u32) -> io::Result<OwnedFd> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers are passed; nothing else owns the returned descriptor. With
        // protocol 0 nothing is received before the socket is bound.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the kernel has just returned `fd`, and nothing else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        set(&socket, libc::SO_TIMESTAMPNS, &1_i32)?;
        let wait = libc::timeval {
            tv_sec: 0,
            tv_usec: WAIT.as_micros() as _,
        };
        set(&socket, libc::SO_RCVTIMEO, &wait)?;
        // Only root may exceed the system's limit; a smaller buffer is enough for most links.
        if set(&socket, libc::SO_RCVBUFFORCE, &RECEIVE_BUFFER).is_err() {
            set(&socket, libc::SO_RCVBUF, &RECEIVE_BUFFER)?;
        }
        // SAFETY: `sockaddr_ll` is plain data, for which zero is a value.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as libc::c_ushort;
        address.sll_protocol = EVERY_PROTOCOL;
        address.sll_ifindex = index as libc::c_int;
        let len = mem::size_of_val(&address) as libc::socklen_t;
        // SAFETY: the pointer and the length describe `address`, which the call only reads.
        check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
        Ok(socket)
    }

    /// Waits up to 100 ms for the next packet and copies its first bytes to `buffer`. Returns
    /// `None` if no packet came. The loopback interface both sends and receives every packet; only
    /// the received copy is returned.
    ///
    /// # Errors
    /// Returns errors of the interface, such as its removal.
    pub fn next_packet(&self, buffer: &mut [u8]) -> io::Result<Option<SniffedPacket>> {
        loop {
            match self.receive(buffer)? {
                Some((_, true)) => {}
                Some((packet, false)) => return Ok(Some(packet)),
                None => return Ok(None),
            }
        }
    }

    /// Receives a packet. The second value is true if the loopback interface sent it.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(SniffedPacket, bool)>> {
        // SAFETY: `sockaddr_ll` and `msghdr` are plain data, for which zero is a value.
        let (mut from, mut message): (libc::sockaddr_ll, libc::msghdr) =
            unsafe { (mem::zeroed(), mem::zeroed()) };
        // `u64` gives the alignment that control messages need.
        let mut control = [0_u64; 8];
        let mut part = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        message.msg_name = (&raw mut from).cast();
        message.msg_namelen = mem::size_of_val(&from) as libc::socklen_t;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = mem::size_of_val(&control) as _;
        // SAFETY: the message describes `from`, `part`, `buffer` and `control`, which are
        // writable and outlive the call.
        let len =
            unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, libc::MSG_TRUNC) };
        let Ok(len) = usize::try_from(len) else {
            let error = io::Error::last_os_error();
            let is_nothing = [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
            // Report no error if the interface is down, because it may come up again.
            let is_down = error.raw_os_error() == Some(libc::ENETDOWN);
            return match is_down || is_nothing.contains(&error.kind()) {
                true => Ok(None),
                false => Err(error),
            };
        };
        let is_outgoing = from.sll_pkttype == libc::PACKET_OUTGOING;
        let is_repeated = is_outgoing && from.sll_hatype == libc::ARPHRD_LOOPBACK;
        let protocol = libc::c_int::from(u16::from_be(from.sll_protocol));
        let packet = SniffedPacket {
            at_ns: time_ns(&message),
            captured: len.min(buffer.len()),
            len,
            is_ip: [libc::ETH_P_IP, libc::ETH_P_IPV6].contains(&protocol),
            packet_type: from.sll_pkttype,
        };
        Ok(Some((packet, is_repeated)))
    }

    /// Number of packets so far that the kernel dropped because they were not read in time.
    ///
    /// # Errors
    /// Returns the kernel's error; none is expected.
    pub fn dropped(&mut self) -> io::Result<u64> {
        // Packets and drops since the last call.
        let mut counts = [0_u32; 2];
        let mut len = mem::size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the pointers describe `counts` and its length, which are writable.
        check(unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                PACKET_STATISTICS,
                counts.as_mut_ptr().cast(),
                &raw mut len,
            )
        })?;
        self.dropped += u64::from(counts[1]);
        Ok(self.dropped)
    }
}

/// The time in the control messages of `message`, in nanoseconds; 0 if there is none.
fn time_ns(message: &libc::msghdr) -> i64 {
    // SAFETY: the kernel has filled in the control messages and their length; the macros stay
    // within them.
    let mut head = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !head.is_null() {
        // SAFETY: `head` is not null, so it points to a whole head within the control messages.
        let (level, kind) = unsafe { ((*head).cmsg_level, (*head).cmsg_type) };
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            // SAFETY: this kind of message holds a `timespec`, perhaps not aligned.
            let time: libc::timespec = unsafe { ptr::read_unaligned(libc::CMSG_DATA(head).cast()) };
            return time.tv_sec as i64 * 1_000_000_000 + time.tv_nsec as i64;
        }
        // SAFETY: `head` points into the control messages, which the kernel has filled in.
        head = unsafe { libc::CMSG_NXTHDR(message, head) };
    }
    0
}

/// Sets an option of the socket layer whose value is a `T`.
fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let (at, len) = (&raw const *value, mem::size_of::<T>() as libc::socklen_t);
    // SAFETY: the pointer and the length describe `value`, which the call only reads; each
    // option is set with the type that it takes.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, at.cast(), len) })
        .map(drop)
}
