//! Changes of interfaces, neighbours and routes, over rtnetlink.
//!
//! Rule: each change is one request and one acknowledgement on a socket of its own, in the network
//! namespace of the calling thread. Addresses are added over rtnetlink, because the ioctl would
//! replace an existing address.

use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use crate::{errno::check, spec::Prefix};

const HEADER_LEN: usize = 16;
/// Attribute with the length of the transmit queue (`linux/if_link.h`).
const IFLA_TXQLEN: u16 = 13;
/// Attribute with the largest segment count of a super-segment (`linux/if_link.h`).
const IFLA_GSO_MAX_SEGS: u16 = 40;
/// Metric of a route: the first congestion window (`linux/rtnetlink.h`).
const RTAX_INITCWND: u16 = 11;
/// Metric of a route: the first receive window (`linux/rtnetlink.h`).
const RTAX_INITRWND: u16 = 14;
/// Prefix length of a route to one host.
const HOST_PREFIX: u8 = 32;

/// A change of an interface's addresses.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// Add the address. The kernel refuses this if the interface already has the address.
    Add,
    /// Remove the address.
    Remove,
}

/// A numeric property of an interface.
#[derive(Clone, Copy, Debug)]
pub enum LinkNumber {
    /// Frames that the device may queue for the wire (`txqueuelen`).
    TransmitQueue,
    /// Largest number of segments of a super-segment (`gso_max_segs`).
    GsoMaxSegments,
}

/// First windows of the connections of a route, in segments; 0 leaves the kernel's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstWindows {
    /// First congestion window (`initcwnd`).
    pub congestion: u32,
    /// First receive window (`initrwnd`).
    pub receive: u32,
}

/// Changes the addresses of interface number `index`.
///
/// # Errors
/// Returns `AlreadyExists` if the interface has the address already; otherwise the kernel's error.
pub fn change_address(change: Change, index: u32, prefix: &Prefix) -> io::Result<()> {
    let (kind, flags) = match change {
        Change::Add => (libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL),
        Change::Remove => (libc::RTM_DELADDR, 0),
    };
    let (family, octets) = octets(prefix.address);
    // An IPv6 address is usable at once: nobody else is on the device yet, so the kernel need not
    // ask whether the address is free.
    let flags_of_address = match prefix.address {
        IpAddr::V4(_) => 0,
        IpAddr::V6(_) => libc::IFA_F_NODAD as u8,
    };
    let mut body = vec![family, prefix.len, flags_of_address, 0]; // scope: global
    body.extend(index.to_ne_bytes());
    for kind in [libc::IFA_LOCAL, libc::IFA_ADDRESS] {
        attribute(&mut body, kind, &octets);
    }
    transact(kind, flags, &body)
}

/// Sets a numeric property of interface number `index`.
///
/// # Errors
/// Returns the kernel's error.
pub fn set_link_number(index: u32, number: LinkNumber, value: u32) -> io::Result<()> {
    let kind = match number {
        LinkNumber::TransmitQueue => IFLA_TXQLEN,
        LinkNumber::GsoMaxSegments => IFLA_GSO_MAX_SEGS,
    };
    let mut body = vec![0; 4]; // any family and type
    body.extend(index.to_ne_bytes());
    body.extend([0; 8]); // no flags change
    attribute(&mut body, kind, &value.to_ne_bytes());
    transact(libc::RTM_NEWLINK, 0, &body)
}

/// Gives the kernel a permanent entry for a neighbour on interface number `index`.
///
/// # Errors
/// Returns the kernel's error.
pub fn add_neighbour(index: u32, address: IpAddr, mac: [u8; 6]) -> io::Result<()> {
    let (family, octets) = octets(address);
    let mut body = vec![family, 0, 0, 0];
    body.extend(index.to_ne_bytes());
    body.extend(libc::NUD_PERMANENT.to_ne_bytes());
    body.extend([0, 0]); // no flags, any type
    attribute(&mut body, libc::NDA_DST, &octets);
    attribute(&mut body, libc::NDA_LLADDR, &mac);
    let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    transact(libc::RTM_NEWNEIGH, flags, &body)
}

/// Adds a route to the single host `address` over interface number `index`. Connections over this
/// route begin with `windows`.
///
/// # Errors
/// Returns the kernel's error.
pub fn add_host_route(index: u32, address: Ipv4Addr, windows: FirstWindows) -> io::Result<()> {
    let mut body = vec![libc::AF_INET as u8, HOST_PREFIX, 0, 0];
    body.extend([
        libc::RT_TABLE_MAIN,
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_LINK,
        libc::RTN_UNICAST,
    ]);
    body.extend(0u32.to_ne_bytes()); // no flags
    attribute(&mut body, libc::RTA_DST, &address.octets());
    attribute(&mut body, libc::RTA_OIF, &index.to_ne_bytes());
    let mut metrics = Vec::new();
    let wanted = [
        (RTAX_INITCWND, windows.congestion),
        (RTAX_INITRWND, windows.receive),
    ];
    for (kind, segments) in wanted.into_iter().filter(|(_, segments)| *segments > 0) {
        attribute(&mut metrics, kind, &segments.to_ne_bytes());
    }
    attribute(&mut body, libc::RTA_METRICS, &metrics);
    let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    transact(libc::RTM_NEWROUTE, flags, &body)
}

/// Family and bytes of an address.
fn octets(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
    }
}

/// Appends an attribute, padded to 4 bytes.
fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Sends a request of type `kind` and waits for its acknowledgement.
fn transact(kind: u16, flags: libc::c_int, body: &[u8]) -> io::Result<()> {
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
    let mut request = Vec::with_capacity(HEADER_LEN + body.len());
    request.extend(((HEADER_LEN + body.len()) as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.extend(1u32.to_ne_bytes()); // sequence number
    request.extend(0u32.to_ne_bytes()); // to the kernel
    request.extend(body);
    // SAFETY: no pointers are passed; nothing else owns the returned descriptor.
    let fd = check(unsafe {
        libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_ROUTE,
        )
    })?;
    // SAFETY: the kernel has just returned `fd`, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: the pointer and the length describe `request`, which the call only
    // reads.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            request.as_ptr().cast(),
            request.len(),
            0,
        )
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut answer = [0u8; 1024];
    // SAFETY: the pointer and the length describe `answer`, which outlives the
    // call.
    let read = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            answer.as_mut_ptr().cast(),
            answer.len(),
            0,
        )
    };
    let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    // An acknowledgement is an error message with code 0.
    let code = answer[..read]
        .get(HEADER_LEN..HEADER_LEN + 4)
        .and_then(|code| code.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the kernel did not answer",
        )),
    }
}
