//! Unreachable messages: for UDP datagrams to a port without a socket, and for
//! packets of an unknown protocol. RFC 1122 §3.2.2.1, §4.1.3.1.
//!
//! Rule: no error is sent about a broadcast, about a fragment other than the first, or about an
//! error (RFC 1812 §4.3.2.7). A rate limit for each destination (`source_limit`) bounds the number
//! of errors. The queue keeps the 28 bytes that an error quotes and takes no block of the pool.

#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use core::net::{IpAddr, SocketAddr};

use fullpipe_pool::Instant;
use fullpipe_wire::{
    Checksum, Ecn, Icmpv4Message, Ipv4Header, MacAddress, Protocol, UnreachableCode,
};

use crate::{
    config::IcmpConfig,
    counters::{Counters, Discard},
    device::TxChecksum,
    ip::{BuiltPacket, IpHeader, IpSender, Outgoing, Packet},
    secret::Secret,
    source_limit::{Rates, SourceLimit},
};

/// Length of a quotation: the IP header and the eight bytes behind it. RFC 792.
const QUOTED: usize = Ipv4Header::LEN + 8;

#[derive(Clone, Copy, Debug)]
struct UnreachableError {
    src: IpAddr,
    dst: IpAddr,
    /// The station to answer; `None` if it is not known.
    station: Option<MacAddress>,
    code: UnreachableCode,
    quoted: [u8; QUOTED],
    /// Bytes of `quoted` in use; a short packet has fewer than [`QUOTED`].
    quoted_len: usize,
}

/// A packet that the application refuses. The stack no longer has the packet; the ICMP message quotes
/// only the fields by which the packet's sender finds its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefusedPacket {
    /// Protocol of the packet.
    pub(crate) protocol: Protocol,
    /// Source of the packet.
    pub(crate) from: SocketAddr,
    /// Destination of the packet.
    pub(crate) to: SocketAddr,
    /// The four bytes after the ports: the sequence number of TCP, length and checksum of UDP.
    pub(crate) third_word: u32,
    /// Source MAC address of the packet's frame, if it is known.
    pub(crate) station: Option<MacAddress>,
}

/// Unreachable messages that wait to be sent.
#[derive(Debug)]
pub(crate) struct ErrorQueue {
    waiting: VecDeque<UnreachableError>,
    most: usize,
    limit: SourceLimit,
}

impl ErrorQueue {
    /// Returns an empty queue of the size in `config`.
    pub(crate) fn new(config: &IcmpConfig, secret: &Secret) -> Self {
        let most = config.errors as usize;
        let rates = Rates {
            per_second: config.errors_per_second,
            per_source: config.errors_per_source,
            burst: config.errors_burst,
        };
        Self {
            waiting: VecDeque::with_capacity(most),
            most,
            limit: SourceLimit::new(rates, secret),
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<UnreachableError>() + self.limit.heap_bytes()
    }

    /// Queues a message with `code` about `packet`, which is a whole packet or a first fragment.
    /// Queues nothing if a standard forbids the message, or if the queue or the rate limit refuses
    /// it.
    pub(crate) fn report(
        &mut self,
        packet: &Packet<'_>,
        code: UnreachableCode,
        now: Instant,
        counters: &mut Counters,
    ) {
        if packet.broadcast {
            return;
        }
        if !self.admits(packet.src(), now, counters) {
            return;
        }
        let mut quoted = [0; QUOTED];
        match packet.header {
            IpHeader::V4(header) => header.write(&mut quoted),
        }
        let body = &packet.payload[..packet.payload.len().min(QUOTED - Ipv4Header::LEN)];
        let quoted_len = Ipv4Header::LEN + body.len();
        quoted[Ipv4Header::LEN..quoted_len].copy_from_slice(body);
        self.waiting.push_back(UnreachableError {
            src: packet.dst(),
            dst: packet.src(),
            station: Some(packet.station),
            code,
            quoted,
            quoted_len,
        });
    }

    /// Queues a message with `code` about a packet that the application refuses.
    pub(crate) fn report_refused(
        &mut self,
        packet: &RefusedPacket,
        code: UnreachableCode,
        now: Instant,
        counters: &mut Counters,
    ) {
        let &RefusedPacket {
            protocol,
            from,
            to,
            third_word,
            station,
        } = packet;
        let (IpAddr::V4(src), IpAddr::V4(dst)) = (from.ip(), to.ip()) else {
            return;
        };
        if !self.admits(src.into(), now, counters) {
            return;
        }
        let mut quoted = [0; QUOTED];
        Ipv4Header::new(src, dst, protocol, 8).write(&mut quoted);
        let body = &mut quoted[Ipv4Header::LEN..];
        body[..2].copy_from_slice(&from.port().to_be_bytes());
        body[2..4].copy_from_slice(&to.port().to_be_bytes());
        body[4..].copy_from_slice(&third_word.to_be_bytes());
        self.waiting.push_back(UnreachableError {
            src: dst.into(),
            dst: src.into(),
            station,
            code,
            quoted,
            quoted_len: QUOTED,
        });
    }

    /// Returns true if the queue and the rate limit admit a message to `dst`; counts a refusal.
    fn admits(&mut self, dst: IpAddr, now: Instant, counters: &mut Counters) -> bool {
        if self.most == 0 || !self.limit.has_luck(self.waiting.len(), self.most) {
            counters.discard(Discard::IcmpErrorQueueFull);
            return false;
        }
        let is_allowed = self.limit.allow(dst, now);
        if !is_allowed {
            counters.discard(Discard::IcmpErrorRateLimited);
        }
        is_allowed
    }

    /// Returns true if a message waits.
    pub(crate) fn wants_output(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Writes the next message to the start of `packet`, which has at least 56
    /// bytes.
    pub(crate) fn poll_packet(
        &mut self,
        sender: &mut IpSender,
        packet: &mut [u8],
        counters: &mut Counters,
    ) -> Option<BuiltPacket> {
        let error = self.waiting.pop_front()?;
        let outgoing = Outgoing {
            src: error.src,
            dst: error.dst,
            protocol: Protocol::Icmp,
            payload_len: Icmpv4Message::LEN + error.quoted_len,
            ecn: Ecn::NotEct,
            dont_fragment: false,
        };
        let message = Icmpv4Message::Unreachable {
            code: error.code,
            next_hop_mtu: 0,
        };
        let body = &mut packet[IpSender::header_len(error.dst)..];
        let (head, quoted) = body.split_at_mut(Icmpv4Message::LEN);
        let quotation = &error.quoted[..error.quoted_len];
        quoted[..quotation.len()].copy_from_slice(quotation);
        message.write(head, Checksum::of(quotation));
        counters.mib.icmp_out_msgs += 1;
        counters.mib.icmp_out_dest_unreachs += 1;
        let len = sender.write_header(packet, &outgoing, counters);
        Some(BuiltPacket {
            len,
            dst: error.dst,
            answers: error.station,
            checksum: TxChecksum::Complete,
        })
    }
}
