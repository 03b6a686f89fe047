//! What happened, counted: the standard MIB names, and every reason for which
//! something went no further.
//!
//! Rule: whoever discards names the reason, once, with [`Counters::discard`];
//! the MIB counters that the reason belongs to follow from it here, so the two
//! can never disagree. TCP's own counters live in `fullpipe-tcp`.

use core::fmt;

pub use fullpipe_tcp::{DiscardReason, Discards, TcpCounters};
use fullpipe_wire::Ecn;

#[cfg(test)]
mod tests;

fullpipe_pool::counters! {
    /// The MIB counters of the layers below TCP. Each only grows.
    pub struct MibCounters {
        /// IP packets received, errors included. RFC 4293.
        ip_in_receives: "IpInReceives",
        /// Packets dropped for a fault in their IP header.
        ip_in_hdr_errors: "IpInHdrErrors",
        /// Packets dropped because of an address in their header.
        ip_in_addr_errors: "IpInAddrErrors",
        /// Packets for us whose protocol we do not speak.
        ip_in_unknown_protos: "IpInUnknownProtos",
        /// Sound packets dropped for want of memory.
        ip_in_discards: "IpInDiscards",
        /// Datagrams handed to a protocol, after reassembly.
        ip_in_delivers: "IpInDelivers",
        /// Datagrams that protocols asked to send, before fragmentation.
        ip_out_requests: "IpOutRequests",
        /// Packets to be sent that were dropped with nothing wrong in them.
        ip_out_discards: "IpOutDiscards",
        /// Packets to be sent for which no route was found.
        ip_out_no_routes: "IpOutNoRoutes",
        /// Reassemblies given up for time.
        ip_reasm_timeout: "IpReasmTimeout",
        /// Fragments received.
        ip_reasm_reqds: "IpReasmReqds",
        /// Datagrams put together from fragments.
        ip_reasm_oks: "IpReasmOKs",
        /// Times that reassembly failed, for whatever reason.
        ip_reasm_fails: "IpReasmFails",
        /// Datagrams cut into fragments.
        ip_frag_oks: "IpFragOKs",
        /// Fragments made.
        ip_frag_creates: "IpFragCreates",
        /// Bytes of IP packets received, IP headers included.
        ip_ext_in_octets: "IpExtInOctets",
        /// Bytes of IP packets sent, IP headers included.
        ip_ext_out_octets: "IpExtOutOctets",
        /// Broadcast packets received.
        ip_ext_in_bcast_pkts: "IpExtInBcastPkts",
        /// IP packets received that take no part in congestion notification.
        ip_ext_in_no_ect_pkts: "IpExtInNoECTPkts",
        /// IP packets received with ECT(1).
        ip_ext_in_ect1_pkts: "IpExtInECT1Pkts",
        /// IP packets received with ECT(0).
        ip_ext_in_ect0_pkts: "IpExtInECT0Pkts",
        /// IP packets received that a router marked. RFC 3168.
        ip_ext_in_ce_pkts: "IpExtInCEPkts",
        /// ICMP messages received, errors included. RFC 4293.
        icmp_in_msgs: "IcmpInMsgs",
        /// ICMP messages dropped for a fault in them.
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
        /// Messages not sent because of the rate limit.
        icmp_out_rate_limit_global: "IcmpOutRateLimitGlobal",
        /// UDP datagrams put into a socket's queue. RFC 4113.
        udp_in_datagrams: "UdpInDatagrams",
        /// UDP datagrams for a port that nobody is bound to.
        udp_no_ports: "UdpNoPorts",
        /// UDP datagrams dropped for any other reason.
        udp_in_errors: "UdpInErrors",
        /// UDP datagrams sent.
        udp_out_datagrams: "UdpOutDatagrams",
        /// UDP datagrams dropped because a socket's queue or the pool was full.
        udp_rcvbuf_errors: "UdpRcvbufErrors",
        /// Times that a UDP socket refused a datagram because its send queue or the pool was full.
        udp_sndbuf_errors: "UdpSndbufErrors",
        /// UDP datagrams with a wrong checksum.
        udp_in_csum_errors: "UdpInCsumErrors",
        /// SYNs and last ACKs dropped because a backlog was full.
        tcp_listen_overflows: "TcpExtListenOverflows",
        /// SYNs and last ACKs dropped by listeners for whatever reason.
        tcp_listen_drops: "TcpExtListenDrops",
        /// SYNs answered with a cookie.
        tcp_syncookies_sent: "TcpExtSyncookiesSent",
        /// Connections that a cookie began.
        tcp_syncookies_recv: "TcpExtSyncookiesRecv",
        /// ACKs to listeners whose cookie is forged or too old.
        tcp_syncookies_failed: "TcpExtSyncookiesFailed",
        /// Connections in TIME-WAIT whose four-tuple began a new one.
        tcp_time_wait_recycled: "TcpExtTWRecycled",
        /// Connections in TIME-WAIT that were forgotten early for want of room.
        tcp_time_wait_overflows: "TcpExtTCPTimeWaitOverflow",
        /// ARP requests received that asked for our address.
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
        /// Why something went no further. Each is a counter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Discard {
            $( $(#[doc = $doc])+ $reason, )+
        }

        impl Discard {
            /// Every reason, in declaration order.
            pub const ALL: &'static [Self] = &[$( Self::$reason, )+];

            /// The counter's name.
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
    /// A frame carries neither IPv4 nor ARP.
    FrameUnknownType,
    /// An ARP packet is not Ethernet/IPv4, or too short. RFC 826.
    ArpMalformed,
    /// An ARP sender address that no station can have.
    ArpBadSender,
    /// An ARP sender outside our prefix.
    ArpOffLink,
    /// Somebody else claims our address. RFC 5227.
    ArpConflict,
    /// Not about us and not about anybody we know.
    ArpNotForUs,
    /// No entry could be given up for a sender we never asked for.
    ArpTableFull,
    /// More replies are due than `arp.replies`.
    ArpReplyQueueFull,
    /// A waiting packet made room for a newer one. RFC 1122 §2.3.2.2.
    ArpWaitQueueFull,
    /// The pool had no block for a packet that waits for a neighbour.
    ArpWaitNoMemory,
    /// A packet waited for a neighbour that never answered.
    ArpUnresolved,
    /// A packet to a neighbour that did not answer a moment ago.
    NeighbourUnreachable,
    /// A packet is shorter than its IP header says.
    IpTruncated,
    /// The IP version is not the one that the link header promised.
    IpBadVersion,
    /// The IP header's length field is below its minimum.
    IpBadHeaderLength,
    /// The IP total length is below the header's length.
    IpBadLength,
    /// The IP header checksum is wrong.
    IpBadChecksum,
    /// A source address that no host can have, or our own. RFC 1122 §3.2.1.3.
    IpBadSource,
    /// A destination that is not ours.
    IpNotForUs,
    /// For us alone, in a frame for every station. RFC 1122 §3.3.6.
    IpUnicastInBroadcast,
    /// A protocol that we do not speak.
    IpUnknownProtocol,
    /// No route leads to the destination.
    IpNoRoute,
    /// A fragment with data after it is no multiple of 8 bytes, or holds nothing.
    FragmentMisaligned,
    /// A fragment reaches beyond the largest datagram that is put together.
    FragmentTooLong,
    /// A fragment disagrees with bytes already there. RFC 5722.
    FragmentOverlap,
    /// Two fragments disagree about the datagram's length.
    FragmentBadEnd,
    /// A fragment of a datagram that was already given up.
    FragmentOfGivenUp,
    /// Congestion marks and their absence in one datagram. RFC 3168 §5.3.
    FragmentMixedEcn,
    /// A datagram was given up so that a newer one finds room.
    FragmentEvicted,
    /// A datagram in more pieces than `ip.reassembly_pieces`.
    FragmentTooManyPieces,
    /// No block, or no range, for a fragment.
    FragmentNoMemory,
    /// A datagram was given up because its fragments did not arrive in time.
    FragmentTimeout,
    /// An ICMP message is shorter than its header.
    IcmpTruncated,
    /// An ICMP checksum is wrong.
    IcmpBadChecksum,
    /// A kind of ICMP message that nobody here waits for.
    IcmpUnwanted,
    /// An echo request to more than one host. RFC 1122 §3.2.2.6.
    IcmpEchoBroadcast,
    /// More echo replies are due than memory was set aside for.
    IcmpEchoQueueFull,
    /// An ICMP error quotes something that is no packet.
    IcmpQuoteMalformed,
    /// An ICMP error quotes a packet that we cannot have sent.
    IcmpQuoteNotOurs,
    /// An ICMP error quotes a packet of no open socket or connection.
    IcmpQuoteUnmatched,
    /// More ICMP errors are due than `icmp.errors`.
    IcmpErrorQueueFull,
    /// An ICMP error was not sent because of its rate limit. RFC 1812 §4.3.2.8.
    IcmpErrorRateLimited,
    /// A UDP datagram is shorter than its header, or than its length field says.
    UdpMalformed,
    /// A UDP checksum is wrong.
    UdpBadChecksum,
    /// Nobody is bound to the UDP port.
    UdpNoPort,
    /// The socket's receive queue is full.
    UdpQueueFull,
    /// The pool had no block for a UDP datagram.
    UdpNoMemory,
    /// A TCP segment is shorter than its header, or has no port.
    TcpMalformed,
    /// A TCP checksum is wrong.
    TcpBadChecksum,
    /// A TCP segment to more than one host. RFC 9293 §3.9.2.3.
    TcpBroadcast,
    /// No connection has this four-tuple, and nobody listens; answered with a
    /// reset unless it was one.
    TcpNoConnection,
    /// The same, but more resets are due than memory was set aside for.
    TcpResetQueueFull,
    /// The same, but the rate limit of resets is used up.
    TcpResetRateLimited,
    /// A segment to a listener that begins nothing. RFC 9293 §3.10.7.2.
    TcpUselessInListen,
    /// A segment to a handshake under way that neither completes nor ends it.
    TcpUselessInHandshake,
    /// A SYN, or the ACK that completes a handshake, while `backlog` connections
    /// wait to be accepted.
    TcpBacklogFull,
    /// A SYN while `stack.half_open` handshakes are under way, or
    /// `stack.half_open_per_source` of its sender, and answers with a cookie are off, or more of them wait than memory was set aside for.
    TcpHalfOpenFull,
    /// The ACK that completes a handshake, while every connection is in use.
    TcpConnectionsFull,
    /// A SYN, or the ACK that completes a handshake, but memory cannot back its
    /// window.
    TcpNoMemory,
    /// An old segment to a connection in TIME-WAIT.
    TcpOldInTimeWait,
}

/// Everything that is counted below TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// The counters that have standard names.
    pub mib: MibCounters,
    discards: [u64; Discard::ALL.len()],
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
    /// Counts one discard, and what the MIBs call it.
    pub fn discard(&mut self, reason: Discard) {
        self.discards[reason as usize] += 1;
        for counter in self.mib.of(reason).into_iter().flatten() {
            *counter += 1;
        }
    }

    /// How often something went no further for `reason`.
    pub const fn discarded(&self, reason: Discard) -> u64 {
        self.discards[reason as usize]
    }

    /// Every reason and how often it occurred, in a fixed order.
    pub fn discards(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Discard::ALL
            .iter()
            .map(|reason| (reason.name(), self.discarded(*reason)))
    }

    /// Every counter: those with standard names, then the discards.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.mib.iter().chain(self.discards())
    }
}

impl MibCounters {
    /// The counter of packets received with this codepoint.
    pub(crate) fn received_with(&mut self, ecn: Ecn) -> &mut u64 {
        match ecn {
            Ecn::NotEct => &mut self.ip_ext_in_no_ect_pkts,
            Ecn::Ect1 => &mut self.ip_ext_in_ect1_pkts,
            Ecn::Ect0 => &mut self.ip_ext_in_ect0_pkts,
            Ecn::Ce => &mut self.ip_ext_in_ce_pkts,
        }
    }

    /// The counters that a discard belongs to.
    fn of(&mut self, reason: Discard) -> [Option<&mut u64>; 2] {
        use Discard::*;
        match reason {
            // Below IP the MIBs have no counters.
            FrameTruncated | FrameNotForUs | FrameUnknownType | ArpMalformed | ArpBadSender
            | ArpOffLink | ArpConflict | ArpNotForUs | ArpTableFull | ArpReplyQueueFull => {
                [None, None]
            }
            ArpWaitQueueFull | ArpWaitNoMemory | ArpUnresolved | NeighbourUnreachable => {
                [Some(&mut self.ip_out_discards), None]
            }
            IpTruncated | IpBadVersion | IpBadHeaderLength | IpBadLength | IpBadChecksum => {
                [Some(&mut self.ip_in_hdr_errors), None]
            }
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
            IcmpEchoQueueFull => [Some(&mut self.ip_in_discards), None],
            IcmpErrorRateLimited => [Some(&mut self.icmp_out_rate_limit_global), None],
            UdpMalformed => [Some(&mut self.udp_in_errors), None],
            UdpBadChecksum => two(&mut self.udp_in_errors, &mut self.udp_in_csum_errors),
            UdpNoPort => [Some(&mut self.udp_no_ports), None],
            TcpBacklogFull => two(&mut self.tcp_listen_overflows, &mut self.tcp_listen_drops),
            TcpHalfOpenFull | TcpConnectionsFull | TcpNoMemory => {
                [Some(&mut self.tcp_listen_drops), None]
            }
            // Sound messages that we choose not to answer; and what TCP's own
            // counters have, or have no name for.
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

/// Two counters that a discard belongs to.
fn two<'a>(one: &'a mut u64, other: &'a mut u64) -> [Option<&'a mut u64>; 2] {
    [Some(one), Some(other)]
}
