//! Real-time priority of threads.
//!
//! Rule: the priority applies to the calling thread and to threads that it starts later. The
//! kernel may refuse it; the caller must also work without it, only with more delay.

use std::io;

use crate::errno::check;

/// Gives this thread, and every thread and process that it starts from now on, the real-time
/// `priority` (1 to 99, `SCHED_FIFO`). When woken, the thread then runs at once, before threads of
/// lower priority and before all ordinary threads. The kernel's own stack mostly runs in softirqs,
/// which interrupt threads, so a fair comparison with the kernel needs this priority.
///
/// # Errors
/// Fails if the process lacks the capability `CAP_SYS_NICE`.
pub fn run_at_once(priority: u8) -> io::Result<()> {
    // SAFETY: `sched_param` is plain data, for which zero is a value.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = priority.into();
    // SAFETY: the call reads `param`, which outlives it; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) }).map(drop)
}
