//! Entering a stack: one call at a time.
//!
//! Rule: the state of a stack is borrowed only through [`enter`], which sets a flag in the stack and
//! fails if the flag is set already. A second thread, or a callback that calls a function on the
//! stack, therefore gets an error and changes nothing.

use core::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicU32, Ordering},
};

use fullpipe::{Instant, Stack};

use crate::{
    device::CDevice,
    errno::{Errno, FP_EBADF, FP_EBUSY, FP_EFAULT},
    host::FpHost,
    sockets::table::SocketTable,
};

/// First word of every stack that is initialised.
pub(crate) const MAGIC: u32 = 0x4670_5331;

/// A stack. Its contents are private; it lies at the start of its arena.
pub struct FpStack {
    pub(crate) magic: AtomicU32,
    pub(crate) busy: AtomicU32,
    pub(crate) state: UnsafeCell<StackState>,
}

/// The contents of a stack.
pub(crate) struct StackState {
    pub(crate) stack: Stack,
    pub(crate) device: CDevice,
    pub(crate) host: FpHost,
    pub(crate) sockets: SocketTable,
    /// The latest time that the stack has seen.
    pub(crate) now: Instant,
    /// Bytes of the arena in use.
    pub(crate) arena_used: usize,
}

impl StackState {
    /// Returns the present time. Time never goes back: if the clock does, the latest time is returned.
    pub(crate) fn now(&mut self) -> Instant {
        if let Some(now) = self.host.now {
            // SAFETY: the host system's callback gets its own context.
            let micros = unsafe { now(self.host.context) };
            self.advance(micros);
        }
        self.now
    }

    /// Sets the time to `micros`, unless that is earlier than the latest time.
    pub(crate) fn advance(&mut self, micros: u64) {
        self.now = self.now.max(Instant::from_micros(micros.min(LATEST_US)));
    }
}

/// Latest time that a stack accepts: 142 years. This bound keeps sums of times from overflowing.
pub(crate) const LATEST_US: u64 = 1 << 52;

/// Exclusive access to a stack during one call.
pub(crate) struct Entered<'a> {
    stack: &'a FpStack,
}

/// Begins a call on `stack`.
///
/// # Safety
/// `stack` is null or points to readable memory. If this memory begins with [`MAGIC`], it contains
/// a stack.
pub(crate) unsafe fn enter<'a>(stack: *mut FpStack) -> Result<Entered<'a>, Errno> {
    if stack.is_null() || !stack.is_aligned() {
        return Err(Errno(FP_EFAULT));
    }
    // SAFETY: the pointer is aligned; only the atomic words are borrowed before the flag is set.
    let (magic, busy) = unsafe { (&(*stack).magic, &(*stack).busy) };
    if magic.load(Ordering::Acquire) != MAGIC {
        return Err(Errno(FP_EBADF));
    }
    if busy
        .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
        .is_err()
    {
        return Err(Errno(FP_EBUSY));
    }
    // SAFETY: the memory is an initialised stack; its state is in an `UnsafeCell`.
    let entered = Entered {
        stack: unsafe { &*stack },
    };
    // Another thread may have ended the stack between the two checks.
    match magic.load(Ordering::Acquire) {
        MAGIC => Ok(entered),
        _ => Err(Errno(FP_EBADF)),
    }
}

impl Entered<'_> {
    /// Ends the stack: every later call is refused.
    pub(crate) fn end(self) {
        self.stack.magic.store(0, Ordering::Release);
    }
}

impl Deref for Entered<'_> {
    type Target = StackState;

    fn deref(&self) -> &StackState {
        // SAFETY: the flag is set, so nobody else borrows the state.
        unsafe { &*self.stack.state.get() }
    }
}

impl DerefMut for Entered<'_> {
    fn deref_mut(&mut self) -> &mut StackState {
        // SAFETY: the flag is set, so nobody else borrows the state.
        unsafe { &mut *self.stack.state.get() }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.stack.busy.store(0, Ordering::Release);
    }
}
