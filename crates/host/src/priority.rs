//! Which threads of this machine go first.
//!
//! Rule: it concerns the calling thread, and what the thread starts where that
//! is said. A kernel that refuses is no failure: work is then done later, which
//! whoever asked has to be able to bear.

use std::io;

use crate::errno::check;

/// Niceness of threads that are measured: ahead of whatever else there is.
const AHEAD: libc::c_int = -15;

/// Puts this thread, and every thread and process that it starts from now on,
/// ahead of those with ordinary niceness.
///
/// # Errors
/// Without the capability `CAP_SYS_NICE` the kernel refuses.
pub fn go_ahead() -> io::Result<()> {
    // SAFETY: this call takes numbers; 0 is the calling thread.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, AHEAD) }).map(drop)
}

/// Runs this thread as soon as it is woken, whatever else wants the processor
/// (`SCHED_FIFO`); threads that it starts are not affected.
///
/// # Errors
/// Without the capability `CAP_SYS_NICE` the kernel refuses.
pub fn run_at_once() -> io::Result<()> {
    // SAFETY: `sched_param` is plain data, for which zero is a value.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = 1;
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the call reads `param`, which outlives it; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const param) }).map(drop)
}
