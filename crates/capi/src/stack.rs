//! The life of a stack: `fp_init`, `fp_turn`, `fp_next_timeout`, `fp_fini`.
//!
//! Rule: the arena is the only memory of a stack. The stack itself lies at the beginning, and the
//! rest of the arena is a heap for the stack's tables and packet memory.

use core::{
    cell::UnsafeCell,
    ffi::c_void,
    sync::atomic::{AtomicU32, Ordering},
};

use fullpipe::{Config, Instant, Stack, turn};

use crate::{
    address::FpInterface,
    allocator,
    arena::{FP_ARENA_ALIGN, HEAD, needed},
    config::{FpConfig, borrow, borrow_mut},
    device::{CDevice, FpDevice},
    enter::{FpStack, MAGIC, StackState, enter},
    errno::{Errno, FP_EFAULT, FP_ENOMEM, returned},
    heap::Heap,
    host::FpHost,
    sockets::table::SocketTable,
};

#[cfg(test)]
mod tests;

/// Version of this header. It must equal `fp_version()`, the version of the library, because the
/// numeric identifiers of knobs and limits may differ between versions.
pub const FP_VERSION: u32 = 100;

/// A flag of `fp_turn`: the turn's budget of work was used up or a timer is due; call again at
/// once.
pub const FP_TURN_MORE_WORK: i32 = 1;
/// A flag of `fp_turn`: the device was full; call again when the device has sent a frame.
pub const FP_TURN_DEVICE_FULL: i32 = 2;

/// A flag of `fp_turn`: a frame was received.
pub const FP_TURN_RECEIVED: i32 = 4;
/// A flag of `fp_turn`: a frame was sent.
pub const FP_TURN_SENT: i32 = 8;

/// Returns the version of the library, which must be FP_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn fp_version() -> u32 {
    FP_VERSION
}

/// Creates a stack in `len` bytes at `arena`, which must be aligned to FP_ARENA_ALIGN and have at
/// least `fp_needed(config)` bytes. The arena belongs to the stack until `fp_fini`; nothing has to
/// be freed. `host` may be NULL. `secret` has 16 bytes that peers do not know, different at each
/// start.
///
/// Returns 0 and writes the stack to `stack`, or an error number: -FP_ENOMEM if the arena is too
/// small, -FP_EFAULT for a null or misaligned pointer or a missing callback, -FP_ERANGE and
/// -FP_EINVAL for a configuration, device or interface that cannot work, -FP_EBUSY if another
/// thread configures or creates a stack (only in builds without the feature `std`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_init(
    arena: *mut c_void,
    len: usize,
    config: *const FpConfig,
    interface: *const FpInterface,
    device: *const FpDevice,
    host: *const FpHost,
    secret: *const u8,
    stack: *mut *mut FpStack,
) -> i32 {
    let init = || {
        // SAFETY: the caller passes these structures; `host` may be null.
        let (config, interface, device, stack) = unsafe {
            (
                borrow(config)?,
                borrow(interface)?,
                *borrow(device)?,
                borrow_mut(stack)?,
            )
        };
        let host = match host.is_null() {
            true => FpHost::NONE,
            // SAFETY: the pointer is not null, and the caller passes a host.
            false => *unsafe { borrow(host) }?,
        };
        // SAFETY: 16 bytes have the alignment of one byte.
        let secret = *unsafe { borrow(secret.cast::<[u8; 16]>()) }?;
        let capabilities = device.check()?;
        let interface = interface.read(capabilities)?;
        let config = config.read()?;
        check_arena(arena, len, &config)?;
        let place = arena.cast::<FpStack>();
        // SAFETY: the arena is aligned, has `len` bytes, and belongs to the stack.
        let mut heap = unsafe { Heap::new(arena.cast::<u8>().add(HEAD), len - HEAD) };
        let (built, sockets) = allocator::within(&mut heap, || {
            let built = Stack::new(&config, interface, secret);
            let built = built.map_err(|error| Errno::from(&error))?;
            Ok::<_, Errno>((built, SocketTable::new(&config)))
        })??;
        let arena_used = HEAD + heap.used();
        let state = StackState {
            stack: built,
            device: CDevice {
                callbacks: device,
                capabilities,
            },
            host,
            sockets,
            now: Instant::ZERO,
            arena_used,
        };
        // SAFETY: the arena is aligned and has room for a stack in front of the heap.
        unsafe {
            place.write(FpStack {
                magic: AtomicU32::new(0),
                busy: AtomicU32::new(0),
                state: UnsafeCell::new(state),
            });
            (*place).magic.store(MAGIC, Ordering::Release);
        }
        *stack = place;
        Ok(0)
    };
    returned(init())
}

/// Checks the place and the size of an arena.
fn check_arena(arena: *mut c_void, len: usize, config: &Config) -> Result<(), Errno> {
    if arena.is_null() || !(arena as usize).is_multiple_of(FP_ARENA_ALIGN) {
        return Err(Errno(FP_EFAULT));
    }
    if isize::try_from(len).is_err() || (len as u64) < needed(config) {
        return Err(Errno(FP_ENOMEM));
    }
    Ok(())
}

/// Ends a stack without sending anything; the caller may then use the arena again. Before that, the
/// caller should close all sockets and call `fp_turn` until the FINs are acknowledged, because the
/// peers would not learn of the end otherwise. Returns 0 or an error number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_fini(stack: *mut FpStack) -> i32 {
    // SAFETY: the caller passes a stack.
    let end = || {
        unsafe { enter(stack) }?.end();
        Ok(0)
    };
    returned(end())
}

/// Makes a turn at the time `now_us`: takes frames from the device, runs timers, and sends what is
/// due. `now_us` counts microseconds since a moment of the caller's choice. If `now_us` is earlier
/// than in a previous call, the latest time is used instead. Returns FP_TURN_... flags, or an error
/// number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_turn(stack: *mut FpStack, now_us: u64) -> i32 {
    let turned = || {
        // SAFETY: the caller passes a stack.
        let mut entered = unsafe { enter(stack) }?;
        entered.advance(now_us);
        let StackState {
            stack, device, now, ..
        } = &mut *entered;
        let turned = turn(stack, device, *now);
        // Discard events: callers ask for the state of each socket with `fp_poll`.
        while stack.next_event().is_some() {}
        let flags = [
            (turned.more_work, FP_TURN_MORE_WORK),
            (turned.device_full, FP_TURN_DEVICE_FULL),
            (turned.received > 0, FP_TURN_RECEIVED),
            (turned.sent > 0, FP_TURN_SENT),
        ];
        Ok(flags
            .iter()
            .filter(|(holds, _)| *holds)
            .fold(0, |all, (_, flag)| all | flag))
    };
    returned(turned())
}

/// Writes to `at_us` the time at which the next turn is due; FP_FOREVER if no turn is due before a
/// frame arrives or another function is called. A time in the past means that a turn is due now.
/// Returns 0 or an error number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_next_timeout(stack: *mut FpStack, at_us: *mut u64) -> i32 {
    let next = || {
        // SAFETY: the caller passes a stack and a place for the result.
        let (entered, at_us) = unsafe { (enter(stack)?, borrow_mut(at_us)?) };
        *at_us = match entered.stack.next_timeout() {
            Some(at) => at.since(Instant::ZERO).as_nanos().div_ceil(1_000),
            None => u64::MAX,
        };
        Ok(0)
    };
    returned(next())
}

/// Memory of a stack.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FpMemory {
    /// Blocks of packet memory (knob pool.blocks).
    pub blocks: u32,
    /// Bytes of a block (knob pool.block_size).
    pub block_size: u32,
    /// Blocks that contain nothing. Some of them may be reserved.
    pub free_blocks: u32,
    /// Blocks reserved for windows and buffers, and not yet in use.
    pub promised_blocks: u32,
    /// Largest number of blocks that were in use at the same time.
    pub peak_blocks: u32,
    /// Unused.
    pub reserved: u32,
    /// Bytes of the arena in use. `fp_needed` returns more, because it returns an upper bound.
    pub arena_used: u64,
}

/// Writes the use of memory to `memory`. Returns 0 or an error number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_get_memory(stack: *mut FpStack, memory: *mut FpMemory) -> i32 {
    let read = || {
        // SAFETY: the caller passes a stack and a place for the result.
        let (entered, memory) = unsafe { (enter(stack)?, borrow_mut(memory)?) };
        let pool = entered.stack.pool();
        *memory = FpMemory {
            blocks: pool.block_count(),
            block_size: pool.block_size(),
            free_blocks: pool.free_blocks(),
            promised_blocks: pool.promised(),
            peak_blocks: pool.peak_blocks(),
            reserved: 0,
            arena_used: entered.arena_used as u64,
        };
        Ok(0)
    };
    returned(read())
}
