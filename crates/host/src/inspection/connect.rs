//! A connection to an abstract Unix socket, with a time limit, and the process that listens.
//!
//! Rule: the kernel says who listens; the name of the socket does not.

use std::{
    io,
    mem::{offset_of, size_of},
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixStream},
    },
    time::Duration,
};

use crate::errno::check;

/// Connects to the socket with the abstract name `address` within `patience`: `connect` waits while the
/// queue of the listening socket is full.
pub(super) fn connect(address: &SocketAddr, patience: Duration) -> io::Result<UnixStream> {
    // SAFETY: no pointers are passed; nothing else owns the returned descriptor.
    let fd =
        check(unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the kernel has just returned `fd`, and nothing else owns it.
    let stream = UnixStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
    // The kernel limits `connect` by the time limit of writes.
    stream.set_write_timeout(Some(patience))?;
    let name = address.as_abstract_name().unwrap_or_default();
    // SAFETY: all bits may be 0 in this struct of numbers.
    let mut raw: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    raw.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // The first byte of an abstract name is 0.
    for (to, from) in raw.sun_path[1..].iter_mut().zip(name) {
        *to = from.cast_signed() as libc::c_char;
    }
    let len = offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    let len = len.min(size_of::<libc::sockaddr_un>()) as libc::socklen_t;
    // SAFETY: `raw` outlives the call, and `len` is at most its size.
    check(unsafe { libc::connect(fd, (&raw const raw).cast(), len) })?;
    Ok(stream)
}

/// The process that listens at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    /// Number of the process, as this process sees it; 0 if it does not.
    pub pid: u32,
    /// Number of its user.
    pub uid: u32,
    /// Number of the user of this process.
    asker: u32,
}

impl Owner {
    /// Returns the process that listened when `stream` connected.
    pub(super) fn of(stream: &UnixStream) -> io::Result<Self> {
        let mut peer = libc::ucred {
            pid: 0,
            uid: 0,
            gid: 0,
        };
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes into `peer`; both outlive the call.
        check(unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut peer).cast(),
                &raw mut len,
            )
        })?;
        Ok(Self {
            pid: u32::try_from(peer.pid).unwrap_or(0),
            uid: peer.uid,
            // SAFETY: the call takes nothing and cannot fail.
            asker: unsafe { libc::geteuid() },
        })
    }

    /// Returns true if an answer in the name of process `pid` is believed: the owner is of the same
    /// user as the asker, or root; for root, also if the owner is that process.
    pub(super) const fn is_trusted_with(&self, pid: u32) -> bool {
        self.uid == self.asker || self.uid == 0 || (self.asker == 0 && self.pid == pid)
    }
}

#[cfg(test)]
mod tests;
