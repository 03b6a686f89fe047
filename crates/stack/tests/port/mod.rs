//! A device without a link: the test puts in the frames that arrive, and takes out the frames that
//! were sent.
//!
//! Rule: the device loses, changes and delays nothing.

use std::collections::VecDeque;

use fullpipe::{
    InterfaceId,
    device::{Capabilities, Device, Received, RxMeta, TxMeta},
};

/// The device.
#[derive(Debug)]
pub struct Port {
    capabilities: Capabilities,
    /// The stack's interface that the device serves.
    pub interface: InterfaceId,
    /// True lets the device lend no memory.
    pub is_full: bool,
    /// Frames that the stack has not received yet.
    pub arrived: VecDeque<Vec<u8>>,
    /// Frames that the stack has sent.
    pub sent: VecDeque<Vec<u8>>,
    current: Vec<u8>,
    lent: Vec<u8>,
}

impl Port {
    /// Creates a device with these capabilities and empty queues.
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            interface: InterfaceId::FIRST,
            is_full: false,
            arrived: VecDeque::new(),
            sent: VecDeque::new(),
            current: Vec::new(),
            lent: Vec::new(),
        }
    }
}

impl Device for Port {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn interface(&self) -> InterfaceId {
        self.interface
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        self.current = self.arrived.pop_front()?;
        Some(Received {
            frame: &self.current,
            meta: RxMeta::default(),
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        if self.is_full {
            return None;
        }
        self.lent.clear();
        self.lent.resize(len, 0);
        Some(&mut self.lent)
    }

    fn send(&mut self, len: usize, _: TxMeta) {
        self.sent.push_back(self.lent[..len].to_vec());
    }
}
