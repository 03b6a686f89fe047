//! Port-unreachable messages, for UDP datagrams to a port without a socket.
//! RFC 1122 §4.1.3.1.
//!
//! Rule: an error is never sent about a broadcast, about a fragment other than the first,
//! or about an error, and never more often than `icmp.errors_per_second` (RFC 1812
//! §4.3.2.7, §4.3.2.8). The queue keeps the 28 bytes that an error quotes and takes no
//! block of the pool.

#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use core::net::IpAddr;

use fullpipe_pool::Instant;
use fullpipe_wire::{
    Checksum, Ecn, Icmpv4Message, Ipv4Header, MacAddress, Protocol, UnreachableCode,
};

use crate::{
    config::IcmpConfig,
    counters::{Counters, Discard},
    device::TxChecksum,
    ip::{BuiltPacket, IpHeader, IpSender, Outgoing, Packet},
    rate_limit::RateLimit,
};

/// Length of a quotation: the IP header and the eight bytes behind it. RFC 792.
const QUOTED: usize = Ipv4Header::LEN + 8;

#[derive(Clone, Copy, Debug)]
struct PortUnreachable {
    src: IpAddr,
    dst: IpAddr,
    station: MacAddress,
    quoted: [u8; QUOTED],
}

/// Port-unreachable messages that wait to be sent.
#[derive(Debug)]
pub(crate) struct ErrorQueue {
    waiting: VecDeque<PortUnreachable>,
    most: usize,
    limit: RateLimit,
}

impl ErrorQueue {
    /// Returns an empty queue of the size in `config`.
    pub(crate) fn new(config: &IcmpConfig) -> Self {
        let most = config.errors as usize;
        Self {
            waiting: VecDeque::with_capacity(most),
            most,
            limit: RateLimit::new(config.errors_per_second, config.errors),
        }
    }

    /// Queues a port-unreachable message about a UDP datagram, unless a standard
    /// forbids it or a bound is reached.
    pub(crate) fn on_no_port(
        &mut self,
        packet: &Packet<'_>,
        now: Instant,
        counters: &mut Counters,
    ) {
        let Some(first) = packet.payload.first_chunk::<8>() else {
            return;
        };
        if packet.broadcast {
            return;
        }
        if self.waiting.len() == self.most {
            counters.discard(Discard::IcmpErrorQueueFull);
            return;
        }
        if !self.limit.allow(now) {
            counters.discard(Discard::IcmpErrorRateLimited);
            return;
        }
        let mut quoted = [0; QUOTED];
        match packet.header {
            IpHeader::V4(header) => header.write(&mut quoted),
        }
        quoted[Ipv4Header::LEN..].copy_from_slice(first);
        self.waiting.push_back(PortUnreachable {
            src: packet.dst(),
            dst: packet.src(),
            station: packet.station,
            quoted,
        });
    }

    /// Returns whether a message waits.
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
            payload_len: Icmpv4Message::LEN + QUOTED,
            ecn: Ecn::NotEct,
            dont_fragment: false,
        };
        let message = Icmpv4Message::Unreachable {
            code: UnreachableCode::Port,
            next_hop_mtu: 0,
        };
        let body = &mut packet[IpSender::header_len(error.dst)..];
        let (head, quoted) = body.split_at_mut(Icmpv4Message::LEN);
        quoted[..QUOTED].copy_from_slice(&error.quoted);
        message.write(head, Checksum::of(&error.quoted));
        counters.mib.icmp_out_msgs += 1;
        counters.mib.icmp_out_dest_unreachs += 1;
        let len = sender.write_header(packet, &outgoing, counters);
        Some(BuiltPacket {
            len,
            dst: error.dst,
            answers: Some(error.station),
            checksum: TxChecksum::Complete,
        })
    }
}
