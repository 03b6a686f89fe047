//! Waiting for a device, for two, or for a call, to the nanosecond.
//!
//! Rule: one wait, one answer. Who is woken decides what to do.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr,
    time::Duration,
};

use crate::errno::check;

/// A bell that any thread may ring, and that a [`wait`] hears.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A bell that was not rung.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed; the descriptor returned is ours alone.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
        // SAFETY: as above.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Rings. Ringing twice before anybody listens is ringing once.
    pub fn ring(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight bytes, as an eventfd wants them. It can only refuse
        // because it was rung very often, which is rung enough.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Takes back every ring so far.
    fn silence(&self) {
        let mut count = [0u8; 8];
        // SAFETY: eight bytes, as an eventfd gives them; nothing to read is fine.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

/// Waits until `device` can be read (or written, when `for_room`), until `bell`
/// rings, or for `timeout`; `None` waits for ever.
pub fn wait(
    device: BorrowedFd<'_>,
    for_room: bool,
    bell: &Bell,
    timeout: Option<Duration>,
) -> io::Result<()> {
    let room = if for_room { libc::POLLOUT } else { 0 };
    let mut fds = [
        interest(device, libc::POLLIN | room),
        interest(bell.0.as_fd(), libc::POLLIN),
    ];
    poll(&mut fds, timeout)?;
    if fds[1].revents != 0 {
        bell.silence();
    }
    Ok(())
}

/// Waits until one of two devices can be read, for at most `timeout`. `None`
/// stands for a device that is not to be read now. A signal ends the wait.
///
/// # Errors
/// What the kernel says of a descriptor that cannot be waited for.
pub fn wait_for_either(devices: [Option<BorrowedFd<'_>>; 2], timeout: Duration) -> io::Result<()> {
    let mut fds = devices.map(|device| match device {
        Some(device) => interest(device, libc::POLLIN),
        None => libc::pollfd {
            fd: -1, // the kernel passes over it
            events: 0,
            revents: 0,
        },
    });
    poll(&mut fds, Some(timeout))
}

fn interest(fd: BorrowedFd<'_>, events: libc::c_short) -> libc::pollfd {
    libc::pollfd {
        fd: fd.as_raw_fd(),
        events,
        revents: 0,
    }
}

/// Waits for any of `fds`, for `timeout`, or for a signal.
fn poll(fds: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
    });
    let timeout_at = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `fds` and `timeout` outlive the call; the count is that of `fds`;
    // a null mask leaves signals as they are.
    match check(unsafe {
        libc::ppoll(
            fds.as_mut_ptr(),
            fds.len() as libc::nfds_t,
            timeout_at,
            ptr::null(),
        )
    }) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes this thread's waits end when they should, not 50 us later.
pub fn wait_precisely() {
    // SAFETY: this option takes a number; refused, waits are merely less precise.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}
