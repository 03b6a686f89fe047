//! Draws random headers with any value that a writer accepts.
//!
//! The one rule: drawn headers are in canonical form, so that writing and reading
//! gives back the same value.

use std::net::Ipv4Addr;

use fullpipe_wire::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

pub fn payload() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..400)
}

fn mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

pub fn ethernet() -> impl Strategy<Value = EthernetHeader> {
    let known = prop::sample::select(vec![0x0800, 0x0806, 0x86dd]);
    (mac(), mac(), prop_oneof![known, any::<u16>()]).prop_map(|(dst, src, kind)| EthernetHeader {
        dst,
        src,
        ether_type: kind.into(),
    })
}

pub fn arp() -> impl Strategy<Value = ArpPacket> {
    let operation = prop_oneof![Just(ArpOperation::Request), Just(ArpOperation::Reply)];
    (
        operation,
        mac(),
        any::<Ipv4Addr>(),
        mac(),
        any::<Ipv4Addr>(),
    )
        .prop_map(
            |(operation, sender_mac, sender_ip, target_mac, target_ip)| ArpPacket {
                operation,
                sender_mac,
                sender_ip,
                target_mac,
                target_ip,
            },
        )
}

/// A header for a payload of `payload_len` bytes.
pub fn ipv4(payload_len: usize) -> impl Strategy<Value = Ipv4Header> {
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let last_offset = ((usize::from(u16::MAX) - payload_len) / 8) as u16;
    let fragment = (any::<u16>(), any::<bool>(), any::<bool>(), 0..=last_offset);
    let addresses = (any::<Ipv4Addr>(), any::<Ipv4Addr>());
    (0..64u8, ecn, fragment, any::<u8>(), any::<u8>(), addresses).prop_map(
        move |(dscp, ecn, fragment, ttl, protocol, (src, dst))| {
            let (identification, dont_fragment, more_fragments, offset) = fragment;
            Ipv4Header {
                dscp,
                ecn,
                identification,
                dont_fragment,
                more_fragments,
                fragment_offset: offset * 8,
                ttl,
                ..Ipv4Header::new(src, dst, protocol.into(), payload_len)
            }
        },
    )
}

/// A header and the payload it announces.
pub fn ipv4_with_payload() -> impl Strategy<Value = (Ipv4Header, Vec<u8>)> {
    payload().prop_flat_map(|payload| (ipv4(payload.len()), Just(payload)))
}

pub fn icmpv4() -> impl Strategy<Value = Icmpv4Message> {
    use Icmpv4Message::*;
    let echo = (any::<bool>(), any::<u16>(), any::<u16>()).prop_map(|(asks, ident, seq)| {
        if asks {
            EchoRequest { ident, seq }
        } else {
            EchoReply { ident, seq }
        }
    });
    let unreachable = (any::<u8>(), any::<u16>()).prop_map(|(code, mtu)| {
        let code = UnreachableCode::from(code % 16);
        let needed = code == UnreachableCode::FragmentationNeeded;
        Unreachable {
            code,
            next_hop_mtu: if needed { mtu } else { 0 },
        }
    });
    let time = any::<u8>().prop_map(|code| TimeExceeded { code: code.into() });
    let other = (any::<u8>(), any::<u8>(), any::<[u8; 4]>())
        .prop_filter("has a variant of its own", |(kind, ..)| {
            ![0, 3, 8, 11].contains(kind)
        })
        .prop_map(|(kind, code, rest)| Other { kind, code, rest });
    prop_oneof![echo, unreachable, time, other]
}

/// Options whose SACK blocks fit into one header together with the other options.
pub fn tcp_options() -> impl Strategy<Value = TcpOptions> {
    let timestamps =
        (any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo });
    let sack = vec((any::<u32>(), any::<u32>()), 0..=4);
    let single = (
        option::of(any::<u16>()),
        option::of(any::<u8>()),
        any::<bool>(),
    );
    (single, option::of(timestamps), sack).prop_map(
        |((mss, window_scale, sack_permitted), timestamps, blocks)| {
            let mut options = TcpOptions {
                mss,
                window_scale,
                sack_permitted,
                timestamps,
                sack: SackBlocks::NONE,
            };
            for (left, right) in blocks {
                let before = options.sack;
                options.sack.push(SackBlock { left, right });
                if options.sack_blocks_that_fit() < options.sack.len() {
                    options.sack = before;
                }
            }
            options
        },
    )
}

pub fn tcp() -> impl Strategy<Value = TcpHeader> {
    let numbers = (any::<u16>(), any::<u16>(), any::<u32>(), any::<u32>());
    (
        numbers,
        any::<u16>(),
        any::<u16>(),
        any::<u16>(),
        tcp_options(),
    )
        .prop_map(
            |((src_port, dst_port, seq, ack), flags, window, urgent, options)| TcpHeader {
                src_port,
                dst_port,
                seq,
                ack,
                flags: TcpFlags::from_bits(flags),
                window,
                urgent,
                options,
                options_malformed: false,
            },
        )
}

/// Bytes that resemble a packet: `good` with a few bytes changed and the end cut
/// off or extended.
pub fn mutated(good: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changes = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (good, changes, 0..100usize, 0..100usize).prop_map(|(mut bytes, changes, cut, grow)| {
        for (place, value) in changes {
            if !bytes.is_empty() {
                let place = place.index(bytes.len().min(64));
                bytes[place] = value;
            }
        }
        // Three packets in four are not cut.
        if cut < 25 {
            bytes.truncate(bytes.len().saturating_sub(cut));
        }
        if grow < 25 {
            bytes.resize(bytes.len() + grow, 0xee);
        }
        bytes
    })
}

/// A TCP segment as we write it, checksum included.
pub fn segment(header: &TcpHeader, src: Ipv4Addr, dst: Ipv4Addr, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; header.header_len()];
    header.write(&mut bytes);
    tcp::set_checksum(&mut bytes, src.into(), dst.into(), Checksum::of(data));
    bytes.extend(data);
    bytes
}

/// A UDP datagram as we write it, checksum included.
pub fn datagram(
    (src_port, dst_port): (u16, u16),
    src: Ipv4Addr,
    dst: Ipv4Addr,
    payload: &[u8],
) -> Vec<u8> {
    let len = (UdpHeader::LEN + payload.len()) as u16;
    let mut bytes = vec![0; UdpHeader::LEN];
    UdpHeader {
        src_port,
        dst_port,
        len,
    }
    .write(&mut bytes);
    udp::set_checksum(&mut bytes, src.into(), dst.into(), Checksum::of(payload));
    bytes.extend(payload);
    bytes
}

/// An IPv4 packet as we write it.
pub fn packet(header: &Ipv4Header, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; Ipv4Header::LEN];
    header.write(&mut bytes);
    bytes.extend(payload);
    bytes
}

/// An ICMP message as we write it.
pub fn icmp(message: &Icmpv4Message, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; Icmpv4Message::LEN];
    message.write(&mut bytes, Checksum::of(payload));
    bytes.extend(payload);
    bytes
}
