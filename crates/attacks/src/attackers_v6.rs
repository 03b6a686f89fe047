//! Attackers over IPv6, one function for each attack.
//!
//! Rule: as in `attackers`, an attacker only sends packets, and receives only frames for its own
//! address and for multicast groups.

use std::net::Ipv6Addr;

use fullpipe_wire::{
    Icmpv6Message, MacAddress, Protocol, TcpFlags, TcpHeader, TcpOptions, ipv6::FragmentHeader,
    ndp::NeighbourMessage,
};

use super::{
    arena::{Arena, SINK, STRANGER_NUMBER, v6, v6_of},
    attackers::{Attacker, RATE, WINDOW},
    forge_v6::{
        echo_request, fragment, neighbour, redirect, router_advertisement, solicitation, tcp,
    },
};

/// The host under attack.
const HOST: u64 = 1;
/// The client.
const CLIENT: u64 = 2;

/// An unused address of the network.
fn unused_address(arena: &mut Arena) -> Ipv6Addr {
    v6(arena.rng.between(1 << 32, u64::MAX))
}

/// The source of a packet: an unused address if `everywhere`, otherwise the address of the
/// attacker.
fn source(arena: &mut Arena, everywhere: bool) -> Ipv6Addr {
    match everywhere {
        true => unused_address(arena),
        false => v6(STRANGER_NUMBER.into()),
    }
}

/// A link-local address at random.
fn link_local(arena: &mut Arena) -> Ipv6Addr {
    Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(arena.rng.next_u64()))
}

/// SYNs from many addresses, whose handshakes are never completed.
pub fn syn_flood() -> Attacker {
    Box::new(|arena, _| {
        for _ in 0..RATE {
            let src = unused_address(arena);
            let header = TcpHeader {
                src_port: arena.rng.between(1_024, 65_535) as u16,
                dst_port: SINK,
                seq: arena.rng.next_u64() as u32,
                flags: TcpFlags::SYN,
                window: WINDOW,
                options: TcpOptions {
                    mss: Some(1_440),
                    ..TcpOptions::NONE
                },
                ..TcpHeader::default()
            };
            arena.inject_v6(&tcp((src, v6(HOST)), &header));
        }
    })
}

/// Echo requests from many addresses.
pub fn echo_requests() -> Attacker {
    Box::new(|arena, _| {
        for _ in 0..RATE {
            let src = unused_address(arena);
            arena.inject_v6(&echo_request((src, v6(HOST))));
        }
    })
}

/// Neighbour solicitations for the host from many addresses, each with a MAC address of its own.
pub fn solicitations() -> Attacker {
    Box::new(|arena, _| {
        for _ in 0..RATE {
            let src = unused_address(arena);
            let [.., a, b, c, d] = src.octets();
            let mac = MacAddress([2, 1, a, b, c, d]);
            arena.inject_v6(&solicitation((src, v6(HOST)), v6(HOST), mac));
        }
    })
}

/// First fragments whose other fragments never arrive.
pub fn fragments_without_end(everywhere: bool) -> Attacker {
    Box::new(move |arena, tick| {
        for turn in 0..RATE {
            let src = source(arena, everywhere);
            let header = header(tick * RATE + turn, 0);
            arena.inject_v6(&fragment((src, v6(HOST)), header, &[7; 1_448]));
        }
    })
}

/// The header of a fragment that is not the last of its datagram.
const fn header(identification: u32, offset: u16) -> FragmentHeader {
    FragmentHeader {
        next_header: 17,
        offset,
        more: true,
        identification,
    }
}

/// Datagrams in fragments of 8 bytes with holes of 8 bytes between them, 4,000 fragments for each
/// datagram.
pub fn fragments_in_small_pieces() -> Attacker {
    Box::new(|arena, tick| {
        for turn in 0..RATE {
            let piece = (tick * RATE + turn) % 4_000;
            // The offsets fall, so each fragment lies before all earlier fragments of its datagram.
            let header = header((tick * RATE + turn) / 4_000, (4_000 - piece) as u16 * 16);
            let ends = (source(arena, false), v6(HOST));
            arena.inject_v6(&fragment(ends, header, &[7; 8]));
        }
    })
}

/// Advertisements of many routers, each with a prefix of its own.
pub fn router_advertisements() -> Attacker {
    Box::new(|arena, _| {
        for _ in 0..RATE {
            let router = link_local(arena);
            let prefix = u128::from(arena.rng.next_u64() >> 4) << 64 | 0x2 << 124;
            let prefix = Ipv6Addr::from_bits(prefix);
            arena.inject_v6(&router_advertisement(router, prefix));
        }
    })
}

/// Advertisements of one router with one prefix. The attacker also answers each probe for a
/// duplicate of one of the host's addresses. RFC 4862 §5.4.
pub fn claims_of_addresses() -> Attacker {
    Box::new(|arena, _| {
        let router = Ipv6Addr::from_bits(0xfe80 << 112 | 9);
        arena.inject_v6(&router_advertisement(router, v6(0)));
        for frame in arena.replies() {
            let Some(target) = probed_address(&frame) else {
                continue;
            };
            let all_hosts = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
            let claim = NeighbourMessage::Advertisement {
                target,
                target_mac: Some(MacAddress([2, 0, 0, 0, 0, STRANGER_NUMBER])),
                router: false,
                solicited: false,
                overrides: true,
            };
            arena.inject_v6(&neighbour((target, all_hosts), claim));
        }
    })
}

/// The address for which `frame` is a probe for duplicates; `None` if `frame` is no such probe.
fn probed_address(frame: &[u8]) -> Option<Ipv6Addr> {
    let (ip, message) = v6_of(frame)?;
    if ip.protocol() != Protocol::Icmpv6 || !ip.src.is_unspecified() {
        return None;
    }
    let ends = (ip.src, ip.dst);
    let (head, body) = Icmpv6Message::parse(message, ends, Default::default()).ok()?;
    let Icmpv6Message::Other { kind, code, rest } = head else {
        return None;
    };
    match NeighbourMessage::parse((kind, code), rest, body, ip.hop_limit).ok()? {
        NeighbourMessage::Solicitation { target, .. } => Some(target),
        NeighbourMessage::Advertisement { .. } => None,
    }
}

/// Redirects from random link-local addresses. They tell the host to use the attacker as the next
/// hop to the client.
pub fn redirects() -> Attacker {
    Box::new(|arena, _| {
        for _ in 0..RATE {
            let ends = (link_local(arena), v6(HOST));
            let target = v6(STRANGER_NUMBER.into());
            arena.inject_v6(&redirect(ends, target, v6(CLIENT)));
        }
    })
}
