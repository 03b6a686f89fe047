//! The panic handler of builds without std.
//!
//! Rule: a panic is a bug of fullpipe, never the result of an argument or a packet. The program
//! defines `fp_on_panic`, which stops or restarts the device.

use core::panic::PanicInfo;

unsafe extern "C" {
    /// Called when the stack detects a bug of its own. `file` has `file_len` bytes and no NUL at the
    /// end. The program defines this function, which must not return. Libraries built with std, as
    /// for Linux, call `abort` instead.
    fn fp_on_panic(file: *const u8, file_len: usize, line: u32) -> !;
}

#[panic_handler]
fn on_panic(info: &PanicInfo<'_>) -> ! {
    let (file, line) = info.location().map_or(("", 0), |at| (at.file(), at.line()));
    // SAFETY: `file` is valid for its length; the function is the program's.
    unsafe { fp_on_panic(file.as_ptr(), file.len(), line) }
}
