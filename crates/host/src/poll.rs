//! Waits for descriptors, with timeouts in nanoseconds.
//!
//! Rule: each wait is one `ppoll` call and does not report which descriptor is ready: the
//! caller checks its devices and its clock.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr,
    time::Duration,
};

use crate::errno::check;

/// An eventfd with which any thread ends another thread's [`wait`].
#[derive(Debug)]
pub(crate) struct Notifier(OwnedFd);

impl Notifier {
    /// Creates a notifier without a pending notification.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed; nothing else owns the returned descriptor.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
        // SAFETY: the kernel has just returned `fd`, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Ends the wait in progress. If there is none, the next wait ends at once.
    pub(crate) fn notify(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the pointer and the length describe `one`, eight bytes as an eventfd
        // requires. The call fails only at the largest count, and then a notification is
        // pending anyway.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Clears all notifications.
    fn clear(&self) {
        let mut count = [0u8; 8];
        // SAFETY: the pointer and the length describe `count`, eight bytes as an eventfd
        // fills them; the call does not wait if nothing is pending.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

/// Waits until one of `devices` can be read, `notifier` is notified, or `timeout` has passed (`None`
/// is no limit). If the second value of a device is true, the wait also ends when this device can
/// be written.
pub(crate) fn wait(
    devices: &[(BorrowedFd<'_>, bool)],
    notifier: &Notifier,
    timeout: Option<Duration>,
) -> io::Result<()> {
    let mut fds = Vec::with_capacity(1 + devices.len());
    fds.push(interest(notifier.0.as_fd(), libc::POLLIN));
    fds.extend(devices.iter().map(|(device, for_room)| {
        let room = if *for_room { libc::POLLOUT } else { 0 };
        interest(*device, libc::POLLIN | room)
    }));
    poll(&mut fds, timeout)?;
    if fds[0].revents != 0 {
        notifier.clear();
    }
    Ok(())
}

/// Use of a descriptor for which a wait ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ready {
    ToRead,
    ToWrite,
}

/// Waits until `fd` is ready, `notifier` is notified, or `timeout` has passed (`None` is no limit).
pub(crate) fn wait_for(
    fd: BorrowedFd<'_>,
    ready: Ready,
    notifier: &Notifier,
    timeout: Option<Duration>,
) -> io::Result<()> {
    let events = match ready {
        Ready::ToRead => libc::POLLIN,
        Ready::ToWrite => libc::POLLOUT,
    };
    let mut fds = [
        interest(notifier.0.as_fd(), libc::POLLIN),
        interest(fd, events),
    ];
    poll(&mut fds, timeout)?;
    if fds[0].revents != 0 {
        notifier.clear();
    }
    Ok(())
}

/// Waits until one of two devices can be read, for at most `timeout`. A device that is `None` is
/// ignored. A signal ends the wait.
///
/// # Errors
/// Fails if the kernel cannot wait for a descriptor.
pub fn wait_for_either(devices: [Option<BorrowedFd<'_>>; 2], timeout: Duration) -> io::Result<()> {
    let mut fds = devices.map(|device| match device {
        Some(device) => interest(device, libc::POLLIN),
        None => libc::pollfd {
            fd: -1, // ignored by the kernel
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

/// Waits until one of `fds` is ready, `timeout` has passed, or a signal arrives.
fn poll(fds: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
    });
    let timeout_at = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `fds` and `timeout` outlive the call; the count is the length of `fds`;
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

/// Sets this thread's timer slack to 1 ns. With the default of 50 µs, the thread's waits could end
/// 50 µs late. Does nothing if the kernel refuses.
pub fn wait_precisely() {
    // SAFETY: this option takes a number and no pointer.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}
