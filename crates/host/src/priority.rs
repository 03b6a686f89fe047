//! Which threads of this machine go first.
//!
//! Rule: it concerns the calling thread and what it starts from then on. A
//! kernel that refuses is no failure: work is then done later, which whoever
//! asked has to be able to bear.

use std::io;

use crate::errno::check;

/// Runs this thread, and every thread and process that it starts from now on, as
/// soon as it is woken, before all of lower `priority` (1 to 99) and before all
/// that never asked (`SCHED_FIFO`). The kernel's own network stack runs that
/// way; whoever is measured beside it needs the same.
///
/// # Errors
/// Without the capability `CAP_SYS_NICE` the kernel refuses.
pub fn run_at_once(priority: u8) -> io::Result<()> {
    // SAFETY: `sched_param` is plain data, for which zero is a value.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = priority.into();
    // SAFETY: the call reads `param`, which outlives it; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) }).map(drop)
}
