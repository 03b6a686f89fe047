//! Errors of a search.
//!
//! Rule: each error names what the caller can change, except a violation in the
//! simulator.

use fullpipe_scenario::{Mistake, experiment::SettingError, units::grouped};

use crate::run::RunError;

/// Largest buffer in bytes that a search tries.
pub const LARGEST: u64 = 1 << 30;

/// Reason for which there is no result.
#[derive(Debug)]
pub enum SizeError {
    /// A setting was refused.
    Setting(SettingError),
    /// The given memory is too little for any setting.
    Memory(SettingError),
    /// The bandwidth-delay product exceeds the largest buffer.
    TooLong(u64),
    /// The path was refused.
    Path(Mistake),
    /// No payload arrived, for this reason.
    Nothing(String),
    /// A run failed: a checker of the simulator found a violation.
    Run(RunError),
}

impl std::fmt::Display for SizeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setting(error) => error.fmt(f),
            Self::Memory(error) => write!(f, "so little memory is none at all: {error}"),
            Self::TooLong(bytes) => write!(
                f,
                "the bandwidth-delay product is {} bytes, and the largest buffer holds {}",
                grouped(*bytes),
                grouped(LARGEST)
            ),
            Self::Path(mistake) => mistake.fmt(f),
            Self::Nothing(why) => f.write_str(why),
            Self::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SizeError {}
