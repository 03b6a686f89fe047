//! The callbacks of the host system: its clock, and its way to wait.
//!
//! Rule: no call blocks unless the host system gives `wait`. A call that blocks holds no state of
//! the stack while it waits: the stack can be turned and other calls made meanwhile.

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
    /// Returns the time in microseconds, as passed to `fp_turn`. Without it, calls happen at the time
    /// of the last `fp_turn`. Must not call functions on the stack. May be NULL.
    pub now: Option<unsafe extern "C" fn(context: *mut c_void) -> u64>,
    /// Waits until something may have changed or the time `until_us` is reached, and returns 0; a
    /// negative error number ends the call that waits, which returns that number. On a system with
    /// one thread the callback calls `fp_turn`, and sleeps until a frame arrives or
    /// `fp_next_timeout`. With several threads it releases the lock of the stack and waits for the
    /// thread that turns the stack. May be NULL: then no call blocks.
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
