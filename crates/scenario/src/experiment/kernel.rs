//! Settings of hosts that this machine's kernel runs in real time.
//!
//! Rule: a run in virtual time ignores these settings and uses fullpipe's stack for every host.
//! Therefore one row (scenario) of an experiment can have two results: one of fullpipe's stack, and
//! one of the kernel.

use fullpipe_pool::knobs::parse_count;

/// Key of the setting that selects the stack of a host.
pub const STACK: &str = "stack";
/// Key of the setting for the largest number of segments in a super-segment (a frame that the
/// device cuts into segments), for a host that the kernel runs.
pub const GSO_MAX_SEGS: &str = "gso_max_segs";

/// Largest value of `gso_max_segs` that Linux accepts.
const GSO_MAX_SEGS_MAX: u64 = 65_535;

/// The stack that runs a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostStack {
    /// fullpipe's stack, in virtual time.
    #[default]
    Fullpipe,
    /// The stack of this machine's kernel, in real time, in its own network namespace.
    Kernel,
}

impl HostStack {
    /// Values that a file may give.
    pub const EXPECTED: &str = "fullpipe or kernel";

    /// Parses the value of `stack`; `None` if it is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "fullpipe" => Some(Self::Fullpipe),
            "kernel" => Some(Self::Kernel),
            _ => None,
        }
    }
}

/// Parses the value of `gso_max_segs`; `None` if it is not valid.
pub(super) fn parse_gso_max_segs(text: &str) -> Option<u32> {
    let segments = parse_count(text)?;
    (1..=GSO_MAX_SEGS_MAX)
        .contains(&segments)
        .then_some(segments as u32)
}
