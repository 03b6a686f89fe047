//! Semihosting: the program's requests to the emulator.
//!
//! Rule: only three requests are used, and all are in this file.

use core::arch::asm;

const SYS_WRITE0: usize = 0x04;
const SYS_GET_CMDLINE: usize = 0x15;
const SYS_EXIT: usize = 0x18;
const APPLICATION_EXIT: usize = 0x2_0026;

fn call(number: usize, argument: usize) -> usize {
    let result;
    // SAFETY: the emulator handles this breakpoint, and changes only r0 and memory that the
    // argument names.
    unsafe { asm!("bkpt 0xab", inout("r0") number => result, in("r1") argument) };
    result
}

/// Prints `text`, which must end with a zero byte.
pub fn print(text: &str) {
    debug_assert!(text.ends_with('\0'));
    call(SYS_WRITE0, text.as_ptr() as usize);
}

/// Reads the command line into `buffer`.
pub fn command_line(buffer: &mut [u8]) -> Option<&str> {
    let mut block = [buffer.as_mut_ptr() as usize, buffer.len()];
    if call(SYS_GET_CMDLINE, (&raw mut block) as usize) != 0 {
        return None;
    }
    core::str::from_utf8(buffer.get(..block[1])?).ok()
}

/// Ends the emulation.
pub fn exit() {
    call(SYS_EXIT, APPLICATION_EXIT);
}
