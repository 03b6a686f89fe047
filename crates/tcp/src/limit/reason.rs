//! The interface between a clock and the reasons to which it charges time.
//!
//! Rule: reasons are numbered from 0 without gaps.

/// A set of mutually exclusive reasons by which a [`Clock`](super::Clock) charges time.
pub trait Reason: Copy + PartialEq + 'static {
    /// Returns the reason's index in [`all`](Self::all).
    fn index(self) -> usize;

    /// Returns all reasons.
    fn all() -> &'static [Self];

    /// Returns the name used in tables, traces and JSON.
    fn name(self) -> &'static str;
}
