//! The device of the loopback interface: packets of this host to its own addresses, 127.0.0.0/8 and
//! ::1.
//!
//! Rule: each packet is received before the next one is made, so the interface needs memory for a
//! single packet. The stack decides when packets are sent and received.

use alloc::{boxed::Box, vec};

use crate::{
    device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta},
    egress::LastSource,
    interface_id::InterfaceId,
};

/// The device of the interface: room for one packet.
#[derive(Debug)]
pub(crate) struct Loopback {
    interface: InterfaceId,
    packet: Box<[u8]>,
    /// Length of the packet that was sent and not received yet; 0 if there is none.
    len: usize,
    /// The source of output that was polled last.
    pub(crate) last_source: LastSource,
}

impl Loopback {
    /// Returns the device of `interface`, which carries packets of up to `mtu` bytes.
    pub(crate) fn new(interface: InterfaceId, mtu: usize) -> Self {
        Self {
            interface,
            packet: vec![0; mtu].into(),
            len: 0,
            last_source: LastSource::default(),
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) const fn heap_bytes(&self) -> usize {
        self.packet.len()
    }
}

impl Device for Loopback {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            checksum_tx: true,
            ..Capabilities::plain(Medium::Ip, self.packet.len())
        }
    }

    fn interface(&self) -> InterfaceId {
        self.interface
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        let len = core::mem::take(&mut self.len);
        (len > 0).then(|| Received {
            frame: &self.packet[..len],
            // The packet never leaves the memory of this host.
            meta: RxMeta {
                checksum_verified: true,
                merged: 0,
                interface: self.interface,
            },
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        match self.len {
            0 => self.packet.get_mut(..len),
            _ => None,
        }
    }

    fn send(&mut self, len: usize, _: TxMeta) {
        self.len = len;
    }
}
