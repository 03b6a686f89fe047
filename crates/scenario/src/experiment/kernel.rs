//! Hosts that are run by this machine's kernel, in real time.
//!
//! Rule: a run in virtual time ignores these settings: there every host has fullpipe's stack,
//! so the same row has a result of both.

use fullpipe_pool::knobs::parse_count;

/// Key of the stack that runs a host.
pub const STACK: &str = "stack";
/// Key of the most segments of a super-segment of a kernel host's device.
pub const GSO_MAX_SEGS: &str = "gso_max_segs";

/// The largest `gso_max_segs` that Linux takes.
const GSO_MAX_SEGS_MAX: u64 = 65_535;

/// The stack that runs a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostStack {
    /// fullpipe's, in virtual time.
    #[default]
    Fullpipe,
    /// That of this machine's kernel, in real time: a network namespace of its own.
    Kernel,
}

impl HostStack {
    /// Values that a file may give.
    pub const EXPECTED: &str = "fullpipe or kernel";

    /// Reads the value of `stack`; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "fullpipe" => Some(Self::Fullpipe),
            "kernel" => Some(Self::Kernel),
            _ => None,
        }
    }
}

/// Reads the value of `gso_max_segs`; `None` if it is none.
pub(super) fn parse_gso_max_segs(text: &str) -> Option<u32> {
    let segments = parse_count(text)?;
    (1..=GSO_MAX_SEGS_MAX)
        .contains(&segments)
        .then_some(segments as u32)
}
