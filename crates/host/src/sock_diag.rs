//! Reads the state of the kernel's sockets, over `NETLINK_SOCK_DIAG`.
//!
//! Rule: requests and answers are bytes, which this file does not interpret. If the kernel marks a
//! dump as inconsistent, or a part of a dump was lost, the result says so, and the caller repeats
//! the request. The same buffers are used for all answers.

#[cfg(test)]
mod tests;

use std::{io, mem, os::fd::AsRawFd, ptr, time::Instant};

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_SOCK_DIAG};

use crate::errno::{DeviceError, check};

/// Bytes of the header of a message.
const HEADER_LEN: usize = 16;
/// Type of a message with an error or an acknowledgement.
const NLMSG_ERROR: u16 = 2;
/// Type of the message at the end of a dump.
const NLMSG_DONE: u16 = 3;
/// Flag of a dump during which the kernel's list changed.
const NLM_F_DUMP_INTR: u16 = 0x10;
/// Largest datagram that the kernel makes for a dump.
const DATAGRAM_LEN: usize = 32 << 10;
/// Receive buffer of the socket, in bytes: room for many datagrams.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Seconds to wait for each further part of an answer.
const PATIENCE_S: libc::time_t = 5;

/// Largest number of requests about single sockets that one call sends.
const BATCH: usize = 64;
/// Longest answer to a request about one socket, in bytes; current kernels send about 500.
const REPLY_LEN: usize = 4 << 10;

/// The kernel's answer to a request about one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagAnswer<'a> {
    /// Payload of the message about the socket.
    Found(&'a [u8]),
    /// The kernel answered with an error, usually because it has no such socket. The value is the
    /// sequence number of the request.
    Gone(u32),
}

/// Completeness of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpEnd {
    /// Every socket was listed.
    Complete,
    /// The list changed while it was read: a socket may be missing, or listed twice.
    Changed,
    /// A part of the answer was lost, because the receive buffer was full or the end of the dump
    /// did not arrive.
    Lost,
}

/// A netlink socket for requests about sockets. It refers to the network namespace of the thread
/// that opened it, whichever thread uses it.
#[derive(Debug)]
pub struct SockDiag {
    socket: Socket,
    buffer: Vec<u8>,
    replies: Replies,
}

impl SockDiag {
    /// Opens the socket.
    ///
    /// # Errors
    /// Fails if the kernel has no `sock_diag` or forbids it.
    pub fn open() -> Result<Self, DeviceError> {
        let opened = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            // A failure is harmless: the default size is enough for a single datagram.
            let _ = socket.set_rx_buf_sz(RECEIVE_BUFFER as libc::c_int);
            set_patience(&socket)?;
            Ok(socket)
        };
        Ok(Self {
            socket: opened().map_err(explained)?,
            buffer: Vec::with_capacity(DATAGRAM_LEN),
            replies: Replies::new(),
        })
    }

    /// Sends `request`, a message with the flag `NLM_F_DUMP`. Passes the payload of each message
    /// of the answer to `each`, with a time just before the kernel made that message.
    ///
    /// # Errors
    /// Returns the kernel's error: `NotFound` if it has no module for the sockets that `request`
    /// names.
    pub fn dump(
        &mut self,
        request: &[u8],
        each: &mut dyn FnMut(&[u8], Instant),
    ) -> Result<DumpEnd, DeviceError> {
        // Take the time before the request is sent. The kernel makes the first datagram when it
        // receives the request, and each further datagram when the one before it is read.
        let mut made_at = Instant::now();
        self.socket.send(request, 0).map_err(explained)?;
        let mut end = DumpEnd::Complete;
        loop {
            let next_at = Instant::now();
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer, 0) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    end = DumpEnd::Lost;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(DumpEnd::Lost);
                }
                Err(error) => return Err(explained(error)),
            }
            for message in Messages(&self.buffer) {
                if message.flags & NLM_F_DUMP_INTR != 0 && end == DumpEnd::Complete {
                    end = DumpEnd::Changed;
                }
                match message.kind {
                    NLMSG_DONE => return message.status().map(|()| end).map_err(explained),
                    NLMSG_ERROR => message.status().map_err(explained)?,
                    _ => each(message.payload, made_at),
                }
            }
            made_at = next_at;
        }
    }
}

impl SockDiag {
    /// Sends `requests`: messages of `len` bytes, each about one socket. Passes each answer to
    /// `each`, with a time just before the kernel made that answer.
    ///
    /// # Errors
    /// Returns the kernel's error.
    ///
    /// # Panics
    /// Panics if `len` is 0.
    pub fn ask(
        &mut self,
        requests: &[u8],
        len: usize,
        each: &mut dyn FnMut(DiagAnswer<'_>, Instant),
    ) -> Result<DumpEnd, DeviceError> {
        for batch in requests.chunks(BATCH * len) {
            // Take the time before the requests are sent, because the kernel answers them while it
            // receives them.
            let made_at = Instant::now();
            self.socket.send(batch, 0).map_err(explained)?;
            let mut open = batch.len() / len;
            while open > 0 {
                let received = match self.replies.receive(&self.socket, open) {
                    Ok(received) => received,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error)
                        if error.kind() == io::ErrorKind::WouldBlock
                            || error.raw_os_error() == Some(libc::ENOBUFS) =>
                    {
                        return Ok(DumpEnd::Lost);
                    }
                    Err(error) => return Err(explained(error)),
                };
                for reply in self.replies.iter(received) {
                    for message in Messages(reply) {
                        open = open.saturating_sub(1);
                        match message.kind {
                            NLMSG_ERROR => each(DiagAnswer::Gone(message.sequence), made_at),
                            _ => each(DiagAnswer::Found(message.payload), made_at),
                        }
                    }
                }
            }
        }
        Ok(DumpEnd::Complete)
    }
}

/// Buffers for many short datagrams, which one call receives.
#[derive(Debug)]
struct Replies {
    bytes: Vec<u8>,
    lens: [usize; BATCH],
}

impl Replies {
    fn new() -> Self {
        Self {
            bytes: vec![0; BATCH * REPLY_LEN],
            lens: [0; BATCH],
        }
    }

    /// Waits for a datagram, and receives it and the datagrams behind it, at most `most` in all.
    /// Returns the number of datagrams received. Bytes of a datagram beyond [`REPLY_LEN`] are cut
    /// off.
    fn receive(&mut self, socket: &Socket, most: usize) -> io::Result<usize> {
        // SAFETY: `iovec` consists of a pointer and an integer, for which zero is a value.
        let mut parts: [libc::iovec; BATCH] = unsafe { mem::zeroed() };
        // SAFETY: `mmsghdr` consists of pointers and integers, for which zero is a value.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        let buffers = self.bytes.chunks_exact_mut(REPLY_LEN);
        for ((header, part), buffer) in headers.iter_mut().zip(&mut parts).zip(buffers) {
            part.iov_base = buffer.as_mut_ptr().cast();
            part.iov_len = buffer.len();
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: each header points to one part, and each part to a buffer of its own. All
        // outlive the call, which writes into at most `BATCH` buffers and keeps to their lengths.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                most.min(BATCH) as libc::c_uint,
                libc::MSG_WAITFORONE as _,
                ptr::null_mut(),
            )
        };
        let received = check(received)? as usize;
        for (len, header) in self.lens.iter_mut().zip(&headers).take(received) {
            *len = (header.msg_len as usize).min(REPLY_LEN);
        }
        Ok(received)
    }

    /// The first `count` datagrams of the latest call.
    fn iter(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        let buffers = self.bytes.chunks_exact(REPLY_LEN).zip(self.lens);
        buffers.take(count).map(|(buffer, len)| &buffer[..len])
    }
}

/// Sets the time after which receiving fails with `WouldBlock`.
fn set_patience(socket: &Socket) -> io::Result<()> {
    let patience = libc::timeval {
        tv_sec: PATIENCE_S,
        tv_usec: 0,
    };
    // SAFETY: the pointer and the length describe `patience`, which the call only reads.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const patience).cast(),
            size_of_val(&patience) as libc::socklen_t,
        )
    })
    .map(drop)
}

/// The error of the kernel, with a remedy.
fn explained(error: io::Error) -> DeviceError {
    let code = error.raw_os_error();
    let error = DeviceError::new("cannot ask the kernel about its sockets (sock_diag)", error);
    match code {
        Some(libc::ENOENT | libc::EPROTONOSUPPORT | libc::EAFNOSUPPORT | libc::EINVAL) => error
            .advise(
                "the kernel has no tcp_diag: run `modprobe tcp_diag` as root, or use a kernel with \
                 CONFIG_INET_DIAG",
            ),
        Some(libc::EPERM | libc::EACCES) => error.advise(
            "this process may not use netlink, perhaps because of a container's seccomp profile: \
             run the command on the host",
        ),
        _ => error,
    }
}

/// A netlink message.
struct Message<'a> {
    kind: u16,
    flags: u16,
    sequence: u32,
    payload: &'a [u8],
}

impl Message<'_> {
    /// Returns the error in a message of type `NLMSG_ERROR` or `NLMSG_DONE`. The payload begins
    /// with the status code, which is 0 on success.
    fn status(&self) -> io::Result<()> {
        let code = self.payload.get(..4).and_then(|code| code.try_into().ok());
        match code.map(i32::from_ne_bytes) {
            Some(0) | None => Ok(()),
            Some(code) => Err(io::Error::from_raw_os_error(-code)),
        }
    }
}

/// The messages of a datagram.
struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let header = self.0.get(..HEADER_LEN)?;
        let len = u32::from_ne_bytes(header[..4].try_into().ok()?) as usize;
        let payload = self.0.get(HEADER_LEN..len)?;
        let message = Message {
            kind: u16::from_ne_bytes([header[4], header[5]]),
            flags: u16::from_ne_bytes([header[6], header[7]]),
            sequence: u32::from_ne_bytes(header[8..12].try_into().ok()?),
            payload,
        };
        let padded = len.next_multiple_of(4).min(self.0.len());
        self.0 = &self.0[padded..];
        Some(message)
    }
}
