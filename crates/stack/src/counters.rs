//! Counters: standard MIB names, and one counter for each reason to discard.
//!
//! Rule: each discard is counted once, by its reason, with [`Counters::discard`]. This file derives
//! the MIB counters from the reason, so the two cannot disagree. The counters of connections are
//! [`TcpCounters`] and [`Discards`].

use core::fmt;

use fullpipe_pool::Count;
pub use fullpipe_tcp::{DiscardReason, Discards, TcpCounters};
use fullpipe_wire::Ecn;

#[cfg(test)]
mod tests;

fullpipe_pool::counters! {
    /// The MIB counters of the layers below TCP. No counter ever decreases.
    pub struct MibCounters {
        /// IP packets received, errors included. RFC 4293.
        ip_in_receives: "IpInReceives",
        /// Packets dropped for a fault in their IP header.
        ip_in_hdr_errors: "IpInHdrErrors",
        /// Packets dropped because of an address in their header.
        ip_in_addr_errors: "IpInAddrErrors",
        /// Packets for this host with an unsupported protocol.
        ip_in_unknown_protos: "IpInUnknownProtos",
        /// Valid packets dropped: the queue of echo replies was full, or they carry a
        /// source route.
        ip_in_discards: "IpInDiscards",
        /// Datagrams handed to a protocol, after reassembly.
        ip_in_delivers: "IpInDelivers",
        /// Datagrams that protocols sent, before fragmentation.
        ip_out_requests: "IpOutRequests",
        /// Valid outgoing packets that were dropped.
        ip_out_discards: "IpOutDiscards",
        /// Outgoing packets dropped because no route was found.
        ip_out_no_routes: "IpOutNoRoutes",
        /// Reassemblies that timed out.
        ip_reasm_timeout: "IpReasmTimeout",
        /// Fragments received.
        ip_reasm_reqds: "IpReasmReqds",
        /// Datagrams reassembled.
        ip_reasm_oks: "IpReasmOKs",
        /// Failures of reassembly: datagrams dropped, and fragments discarded.
        ip_reasm_fails: "IpReasmFails",
        /// Datagrams fragmented.
        ip_frag_oks: "IpFragOKs",
        /// Fragments sent.
        ip_frag_creates: "IpFragCreates",
        /// Bytes of IP packets received, IP headers included.
        ip_ext_in_octets: "IpExtInOctets",
        /// Bytes of IP packets sent, IP headers included.
        ip_ext_out_octets: "IpExtOutOctets",
        /// Broadcast packets received.
        ip_ext_in_bcast_pkts: "IpExtInBcastPkts",
        /// IP packets received with Not-ECT.
        ip_ext_in_no_ect_pkts: "IpExtInNoECTPkts",
        /// IP packets received with ECT(1).
        ip_ext_in_ect1_pkts: "IpExtInECT1Pkts",
        /// IP packets received with ECT(0).
        ip_ext_in_ect0_pkts: "IpExtInECT0Pkts",
        /// IP packets received with CE: marked by a router. RFC 3168.
        ip_ext_in_ce_pkts: "IpExtInCEPkts",
        /// ICMP messages received, errors included. RFC 4293.
        icmp_in_msgs: "IcmpInMsgs",
        /// ICMP messages dropped: malformed, with a wrong checksum, or quoting a packet of
        /// another host or of no open socket.
        icmp_in_errors: "IcmpInErrors",
        /// ICMP messages with a wrong checksum.
        icmp_in_csum_errors: "IcmpInCsumErrors",
        /// Destination Unreachable received.
        icmp_in_dest_unreachs: "IcmpInDestUnreachs",
        /// Time Exceeded received.
        icmp_in_time_excds: "IcmpInTimeExcds",
        /// Echo requests received.
        icmp_in_echos: "IcmpInEchos",
        /// Echo replies received.
        icmp_in_echo_reps: "IcmpInEchoReps",
        /// ICMP messages sent.
        icmp_out_msgs: "IcmpOutMsgs",
        /// Destination Unreachable sent.
        icmp_out_dest_unreachs: "IcmpOutDestUnreachs",
        /// Echo replies sent.
        icmp_out_echo_reps: "IcmpOutEchoReps",
        /// ICMP messages not sent because of the rate limit.
        icmp_out_rate_limit_global: "IcmpOutRateLimitGlobal",
        /// UDP datagrams queued at a socket. RFC 4113.
        udp_in_datagrams: "UdpInDatagrams",
        /// UDP datagrams for a port without a socket.
        udp_no_ports: "UdpNoPorts",
        /// UDP datagrams dropped for any other reason.
        udp_in_errors: "UdpInErrors",
        /// UDP datagrams sent.
        udp_out_datagrams: "UdpOutDatagrams",
        /// UDP datagrams dropped because a socket's queue or the pool was full.
        udp_rcvbuf_errors: "UdpRcvbufErrors",
        /// UDP datagrams refused because a socket's send queue or the pool was full.
        udp_sndbuf_errors: "UdpSndbufErrors",
        /// UDP datagrams with a wrong checksum.
        udp_in_csum_errors: "UdpInCsumErrors",
        /// SYNs and last ACKs dropped because a backlog was full.
        tcp_listen_overflows: "TcpExtListenOverflows",
        /// SYNs and last ACKs dropped by listeners, for any reason.
        tcp_listen_drops: "TcpExtListenDrops",
        /// SYNs answered with a cookie.
        tcp_syncookies_sent: "TcpExtSyncookiesSent",
        /// Connections opened by an ACK with a valid cookie.
        tcp_syncookies_recv: "TcpExtSyncookiesRecv",
        /// ACKs to listeners with an invalid or expired cookie.
        tcp_syncookies_failed: "TcpExtSyncookiesFailed",
        /// Connections in TIME-WAIT replaced by a new one with the same four-tuple.
        tcp_time_wait_recycled: "TcpExtTWRecycled",
        /// Connections in TIME-WAIT forgotten early because the table was full.
        tcp_time_wait_overflows: "TcpExtTCPTimeWaitOverflow",
        /// ARP requests received for this host's address.
        arp_in_requests: "ArpInRequests",
        /// ARP replies received.
        arp_in_replies: "ArpInReplies",
        /// ARP requests sent.
        arp_out_requests: "ArpOutRequests",
        /// ARP replies sent.
        arp_out_replies: "ArpOutReplies",
    }
}

/// Declares the discard reasons and their names.
macro_rules! discards {
    ($( $(#[doc = $doc:literal])+ $reason:ident, )+) => {
        /// The reason that a frame, packet or segment was discarded. Each reason is a counter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Discard {
            $( $(#[doc = $doc])+ $reason, )+
        }

        impl Discard {
            /// Every reason, in declaration order.
            pub const ALL: &'static [Self] = &[$( Self::$reason, )+];

            /// Returns the counter's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$reason => stringify!($reason), )+
                }
            }
        }
    };
}

impl fmt::Display for Discard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

discards! {
    /// A frame is shorter than its link header.
    FrameTruncated,
    /// A frame is addressed to another station.
    FrameNotForUs,
    /// The source address of a frame is a group address, unspecified, or this host's own.
    FrameBadSource,
    /// A frame carries neither IPv4 nor ARP, nor IPv6 for a host that has an IPv6 address.
    FrameUnknownType,
    /// An ARP packet is not Ethernet/IPv4, or too short. RFC 826.
    ArpMalformed,
    /// A sender address of an ARP packet, MAC or IP, cannot belong to one other host.
    ArpBadSender,
    /// An ARP sender is outside the local network.
    ArpOffLink,
    /// Another station claims this host's address. RFC 5227, RFC 4862 §5.4.
    ArpConflict,
    /// An ARP packet is neither for this host nor from a known neighbour; or a neighbour
    /// solicitation or advertisement is about an unknown address.
    ArpNotForUs,
    /// The neighbour cache had no room for the sender of an unsolicited ARP packet. A request is
    /// answered nevertheless.
    ArpTableFull,
    /// The queue of ARP replies is full (knob `arp.replies`).
    ArpReplyQueueFull,
    /// A message of neighbour discovery is malformed, may have been forwarded by a router, or
    /// breaks another rule of RFC 4861 §7.1.
    NdInvalid,
    /// Another host has the IPv6 address that this host was to use, or asks about it at the same
    /// time, so the address is not used. RFC 4862 §5.4.
    NdDuplicate,
    /// A router announced more routers, prefixes or DNS servers than this host keeps.
    RaTableFull,
    /// A packet waiting for ARP was dropped for a newer one. RFC 1122 §2.3.2.2.
    ArpWaitQueueFull,
    /// The pool had no block for a packet waiting for ARP.
    ArpWaitNoMemory,
    /// A packet that waited for ARP was dropped because the neighbour did not reply.
    ArpUnresolved,
    /// A datagram went to an unknown neighbour while the limit of unresolved neighbours was
    /// reached: half of `arp.entries` for all packets, a quarter for datagrams.
    NeighbourNoRoom,
    /// A packet went to a neighbour that ARP found unreachable.
    NeighbourUnreachable,
    /// A packet is shorter than its IP header says.
    IpTruncated,
    /// The IP version differs from the frame's EtherType, or it is 6 and this host has no IPv6
    /// address.
    IpBadVersion,
    /// The IP header's length field is below its minimum.
    IpBadHeaderLength,
    /// The IP total length is below the header's length.
    IpBadLength,
    /// The IP header checksum is wrong.
    IpBadChecksum,
    /// The source address cannot belong to a single other host. RFC 1122 §3.2.1.3.
    IpBadSource,
    /// An IP option's length contradicts the header's. RFC 791 §3.1.
    IpBadOption,
    /// The packet carries a source route. RFC 7126 §4.3, §4.4.
    IpSourceRoute,
    /// An IPv6 extension header is malformed, has an unknown option that forbids the packet, or is
    /// one of too many. RFC 8200 §4.
    IpExtensionHeader,
    /// The destination is not an address of this host.
    IpNotForUs,
    /// A packet addressed to this host alone arrived in a broadcast frame. RFC 1122
    /// §3.3.6.
    IpUnicastInBroadcast,
    /// The protocol is not supported.
    IpUnknownProtocol,
    /// No route leads to the destination.
    IpNoRoute,
    /// A fragment is empty, or it is not the last one and its length is no multiple of 8 bytes.
    FragmentMisaligned,
    /// A fragment reaches beyond `ip.reassembly_largest`.
    FragmentTooLong,
    /// A fragment overlaps bytes received before and does not repeat them. RFC 5722.
    FragmentOverlap,
    /// Two fragments disagree about the length of the datagram.
    FragmentBadEnd,
    /// A fragment belongs to a datagram that was dropped before.
    FragmentOfGivenUp,
    /// One fragment of a datagram carries CE and another Not-ECT. RFC 3168 §5.3.
    FragmentMixedEcn,
    /// A datagram in reassembly was dropped for a newer one.
    FragmentEvicted,
    /// A datagram has more separate ranges than `ip.reassembly_pieces`.
    FragmentTooManyPieces,
    /// No block or no range was left for a fragment.
    FragmentNoMemory,
    /// A datagram in reassembly timed out.
    FragmentTimeout,
    /// An ICMP message is shorter than its header.
    IcmpTruncated,
    /// An ICMP checksum is wrong.
    IcmpBadChecksum,
    /// An ICMP message has a type that this host does not use, or is an error that quotes neither
    /// TCP nor UDP.
    IcmpUnwanted,
    /// An echo request was addressed to more than one host. RFC 1122 §3.2.2.6.
    IcmpEchoBroadcast,
    /// The queue of echo replies is full.
    IcmpEchoQueueFull,
    /// An ICMP error quotes a malformed packet.
    IcmpQuoteMalformed,
    /// An ICMP error quotes a packet that another host sent.
    IcmpQuoteNotOurs,
    /// An ICMP error quotes a packet of no open socket or connection.
    IcmpQuoteUnmatched,
    /// The queue of ICMP errors is full (knob `icmp.errors`).
    IcmpErrorQueueFull,
    /// An ICMP error was not sent because of the rate limit. RFC 1812 §4.3.2.8.
    IcmpErrorRateLimited,
    /// A UDP datagram is shorter than its header, or than its length field says.
    UdpMalformed,
    /// A UDP checksum is wrong.
    UdpBadChecksum,
    /// No socket is bound to the UDP port.
    UdpNoPort,
    /// The socket's receive queue is full.
    UdpQueueFull,
    /// The pool had no block for a UDP datagram.
    UdpNoMemory,
    /// A TCP segment is shorter than its header, or has no port.
    TcpMalformed,
    /// A TCP checksum is wrong.
    TcpBadChecksum,
    /// A TCP segment was addressed to more than one host. RFC 9293 §3.9.2.3.
    TcpBroadcast,
    /// No connection has this four-tuple and no listener has its port. The segment is answered
    /// with a reset, unless it is a reset itself.
    TcpNoConnection,
    /// As `TcpNoConnection`, but the queue of resets is full and no reset is sent.
    TcpResetQueueFull,
    /// As `TcpNoConnection`, but the rate limit of resets is reached and no reset is
    /// sent.
    TcpResetRateLimited,
    /// A listener received a segment that is neither a SYN nor an ACK with a cookie. RFC 9293
    /// §3.10.7.2.
    TcpUselessInListen,
    /// A segment of a handshake in progress neither completes nor ends the handshake.
    TcpUselessInHandshake,
    /// A SYN, or the last ACK of a handshake, arrived while `backlog` connections waited to be
    /// accepted.
    TcpBacklogFull,
    /// A SYN arrived while `stack.half_open` handshakes, or `stack.half_open_per_source`
    /// handshakes of its sender, were in progress, and no cookie was sent.
    TcpHalfOpenFull,
    /// The last ACK of a handshake arrived while `stack.connections` connections were open.
    TcpConnectionsFull,
    /// A SYN, or the last ACK of a handshake, arrived while packet memory could not back the
    /// window of its connection.
    TcpNoMemory,
    /// A connection in TIME-WAIT received an old segment.
    TcpOldInTimeWait,
}

/// The counters of the layers below TCP and of demultiplexing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Counters with standard names.
    pub mib: MibCounters,
    discards: [Count; Discard::ALL.len()],
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            mib: MibCounters::default(),
            discards: [0; Discard::ALL.len()],
        }
    }
}

impl Counters {
    /// Counts one discard, also in the MIB counters of its reason.
    pub fn discard(&mut self, reason: Discard) {
        self.discards[reason as usize] += 1;
        for counter in self.mib.of(reason).into_iter().flatten() {
            *counter += 1;
        }
    }

    /// Returns the number of discards for `reason`.
    // `Count` has 32 bits on smaller machines.
    #[allow(clippy::unnecessary_cast)]
    pub const fn discarded(&self, reason: Discard) -> u64 {
        self.discards[reason as usize] as u64
    }

    /// Returns every reason with its count, in a fixed order.
    pub fn discards(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Discard::ALL
            .iter()
            .map(|reason| (reason.name(), self.discarded(*reason)))
    }

    /// Returns every counter: those with standard names, then the discards.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.mib.iter().chain(self.discards())
    }
}

impl MibCounters {
    /// Returns the counter of packets received with this codepoint.
    pub(crate) fn received_with(&mut self, ecn: Ecn) -> &mut Count {
        match ecn {
            Ecn::NotEct => &mut self.ip_ext_in_no_ect_pkts,
            Ecn::Ect1 => &mut self.ip_ext_in_ect1_pkts,
            Ecn::Ect0 => &mut self.ip_ext_in_ect0_pkts,
            Ecn::Ce => &mut self.ip_ext_in_ce_pkts,
        }
    }

    /// Returns the MIB counters of a discard.
    fn of(&mut self, reason: Discard) -> [Option<&mut Count>; 2] {
        use Discard::*;
        match reason {
            // The MIBs have no counters for the layers below IP.
            FrameTruncated | FrameNotForUs | FrameBadSource | FrameUnknownType | ArpMalformed
            | ArpBadSender | ArpOffLink | ArpConflict | ArpNotForUs | ArpTableFull
            | ArpReplyQueueFull | NdInvalid | NdDuplicate | RaTableFull => [None, None],
            ArpWaitQueueFull | ArpWaitNoMemory | ArpUnresolved | NeighbourNoRoom
            | NeighbourUnreachable => [Some(&mut self.ip_out_discards), None],
            IpTruncated | IpBadVersion | IpBadHeaderLength | IpBadLength | IpBadChecksum
            | IpBadOption | IpExtensionHeader => [Some(&mut self.ip_in_hdr_errors), None],
            IpBadSource | IpNotForUs | IpUnicastInBroadcast => {
                [Some(&mut self.ip_in_addr_errors), None]
            }
            IpUnknownProtocol => [Some(&mut self.ip_in_unknown_protos), None],
            IpNoRoute => [Some(&mut self.ip_out_no_routes), None],
            FragmentTimeout => two(&mut self.ip_reasm_timeout, &mut self.ip_reasm_fails),
            FragmentMisaligned
            | FragmentTooLong
            | FragmentOverlap
            | FragmentBadEnd
            | FragmentOfGivenUp
            | FragmentMixedEcn
            | FragmentEvicted
            | FragmentTooManyPieces
            | FragmentNoMemory => [Some(&mut self.ip_reasm_fails), None],
            IcmpTruncated | IcmpQuoteMalformed | IcmpQuoteNotOurs | IcmpQuoteUnmatched => {
                [Some(&mut self.icmp_in_errors), None]
            }
            IcmpBadChecksum => two(&mut self.icmp_in_errors, &mut self.icmp_in_csum_errors),
            IcmpEchoQueueFull | IpSourceRoute => [Some(&mut self.ip_in_discards), None],
            IcmpErrorRateLimited => [Some(&mut self.icmp_out_rate_limit_global), None],
            UdpMalformed => [Some(&mut self.udp_in_errors), None],
            UdpBadChecksum => two(&mut self.udp_in_errors, &mut self.udp_in_csum_errors),
            UdpNoPort => [Some(&mut self.udp_no_ports), None],
            TcpBacklogFull => two(&mut self.tcp_listen_overflows, &mut self.tcp_listen_drops),
            TcpHalfOpenFull | TcpConnectionsFull | TcpNoMemory => {
                [Some(&mut self.tcp_listen_drops), None]
            }
            // These reasons have no MIB counter in this file. Some discard valid messages that are
            // not answered, TCP's own counters include others, and the MIBs have no name for the
            // rest.
            IcmpUnwanted
            | IcmpEchoBroadcast
            | IcmpErrorQueueFull
            | TcpMalformed
            | TcpBadChecksum
            | TcpBroadcast
            | TcpNoConnection
            | TcpResetQueueFull
            | TcpResetRateLimited
            | TcpUselessInListen
            | TcpUselessInHandshake
            | TcpOldInTimeWait => [None, None],
            UdpQueueFull | UdpNoMemory => two(&mut self.udp_in_errors, &mut self.udp_rcvbuf_errors),
        }
    }
}

/// Returns the two MIB counters of a discard.
fn two<'a>(one: &'a mut Count, other: &'a mut Count) -> [Option<&'a mut Count>; 2] {
    [Some(one), Some(other)]
}
