//! The messages of `sendmsg` and `recvmsg`.
//!
//! Rule: a message borrows its bytes and owns nothing.

use std::mem;

/// Creates a message of `parts`; the pointers in it are valid as long as `parts`.
pub(super) fn message(parts: &mut [libc::iovec]) -> libc::msghdr {
    // SAFETY: `msghdr` is plain data, for which zero is a value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _;
    message
}

/// Creates a part of a message: `len` bytes at `base`.
pub(super) const fn part(base: *mut u8, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: base.cast(),
        iov_len: len,
    }
}
