//! An imaginary network controller and a clock, at fixed addresses.
//!
//! Rule: every access is volatile, so that the compiler cannot remove any part of the stack as
//! unused.

use fullpipe::{
    Duration, Instant,
    device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta},
};

const REGISTERS: *mut u32 = 0x4020_0000 as *mut u32;
const RECEIVED_LEN: usize = 0;
const RECEIVED_BYTE: usize = 1;
const MICROSECONDS: usize = 2;
const ALARM: usize = 3;
const ENTROPY: usize = 4;
const SEND_BYTE: usize = 5;

/// Bytes of a frame.
const FRAME: usize = 1514;

fn read(register: usize) -> u32 {
    // SAFETY: the imaginary board has this register.
    unsafe { REGISTERS.add(register).read_volatile() }
}

fn write(register: usize, value: u32) {
    // SAFETY: the imaginary board has this register.
    unsafe { REGISTERS.add(register).write_volatile(value) }
}

/// Reads the clock.
pub fn now() -> Instant {
    Instant::ZERO + Duration::from_micros(read(MICROSECONDS).into())
}

/// Sets the alarm that wakes the processor.
pub fn sleep_until(at: Option<Instant>) {
    let micros = at.map_or(0, |at| at.since(Instant::ZERO).as_micros());
    write(ALARM, micros as u32);
}

/// Reads sixteen random bytes.
pub fn secret() -> [u8; 16] {
    core::array::from_fn(|_| read(ENTROPY) as u8)
}

/// One frame for each direction.
pub struct Port {
    arrived: [u8; FRAME],
    lent: [u8; FRAME],
}

impl Default for Port {
    fn default() -> Self {
        Self {
            arrived: [0; FRAME],
            lent: [0; FRAME],
        }
    }
}

impl Device for Port {
    fn capabilities(&self) -> Capabilities {
        Capabilities::plain(Medium::Ethernet, 1500)
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        let len = (read(RECEIVED_LEN) as usize).min(FRAME);
        if len == 0 {
            return None;
        }
        let frame = &mut self.arrived[..len];
        frame.fill_with(|| read(RECEIVED_BYTE) as u8);
        Some(Received {
            frame,
            meta: RxMeta::default(),
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        self.lent.get_mut(..len)
    }

    fn send(&mut self, len: usize, _: TxMeta) {
        let sent = self.lent.iter().take(len);
        sent.for_each(|byte| write(SEND_BYTE, (*byte).into()));
    }
}
