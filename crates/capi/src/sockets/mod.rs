//! Sockets in the manner of BSD.
//!
//! Rule: a handle that is not in the table is refused (`table`). An operation is first attempted
//! without waiting. If the host system can wait and the socket allows it, [`blocking`] waits and
//! repeats the attempt.

mod open;
mod options;
mod poll;
pub(crate) mod table;
mod transfer;

use table::Direction;
pub(crate) use table::FpSocket;

use fullpipe::{Duration, Instant};

use crate::{
    enter::{FpStack, StackState, enter},
    errno::{Errno, FP_EAGAIN, returned},
    host::FP_FOREVER,
};

/// Repeats an attempt until it returns something other than [`FP_EAGAIN`], or until the longest wait
/// of the call has passed.
///
/// # Safety
/// The conditions of [`enter`].
unsafe fn blocking(
    stack: *mut FpStack,
    socket: FpSocket,
    direction: Direction,
    never: bool,
    mut attempt: impl FnMut(&mut StackState, Instant) -> Result<i32, Errno>,
) -> i32 {
    let mut until = None;
    loop {
        // SAFETY: the callee has the same conditions as this function.
        let mut entered = match unsafe { enter(stack) } {
            Ok(entered) => entered,
            Err(error) => return returned(Err(error)),
        };
        let now = entered.now();
        let result = attempt(&mut entered, now);
        if result != Err(Errno(FP_EAGAIN)) || never {
            return returned(result);
        }
        let Some(wait) = entered.host.wait else {
            return returned(result);
        };
        let longest = match entered.sockets.longest_wait(socket, direction) {
            Ok(Some(longest)) => longest,
            Ok(None) => return returned(result),
            Err(error) => return returned(Err(error)),
        };
        let until = *until.get_or_insert_with(|| match longest {
            Duration::ZERO => None,
            _ => Some(now + longest),
        });
        if until.is_some_and(|until| until <= now) {
            return returned(result);
        }
        let until_us = until.map_or(FP_FOREVER, |until| {
            until.since(Instant::ZERO).as_nanos().div_ceil(1_000)
        });
        let context = entered.host.context;
        drop(entered);
        // SAFETY: the host system's callback gets its own context. The stack is not borrowed.
        let waited = unsafe { wait(context, until_us) };
        if waited < 0 {
            return waited;
        }
    }
}
