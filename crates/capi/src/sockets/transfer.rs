//! Reading and writing: `fp_send`, `fp_recv`, `fp_sendto`, `fp_recvfrom`.
//!
//! Rule: a call transfers at most `i32::MAX` bytes, because its result is the number of bytes. A call
//! that fails after it has transferred bytes returns their number instead of the error, as in BSD.

use core::{ffi::c_void, slice};

use fullpipe::{Instant, Read};

use super::{Direction, FpSocket, blocking, open::udp_id, table::Socket};
use crate::{
    address::FpAddress,
    config::borrow,
    enter::{FpStack, StackState},
    errno::{
        Errno, FP_EAGAIN, FP_EDESTADDRREQ, FP_EFAULT, FP_EINVAL, FP_EISCONN, FP_ENOTCONN, returned,
    },
};

/// Flag for receiving: leave the payload unread.
pub const FP_MSG_PEEK: i32 = 0x02;
/// Flag for sending and receiving: do not wait.
pub const FP_MSG_DONTWAIT: i32 = 0x40;
/// Flag for receiving from a connection: wait until all requested bytes or the end have arrived.
pub const FP_MSG_WAITALL: i32 = 0x100;

const KNOWN_FLAGS: i32 = FP_MSG_PEEK | FP_MSG_DONTWAIT | FP_MSG_WAITALL;

/// Checks a buffer of the caller. Returns its length, at most the largest number that a call can
/// return.
fn checked(buffer: *const c_void, len: usize, flags: i32) -> Result<usize, Errno> {
    if flags & !KNOWN_FLAGS != 0 || isize::try_from(len).is_err() {
        return Err(Errno(FP_EINVAL));
    }
    if buffer.is_null() && len > 0 {
        return Err(Errno(FP_EFAULT));
    }
    if (buffer as usize).checked_add(len).is_none() {
        return Err(Errno(FP_EFAULT));
    }
    Ok(len.min(i32::MAX as usize))
}

/// Returns the caller's bytes, from `start` on.
///
/// # Safety
/// `buffer` is readable for `len` bytes, or `len` is 0.
unsafe fn bytes<'a>(buffer: *const c_void, start: usize, len: usize) -> &'a [u8] {
    match len.saturating_sub(start) {
        0 => &[],
        // SAFETY: the caller passes `len` readable bytes, and `start` is less than `len`.
        left => unsafe { slice::from_raw_parts(buffer.cast::<u8>().add(start), left) },
    }
}

/// Returns the caller's memory, from `start` on.
///
/// # Safety
/// `buffer` is writable for `len` bytes, or `len` is 0.
unsafe fn memory<'a>(buffer: *mut c_void, start: usize, len: usize) -> &'a mut [u8] {
    match len.saturating_sub(start) {
        0 => &mut [],
        // SAFETY: the caller passes `len` writable bytes, and `start` is less than `len`.
        left => unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>().add(start), left) },
    }
}

/// Writes to a connection, or sends a datagram to the connected peer. `flags` may be
/// FP_MSG_DONTWAIT. A call that may wait returns when all bytes are written; a call that does not
/// wait may write fewer. Returns the number of bytes written; -FP_EAGAIN if no byte was written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_send(
    stack: *mut FpStack,
    socket: FpSocket,
    buffer: *const c_void,
    len: usize,
    flags: i32,
) -> i32 {
    // SAFETY: the callee has the same conditions as this function.
    unsafe { fp_sendto(stack, socket, buffer, len, flags, core::ptr::null()) }
}

/// Sends a datagram to `to`, or writes to a connection, for which `to` must be NULL. A datagram is
/// sent whole or not at all. Otherwise like `fp_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_sendto(
    stack: *mut FpStack,
    socket: FpSocket,
    buffer: *const c_void,
    len: usize,
    flags: i32,
    to: *const FpAddress,
) -> i32 {
    let to = match to.is_null() {
        true => Ok(None),
        // SAFETY: the caller passes an address.
        false => unsafe { borrow(to) }.and_then(FpAddress::read).map(Some),
    };
    let (len, to) = match checked(buffer, len, flags).and_then(|len| Ok((len, to?))) {
        Ok(arguments) => arguments,
        Err(error) => return returned(Err(error)),
    };
    let mut written = 0;
    let attempt = |state: &mut StackState, now: Instant| {
        let id = udp_id(state, socket)?;
        let StackState { stack, sockets, .. } = state;
        // SAFETY: the caller passes `len` readable bytes.
        let payload = unsafe { bytes(buffer, written, len) };
        match (sockets.get(socket)?.socket, id) {
            (Socket::Connection(_), _) if to.is_some() => Err(Errno(FP_EISCONN)),
            (Socket::Connection(id), _) => {
                if !stack.tcp_ready(id, now)?.connected && len > 0 {
                    // The empty write returns the reason if the handshake has failed.
                    stack.tcp_write(id, &[], now)?;
                    return Err(Errno(FP_EAGAIN));
                }
                written += stack.tcp_write(id, payload, now)?;
                match written < len {
                    true => Err(Errno(FP_EAGAIN)),
                    false => Ok(written as i32),
                }
            }
            (Socket::Udp { peer, .. }, Some(id)) => {
                let to = to.or(peer).ok_or(Errno(FP_EDESTADDRREQ))?;
                match stack.udp_send(id, to, payload)? {
                    true => Ok(len as i32),
                    false => Err(Errno(FP_EAGAIN)),
                }
            }
            _ => Err(Errno(FP_ENOTCONN)),
        }
    };
    let never = flags & FP_MSG_DONTWAIT != 0;
    // SAFETY: the caller passes a stack.
    let result = unsafe { blocking(stack, socket, Direction::Send, never, attempt) };
    match written {
        0 => result,
        _ => written as i32,
    }
}

/// Reads from a connection, or takes a datagram; bytes of the datagram beyond `len` are lost. `flags`
/// may contain FP_MSG_PEEK, FP_MSG_DONTWAIT and FP_MSG_WAITALL. Returns the number of bytes read; 0
/// at the end of a connection's stream; -FP_EAGAIN if nothing has arrived.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_recv(
    stack: *mut FpStack,
    socket: FpSocket,
    buffer: *mut c_void,
    len: usize,
    flags: i32,
) -> i32 {
    // SAFETY: the callee has the same conditions as this function.
    unsafe { fp_recvfrom(stack, socket, buffer, len, flags, core::ptr::null_mut()) }
}

/// Receives like `fp_recv`, and writes the sender of a datagram to `from` unless `from` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_recvfrom(
    stack: *mut FpStack,
    socket: FpSocket,
    buffer: *mut c_void,
    len: usize,
    flags: i32,
    from: *mut FpAddress,
) -> i32 {
    let len = match checked(buffer, len, flags) {
        Ok(_) if !from.is_aligned() => return -FP_EFAULT,
        Ok(len) => len,
        Err(error) => return returned(Err(error)),
    };
    let mut read = 0;
    let attempt = |state: &mut StackState, now: Instant| {
        // SAFETY: the caller passes `len` writable bytes.
        let out = unsafe { memory(buffer, read, len) };
        let (result, sender) = match state.sockets.get(socket)?.socket {
            Socket::Connection(id) => {
                let result = receive_stream(state, id, out, flags, now)?;
                read += result;
                let waits = flags & FP_MSG_WAITALL != 0 && result > 0 && read < len;
                let result = match waits && flags & FP_MSG_PEEK == 0 {
                    true => return Err(Errno(FP_EAGAIN)),
                    false => read,
                };
                (result, None)
            }
            Socket::Udp { .. } | Socket::NewUdp => receive_datagram(state, socket, out, flags)?,
            _ => return Err(Errno(FP_ENOTCONN)),
        };
        if let Some(sender) = sender.filter(|_| !from.is_null()) {
            // SAFETY: the pointer is aligned and not null; the caller passes memory for an address.
            unsafe { from.write(sender) };
        }
        Ok(result as i32)
    };
    let never = flags & FP_MSG_DONTWAIT != 0;
    // SAFETY: the caller passes a stack.
    let result = unsafe { blocking(stack, socket, Direction::Receive, never, attempt) };
    match read {
        0 => result,
        _ => read as i32,
    }
}

/// Reads what has arrived on a connection. Returns 0 at the end of the stream.
fn receive_stream(
    state: &mut StackState,
    id: fullpipe::ConnectionId,
    out: &mut [u8],
    flags: i32,
    now: Instant,
) -> Result<usize, Errno> {
    let stack = &mut state.stack;
    let ready = stack.tcp_ready(id, now)?;
    if !ready.connected && ready.closed.is_none() {
        return Err(Errno(FP_EAGAIN));
    }
    let read = match flags & FP_MSG_PEEK {
        0 => stack.tcp_read(id, out, now)?,
        _ => stack.tcp_peek(id, out, now)?,
    };
    match read {
        Read::Data(count) => Ok(count),
        Read::Empty if out.is_empty() => Ok(0),
        Read::Empty => Err(Errno(FP_EAGAIN)),
        Read::End => Ok(0),
    }
}

/// Takes the first datagram in the queue; for a connected socket, the first datagram of its peer.
fn receive_datagram(
    state: &mut StackState,
    socket: FpSocket,
    out: &mut [u8],
    flags: i32,
) -> Result<(usize, Option<FpAddress>), Errno> {
    if flags & FP_MSG_PEEK != 0 {
        return Err(Errno(FP_EINVAL));
    }
    let Some(id) = udp_id(state, socket)? else {
        return Err(Errno(FP_ENOTCONN));
    };
    let StackState { stack, sockets, .. } = state;
    let Socket::Udp { peer, .. } = sockets.get(socket)?.socket else {
        return Err(Errno(FP_ENOTCONN));
    };
    while let Some(received) = stack.udp_receive(id, out)? {
        if peer.is_none_or(|peer| peer == received.from) {
            return Ok((received.copied, Some(FpAddress::new(received.from))));
        }
    }
    Err(Errno(FP_EAGAIN))
}
