//! Reasons for which a captured connection has no twin, a simulated copy that behaves
//! like it.

use std::fmt;

use fullpipe_explain::TwinFailure;

/// Reason for which there is no twin.
#[derive(Debug)]
pub enum FitFailure {
    /// The connection carried too little payload for a fit.
    TooLittle,
    /// The capture has segments of only one direction.
    OneDirection,
    /// The capture shows a value that an experiment cannot have.
    Refused(String),
    /// A run failed, or was interrupted.
    Run(TwinFailure),
}

impl FitFailure {
    /// Returns true if the user stopped the runs.
    pub const fn is_interrupted(&self) -> bool {
        matches!(self, Self::Run(TwinFailure::Interrupted))
    }
}

impl fmt::Display for FitFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLittle => f.write_str("the connection carried too little payload for a twin"),
            Self::OneDirection => f.write_str(
                "the capture has the segments of one direction only, but a twin needs those of both directions",
            ),
            Self::Refused(why) => write!(f, "the capture shows a value that the simulator does not accept: {why}"),
            Self::Run(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for FitFailure {}

impl From<TwinFailure> for FitFailure {
    fn from(failure: TwinFailure) -> Self {
        Self::Run(failure)
    }
}
