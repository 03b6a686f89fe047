//! Errors of starting a stack.
//!
//! Rule: an error names its cause: the configuration, a congestion control, the system, the device
//! or the capture.

use std::{fmt, io};

use fullpipe::{ConfigError, congestion::RegisterError};

/// Error of starting a stack.
#[derive(Debug)]
pub enum StartError {
    /// A knob (a setting of the stack) or an address is invalid.
    Config(ConfigError),
    /// The congestion control of the builder could not be registered.
    Congestion(RegisterError),
    /// The operating system refused to create a thread or a descriptor, or to give entropy.
    System(io::Error),
    /// The device cannot serve a host with these addresses, or another host has one of them.
    Device(io::Error),
    /// The head of the capture could not be written.
    Capture(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Congestion(error) => error.fmt(f),
            Self::System(error) | Self::Device(error) => error.fmt(f),
            Self::Capture(error) => write!(f, "the capture cannot be written: {error}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::Congestion(error) => Some(error),
            Self::System(error) | Self::Device(error) | Self::Capture(error) => Some(error),
        }
    }
}
