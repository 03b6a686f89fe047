//! What the kernel refused about a device, and what to do about it.
//!
//! Rule: one line, which names the thing and a way out. A code without a known
//! way out is shown as the kernel words it.

use std::{fmt, io};

/// Why a device could not be opened or set up.
#[derive(Debug)]
pub struct DeviceError {
    what: String,
    advice: Option<String>,
    source: io::Error,
}

impl DeviceError {
    /// `what` failed with `source`.
    pub(crate) fn new(what: impl Into<String>, source: io::Error) -> Self {
        Self {
            what: what.into(),
            advice: None,
            source,
        }
    }

    /// Adds what can be done.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// `what` needs a privilege that this process does not have, if that is what
    /// `source` says.
    pub(crate) fn privileged(what: impl Into<String>, source: io::Error) -> Self {
        let denied = matches!(source.raw_os_error(), Some(libc::EPERM | libc::EACCES));
        let error = Self::new(what, source);
        if denied {
            error.advise("this needs the capability CAP_NET_ADMIN: run as root")
        } else {
            error
        }
    }
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.source)?;
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DeviceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The outcome of a system call that returns a negative number on failure.
pub(crate) fn check(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(status)
    }
}
