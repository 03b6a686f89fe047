//! The callbacks of the host system: its clock, and its function that waits.
//!
//! Rule: no call blocks unless the host system provides `wait`. A call that waits does not borrow
//! the stack's state, so other calls on the stack, `fp_turn` among them, can be made during the wait.

use core::ffi::c_void;

/// `until_us` of a wait without end.
pub const FP_FOREVER: u64 = u64::MAX;

/// The host system. All zero (or a NULL pointer to `fp_init`) stands for a host without clock, on
/// which no call blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FpHost {
    /// Passed to each callback.
    pub context: *mut c_void,
    /// Returns the time in microseconds, on the clock whose times are passed to `fp_turn`. Must not
    /// call functions on the stack. May be NULL: then each call happens at the time of the last
    /// `fp_turn`.
    pub now: Option<unsafe extern "C" fn(context: *mut c_void) -> u64>,
    /// Waits until something may have changed or the time `until_us` is reached, and returns 0. If
    /// the callback returns a negative error number, the call that waits ends and returns that
    /// number. On a system with one thread the callback calls `fp_turn`, and sleeps until a frame
    /// arrives or the time of `fp_next_timeout` has come. With several threads the callback
    /// releases the program's lock of the stack and waits for the thread that calls `fp_turn`. May
    /// be NULL: then no call blocks.
    pub wait: Option<unsafe extern "C" fn(context: *mut c_void, until_us: u64) -> i32>,
}

impl FpHost {
    /// A host without callbacks.
    pub(crate) const NONE: Self = Self {
        context: core::ptr::null_mut(),
        now: None,
        wait: None,
    };
}
