//! One transfer between fullpipe's stack and this machine's kernel, and the limits that three
//! observers name.
//!
//! Rule: the observers share nothing. The first is fullpipe's stack at one end, which adds up the
//! time of each limit. The second is the kernel's report about its socket at the other end. The
//! third is a capture of the frames at fullpipe's end. The observer at the sender and the capture
//! name the limit of the transfer. The observer at the receiver gives the share of the time in
//! which the receiver was the limit.

mod case;
mod pair;
mod transfer;
mod viewed;

#[cfg(test)]
mod tests;

use std::{fs::File, path::Path};

use fullpipe_perf::Stop;

use crate::run::KernelError;

pub use case::{FullpipeEnd, ViewCase};
pub use viewed::{ReceiverView, VIEW_HEADINGS, Viewed};

/// Runs the transfer of `case` and returns its three accounts. Also writes the frames at fullpipe's
/// end to the file `capture`.
///
/// # Errors
/// Fails if the system refuses an operation, or the user interrupts.
pub fn views(case: &ViewCase, capture: Option<&Path>, stop: &Stop) -> Result<Viewed, KernelError> {
    let file = capture.map(File::create).transpose()?;
    transfer::run(case, file, stop)
}
