//! The limits of a connection: the bounds that stop it from sending more, with their times.
//!
//! Rule: the numbers, names and order are those of `fullpipe::Limit` and `fullpipe::ReceiveLimit`;
//! the header lists them as FP_LIMIT_... and FP_RECEIVE_LIMIT_... .

use core::ffi::c_char;

use fullpipe::{Info, Limit, ReceiveLimit};

use crate::{
    errno::{Errno, FP_ENOENT, returned},
    text::TextBuffer,
};

/// Number of limits of a sender. The header's value is written by xtask.
pub const FP_LIMIT_COUNT: usize = Limit::Processor as usize;
/// Number of limits of a receiver. The header's value is written by xtask.
pub const FP_RECEIVE_LIMIT_COUNT: usize = ReceiveLimit::Processor as usize;

/// Time and bytes charged to one limit.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FpShare {
    /// Time in microseconds.
    pub time_us: u64,
    /// Payload bytes sent, or received, while this limit applied.
    pub bytes: u64,
}

/// The limits of a connection since it was opened. The times of each array add up to `age_us`, apart
/// from rounding.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FpLimits {
    /// Age of the connection in microseconds.
    pub age_us: u64,
    /// The present limit of the sender (FP_LIMIT_...).
    pub send_now: u32,
    /// The present limit of the receiver (FP_RECEIVE_LIMIT_...).
    pub receive_now: u32,
    /// Time and bytes of each limit of the sender, indexed by FP_LIMIT_... .
    pub send: [FpShare; FP_LIMIT_COUNT],
    /// Time and bytes of each limit of the receiver, indexed by FP_RECEIVE_LIMIT_... .
    pub receive: [FpShare; FP_RECEIVE_LIMIT_COUNT],
}

impl FpLimits {
    /// Returns the limits of `info`.
    pub(crate) fn new(info: &Info) -> Self {
        let mut limits = Self {
            age_us: info.age().as_micros(),
            send_now: info.limit.current() as u32,
            receive_now: info.receive_limit.current() as u32,
            ..Self::default()
        };
        for (limit, time, bytes) in info.limit.shares(info.at) {
            limits.send[limit as usize] = FpShare {
                time_us: time.as_micros(),
                bytes,
            };
        }
        for (limit, time, bytes) in info.receive_limit.shares(info.at) {
            limits.receive[limit as usize] = FpShare {
                time_us: time.as_micros(),
                bytes,
            };
        }
        limits
    }
}

/// Writes the name of a limit of the sender (FP_LIMIT_...), cut to `len` bytes including the NUL.
/// Returns the length of the name, or -FP_ENOENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_limit_name(limit: u32, buffer: *mut c_char, len: usize) -> i32 {
    let limit = Limit::ALL.get(limit as usize).map(|limit| limit.name());
    // SAFETY: the caller passes a buffer of `len` bytes.
    returned(unsafe { name(limit, buffer, len) })
}

/// Writes the name of a limit of the receiver (FP_RECEIVE_LIMIT_...), otherwise like `fp_limit_name`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_receive_limit_name(limit: u32, buffer: *mut c_char, len: usize) -> i32 {
    let limit = ReceiveLimit::ALL
        .get(limit as usize)
        .map(|limit| limit.name());
    // SAFETY: the caller passes a buffer of `len` bytes.
    returned(unsafe { name(limit, buffer, len) })
}

/// # Safety
/// `buffer` is writable for `len` bytes.
unsafe fn name(name: Option<&str>, buffer: *mut c_char, len: usize) -> Result<i32, Errno> {
    // SAFETY: the caller passes a buffer of `len` writable bytes.
    let buffer = unsafe { TextBuffer::new(buffer, len) }?;
    Ok(buffer.print(name.ok_or(Errno(FP_ENOENT))?))
}
