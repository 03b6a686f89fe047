//! Datagrams that wait for one socket's reader.
//!
//! Rule: a datagram is kept whole or not at all, back to back with the others
//! in one stream, so short ones waste nothing. Bounded in datagrams and bytes.

use alloc::collections::VecDeque;
use core::net::SocketAddr;

use fullpipe_pool::{Holder, Pool, Stream};

use super::info::UdpQueue;
use crate::counters::Discard;

#[derive(Clone, Copy, Debug)]
struct UnreadDatagram {
    from: SocketAddr,
    len: u16,
}

/// A datagram handed to its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpReceived {
    /// Bytes copied to the reader's buffer.
    pub copied: usize,
    /// Bytes the datagram had; those beyond `copied` are lost.
    pub len: usize,
    /// Who sent it.
    pub from: SocketAddr,
}

#[derive(Debug)]
pub(super) struct ReceiveQueue {
    text: Stream,
    datagrams: VecDeque<UnreadDatagram>,
    most_datagrams: usize,
    most_bytes: u64,
    /// Datagrams that found no room.
    drops: u64,
}

impl ReceiveQueue {
    /// Room for `datagrams` datagrams of `bytes` together.
    pub(super) fn new(datagrams: u32, bytes: u32) -> Self {
        Self {
            text: Stream::new(Holder::Datagram),
            datagrams: VecDeque::with_capacity(datagrams as usize),
            most_datagrams: datagrams as usize,
            most_bytes: bytes.into(),
            drops: 0,
        }
    }

    /// How full it is.
    pub(super) fn level(&self) -> UdpQueue {
        UdpQueue {
            datagrams: self.datagrams.len(),
            most_datagrams: self.most_datagrams,
            bytes: self.text.len(),
            most_bytes: self.most_bytes,
        }
    }

    /// Datagrams that found no room since the socket was opened.
    pub(super) fn drops(&self) -> u64 {
        self.drops
    }

    pub(super) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    pub(super) fn push(
        &mut self,
        from: SocketAddr,
        text: &[u8],
        pool: &mut Pool,
    ) -> Result<(), Discard> {
        let pushed = self.push_whole(from, text, pool);
        self.drops += u64::from(pushed.is_err());
        pushed
    }

    fn push_whole(
        &mut self,
        from: SocketAddr,
        text: &[u8],
        pool: &mut Pool,
    ) -> Result<(), Discard> {
        let len = u16::try_from(text.len()).expect("UDP's length field has 16 bits");
        if self.datagrams.len() == self.most_datagrams
            || self.text.len() + u64::from(len) > self.most_bytes
        {
            return Err(Discard::UdpQueueFull);
        }
        if self.text.is_empty() {
            // On the grid, so that no part of a block is out of reach.
            self.text.restart(0);
        }
        if self.text.append_room(pool) < u64::from(len) {
            return Err(Discard::UdpNoMemory);
        }
        let appended = self.text.append(pool, text);
        assert_eq!(
            appended,
            text.len(),
            "the pool took less than it had room for"
        );
        self.datagrams.push_back(UnreadDatagram { from, len });
        Ok(())
    }

    pub(super) fn pop(&mut self, out: &mut [u8], pool: &mut Pool) -> Option<UdpReceived> {
        let UnreadDatagram { from, len } = self.datagrams.pop_front()?;
        let copied = out.len().min(len.into());
        let read = self
            .text
            .read_at(pool, self.text.start(), &mut out[..copied]);
        assert_eq!(read, copied, "a datagram is shorter than its record");
        self.text.advance(pool, len.into());
        Some(UdpReceived {
            copied,
            len: len.into(),
            from,
        })
    }

    pub(super) fn clear(&mut self, pool: &mut Pool) {
        self.text.release(pool);
        self.datagrams.clear();
        self.drops = 0;
    }
}
