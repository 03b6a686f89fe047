//! Errors of a search for sufficient settings.
//!
//! Rule: each error names something that the caller can change, except for a violation in the
//! simulator.

use fullpipe_scenario::{Mistake, experiment::SettingError, units::grouped};

use crate::run::RunError;

/// Largest buffer that a search tries, in bytes.
pub const LARGEST: u64 = 1 << 30;

/// Reason that a search has no result.
#[derive(Debug)]
pub enum SizeError {
    /// A setting was refused.
    Setting(SettingError),
    /// The given memory is too small for every setting.
    Memory(SettingError),
    /// The bandwidth-delay product, in bytes, exceeds the largest buffer.
    TooLong(u64),
    /// The description of the path was refused.
    Path(Mistake),
    /// No payload arrived; contains the reason.
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
