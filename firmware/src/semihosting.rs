//! Requests to the emulator: the command line and the end of the run.
//!
//! Rule: the program requests nothing else of the emulator. Text goes to the UART, as on a board.

use core::arch::asm;

const GET_COMMAND_LINE: u32 = 0x15;
const EXIT_EXTENDED: u32 = 0x20;
/// Reason of an exit that the program asked for.
const APPLICATION_EXIT: usize = 0x20026;

fn call(operation: u32, argument: *mut usize) -> isize {
    let result;
    // SAFETY: the emulator stops at this instruction, serves the request in the block at
    // `argument`, which the callers below own, and continues after it.
    unsafe {
        asm!("bkpt #0xab", inlateout("r0") operation => result, in("r1") argument, options(nostack));
    }
    result
}

/// Copies the command line into `buffer` and returns it; the empty text if there is none or if it
/// does not fit.
pub fn command_line(buffer: &mut [u8]) -> &str {
    let mut block = [buffer.as_mut_ptr() as usize, buffer.len()];
    if call(GET_COMMAND_LINE, block.as_mut_ptr()) != 0 {
        return "";
    }
    let text = buffer.get(..block[1]).unwrap_or_default();
    core::str::from_utf8(text).unwrap_or_default()
}

/// Ends the emulation: with status 0 if `success`, otherwise with status 1.
pub fn exit(success: bool) -> ! {
    let mut block = [APPLICATION_EXIT, usize::from(!success)];
    call(EXIT_EXTENDED, block.as_mut_ptr());
    // Without an emulator the request returns.
    loop {
        core::hint::spin_loop();
    }
}
