//! One turn: what arrived, what is due, what must leave.
//!
//! Rule: a turn is bounded by the stack's budget in each direction, so that one
//! busy stack cannot hold up who drives it; what is left over is for the next
//! turn. The same turn runs in virtual time, on a thread and in an executor.

use fullpipe_pool::Instant;

use crate::{device::Device, stack::Stack};

/// What a turn did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Frames received.
    pub received: usize,
    /// Frames sent.
    pub sent: usize,
    /// There is more to do at once: turn again.
    pub more_work: bool,
    /// The device took no more, or holds as much of a connection's text as it
    /// may: turn again when it has sent some.
    pub device_full: bool,
}

/// Moves frames both ways between `stack` and `device`, and lets deadlines pass.
pub fn turn(stack: &mut Stack, device: &mut impl Device, now: Instant) -> Turn {
    let budget = stack.turn_budget();
    let mut received = 0;
    while received < budget {
        let Some(frame) = device.receive() else {
            break;
        };
        stack.receive(frame.frame, frame.meta, now);
        received += 1;
    }
    stack.on_timeouts(now);
    let sent = stack.transmit(device, now, budget);
    device.flush();
    let more_work = received == budget || stack.next_timeout().is_some_and(|at| at <= now);
    Turn {
        received,
        sent,
        more_work,
        device_full: stack.device_is_full() || stack.waits_for_device(),
    }
}
