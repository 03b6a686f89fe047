//! The number of files that this process may open. Every socket is a file.

use std::io;

use crate::errno::check;

/// Raises the number of files that this process may have open to the largest number that the system
/// allows it, and returns that number.
///
/// # Errors
/// Returns the error of the kernel.
pub fn raise_file_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel writes into `limit`, which lives during the call.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the kernel reads `limit`, which lives during the call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })?;
    Ok(limit.rlim_cur)
}
