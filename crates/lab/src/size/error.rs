//! Errors of a search for sufficient settings.
//!
//! Rule: each error names something that the caller can change, except for a violation in the
//! simulator.

use fullpipe_pool::Duration;
use fullpipe_scenario::{Mistake, experiment::SettingError, units::grouped};

use crate::run::RunError;

/// Largest buffer that a search tries, in bytes.
pub const LARGEST: u64 = 1 << 30;
/// Longest round-trip time of a searched path. With longer ones, timeouts that elapse before the
/// first acknowledgement decide the goodput, and not the buffers.
pub const LONGEST_RTT: Duration = Duration::from_secs(5);

/// Reason that a search has no result.
#[derive(Debug)]
pub enum SizeError {
    /// A setting was refused.
    Setting {
        /// The setting, `NAME=VALUE`; empty if the settings together were refused.
        given: String,
        /// The error of the setting.
        error: Box<SettingError>,
    },
    /// The given memory is too small for every setting, or larger than a host can have.
    Memory(SettingError),
    /// The round-trip time is above 5 s.
    TooFar,
    /// The bandwidth-delay product, in bytes, exceeds the largest buffer.
    TooLong(u64),
    /// The description of the path was refused.
    Path(Mistake),
    /// No payload arrived; contains the reason.
    Nothing(String),
    /// A run failed: a checker of the simulator found a violation.
    Run(RunError),
}

impl SizeError {
    /// Returns a function from the error of the setting `given` to an error of the search.
    pub(super) fn of_setting(given: &str) -> impl FnOnce(SettingError) -> Self {
        let given = given.to_string();
        move |error| Self::Setting {
            given,
            error: Box::new(error),
        }
    }
}

impl std::fmt::Display for SizeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setting { error, .. } => error.fmt(f),
            Self::Memory(error) => write!(f, "the host cannot have this memory: {error}"),
            Self::TooFar => write!(f, "expected a round-trip time of at most {LONGEST_RTT}"),
            Self::TooLong(bytes) => write!(
                f,
                "the bandwidth-delay product is {} bytes, and the largest buffer holds {} bytes: \
                 lower the rate or the round-trip time",
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
