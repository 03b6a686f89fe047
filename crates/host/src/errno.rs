//! Errors of devices, with the failed action, the kernel's reason and a remedy.
//!
//! Rule: an error is one line that names the device and a remedy. If no remedy is known, the error
//! gives the kernel's message.

use std::{fmt, io};

/// Error of opening or setting up a device.
#[derive(Debug)]
pub struct DeviceError {
    what: String,
    advice: Option<String>,
    source: io::Error,
}

impl DeviceError {
    /// Creates an error which says that `what` failed because of `source`.
    pub(crate) fn new(what: impl Into<String>, source: io::Error) -> Self {
        Self {
            what: what.into(),
            advice: None,
            source,
        }
    }

    /// Adds advice to the user.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Creates an error whose advice names `capability` if the kernel refused a call because a
    /// privilege is missing.
    pub(crate) fn privileged(what: impl Into<String>, capability: &str, source: io::Error) -> Self {
        let denied = matches!(source.raw_os_error(), Some(libc::EPERM | libc::EACCES));
        let error = Self::new(what, source);
        if denied {
            error.advise(format!(
                "this needs the capability {capability}: run as root"
            ))
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

/// Turns the result of a system call, negative on failure, into a `Result`.
pub(crate) fn check(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(status)
    }
}
