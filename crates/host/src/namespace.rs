//! A network namespace of the kernel: a new one for tests and benchmarks, or an existing one.
//!
//! Rule: a new namespace has no name, and only threads that were started for it enter it. The
//! network of other threads therefore does not change. The kernel removes a namespace once its
//! [`Namespace`] is dropped and no thread, process or socket uses it. This file creates no devices.

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
    thread,
};

use crate::errno::{DeviceError, check};

/// A network namespace. Devices and sockets created inside stay in it; the descriptors of these
/// devices and sockets work in every namespace.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// Creates a namespace that has only a loopback device, which is down.
    ///
    /// # Errors
    /// Fails if the process lacks the capability `CAP_SYS_ADMIN`.
    pub fn new() -> io::Result<Self> {
        in_a_thread(|| {
            // SAFETY: the call takes a number. It changes only the network of this
            // thread, which ends with this closure.
            check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
            Ok(Self(File::open("/proc/thread-self/ns/net")?.into()))
        })?
    }

    /// Opens the existing namespace whose file is `path`, such as `/run/netns/NAME` or
    /// `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// Fails if there is no such file, or if it may not be read.
    pub fn open(path: &Path) -> Result<Self, DeviceError> {
        let opened = File::open(path);
        let what = || format!("opening the namespace {}", path.display());
        opened
            .map(|file| Self(file.into()))
            .map_err(|error| DeviceError::privileged(what(), "CAP_SYS_PTRACE", error))
    }

    /// Runs `inside` on a thread in this namespace, and waits until it returns.
    /// Threads and processes that `inside` starts are in this namespace too.
    ///
    /// # Errors
    /// Fails if the kernel refuses the thread or its entry into the namespace.
    ///
    /// # Panics
    /// Panics if `inside` panics.
    pub fn enter<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> io::Result<R> {
        in_a_thread(|| {
            // SAFETY: the call takes a number and a descriptor, which outlives the call.
            check(unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) })?;
            Ok(inside())
        })?
    }
}

fn in_a_thread<R: Send>(body: impl FnOnce() -> R + Send) -> io::Result<R> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, body)?;
        thread
            .join()
            .or_else(|panic| std::panic::resume_unwind(panic))
    })
}
