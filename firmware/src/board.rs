//! The board: UART, clock, alarm and the wait for an interrupt.
//!
//! Rule: registers are read and written here and in the driver only. The clock is a 32-bit counter
//! of 25 MHz that wraps after 171 s, so [`Clock::now`] must be called more often than that.

use core::{arch::asm, fmt};

use fullpipe::{Duration, Instant};

/// Frequency of the timers, in ticks per microsecond.
const TICKS_PER_US: u64 = 25;

/// A 32-bit register at a fixed address.
#[derive(Clone, Copy)]
pub struct Register(*mut u32);

impl Register {
    /// Returns the register at `address`.
    ///
    /// # Safety
    /// `address` must be the address of a register of the board.
    pub const unsafe fn at(address: usize) -> Self {
        Self(address as *mut u32)
    }

    /// Reads the register.
    pub fn read(self) -> u32 {
        // SAFETY: `at` requires that the address is a register's.
        unsafe { self.0.read_volatile() }
    }

    /// Writes the register.
    pub fn write(self, value: u32) {
        // SAFETY: as in `read`.
        unsafe { self.0.write_volatile(value) }
    }
}

/// Declares the registers of this file.
macro_rules! registers {
    ($($name:ident = $address:literal;)*) => {
        $(
            // SAFETY: the address is the address of a register of the mps2-an385.
            const $name: Register = unsafe { Register::at($address) };
        )*
    };
}

registers! {
    UART_DATA = 0x4000_4000;
    UART_STATE = 0x4000_4004;
    UART_CONTROL = 0x4000_4008;
    UART_DIVIDER = 0x4000_4010;
    // Timer 0 is the clock, timer 1 the alarm.
    CLOCK_CONTROL = 0x4000_0000;
    CLOCK_VALUE = 0x4000_0004;
    CLOCK_RELOAD = 0x4000_0008;
    ALARM_CONTROL = 0x4000_1000;
    ALARM_VALUE = 0x4000_1004;
    ALARM_RELOAD = 0x4000_1008;
    ALARM_INTERRUPT = 0x4000_100c;
    INTERRUPT_ENABLE = 0xe000_e100;
    INTERRUPT_UNPEND = 0xe000_e280;
}

const TIMER_RUNS: u32 = 1;
const TIMER_INTERRUPTS: u32 = 8;
const UART_SENDS: u32 = 1;
const UART_FULL: u32 = 1;
/// Interrupts that end a wait: timer 1 and Ethernet.
const WAKES: u32 = 1 << 9 | 1 << 13;

/// The UART, for text.
pub struct Uart;

impl fmt::Write for Uart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            while UART_STATE.read() & UART_FULL != 0 {}
            UART_DATA.write(byte.into());
        }
        Ok(())
    }
}

/// Writes a line to the UART.
#[macro_export]
macro_rules! println {
    ($($what:tt)*) => {{
        use ::core::fmt::Write;
        // The UART never fails.
        let _ = ::core::writeln!($crate::board::Uart, $($what)*);
    }};
}

/// The time since the start.
#[derive(Debug)]
pub struct Clock {
    ticks: u64,
    last: u32,
}

impl Clock {
    /// Starts the UART, the clock and the interrupts that end a wait.
    pub fn start() -> Self {
        UART_DIVIDER.write(16);
        UART_CONTROL.write(UART_SENDS);
        CLOCK_RELOAD.write(u32::MAX);
        CLOCK_VALUE.write(u32::MAX);
        CLOCK_CONTROL.write(TIMER_RUNS);
        INTERRUPT_ENABLE.write(WAKES);
        Self {
            ticks: 0,
            last: CLOCK_VALUE.read(),
        }
    }

    /// Returns the time since the start.
    pub fn now(&mut self) -> Instant {
        // The counter counts down.
        let value = CLOCK_VALUE.read();
        self.ticks += u64::from(self.last.wrapping_sub(value));
        self.last = value;
        Instant::from_nanos(self.ticks * 1_000 / TICKS_PER_US)
    }

    /// Waits until `until` or the next interrupt, but at most a second.
    pub fn wait_until(&mut self, until: Option<Instant>) {
        let second = Duration::from_secs(1);
        let now = self.now();
        let time = until.map_or(second, |until| until.since(now).min(second));
        let ticks = time.as_nanos() * TICKS_PER_US / 1_000;
        if ticks == 0 {
            return;
        }
        ALARM_RELOAD.write(0);
        ALARM_VALUE.write(ticks as u32);
        ALARM_CONTROL.write(TIMER_RUNS | TIMER_INTERRUPTS);
        // SAFETY: the processor sleeps until an interrupt is pending. Interrupts are masked, so no
        // handler runs. An interrupt that was pending before this instruction ends the wait at once.
        unsafe { asm!("dsb", "wfi", options(nostack, preserves_flags)) };
        ALARM_CONTROL.write(0);
        ALARM_INTERRUPT.write(1);
        INTERRUPT_UNPEND.write(WAKES);
    }
}
