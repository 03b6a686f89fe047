//! Error messages: for UDP datagrams to a port without a socket, for packets of an unknown
//! protocol, and for IPv6 headers that cannot be processed. RFC 1122 §3.2.2.1, §4.1.3.1, RFC 4443.
//!
//! Rule: no error is sent about a broadcast, about a fragment other than the first, or about an
//! error (RFC 1812 §4.3.2.7). A rate limit for each destination (`source_limit`) bounds the number
//! of errors. An entry has room for the bytes that an error must quote (the IP header and eight bytes,
//! or 96 bytes in a build with IPv6). Further bytes of an IPv6 packet are kept in packet memory, if
//! there is room, so that an error quotes as much as fits 1280 bytes (RFC 4443 §2.4 c).

#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
#[cfg(feature = "ipv6")]
use core::net::Ipv6Addr;
use core::net::{IpAddr, SocketAddr};

#[cfg(feature = "ipv6")]
use fullpipe_pool::{Holder, Stream};
use fullpipe_pool::{Instant, Pool};
use fullpipe_wire::{
    Checksum, Ecn, Icmpv4Message, Ipv4Header, MacAddress, Protocol, UnreachableCode,
};
#[cfg(feature = "ipv6")]
use fullpipe_wire::{Icmpv6Message, Ipv6Header, Unreachable6Code, ipv6::ParameterProblemCode};

use crate::{
    config::IcmpConfig,
    counters::{Counters, Discard},
    device::TxChecksum,
    ip::{BuiltPacket, IpHeader, IpSender, Outgoing, Packet},
    secret::Secret,
    source_limit::{Rates, SourceLimit},
};

/// Length of a quotation of an IPv4 packet: its header and the eight bytes behind it. RFC 792.
const QUOTED: usize = Ipv4Header::LEN + 8;
/// Room for a quotation in an entry. 96 bytes are enough for the sender of an IPv6 packet to find its
/// socket: they contain the headers of IPv6 and of TCP or UDP.
const MOST_QUOTED: usize = if cfg!(feature = "ipv6") { 96 } else { QUOTED };

/// Largest number of bytes that an ICMPv6 error quotes beyond [`MOST_QUOTED`]: the error has at most
/// 1280 bytes. RFC 4443 §2.4 c.
#[cfg(feature = "ipv6")]
const MOST_TAIL: usize = 1280 - Ipv6Header::LEN - Icmpv6Message::LEN - MOST_QUOTED;
/// Largest number of such bytes that wait.
#[cfg(feature = "ipv6")]
const MOST_TAILS: u64 = 8 * MOST_TAIL as u64;

/// The first eight bytes of an ICMP error without the checksum.
#[derive(Clone, Copy, Debug)]
enum Message {
    Unreachable(UnreachableCode),
    #[cfg(feature = "ipv6")]
    V6(Icmpv6Message),
}

#[derive(Clone, Copy, Debug)]
struct QueuedError {
    src: IpAddr,
    dst: IpAddr,
    /// MAC address of the station to answer; `None` if the address is not known.
    station: Option<MacAddress>,
    message: Message,
    quoted: [u8; MOST_QUOTED],
    /// Bytes of `quoted` in use.
    quoted_len: usize,
    /// Further bytes of the quotation, in [`ErrorQueue::tails`].
    #[cfg(feature = "ipv6")]
    tail_len: usize,
}

/// A packet that the application refuses. The stack no longer has the packet, so the ICMP message
/// quotes only the fields by which the packet's sender finds its socket.
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

/// Error messages that wait to be sent.
#[derive(Debug)]
pub(crate) struct ErrorQueue {
    waiting: VecDeque<QueuedError>,
    /// The ends of long quotations, in the order of `waiting`.
    #[cfg(feature = "ipv6")]
    tails: Stream,
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
            #[cfg(feature = "ipv6")]
            tails: Stream::new(Holder::Echo),
            most,
            limit: SourceLimit::new(rates, secret),
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<QueuedError>() + self.limit.heap_bytes()
    }

    /// Queues a message with `code` about `packet`, which is a whole packet or a first fragment.
    /// Queues nothing if a standard forbids the message, or if the queue or the rate limit refuses
    /// it.
    pub(crate) fn report(
        &mut self,
        packet: &Packet<'_>,
        code: UnreachableCode,
        (pool, now): (&mut Pool, Instant),
        counters: &mut Counters,
    ) {
        if packet.broadcast {
            return;
        }
        if !self.admits(packet.src(), now, counters) {
            return;
        }
        let mut quoted = [0; MOST_QUOTED];
        let (message, header_len, most) = match packet.header {
            IpHeader::V4(header) => {
                header.write(&mut quoted);
                (Message::Unreachable(code), Ipv4Header::LEN, QUOTED)
            }
            #[cfg(feature = "ipv6")]
            IpHeader::V6(header) => {
                header.write(&mut quoted);
                (v6_message(code), Ipv6Header::LEN, MOST_QUOTED)
            }
        };
        let body = &packet.payload[..packet.payload.len().min(most - header_len)];
        let quoted_len = header_len + body.len();
        quoted[header_len..quoted_len].copy_from_slice(body);
        #[cfg(feature = "ipv6")]
        let tail_len = match packet.header {
            IpHeader::V4(_) => 0,
            IpHeader::V6(_) => self.keep_tail(&packet.payload[body.len()..], pool),
        };
        #[cfg(not(feature = "ipv6"))]
        let _ = pool;
        self.waiting.push_back(QueuedError {
            src: packet.dst(),
            dst: packet.src(),
            station: Some(packet.station.mac),
            message,
            quoted,
            quoted_len,
            #[cfg(feature = "ipv6")]
            tail_len,
        });
    }

    /// Keeps the end of a quotation, as far as an error may quote it. Returns the number of bytes
    /// kept: 0 if packet memory has no room.
    #[cfg(feature = "ipv6")]
    fn keep_tail(&mut self, tail: &[u8], pool: &mut Pool) -> usize {
        let tail = &tail[..tail.len().min(MOST_TAIL)];
        if self.tails.is_empty() {
            self.tails.restart(0);
        }
        let is_within = self.tails.len() + tail.len() as u64 <= MOST_TAILS;
        match is_within && self.tails.has_append_room(pool, tail.len()) {
            true => self.tails.append(pool, tail),
            false => 0,
        }
    }

    /// Queues a message about the IPv6 packet `original` from `src` to `dst`, because this host
    /// cannot process a field of it. The message states the kind of problem (`code`) and the
    /// field's offset in the packet (`pointer`).
    #[cfg(feature = "ipv6")]
    pub(crate) fn report_problem(
        &mut self,
        (src, dst): (Ipv6Addr, Ipv6Addr),
        station: Option<MacAddress>,
        (code, pointer): (ParameterProblemCode, u32),
        original: &[u8],
        (pool, now): (&mut Pool, Instant),
        counters: &mut Counters,
    ) {
        if !self.admits(src.into(), now, counters) {
            return;
        }
        let quoted_len = original.len().min(MOST_QUOTED);
        let mut quoted = [0; MOST_QUOTED];
        quoted[..quoted_len].copy_from_slice(&original[..quoted_len]);
        let tail_len = self.keep_tail(&original[quoted_len..], pool);
        self.waiting.push_back(QueuedError {
            src: dst.into(),
            dst: src.into(),
            station,
            message: Message::V6(Icmpv6Message::ParameterProblem { code, pointer }),
            quoted,
            quoted_len,
            tail_len,
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
        if !self.admits(from.ip(), now, counters) {
            return;
        }
        let mut quoted = [0; MOST_QUOTED];
        let (message, header_len) = match (from.ip(), to.ip()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                Ipv4Header::new(src, dst, protocol, 8).write(&mut quoted);
                (Message::Unreachable(code), Ipv4Header::LEN)
            }
            #[cfg(feature = "ipv6")]
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                Ipv6Header::new(src, dst, protocol, 8).write(&mut quoted);
                (v6_message(code), Ipv6Header::LEN)
            }
            _ => return,
        };
        let body = &mut quoted[header_len..header_len + 8];
        body[..2].copy_from_slice(&from.port().to_be_bytes());
        body[2..4].copy_from_slice(&to.port().to_be_bytes());
        body[4..].copy_from_slice(&third_word.to_be_bytes());
        self.waiting.push_back(QueuedError {
            src: to.ip(),
            dst: from.ip(),
            station,
            message,
            quoted,
            quoted_len: header_len + 8,
            #[cfg(feature = "ipv6")]
            tail_len: 0,
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

    /// Writes the next message to the start of `packet`, which has at least 68 bytes for IPv4 and
    /// 1280 for IPv6.
    pub(crate) fn poll_packet(
        &mut self,
        sender: &mut IpSender,
        pool: &mut Pool,
        packet: &mut [u8],
        counters: &mut Counters,
    ) -> Option<BuiltPacket> {
        let error = self.waiting.pop_front()?;
        let protocol = match error.message {
            Message::Unreachable(_) => Protocol::Icmp,
            #[cfg(feature = "ipv6")]
            Message::V6(_) => Protocol::Icmpv6,
        };
        #[cfg(feature = "ipv6")]
        let tail_len = error.tail_len;
        #[cfg(not(feature = "ipv6"))]
        let tail_len = 0;
        let outgoing = Outgoing {
            src: error.src,
            dst: error.dst,
            protocol,
            ports: (0, 0),
            payload_len: Icmpv4Message::LEN + error.quoted_len + tail_len,
            ecn: Ecn::NotEct,
            dont_fragment: false,
        };
        let body = &mut packet[IpSender::header_len(error.dst)..];
        let (head, quoted) = body.split_at_mut(Icmpv4Message::LEN);
        let quotation = &error.quoted[..error.quoted_len];
        quoted[..quotation.len()].copy_from_slice(quotation);
        let sum = Checksum::of(quotation);
        #[cfg(feature = "ipv6")]
        let sum = self.take_tail(sum, pool, &mut quoted[quotation.len()..][..tail_len]);
        #[cfg(not(feature = "ipv6"))]
        let _ = pool;
        match error.message {
            Message::Unreachable(code) => Icmpv4Message::Unreachable {
                code,
                next_hop_mtu: 0,
            }
            .write(head, sum),
            #[cfg(feature = "ipv6")]
            Message::V6(message) => {
                if let (IpAddr::V6(src), IpAddr::V6(dst)) = (error.src, error.dst) {
                    message.write(head, (src, dst), sum);
                }
            }
        }
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

#[cfg(feature = "ipv6")]
impl ErrorQueue {
    /// Moves the end of a quotation to `out`. Returns `sum` with its bytes added.
    fn take_tail(&mut self, mut sum: Checksum, pool: &mut Pool, out: &mut [u8]) -> Checksum {
        let taken = self.tails.read_at(pool, self.tails.start(), out);
        debug_assert_eq!(taken, out.len(), "a quotation is shorter than its record");
        sum.add(out);
        self.tails.advance(pool, out.len() as u64);
        sum
    }
}

/// Returns the ICMPv6 error with the meaning of `code`. RFC 4443 §3.1.
#[cfg(feature = "ipv6")]
const fn v6_message(code: UnreachableCode) -> Message {
    let code = match code {
        UnreachableCode::Network => Unreachable6Code::NoRoute,
        UnreachableCode::Port => Unreachable6Code::Port,
        UnreachableCode::Host
        | UnreachableCode::Protocol
        | UnreachableCode::FragmentationNeeded
        | UnreachableCode::SourceRouteFailed
        | UnreachableCode::Other(_) => Unreachable6Code::Address,
    };
    Message::V6(Icmpv6Message::Unreachable { code })
}
