//! The ring in which a packet socket receives frames (`TPACKET_V2`): memory that it shares
//! with the kernel.
//!
//! Rule: a slot belongs to the kernel until its status gives it to this process. Once its frame is
//! copied, the slot goes back to the kernel. Nothing here makes a system call after construction. A
//! frame that is larger than a slot waits in the socket's own queue. `TPACKET_V3` would pack frames
//! of any size into blocks, but a frame would wait up to a millisecond until the kernel passes on
//! its block (`docs/decisions/0027-devices-on-a-wire.md`).

use std::{
    io, mem,
    os::fd::{AsFd as _, OwnedFd},
    sync::atomic::Ordering,
};

use super::socket::set;
use crate::{mapping::Mapping, virtio::VNET_LEN};

/// Socket option that creates the ring (`linux/if_packet.h`).
const PACKET_RX_RING: libc::c_int = 5;
/// Socket option that queues frames that are larger than a slot (`linux/if_packet.h`).
const PACKET_COPY_THRESH: libc::c_int = 7;
/// Socket option for the layout of the ring (`linux/if_packet.h`).
const PACKET_VERSION: libc::c_int = 10;
const TPACKET_V2: libc::c_int = 1;
/// Bit of a slot's status: the slot belongs to this process.
const STATUS_USER: u32 = 1;
/// Bit of a slot's status: the whole frame is in the socket's queue.
const STATUS_COPY: u32 = 1 << 1;
/// Bit of a slot's status: the frame's checksum is incomplete.
const STATUS_CHECKSUM_INCOMPLETE: u32 = 1 << 3;
/// Bit of a slot's status: the frame's checksum was verified.
const STATUS_CHECKSUM_VALID: u32 = 1 << 7;
/// Offset in a slot (`struct tpacket2_hdr`) of the frame's length.
const LENGTH: usize = 4;
/// Offset in a slot of the field that gives the number of captured bytes.
const CAPTURED: usize = 8;
/// Offset in a slot of the field that gives the frame's position.
const FRAME_OFFSET: usize = 12;
/// Bytes of a slot: an Ethernet frame of 1500 bytes and the kernel's headers before it.
const SLOT: usize = 2_048;
/// Number of slots.
const SLOTS: usize = 2_048;
/// Bytes of a block: contiguous memory of the kernel that contains slots.
const BLOCK: usize = 1 << 16;

/// The front of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front {
    /// The ring is empty. `twice` is true if it was also empty at the previous call.
    Empty { twice: bool },
    /// A frame of `len` bytes was copied. `is_checked` is true if its checksum needs no check.
    Copied { len: usize, is_checked: bool },
    /// The next frame is in the socket's queue.
    Queued,
}

/// Receiving side of a packet socket.
#[derive(Debug)]
pub(super) struct ReceiveRing {
    memory: Mapping,
    /// Index of the slot that this process reads next.
    position: usize,
    was_empty: bool,
}

impl ReceiveRing {
    /// Gives `socket` a ring. A virtio header must precede each frame of the socket.
    pub(super) fn new(socket: &OwnedFd) -> io::Result<Self> {
        set(socket, PACKET_VERSION, &TPACKET_V2)?;
        set(socket, PACKET_COPY_THRESH, &1_i32)?;
        let wanted = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (SLOTS * SLOT / BLOCK) as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: SLOTS as u32,
        };
        set(socket, PACKET_RX_RING, &wanted)?;
        Ok(Self {
            memory: Mapping::of_socket(socket.as_fd(), SLOTS * SLOT, 0)?,
            position: 0,
            was_empty: false,
        })
    }

    /// Copies the frame at the front to `buffer`, and its virtio header to `head`. A frame that is
    /// longer than `buffer` is cut.
    pub(super) fn take(&mut self, head: &mut [u8; VNET_LEN], buffer: &mut [u8]) -> Front {
        loop {
            let slot = self.position * SLOT;
            let status = self.memory.word(slot).load(Ordering::Acquire);
            if status & STATUS_USER == 0 {
                let twice = mem::replace(&mut self.was_empty, true);
                return Front::Empty { twice };
            }
            self.was_empty = false;
            self.position = (self.position + 1) % SLOTS;
            let field = |offset| self.memory.word(slot + offset).load(Ordering::Relaxed) as usize;
            let (len, captured) = (field(LENGTH), field(CAPTURED));
            let front = if status & STATUS_COPY != 0 {
                Some(Front::Queued)
            } else if captured < len {
                None // lost: the queue for large frames was full
            } else {
                // Keep the first two of the four bytes that `field` read: the frame's position has
                // two bytes.
                let [high, low, ..] = (field(FRAME_OFFSET) as u32).to_ne_bytes();
                let start = slot + usize::from(u16::from_ne_bytes([high, low]));
                let len = captured.min(buffer.len());
                self.memory.read(start - VNET_LEN, head);
                self.memory.read(start, &mut buffer[..len]);
                let checked = STATUS_CHECKSUM_INCOMPLETE | STATUS_CHECKSUM_VALID;
                let is_checked = status & checked != 0;
                Some(Front::Copied { len, is_checked })
            };
            self.memory.word(slot).store(0, Ordering::Release);
            if let Some(front) = front {
                return front;
            }
        }
    }
}
