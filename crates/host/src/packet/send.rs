//! Sending through a packet socket: many frames with one system call (`sendmmsg`).
//!
//! Rule: the kernel copies each frame before the call returns, and no memory is allocated.

use std::{
    io, mem,
    os::fd::{AsRawFd, OwnedFd},
};

use super::message::{message, part};
use crate::{
    device::OutgoingFrame,
    virtio::{self, VNET_LEN},
};

/// Largest number of frames that one call sends.
const TOGETHER: usize = 32;

/// Sends the first of `frames`, and as many of the following frames as `socket` takes in the same
/// call. Returns the number of frames sent, at least 1.
///
/// # Errors
/// Returns the error of the first frame; `WouldBlock` if the interface is full.
pub(super) fn many(socket: &OwnedFd, frames: &[OutgoingFrame<'_>]) -> io::Result<usize> {
    let mut heads = [[0; VNET_LEN]; TOGETHER];
    let mut parts = [[part(std::ptr::null_mut(), 0); 2]; TOGETHER];
    // SAFETY: `mmsghdr` is plain data, for which zero is a value.
    let mut messages: [libc::mmsghdr; TOGETHER] = unsafe { mem::zeroed() };
    let rows = heads.iter_mut().zip(&mut parts).zip(&mut messages);
    for (((head, parts), slot), frame) in rows.zip(frames) {
        *head = virtio::write(frame.meta);
        *parts = [
            part(head.as_mut_ptr(), VNET_LEN),
            part(frame.bytes.as_ptr().cast_mut(), frame.bytes.len()),
        ];
        slot.msg_hdr = message(parts);
    }
    let count = frames.len().min(TOGETHER) as libc::c_uint;
    // SAFETY: the messages describe `heads` and the frames, which the call only reads and
    // which outlive it.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count, 0) };
    usize::try_from(sent).map_err(|_| match io::Error::last_os_error() {
        // The interface's queue is full.
        error if error.raw_os_error() == Some(libc::ENOBUFS) => io::ErrorKind::WouldBlock.into(),
        error => error,
    })
}
