//! The reasons for which two captures of a connection are not merged.
//!
//! Rule: each reason is a sentence that says what the captures lack.

use std::fmt;

/// The reason for which two captures cannot be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeFailure {
    /// The handshake is missing in a capture, the initial sequence numbers differ, or more than
    /// half of the sender's segments are missing in the other capture.
    NotTheSame,
    /// Fewer than three segments of a direction are in both captures.
    NothingInCommon,
    /// The captures were made at the same place: no time passes between the taps (the places of the
    /// captures).
    SamePlace,
    /// One clock was set while it captured: by the times, segments arrive before they are sent.
    ClockWasSet,
    /// The clocks drift apart by more than can be compared.
    LargeDrift,
}

impl fmt::Display for MergeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotTheSame => {
                "the handshake or more than half of the sender's segments are not the same in both captures, so the captures may show different connections"
            }
            Self::NothingInCommon => {
                "in one direction, fewer than three segments are in both captures, so the difference between the clocks of the captures is unknown"
            }
            Self::SamePlace => "both captures were made at the same place of the path",
            Self::ClockWasSet => {
                "by the captured times, segments arrive before they are sent: the clock of a capturing host was set during the capture"
            }
            Self::LargeDrift => "the clocks of the two captures drift apart by more than 1,000 parts in a million",
        })
    }
}

impl std::error::Error for MergeFailure {}
