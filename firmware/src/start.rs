//! The vector table, the code before `main`, and the measurement of stack depth.
//!
//! Rule: no Rust code runs before memory has its initial values. Interrupts stay masked for the whole
//! run (see [`crate::board::wait_until`]), so the table needs no handlers except for faults.

use core::arch::{asm, global_asm};

use crate::{println, semihosting};

// The first two words are the initial stack pointer and the entry point. Every later word is the
// address of the handler of a fault or of an interrupt. Neither is expected, so all these words
// are the address of one handler, which reports a fault.
global_asm!(
    ".section .vectors, \"a\"",
    ".word stack_top",
    ".word reset",
    ".rept 46",
    ".word fault",
    ".endr",
    ".text",
    ".thumb_func",
    ".global reset",
    "reset:",
    "cpsid i",
    // Copies the initialised data from flash.
    "ldr r0, =data_start",
    "ldr r1, =data_end",
    "ldr r2, =data_image",
    "b 2f",
    "1: ldr r3, [r2], #4",
    "str r3, [r0], #4",
    "2: cmp r0, r1",
    "blo 1b",
    // Clears the uninitialised data.
    "ldr r0, =bss_start",
    "ldr r1, =bss_end",
    "movs r3, #0",
    "b 4f",
    "3: str r3, [r0], #4",
    "4: cmp r0, r1",
    "blo 3b",
    "bl main",
    "b .",
    ".thumb_func",
    "fault:",
    "mov r0, sp",
    "mrs r1, ipsr",
    "b on_fault",
    ".pool",
);

unsafe extern "C" {
    static stack_bottom: u32;
}

/// Reports a fault, with the address of the instruction that caused it, and ends the emulation.
#[unsafe(no_mangle)]
extern "C" fn on_fault(frame: *const u32, exception: u32) -> ! {
    // SAFETY: the processor has pushed eight words at this address; the seventh is the address
    // of the instruction. If the stack itself is gone, this read faults and the processor locks
    // up, which also ends the emulation.
    let at = unsafe { frame.add(6).read_volatile() };
    println!("fault: exception {exception} at the instruction at {at:#010x}");
    semihosting::exit(false)
}

#[panic_handler]
fn on_panic(panic: &core::panic::PanicInfo<'_>) -> ! {
    println!("{panic}");
    semihosting::exit(false)
}

/// Value that fills the unused stack before a measurement. The lowest word that differs afterwards
/// shows the depth.
const PAINT: u32 = 0xa5c3_5a3c;
/// Bytes below the stack pointer that are not filled, because the frames of the measuring functions
/// may lie there.
const MARGIN: usize = 64;

/// Greatest stack depth of a function over several calls.
#[derive(Debug, Default)]
pub struct StackDepth {
    /// Greatest depth in bytes so far.
    pub most: usize,
}

impl StackDepth {
    /// Calls `run`, and notes how far below this function's own frame the stack was written.
    #[inline(never)]
    pub fn measure<R>(&mut self, run: impl FnOnce() -> R) -> R {
        let top = stack_pointer() - MARGIN;
        let bottom = &raw const stack_bottom as usize;
        let words = (top - bottom) / 4;
        let first = bottom as *mut u32;
        for index in 0..words {
            // SAFETY: these words lie between the end of the stack and MARGIN bytes below the
            // stack pointer. No frame uses them, and no interrupt handler runs.
            unsafe { first.add(index).write_volatile(PAINT) };
        }
        let result = run();
        // SAFETY: as above; the words are only read.
        let is_painted = |index: &usize| unsafe { first.add(*index).read_volatile() == PAINT };
        let untouched = (0..words).take_while(is_painted).count();
        self.most = self.most.max(top + MARGIN - (bottom + untouched * 4));
        result
    }
}

fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the instruction only reads a register.
    unsafe { asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}
