//! Datagrams that wait to be sent: of one UDP socket, or all echo replies.
//!
//! Rule: a datagram is kept as its bytes in one stream and a datagram that says
//! where they go; headers are made when it is sent, straight in the device's
//! frame, and so are fragments. Sending only frees memory. Full is an outcome:
//! the datagram is not taken, and nothing has changed.

#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use core::net::IpAddr;

use fullpipe_pool::{Holder, Pool, Stream};
use fullpipe_wire::{Checksum, Ecn, Icmpv4Message, Protocol, UdpHeader, udp};

use super::{
    sender::{BuiltPacket, IpSender, Outgoing},
    v4::fragment::Fragmenter,
};
use crate::{counters::Counters, device::TxChecksum, udp::info::UdpQueue};

/// The header that a datagram begins with, less what is computed when it is
/// sent. Every one of them is [`DatagramHeader::LEN`] bytes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatagramHeader {
    /// RFC 768.
    Udp {
        /// Our port.
        src_port: u16,
        /// Their port.
        dst_port: u16,
    },
    /// RFC 792.
    EchoReply {
        /// As in the request.
        ident: u16,
        /// As in the request.
        seq: u16,
    },
}

impl DatagramHeader {
    /// Bytes of the header.
    pub(crate) const LEN: usize = 8;

    const fn protocol(self) -> Protocol {
        match self {
            Self::Udp { .. } => Protocol::Udp,
            Self::EchoReply { .. } => Protocol::Icmp,
        }
    }

    /// Writes the header in front of bytes that sum up to `text`.
    fn write(self, header: &mut [u8], src: IpAddr, dst: IpAddr, text: Checksum) {
        match self {
            Self::Udp { src_port, dst_port } => {
                let len = (Self::LEN + text.len()) as u16;
                UdpHeader {
                    src_port,
                    dst_port,
                    len,
                }
                .write(header);
                udp::set_checksum(header, src, dst, text);
            }
            Self::EchoReply { ident, seq } => {
                Icmpv4Message::EchoReply { ident, seq }.write(header, text);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct QueuedDatagram {
    src: IpAddr,
    dst: IpAddr,
    heading: DatagramHeader,
    /// Bytes of text, which follow the heading.
    len: u16,
}

/// Datagrams waiting to be sent, first in, first out.
#[derive(Debug)]
pub(crate) struct SendQueue {
    text: Stream,
    datagrams: VecDeque<QueuedDatagram>,
    most_datagrams: usize,
    most_bytes: u64,
    /// The first datagram is on its way in pieces.
    cutting: Option<Fragmenter>,
}

impl SendQueue {
    /// Room for `datagrams` datagrams of `bytes` together, on `holder`'s account.
    pub(crate) fn new(holder: Holder, datagrams: u32, bytes: u32) -> Self {
        Self {
            text: Stream::new(holder),
            datagrams: VecDeque::with_capacity(datagrams as usize),
            most_datagrams: datagrams as usize,
            most_bytes: bytes.into(),
            cutting: None,
        }
    }

    /// Takes a datagram, whole or not at all. False: no room now.
    ///
    /// # Panics
    /// If `text` is too long for any datagram.
    pub(crate) fn push(
        &mut self,
        src: IpAddr,
        dst: IpAddr,
        heading: DatagramHeader,
        text: &[u8],
        pool: &mut Pool,
    ) -> bool {
        let len = u16::try_from(text.len()).expect("the caller checked the length");
        let bytes = u64::from(len);
        if self.text.is_empty() {
            // On the grid, so that no part of a block is out of reach.
            self.text.restart(0);
        }
        if self.datagrams.len() == self.most_datagrams
            || self.text.len() + bytes > self.most_bytes
            || self.text.append_room(pool) < bytes
        {
            return false;
        }
        let appended = self.text.append(pool, text);
        assert_eq!(
            appended,
            text.len(),
            "the pool took less than it had room for"
        );
        self.datagrams.push_back(QueuedDatagram {
            src,
            dst,
            heading,
            len,
        });
        true
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Whether the first datagram has begun to leave and not ended.
    pub(crate) const fn is_cutting(&self) -> bool {
        self.cutting.is_some()
    }

    /// Whether another datagram may be taken, if it is short enough.
    pub(crate) fn has_room(&self) -> bool {
        self.datagrams.len() < self.most_datagrams && self.text.len() < self.most_bytes
    }

    /// How full it is: what has not left whole.
    pub(crate) fn level(&self) -> UdpQueue {
        UdpQueue {
            datagrams: self.datagrams.len(),
            most_datagrams: self.most_datagrams,
            bytes: self.text.len(),
            most_bytes: self.most_bytes,
        }
    }

    /// Builds the next packet at the start of `packet`, which holds at least
    /// the device's MTU. `None` when nothing waits.
    pub(crate) fn poll_packet(
        &mut self,
        sender: &mut IpSender,
        pool: &mut Pool,
        packet: &mut [u8],
        counters: &mut Counters,
    ) -> Option<BuiltPacket> {
        let datagram = *self.datagrams.front()?;
        let payload_len = DatagramHeader::LEN + usize::from(datagram.len);
        let outgoing = Outgoing {
            src: datagram.src,
            dst: datagram.dst,
            protocol: datagram.heading.protocol(),
            payload_len,
            ecn: Ecn::NotEct,
            dont_fragment: false,
        };
        if payload_len > sender.max_payload(datagram.dst) {
            return Some(self.next_piece(&datagram, &outgoing, sender, pool, packet, counters));
        }
        let header_len = IpSender::header_len(datagram.dst);
        let (heading, text) = packet[header_len..].split_at_mut(DatagramHeader::LEN);
        let checksum = match datagram.heading {
            DatagramHeader::Udp { src_port, dst_port } if sender.checksum_tx() => {
                self.take_text(&mut text[..datagram.len.into()], pool, None);
                let len = payload_len as u16;
                UdpHeader {
                    src_port,
                    dst_port,
                    len,
                }
                .write(heading);
                let mut pseudo = Checksum::new();
                pseudo.add_pseudo_header(
                    datagram.src,
                    datagram.dst,
                    Protocol::Udp.into(),
                    payload_len as u32,
                );
                heading[udp::CHECKSUM_OFFSET..].copy_from_slice(&pseudo.sum().to_be_bytes());
                let offset = udp::CHECKSUM_OFFSET as u16;
                TxChecksum::Partial {
                    start: header_len as u16,
                    offset,
                }
            }
            DatagramHeader::Udp { .. } | DatagramHeader::EchoReply { .. } => {
                let mut sum = Checksum::new();
                self.take_text(&mut text[..datagram.len.into()], pool, Some(&mut sum));
                datagram
                    .heading
                    .write(heading, datagram.src, datagram.dst, sum);
                TxChecksum::Complete
            }
        };
        self.datagrams.pop_front();
        let len = sender.write_header(packet, &outgoing, counters);
        Some(BuiltPacket {
            len,
            dst: datagram.dst,
            checksum,
        })
    }

    /// Builds the next fragment of the first datagram. Its checksum covers all
    /// fragments, so the text is read once more before the first one leaves.
    fn next_piece(
        &mut self,
        datagram: &QueuedDatagram,
        outgoing: &Outgoing,
        sender: &mut IpSender,
        pool: &mut Pool,
        packet: &mut [u8],
        counters: &mut Counters,
    ) -> BuiltPacket {
        let header_len = IpSender::header_len(datagram.dst);
        let mut cut = match self.cutting {
            Some(cut) => cut,
            None => {
                let mut sum = Checksum::new();
                let start = self.text.start();
                for slice in self
                    .text
                    .slices(pool, start..start + u64::from(datagram.len))
                {
                    sum.add(slice);
                }
                let heading = &mut packet[header_len..][..DatagramHeader::LEN];
                datagram
                    .heading
                    .write(heading, datagram.src, datagram.dst, sum);
                sender.cut(outgoing, counters)
            }
        };
        let piece = cut.next().expect("a datagram ends with its last piece");
        let text_at = header_len
            + if piece.offset == 0 {
                DatagramHeader::LEN
            } else {
                0
            };
        let end = header_len + usize::from(piece.len);
        self.take_text(&mut packet[text_at..end], pool, None);
        let len = sender.write_fragment_header(packet, outgoing, &cut, piece, counters);
        self.cutting = piece.more.then_some(cut);
        if !piece.more {
            self.datagrams.pop_front();
        }
        BuiltPacket {
            len,
            dst: datagram.dst,
            checksum: TxChecksum::Complete,
        }
    }

    /// Moves the first `out.len()` bytes of text to `out`, summing them if
    /// asked to.
    fn take_text(&mut self, out: &mut [u8], pool: &mut Pool, mut sum: Option<&mut Checksum>) {
        let start = self.text.start();
        let mut filled = 0;
        for slice in self.text.slices(pool, start..start + out.len() as u64) {
            let place = &mut out[filled..filled + slice.len()];
            match &mut sum {
                Some(sum) => sum.copy(place, slice),
                None => place.copy_from_slice(slice),
            }
            filled += slice.len();
        }
        self.text.advance(pool, out.len() as u64);
    }

    /// Drops everything that waits.
    #[cfg(test)]
    pub(crate) fn clear(&mut self, pool: &mut Pool) {
        self.text.release(pool);
        self.datagrams.clear();
        self.cutting = None;
    }
}
