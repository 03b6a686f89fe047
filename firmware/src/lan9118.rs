//! The driver of the SMSC LAN9118, an Ethernet controller without DMA.
//!
//! Rule: a frame is copied once in each direction, between the controller's FIFO and one buffer,
//! in which the stack reads or writes it. The driver waits only for the controller's registers:
//! a reset and accesses to the MAC and the PHY take microseconds.
//!
//! While the cable is unplugged, frames are still handed to the controller, which loses them. TCP
//! retransmits their payload, as after any other loss.

use fullpipe::{
    MacAddress,
    device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta},
};

use crate::board::Register;

/// Address of the controller on the mps2-an385.
const BASE: usize = 0x4020_0000;

/// Declares the registers of the controller by their offsets.
macro_rules! registers {
    ($($name:ident = $offset:literal;)*) => {
        $(
            // SAFETY: the offset is the offset of a register of the controller.
            const $name: Register = unsafe { Register::at(BASE + $offset) };
        )*
    };
}

registers! {
    RX_DATA = 0x00;
    TX_DATA = 0x20;
    RX_STATUS = 0x40;
    IRQ_CONFIG = 0x54;
    INTERRUPTS = 0x58;
    INTERRUPTS_ENABLED = 0x5c;
    BYTE_TEST = 0x64;
    FIFO_LEVELS = 0x68;
    RX_CONFIG = 0x6c;
    TX_CONFIG = 0x70;
    HARDWARE_CONFIG = 0x74;
    RX_CONTROL = 0x78;
    RX_FIFO = 0x7c;
    TX_FIFO = 0x80;
    MAC_COMMAND = 0xa4;
    MAC_DATA = 0xa8;
}

/// Value of `BYTE_TEST` once the controller answers, if its bytes have the order that this driver
/// expects.
const BYTES_IN_ORDER: u32 = 0x8765_4321;
const SOFT_RESET: u32 = 1;
/// Store and forward; 5 KiB of the 16 KiB of memory for transmission.
const STORE_AND_FORWARD_5K: u32 = 1 << 20 | 5 << 16;
/// The interrupt pin: enabled, active high, push-pull.
const PIN: u32 = 1 << 8 | 1 << 4 | 1;
/// A received frame waits.
const FRAME_ARRIVED: u32 = 1 << 3;
/// The transmitter is on, and may overrun its status FIFO, which nobody reads.
const TX_ON: u32 = 1 << 1 | 1 << 2;
/// Discards the rest of the frame at the head of the receive FIFO.
const FAST_FORWARD: u32 = 1 << 31;
const FIRST_AND_LAST: u32 = 1 << 13 | 1 << 12;
const RX_ERROR: u32 = 1 << 15;

const MAC_BUSY: u32 = 1 << 31;
const MAC_READ: u32 = 1 << 30;
const MAC_CONTROL: u32 = 1;
const MAC_ADDRESS_HIGH: u32 = 2;
const MAC_ADDRESS_LOW: u32 = 3;
const MII_ACCESS: u32 = 6;
const MII_DATA: u32 = 7;
/// Full duplex, transmitter and receiver.
const MAC_ON: u32 = 1 << 20 | 1 << 3 | 1 << 2;
const MII_BUSY: u32 = 1;
const MII_WRITE: u32 = 2;
/// Address of the controller's own PHY.
const PHY: u32 = 1 << 11;
const PHY_CONTROL: u32 = 0;
const PHY_STATUS: u32 = 1;
const PHY_NEGOTIATE: u32 = 1 << 12 | 1 << 9;
const PHY_LINK_UP: u32 = 1 << 2;

const MTU: usize = 1500;
/// Unused bytes before a frame, so that its IP header has an address that is a multiple of four.
const SHIFT: usize = 2;
/// Bytes of the largest frame.
const FRAME: usize = 14 + MTU;
/// Bytes of the check sequence that follows a received frame.
const CHECK: usize = 4;
/// Bytes of a buffer: whole words.
const BUFFER: usize = (SHIFT + FRAME + CHECK).next_multiple_of(4);
/// Bytes of the two commands before a frame in the transmit FIFO.
const COMMANDS: usize = 8;

/// The controller, with a buffer for each direction.
#[derive(Debug)]
pub struct Lan9118 {
    received: [u8; BUFFER],
    lent: [u8; BUFFER],
    /// Frames discarded: with an error, or longer than the largest frame.
    pub discarded: u32,
}

impl Lan9118 {
    /// Resets the controller, sets its MAC address and turns it on. Returns `None` if the
    /// controller does not answer.
    pub fn start(mac: MacAddress) -> Option<Self> {
        HARDWARE_CONFIG.write(SOFT_RESET);
        let answers =
            || HARDWARE_CONFIG.read() & SOFT_RESET == 0 && BYTE_TEST.read() == BYTES_IN_ORDER;
        if !(0..1_000_000).any(|_| answers()) {
            return None;
        }
        HARDWARE_CONFIG.write(STORE_AND_FORWARD_5K);
        let [a, b, c, d, e, f] = mac.0;
        write_mac(MAC_ADDRESS_LOW, u32::from_le_bytes([a, b, c, d]));
        write_mac(MAC_ADDRESS_HIGH, u32::from_le_bytes([e, f, 0, 0]));
        write_phy(PHY_CONTROL, PHY_NEGOTIATE);
        RX_CONFIG.write((SHIFT as u32) << 8);
        // Raise the interrupt as soon as one frame waits.
        FIFO_LEVELS.write(0);
        INTERRUPTS.write(u32::MAX);
        INTERRUPTS_ENABLED.write(FRAME_ARRIVED);
        IRQ_CONFIG.write(PIN);
        TX_CONFIG.write(TX_ON);
        write_mac(MAC_CONTROL, MAC_ON);
        Some(Self {
            received: [0; BUFFER],
            lent: [0; BUFFER],
            discarded: 0,
        })
    }

    /// Returns true if the PHY sees a partner.
    pub fn link_is_up(&mut self) -> bool {
        // Read twice: the bit stays 0 after a loss of the link until it was read once.
        read_phy(PHY_STATUS);
        read_phy(PHY_STATUS) & PHY_LINK_UP != 0
    }

    /// Copies the frame of length `len` at the head of the FIFO into the buffer.
    fn take(&mut self, len: usize) {
        let words = (SHIFT + len).div_ceil(4);
        for word in self.received.chunks_exact_mut(4).take(words) {
            word.copy_from_slice(&RX_DATA.read().to_le_bytes());
        }
    }
}

impl Device for Lan9118 {
    fn capabilities(&self) -> Capabilities {
        Capabilities::plain(Medium::Ethernet, MTU)
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        loop {
            // Clear the interrupt before reading the FIFO, so that a frame that arrives after the
            // read raises the interrupt again.
            INTERRUPTS.write(FRAME_ARRIVED);
            if RX_FIFO.read() >> 16 & 0xff == 0 {
                return None;
            }
            let status = RX_STATUS.read();
            let len = (status >> 16 & 0x3fff) as usize;
            if status & RX_ERROR == 0 && (CHECK..=FRAME + CHECK).contains(&len) {
                self.take(len);
                let frame = &self.received[SHIFT..SHIFT + len - CHECK];
                return Some(Received {
                    frame,
                    meta: RxMeta::default(),
                });
            }
            self.discarded += 1;
            RX_CONTROL.write(FAST_FORWARD);
            while RX_CONTROL.read() & FAST_FORWARD != 0 {}
        }
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        let free = (TX_FIFO.read() & 0xffff) as usize;
        let needed = COMMANDS + (SHIFT + len).next_multiple_of(4);
        if free < needed {
            return None;
        }
        self.lent.get_mut(SHIFT..SHIFT + len)
    }

    fn send(&mut self, len: usize, _: TxMeta) {
        TX_DATA.write((SHIFT as u32) << 16 | FIRST_AND_LAST | len as u32);
        TX_DATA.write(len as u32);
        let words = (SHIFT + len).div_ceil(4);
        for word in self.lent.chunks_exact(4).take(words) {
            TX_DATA.write(u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        }
    }
}

fn mac(command: u32) {
    MAC_COMMAND.write(MAC_BUSY | command);
    while MAC_COMMAND.read() & MAC_BUSY != 0 {}
}

fn write_mac(register: u32, value: u32) {
    MAC_DATA.write(value);
    mac(register);
}

fn read_mac(register: u32) -> u32 {
    mac(MAC_READ | register);
    MAC_DATA.read()
}

fn phy(command: u32) {
    write_mac(MII_ACCESS, PHY | MII_BUSY | command);
    while read_mac(MII_ACCESS) & MII_BUSY != 0 {}
}

fn write_phy(register: u32, value: u32) {
    write_mac(MII_DATA, value);
    phy(MII_WRITE | register << 6);
}

fn read_phy(register: u32) -> u32 {
    phy(register << 6);
    read_mac(MII_DATA)
}
