//! The memory that a stack takes, part by part.
//!
//! Rule: each table reports what it allocated, so the sum is the memory that the allocator gave.
//! Memory of registered congestion control algorithms is not counted.

use alloc::vec::Vec;

use crate::{interface::InterfaceState, loopback::Loopback, stack::Stack};

/// A part of a stack and its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPart {
    /// Name of the part.
    pub name: &'static str,
    /// Memory of the part in bytes.
    pub bytes: usize,
}

impl Stack {
    /// Returns the memory of each part of the stack. The first part is the content of the pool's
    /// blocks; all later parts are memory beside these blocks. The last part is the [`Stack`]
    /// itself; all earlier parts are on the heap.
    pub fn memory(&self) -> Vec<MemoryPart> {
        let [blocks, links, ranges] = self.pool.heap_bytes();
        let below = [
            ("pool", blocks),
            ("block bookkeeping", links),
            ("received ranges", ranges),
        ];
        let sum = |bytes: fn(&InterfaceState) -> usize| self.interfaces.iter().map(bytes).sum();
        let above: [(&str, usize); 11] = [
            (
                "interfaces",
                self.interfaces.capacity() * size_of::<InterfaceState>()
                    + self.loopback.as_ref().map_or(0, Loopback::heap_bytes),
            ),
            ("neighbours", sum(|of| of.neighbours.heap_bytes())),
            (
                "routes",
                self.routes.heap_bytes() + sum(|of| of.autoconfiguration.heap_bytes()),
            ),
            ("reassembly", self.receiver.heap_bytes()),
            ("IP identifications", sum(|of| of.sender.heap_bytes())),
            ("ICMP echo", sum(|of| of.echo.heap_bytes())),
            ("ICMP errors", sum(|of| of.errors.heap_bytes())),
            ("UDP sockets", self.udp.heap_bytes()),
            ("socket events", self.events.heap_bytes()),
            ("device backlog", sum(|of| of.device_backlog.heap_bytes())),
            ("stack", size_of::<Self>()),
        ];
        let parts = below.into_iter().chain(self.tcp.heap_parts()).chain(above);
        parts
            .map(|(name, bytes)| MemoryPart { name, bytes })
            .collect()
    }
}
