//! One turn of a stack: receive frames, run timers, send frames.
//!
//! Rule: the knob `stack.turn_budget` bounds the frames of a turn in each direction, so that a busy
//! stack returns to its caller. The next turn processes the remaining frames. Virtual time, threads
//! and async executors all use this one function.

use fullpipe_pool::Instant;

use crate::{
    device::{Device, RxMeta},
    stack::Stack,
};

/// The outcome of a turn of one device. Other devices have outcomes of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Frames received.
    pub received: usize,
    /// Frames sent.
    pub sent: usize,
    /// The turn ended at the bound `stack.turn_budget`, or a timer is due: call [`turn()`] of this
    /// device again at once.
    pub more_work: bool,
    /// The device lent no memory for a frame, or the device backlog of a connection is
    /// full: call [`turn()`] of this device again when it has sent a frame.
    pub device_full: bool,
}

/// Hands received frames of `device` to `stack`, runs the timers that have
/// expired at `now`, and sends due frames.
///
/// If neither [`more_work`](Turn::more_work) nor [`device_full`](Turn::device_full) is
/// set, sleep until [`Stack::next_timeout`] or the next frame.
///
/// A stack with several interfaces needs a turn of each device, until none has more work: a frame
/// that one device received can cause another to send. [`Stack::next_timeout`] is due while any of
/// them has work.
///
/// # Panics
/// Panics if `stack` has no interface that the device can serve.
pub fn turn(stack: &mut Stack, device: &mut impl Device, now: Instant) -> Turn {
    let (budget, interface) = (stack.turn_budget(), device.interface());
    let mut received = 0;
    let mut batch = stack.receive_batch(now);
    while received < budget {
        let Some(frame) = device.receive() else {
            break;
        };
        let meta = RxMeta {
            interface,
            ..frame.meta
        };
        batch.receive(frame.frame, meta);
        received += 1;
    }
    drop(batch);
    stack.on_timeouts(now);
    let sent = stack.transmit(device, now, budget);
    device.flush();
    let more_work = received == budget || stack.is_due(interface, now);
    Turn {
        received,
        sent,
        more_work,
        device_full: stack.device_is_full(interface) || stack.waits_for_device(interface),
    }
}
