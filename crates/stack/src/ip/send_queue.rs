//! A send queue of datagrams: a UDP socket has one for each interface, and the echo replies of an
//! interface share one.
//!
//! Rule: payload is stored in one stream, beside a queue of addresses and lengths. Headers and
//! fragments are written into the device's frame when a datagram leaves, so sending takes no packet
//! memory. A full queue is not an error: the datagram is not accepted, and nothing changes.

#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use core::net::IpAddr;

use fullpipe_pool::{Holder, Pool, Stream};
use fullpipe_wire::{
    Checksum, Ecn, Icmpv4Message, Icmpv6Message, MacAddress, Protocol, UdpHeader, udp,
};

use super::{
    outgoing::Outgoing,
    sender::{BuiltPacket, IpSender},
    stored::StoredIp,
    v4::fragment::Fragmenter,
};
#[cfg(feature = "udp")]
use crate::udp::info::UdpQueue;
use crate::{counters::Counters, device::TxChecksum};

/// The protocol header of a datagram, without the fields that are computed when
/// it is sent. Each variant is [`DatagramHeader::LEN`] bytes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatagramHeader {
    /// The header of UDP. RFC 768.
    #[cfg_attr(not(feature = "udp"), expect(dead_code, reason = "no socket"))]
    Udp {
        /// Source port.
        src_port: u16,
        /// Destination port.
        dst_port: u16,
    },
    /// The header of an ICMP echo reply. RFC 792, RFC 4443 §4.2.
    EchoReply {
        /// Copied from the request.
        ident: u16,
        /// Copied from the request.
        seq: u16,
    },
}

impl DatagramHeader {
    /// Length of the header in bytes.
    pub(crate) const LEN: usize = 8;

    /// Returns the protocol of a datagram to `dst`.
    const fn protocol(self, dst: IpAddr) -> Protocol {
        match (self, dst) {
            (Self::Udp { .. }, _) => Protocol::Udp,
            (Self::EchoReply { .. }, IpAddr::V4(_)) => Protocol::Icmp,
            (Self::EchoReply { .. }, IpAddr::V6(_)) => Protocol::Icmpv6,
        }
    }

    /// Returns the ports by which routers tell flows apart; an echo reply has none.
    const fn ports(self) -> (u16, u16) {
        match self {
            Self::Udp { src_port, dst_port } => (src_port, dst_port),
            Self::EchoReply { .. } => (0, 0),
        }
    }

    /// Writes the header in front of a payload; `payload` is the payload's checksum.
    fn write(self, header: &mut [u8], src: IpAddr, dst: IpAddr, payload: Checksum) {
        match self {
            Self::Udp { src_port, dst_port } => {
                let len = (Self::LEN + payload.len()) as u16;
                UdpHeader {
                    src_port,
                    dst_port,
                    len,
                }
                .write(header);
                udp::set_checksum(header, src, dst, payload);
            }
            Self::EchoReply { ident, seq } => match (src, dst) {
                (IpAddr::V6(src), IpAddr::V6(dst)) if cfg!(feature = "ipv6") => {
                    Icmpv6Message::EchoReply { ident, seq }.write(header, (src, dst), payload);
                }
                _ => Icmpv4Message::EchoReply { ident, seq }.write(header, payload),
            },
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct QueuedDatagram {
    src: StoredIp,
    dst: StoredIp,
    header: DatagramHeader,
    /// See [`BuiltPacket::answers`].
    answers: Option<MacAddress>,
    /// Bytes of payload, header excluded.
    len: u16,
}

/// Datagrams waiting to be sent, first in, first out.
#[derive(Debug)]
pub(crate) struct SendQueue {
    payload: Stream,
    datagrams: VecDeque<QueuedDatagram>,
    most_datagrams: u32,
    most_bytes: u32,
    /// State of the first datagram if it is partly sent in fragments.
    fragmenting: Option<Fragmenter>,
}

impl SendQueue {
    /// Returns an empty queue for `datagrams` datagrams of `bytes` bytes in total. Its packet
    /// memory counts as memory of `holder`, a kind of buffer.
    pub(crate) fn new(holder: Holder, datagrams: u32, bytes: u32) -> Self {
        Self {
            payload: Stream::new(holder),
            datagrams: VecDeque::with_capacity(datagrams as usize),
            most_datagrams: datagrams,
            most_bytes: bytes,
            fragmenting: None,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.datagrams.capacity() * size_of::<QueuedDatagram>()
    }

    /// Appends a datagram; returns false if there is no room now. `answers`: see [`BuiltPacket::answers`].
    ///
    /// # Panics
    /// Panics if `payload` is too long for any datagram.
    pub(crate) fn push(
        &mut self,
        (src, dst): (IpAddr, IpAddr),
        answers: Option<MacAddress>,
        header: DatagramHeader,
        payload: &[u8],
        pool: &mut Pool,
    ) -> bool {
        let len = u16::try_from(payload.len()).expect("the caller checked the length");
        let bytes = u64::from(len);
        if self.payload.is_empty() {
            // Begin the payload at a block boundary, so that the whole block is usable.
            self.payload.restart(0);
        }
        if !self.allows(bytes) || !self.payload.has_append_room(pool, payload.len()) {
            return false;
        }
        let appended = self.payload.append(pool, payload);
        assert_eq!(
            appended,
            payload.len(),
            "the pool took less than it had room for"
        );
        self.datagrams.push_back(QueuedDatagram {
            src: StoredIp::new(src),
            dst: StoredIp::new(dst),
            header,
            answers,
            len,
        });
        true
    }

    /// Returns true if the queue is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Returns true if the first datagram is partly sent in fragments.
    pub(crate) const fn is_fragmenting(&self) -> bool {
        self.fragmenting.is_some()
    }

    /// Returns true if the bounds of the queue allow a datagram of `len` bytes, although packet
    /// memory may be short.
    pub(crate) fn allows(&self, len: u64) -> bool {
        self.datagrams.len() < self.most_datagrams as usize
            && self.payload.len() + len <= u64::from(self.most_bytes)
    }

    /// Returns true if there is room for at least the smallest datagram.
    #[cfg(feature = "udp")]
    pub(crate) fn has_room(&self) -> bool {
        self.allows(1)
    }

    /// Returns the datagrams and bytes in the queue, a partly sent datagram included.
    #[cfg(feature = "udp")]
    pub(crate) fn level(&self) -> UdpQueue {
        UdpQueue {
            datagrams: self.datagrams.len(),
            most_datagrams: self.most_datagrams as usize,
            bytes: self.payload.len(),
            most_bytes: self.most_bytes.into(),
        }
    }

    /// Writes the next packet to the start of `packet`, which is at least as long as the device's
    /// MTU. Returns `None` if the queue is empty.
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
            src: datagram.src.get(),
            dst: datagram.dst.get(),
            protocol: datagram.header.protocol(datagram.dst.get()),
            ports: datagram.header.ports(),
            payload_len,
            ecn: Ecn::NotEct,
            dont_fragment: false,
        };
        // The rest of a datagram that is partly sent leaves in fragments, even if a router has
        // raised the MTU.
        if self.fragmenting.is_some() || payload_len > sender.max_datagram(datagram.dst.get()) {
            return Some(self.next_fragment(&datagram, &outgoing, sender, pool, packet, counters));
        }
        let header_len = IpSender::header_len(datagram.dst.get());
        let (header, payload) = packet[header_len..].split_at_mut(DatagramHeader::LEN);
        let checksum = match datagram.header {
            DatagramHeader::Udp { src_port, dst_port }
                if cfg!(feature = "udp") && sender.checksum_tx() =>
            {
                self.take_payload(&mut payload[..datagram.len.into()], pool, None);
                let len = payload_len as u16;
                UdpHeader {
                    src_port,
                    dst_port,
                    len,
                }
                .write(header);
                let mut pseudo = Checksum::new();
                pseudo.add_pseudo_header(
                    datagram.src.get(),
                    datagram.dst.get(),
                    Protocol::Udp.into(),
                    payload_len as u32,
                );
                header[udp::CHECKSUM_OFFSET..].copy_from_slice(&pseudo.sum().to_be_bytes());
                let offset = udp::CHECKSUM_OFFSET as u16;
                TxChecksum::Partial {
                    start: header_len as u16,
                    offset,
                }
            }
            DatagramHeader::Udp { .. } | DatagramHeader::EchoReply { .. } => {
                let mut sum = Checksum::new();
                self.take_payload(&mut payload[..datagram.len.into()], pool, Some(&mut sum));
                datagram
                    .header
                    .write(header, datagram.src.get(), datagram.dst.get(), sum);
                TxChecksum::Complete
            }
        };
        self.datagrams.pop_front();
        let len = sender.write_header(packet, &outgoing, counters);
        Some(BuiltPacket {
            len,
            dst: datagram.dst.get(),
            answers: datagram.answers,
            checksum,
        })
    }

    /// Writes the next fragment of the first datagram. The checksum covers the whole datagram, so
    /// the payload is read once to sum it before the first fragment is written.
    fn next_fragment(
        &mut self,
        datagram: &QueuedDatagram,
        outgoing: &Outgoing,
        sender: &mut IpSender,
        pool: &mut Pool,
        packet: &mut [u8],
        counters: &mut Counters,
    ) -> BuiltPacket {
        let header_len = IpSender::fragment_header_len(datagram.dst.get());
        let mut cut = match self.fragmenting {
            Some(cut) => cut,
            None => {
                let mut sum = Checksum::new();
                let start = self.payload.start();
                for slice in self
                    .payload
                    .slices(pool, start..start + u64::from(datagram.len))
                {
                    sum.add(slice);
                }
                let header = &mut packet[header_len..][..DatagramHeader::LEN];
                datagram
                    .header
                    .write(header, datagram.src.get(), datagram.dst.get(), sum);
                sender.fragment(outgoing, counters)
            }
        };
        let fragment = cut.next().expect("a datagram ends with its last fragment");
        let payload_at = header_len
            + if fragment.offset == 0 {
                DatagramHeader::LEN
            } else {
                0
            };
        let end = header_len + usize::from(fragment.len);
        self.take_payload(&mut packet[payload_at..end], pool, None);
        let len = sender.write_fragment_header(packet, outgoing, &cut, fragment, counters);
        self.fragmenting = fragment.more.then_some(cut);
        if !fragment.more {
            self.datagrams.pop_front();
        }
        BuiltPacket {
            len,
            dst: datagram.dst.get(),
            answers: datagram.answers,
            checksum: TxChecksum::Complete,
        }
    }

    /// Moves the first `out.len()` bytes of payload to `out`, adding them to `sum`
    /// if there is one.
    fn take_payload(&mut self, out: &mut [u8], pool: &mut Pool, mut sum: Option<&mut Checksum>) {
        let start = self.payload.start();
        let mut filled = 0;
        for slice in self.payload.slices(pool, start..start + out.len() as u64) {
            let place = &mut out[filled..filled + slice.len()];
            match &mut sum {
                Some(sum) => sum.copy(place, slice),
                None => place.copy_from_slice(slice),
            }
            filled += slice.len();
        }
        self.payload.advance(pool, out.len() as u64);
    }

    /// Drops every datagram.
    #[cfg(feature = "udp")]
    pub(crate) fn clear(&mut self, pool: &mut Pool) {
        self.payload.release(pool);
        self.datagrams.clear();
        self.fragmenting = None;
    }
}
