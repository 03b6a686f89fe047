//! Strings of C: reading them, and writing text into a caller's buffer.
//!
//! Rule: a string that is read must end within [`LONGEST`] bytes, so that a missing NUL is detected
//! early. Text that is written always ends with NUL and is cut to the buffer, as by `snprintf`.

use core::{
    ffi::{CStr, c_char},
    fmt, slice, str,
};

use crate::errno::{Errno, FP_EFAULT, FP_EINVAL};

/// Longest string that is read, in bytes.
const LONGEST: usize = 128;

/// Reads a string of C.
///
/// # Safety
/// `text` is null, or readable up to a NUL or for [`LONGEST`] bytes, and unchanged during `'a`.
pub(crate) unsafe fn read<'a>(text: *const c_char) -> Result<&'a str, Errno> {
    if text.is_null() {
        return Err(Errno(FP_EFAULT));
    }
    // SAFETY: each byte is read only if no byte before it was NUL.
    let len = (0..LONGEST).find(|at| unsafe { *text.add(*at) } == 0);
    let len = len.ok_or(Errno(FP_EINVAL))?;
    // SAFETY: `len` bytes and the NUL were read above.
    let bytes = unsafe { slice::from_raw_parts(text.cast::<u8>(), len + 1) };
    let text = CStr::from_bytes_with_nul(bytes).map_err(|_| Errno(FP_EINVAL))?;
    text.to_str().map_err(|_| Errno(FP_EINVAL))
}

/// A caller's buffer that text is written into.
pub(crate) struct TextBuffer<'a> {
    bytes: &'a mut [u8],
    /// Bytes of the whole text, including those that did not fit.
    len: usize,
}

impl<'a> TextBuffer<'a> {
    /// Takes a buffer of `len` bytes; with length 0 the text is only measured.
    ///
    /// # Safety
    /// `start` is null, or writable for `len` bytes that nobody else uses during `'a`.
    pub(crate) unsafe fn new(start: *mut c_char, len: usize) -> Result<Self, Errno> {
        if start.is_null() && len > 0 {
            return Err(Errno(FP_EFAULT));
        }
        if isize::try_from(len).is_err() {
            return Err(Errno(FP_EINVAL));
        }
        let bytes: &mut [u8] = match len {
            0 => &mut [],
            // SAFETY: `start` is not null, and the caller passes `len` writable bytes that nobody
            // else uses.
            _ => unsafe { slice::from_raw_parts_mut(start.cast(), len) },
        };
        if let Some(first) = bytes.first_mut() {
            *first = 0;
        }
        Ok(Self { bytes, len: 0 })
    }

    /// Writes `text` and returns the length of the whole text, NUL excluded.
    pub(crate) fn print(mut self, text: impl fmt::Display) -> i32 {
        use fmt::Write;
        // `write_str` below never fails.
        let _ = write!(self, "{text}");
        self.len.min(i32::MAX as usize) as i32
    }
}

impl fmt::Write for TextBuffer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len().saturating_sub(self.len + 1);
        let count = room.min(text.len());
        if count > 0 {
            let place = &mut self.bytes[self.len..];
            place[..count].copy_from_slice(&text.as_bytes()[..count]);
            place[count] = 0;
        }
        self.len += text.len();
        Ok(())
    }
}
