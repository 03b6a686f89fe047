//! The receive queue of one UDP socket.
//!
//! Rule: a datagram is kept whole or dropped. Payload lies back to back in one
//! stream, so short datagrams waste no memory. The queue is bounded in datagrams
//! and in bytes.

use alloc::collections::VecDeque;
use core::net::SocketAddr;

use fullpipe_pool::{Holder, Pool, Stream};

use super::info::UdpQueue;
use crate::{counters::Discard, ip::StoredEnd};

#[derive(Clone, Copy, Debug)]
struct UnreadDatagram {
    from: StoredEnd,
    to: StoredEnd,
    len: u16,
}

/// A received datagram whose payload was copied to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpReceived {
    /// Bytes copied to the application's buffer.
    pub copied: usize,
    /// Bytes of payload in the datagram; the bytes beyond `copied` are lost.
    pub len: usize,
    /// Address and port of the sender.
    pub from: SocketAddr,
    /// Address and port that the datagram was sent to.
    pub to: SocketAddr,
}

#[derive(Debug)]
pub(super) struct ReceiveQueue {
    payload: Stream,
    datagrams: VecDeque<UnreadDatagram>,
    most_datagrams: u32,
    most_bytes: u32,
    /// Datagrams dropped because the queue or the pool was full.
    drops: u64,
}

impl ReceiveQueue {
    /// Returns an empty queue for at most `datagrams` datagrams and at most `bytes` bytes of
    /// payload in total.
    pub(super) fn new(datagrams: u32, bytes: u32) -> Self {
        Self {
            payload: Stream::new(Holder::Datagram),
            datagrams: VecDeque::with_capacity(datagrams as usize),
            most_datagrams: datagrams,
            most_bytes: bytes,
            drops: 0,
        }
    }

    /// Returns the heap memory in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.datagrams.capacity() * size_of::<UnreadDatagram>()
    }

    /// Returns the datagrams and bytes in the queue, and their bounds.
    pub(super) fn level(&self) -> UdpQueue {
        UdpQueue {
            datagrams: self.datagrams.len(),
            most_datagrams: self.most_datagrams as usize,
            bytes: self.payload.len(),
            most_bytes: self.most_bytes.into(),
        }
    }

    /// Returns the number of datagrams dropped since the socket was opened.
    pub(super) fn drops(&self) -> u64 {
        self.drops
    }

    pub(super) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(super) fn push(
        &mut self,
        (from, to): (SocketAddr, SocketAddr),
        payload: &[u8],
        pool: &mut Pool,
    ) -> Result<(), Discard> {
        let pushed = self.push_whole((from, to), payload, pool);
        self.drops += u64::from(pushed.is_err());
        pushed
    }

    #[cfg_attr(target_pointer_width = "64", inline(always))]
    fn push_whole(
        &mut self,
        (from, to): (SocketAddr, SocketAddr),
        payload: &[u8],
        pool: &mut Pool,
    ) -> Result<(), Discard> {
        let len = u16::try_from(payload.len()).expect("UDP's length field has 16 bits");
        if self.datagrams.len() == self.most_datagrams as usize
            || self.payload.len() + u64::from(len) > u64::from(self.most_bytes)
        {
            return Err(Discard::UdpQueueFull);
        }
        if self.payload.is_empty() {
            // Begin the payload at a block boundary, so that the whole block is usable.
            self.payload.restart(0);
        }
        if !self.payload.has_append_room(pool, payload.len()) {
            return Err(Discard::UdpNoMemory);
        }
        let appended = self.payload.append(pool, payload);
        assert_eq!(
            appended,
            payload.len(),
            "the pool took less than it had room for"
        );
        self.datagrams.push_back(UnreadDatagram {
            from: StoredEnd::new(from),
            to: StoredEnd::new(to),
            len,
        });
        Ok(())
    }

    pub(super) fn pop(&mut self, out: &mut [u8], pool: &mut Pool) -> Option<UdpReceived> {
        let UnreadDatagram { from, to, len } = self.datagrams.pop_front()?;
        let copied = out.len().min(len.into());
        let read = self
            .payload
            .read_at(pool, self.payload.start(), &mut out[..copied]);
        assert_eq!(read, copied, "a datagram is shorter than its record");
        self.payload.advance(pool, len.into());
        Some(UdpReceived {
            copied,
            len: len.into(),
            from: from.get(),
            to: to.get(),
        })
    }

    pub(super) fn clear(&mut self, pool: &mut Pool) {
        self.payload.release(pool);
        self.datagrams.clear();
        self.drops = 0;
    }
}
