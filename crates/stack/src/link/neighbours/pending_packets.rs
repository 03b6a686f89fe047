//! The queue of packets that wait for the MAC address of one neighbour.
//!
//! Rule: a full queue drops its oldest packet for a newer one (RFC 1122 §2.3.2.2).
//! Packets are kept whole. The cache decides when they leave.

use alloc::collections::VecDeque;

use fullpipe_pool::{Holder, Pool, Stream};

use crate::counters::{Counters, Discard};

/// A queue of packets, back to back in one stream.
#[derive(Debug)]
pub(super) struct PendingPackets {
    bytes: Stream,
    lens: VecDeque<u16>,
    most: u32,
}

impl PendingPackets {
    /// Returns an empty queue for `most` packets.
    pub(super) fn new(most: u32) -> Self {
        Self {
            bytes: Stream::new(Holder::Neighbour),
            lens: VecDeque::with_capacity(most as usize),
            most,
        }
    }

    /// Returns the heap memory in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.lens.capacity() * size_of::<u16>()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lens.is_empty()
    }

    /// Keeps a packet. Drops the oldest packets if there is no room.
    pub(super) fn push(&mut self, packet: &[u8], pool: &mut Pool, counters: &mut Counters) {
        let len = u16::try_from(packet.len()).expect("an IP packet has at most 65,535 bytes");
        while self.lens.len() == self.most as usize || self.room(pool) < u64::from(len) {
            let Some(oldest) = self.lens.pop_front() else {
                counters.discard(Discard::ArpWaitNoMemory);
                return;
            };
            self.bytes.advance(pool, oldest.into());
            counters.discard(Discard::ArpWaitQueueFull);
        }
        let appended = self.bytes.append(pool, packet);
        assert_eq!(
            appended,
            packet.len(),
            "the pool took less than it had room for"
        );
        self.lens.push_back(len);
    }

    fn room(&mut self, pool: &Pool) -> u64 {
        if self.bytes.is_empty() {
            // Begin the packet at a block boundary, so that the whole block is usable.
            self.bytes.restart(0);
        }
        self.bytes.append_room(pool)
    }

    /// Moves the oldest packet to the start of `out`; returns its length.
    ///
    /// # Panics
    /// Panics if the queue is empty, or `out` is too short.
    pub(super) fn pop(&mut self, out: &mut [u8], pool: &mut Pool) -> usize {
        let len = self
            .lens
            .pop_front()
            .expect("the caller knows that a packet waits")
            .into();
        let read = self
            .bytes
            .read_at(pool, self.bytes.start(), &mut out[..len]);
        assert_eq!(read, len, "a packet is shorter than its record");
        self.bytes.advance(pool, len as u64);
        len
    }

    /// Drops every packet, because the neighbour did not reply or its entry is removed.
    pub(super) fn clear(&mut self, pool: &mut Pool, counters: &mut Counters) {
        for _ in self.lens.drain(..) {
            counters.discard(Discard::ArpUnresolved);
        }
        self.bytes.release(pool);
    }
}
