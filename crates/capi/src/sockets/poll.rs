//! The readiness of sockets: `fp_poll`.
//!
//! Rule: readiness is the state of the socket at this moment, as in `poll(2)`.

use core::slice;

use fullpipe::{Duration, Instant};

use super::{FpSocket, table::Socket};
use crate::{
    enter::{FpStack, StackState, enter},
    errno::{Errno, FP_EFAULT, FP_EINVAL, returned},
    host::FP_FOREVER,
};

/// Reading would return payload or the end of the stream, or a connection waits to be accepted.
pub const FP_POLLIN: u16 = 0x001;
/// Writing would accept at least one byte.
pub const FP_POLLOUT: u16 = 0x004;
/// The connection has failed, or the network has reported an error. Always reported.
pub const FP_POLLERR: u16 = 0x008;
/// The connection has ended. Always reported.
pub const FP_POLLHUP: u16 = 0x010;
/// No open socket has this handle. Always reported.
pub const FP_POLLNVAL: u16 = 0x020;
/// The peer has closed its direction.
pub const FP_POLLRDHUP: u16 = 0x2000;

/// A socket and the events that the caller waits for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FpPoll {
    /// The socket; a negative one is skipped.
    pub socket: FpSocket,
    /// FP_POLL... flags to wait for.
    pub events: u16,
    /// FP_POLL... flags that apply now; `fp_poll` writes them.
    pub revents: u16,
}

/// Largest number of sockets of one call.
const MOST: usize = 1 << 24;

/// Writes the readiness of `count` sockets, and waits up to `wait_us` microseconds until one has an
/// event. With a `wait_us` of 0, or if the host system gave no callback `wait`, the call does not
/// wait; with FP_FOREVER the call waits without a limit. Returns the number of sockets with events,
/// or an error number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_poll(
    stack: *mut FpStack,
    polls: *mut FpPoll,
    count: usize,
    wait_us: u64,
) -> i32 {
    if count > MOST {
        return -FP_EINVAL;
    }
    if count > 0 && (polls.is_null() || !polls.is_aligned()) {
        return -FP_EFAULT;
    }
    let mut until = None;
    loop {
        // SAFETY: the caller passes a stack.
        let mut entered = match unsafe { enter(stack) } {
            Ok(entered) => entered,
            Err(error) => return returned(Err(error)),
        };
        let now = entered.now();
        let polls = match count {
            0 => &mut [],
            // SAFETY: the caller passes `count` entries, which nobody else uses during the call.
            _ => unsafe { slice::from_raw_parts_mut(polls, count) },
        };
        let mut found = 0;
        for poll in polls {
            let events = readiness(&mut entered, poll.socket, now);
            let always = FP_POLLERR | FP_POLLHUP | FP_POLLNVAL;
            poll.revents = events & (poll.events | always);
            found += i32::from(poll.revents != 0);
        }
        let Some(wait) = entered.host.wait.filter(|_| found == 0 && wait_us > 0) else {
            return found;
        };
        let until_us = match wait_us {
            FP_FOREVER => FP_FOREVER,
            _ => {
                let until = *until.get_or_insert(now + Duration::from_micros(wait_us));
                if until <= now {
                    return found;
                }
                until.since(Instant::ZERO).as_nanos().div_ceil(1_000)
            }
        };
        let context = entered.host.context;
        drop(entered);
        // SAFETY: the host system's callback gets its own context. The stack is not borrowed.
        let waited = unsafe { wait(context, until_us) };
        if waited < 0 {
            return waited;
        }
    }
}

/// Returns all events of a socket.
fn readiness(state: &mut StackState, socket: FpSocket, now: Instant) -> u16 {
    if socket < 0 {
        return 0;
    }
    let mut events = || -> Result<u16, Errno> {
        let StackState { stack, sockets, .. } = state;
        Ok(match sockets.get(socket)?.socket {
            Socket::Listener(id) => flag(FP_POLLIN, stack.tcp_backlog(id)? > 0),
            Socket::Connection(id) => {
                let ready = stack.tcp_ready(id, now)?;
                let failed = ready
                    .closed
                    .is_some_and(|reason| reason != fullpipe::CloseReason::Finished);
                flag(FP_POLLIN, ready.readable)
                    | flag(
                        FP_POLLOUT,
                        ready.writable && (ready.connected || ready.closed.is_some()),
                    )
                    | flag(FP_POLLHUP, ready.closed.is_some())
                    | flag(FP_POLLERR, failed)
                    | flag(FP_POLLRDHUP, ready.peer_closed)
            }
            Socket::Udp { id, .. } => {
                let ready = stack.udp_ready(id)?;
                flag(FP_POLLIN, ready.readable) | flag(FP_POLLOUT, ready.writable)
            }
            Socket::NewUdp => FP_POLLOUT,
            Socket::NewTcp { .. } => FP_POLLOUT | FP_POLLHUP,
            Socket::Free => FP_POLLNVAL,
        })
    };
    events().unwrap_or(FP_POLLNVAL)
}

const fn flag(flag: u16, holds: bool) -> u16 {
    if holds { flag } else { 0 }
}
