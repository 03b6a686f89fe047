//! Output of a single packet, by the loopback interface.
//!
//! Rule: the interface has room for one packet, which is received before the next is sent. The
//! sources of output take turns over several calls, so no source waits behind another that always
//! has something to send.

use fullpipe_pool::Instant;

use super::source::LastSource;
use crate::{device::Device, stack::Stack};

impl Stack {
    /// Polls one source of the interface of `device`: of those that are due, the first after `last`.
    /// Sends at most one frame.
    pub(crate) fn send_single(
        &mut self,
        device: &mut impl Device,
        last: &mut LastSource,
        now: Instant,
    ) {
        let interface = device.interface();
        self.begin_output(device, now, 1);
        let due = self.due_sources(interface, now);
        if let Some(source) = due.first_after(last.0) {
            self.send_from(interface, source, device, now, 1);
            last.0 = source;
        }
    }
}
