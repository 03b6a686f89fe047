//! Adding and removing an address of an interface, over rtnetlink.
//!
//! Rule: each change is one request and one acknowledgement on a socket of its own. The
//! ioctl would replace an existing address; rtnetlink adds one.

use std::{
    io,
    net::IpAddr,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use crate::{errno::check, spec::Prefix};

const HEADER_LEN: usize = 16;
const ADDRESS_HEADER_LEN: usize = 8;

/// A change of an interface's addresses.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// Add the address; refused if the interface has it.
    Add,
    /// Remove the address.
    Remove,
}

/// Changes the addresses of interface number `index`.
///
/// # Errors
/// `AlreadyExists` if the interface has the address already; otherwise the kernel's
/// error.
pub fn change_address(change: Change, index: u32, prefix: &Prefix) -> io::Result<()> {
    let request = request(change, index, prefix);
    // SAFETY: no pointers are passed; nothing else owns the returned descriptor.
    let fd = check(unsafe {
        libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_ROUTE,
        )
    })?;
    // SAFETY: as above.
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

fn request(change: Change, index: u32, prefix: &Prefix) -> Vec<u8> {
    let (kind, flags) = match change {
        Change::Add => (libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL),
        Change::Remove => (libc::RTM_DELADDR, 0),
    };
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
    let (family, octets) = match prefix.address {
        IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec()),
    };
    let attributes = 2 * (4 + octets.len());
    let len = HEADER_LEN + ADDRESS_HEADER_LEN + attributes;
    let mut request = Vec::with_capacity(len);
    request.extend((len as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.extend(1u32.to_ne_bytes()); // sequence number
    request.extend(0u32.to_ne_bytes()); // to the kernel
    request.extend([family as u8, prefix.len, 0, 0]); // flags, scope: global
    request.extend(index.to_ne_bytes());
    for attribute in [libc::IFA_LOCAL, libc::IFA_ADDRESS] {
        request.extend((4 + octets.len() as u16).to_ne_bytes());
        request.extend(attribute.to_ne_bytes());
        request.extend(&octets);
    }
    request
}
