//! Attackers, one function for each attack.
//!
//! Rule: an attacker only sends packets, and receives only the answers to its own address. Some
//! attackers know numbers that a real attacker would have to guess, so a real attacker could not
//! cause more cost. `arena` measures the cost to the host.

use std::net::Ipv4Addr;

use fullpipe_wire::{SackBlock, SackBlocks, TcpFlags, TcpHeader, TcpOptions, UnreachableCode};

use super::{
    arena::{Arena, CLIENT, SINK, SOURCE, STRANGER},
    forge::{ScriptedPeer, echo_request, fragment, icmp, tcp},
};

/// Packets that an attacker sends in each step, which takes 1 ms or 50 ms.
pub const RATE: u32 = 20;
/// Number of scripted peers in an attack that makes the host hold memory.
const CAMPERS: u16 = 32;
/// The port of a single scripted peer.
pub const PORT: u16 = 2_000;
/// The window of a scripted peer.
pub const WINDOW: u16 = 60_000;

/// An attacker: a function that is called at each step with the step's number. A step takes 1 ms,
/// or 50 ms in the attacks that occupy memory.
pub type Attacker = Box<dyn FnMut(&mut Arena, u32)>;

/// An unused address.
fn unused_address(arena: &mut Arena) -> Ipv4Addr {
    let low = arena.rng.below(1 << 16) as u16;
    let [high, low] = low.to_be_bytes();
    Ipv4Addr::new(10, 1, high, low)
}

fn port(arena: &mut Arena) -> u16 {
    arena.rng.between(1_024, 65_535) as u16
}

fn number(arena: &mut Arena) -> u32 {
    arena.rng.below(1 << 32) as u32
}

fn syn(arena: &mut Arena) -> TcpHeader {
    TcpHeader {
        src_port: port(arena),
        dst_port: SINK,
        seq: number(arena),
        flags: TcpFlags::SYN,
        window: WINDOW,
        options: TcpOptions {
            mss: Some(1_460),
            ..TcpOptions::NONE
        },
        ..TcpHeader::default()
    }
}

/// SYNs whose handshakes are never completed, from many addresses or from one.
pub fn syn_flood(everywhere: bool) -> Attacker {
    Box::new(move |arena, _| {
        for _ in 0..RATE {
            let src = if everywhere {
                unused_address(arena)
            } else {
                STRANGER
            };
            let header = syn(arena);
            arena.inject(&tcp(src, &header, &[]));
        }
    })
}

/// Echo requests from many addresses.
pub fn echo_requests() -> Attacker {
    Box::new(|arena, _| {
        for _ in 0..RATE {
            let src = unused_address(arena);
            arena.inject(&echo_request(src));
        }
    })
}

/// ARP requests for the host from many addresses.
pub fn arp_requests() -> Attacker {
    Box::new(|arena, _| {
        for _ in 0..RATE {
            let src = unused_address(arena);
            arena.inject_arp(src);
        }
    })
}

/// SYNs that make the host send cookies, and an equal number of ACKs with guessed cookies.
pub fn forged_cookies() -> Attacker {
    Box::new(|arena, _| {
        for turn in 0..RATE {
            let src = unused_address(arena);
            let mut header = syn(arena);
            if turn % 2 == 0 {
                header.flags = TcpFlags::ACK;
                header.ack = number(arena);
            }
            arena.inject(&tcp(src, &header, &[]));
        }
    })
}

/// SACK blocks of a peer that announces an MSS of 1 byte and receives payload from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SackReport {
    /// SACKs every other received byte, four in each ACK, again and again. The ACK number does not
    /// advance.
    EveryOther,
    /// SACKs the same bytes as `EveryOther`, four in each ACK, in random order.
    AnyOrder,
    /// SACKs one new byte in each ACK. The ACK number follows at a distance of `BACKLOG`, in steps
    /// of two bytes.
    OneMore,
    /// Like `OneMore`, but each ACK also carries a DSACK of everything that was sent and is not yet
    /// acknowledged.
    AllSpurious,
}

/// Largest distance in bytes from the ACK number to the newest SACK block. At a larger distance,
/// the peer increases the ACK number by two. Only `OneMore` and `AllSpurious` use this distance.
const BACKLOG: u32 = 1_000;

/// A peer that announces an MSS of 1 byte, receives payload from the host, and SACKs single bytes.
pub fn sack_bytes(report: SackReport) -> Attacker {
    let mut scripted: Option<ScriptedPeer> = None;
    let (mut acked, mut next) = (0_u32, 0_u32);
    let acknowledges = matches!(report, SackReport::OneMore | SackReport::AllSpurious);
    Box::new(move |arena, tick| {
        if scripted.is_none() {
            scripted = ScriptedPeer::open(arena, PORT, SOURCE, 1, WINDOW);
            acked = scripted.map_or(0, |scripted| scripted.una);
        }
        let replies = arena.replies();
        let Some(scripted) = &mut scripted else {
            return;
        };
        scripted.record_replies(&replies);
        // Acknowledges everything at first: the congestion window must grow before there is enough
        // payload in flight for many SACK blocks.
        if tick < 12 {
            acked = scripted.seen;
            next = acked;
            return scripted.ack(arena, acked, WINDOW, TcpOptions::NONE);
        }
        for _ in 0..RATE {
            let flight = scripted.seen.wrapping_sub(acked);
            let mut blocks = SackBlocks::NONE;
            if report == SackReport::AllSpurious {
                // The second block contains the first block, so the first block is a DSACK.
                // RFC 2883 §4.
                let twice = SackBlock {
                    left: acked,
                    right: scripted.seen,
                };
                scripted.record_replies(&arena.replies());
                _ = (blocks.push(twice), blocks.push(twice));
            }
            let count = if acknowledges { 1 } else { 4 };
            for _ in 0..count {
                let ahead = next.wrapping_sub(acked);
                next = match report {
                    SackReport::AnyOrder => {
                        let pairs = (flight / 2).saturating_sub(1).max(1);
                        acked.wrapping_add(2 + 2 * arena.rng.below(pairs.into()) as u32)
                    }
                    // Never report the byte at the ACK number: this byte is the hole.
                    _ if acknowledges && ahead == 0 => acked.wrapping_add(1),
                    _ if acknowledges && ahead + 3 >= flight => next,
                    SackReport::EveryOther if ahead + 2 >= flight => acked.wrapping_add(2),
                    SackReport::EveryOther | SackReport::OneMore | SackReport::AllSpurious => {
                        next.wrapping_add(2)
                    }
                };
                let right = next.wrapping_add(1);
                _ = blocks.push(SackBlock { left: next, right });
            }
            if acknowledges && next.wrapping_sub(acked) > BACKLOG {
                acked = acked.wrapping_add(2);
            }
            let options = TcpOptions {
                sack: blocks,
                ..TcpOptions::NONE
            };
            scripted.ack(arena, acked, WINDOW, options);
        }
    })
}

/// An address with `count` connections. Each connection sends single bytes with holes between
/// them, spread over the first 14,000 bytes of the window.
pub fn one_byte_segments(count: u16) -> Attacker {
    let mut scripted_peers: Vec<ScriptedPeer> = Vec::new();
    Box::new(move |arena, tick| {
        if tick < count.into() {
            let port = PORT + tick as u16;
            scripted_peers.extend(ScriptedPeer::open(arena, port, SINK, 1_460, WINDOW));
        }
        for turn in 0..RATE as usize {
            let Some(scripted) =
                scripted_peers.get((tick as usize + turn) % scripted_peers.len().max(1))
            else {
                return;
            };
            let at = 1 + 2 * arena.rng.below(7_000) as u32;
            let header = scripted.header(scripted.first + at, scripted.una, WINDOW);
            arena.inject(&tcp(STRANGER, &header, b"x"));
        }
    })
}

/// First fragments whose other fragments never arrive.
pub fn fragments_without_end(everywhere: bool) -> Attacker {
    Box::new(move |arena, tick| {
        for turn in 0..RATE {
            let src = if everywhere {
                unused_address(arena)
            } else {
                STRANGER
            };
            let identification = (tick * RATE + turn) as u16;
            arena.inject(&fragment(src, identification, 0, true, &[7; 1_480]));
        }
    })
}

/// Datagrams in fragments of 8 bytes with holes of 8 bytes between them, 4,000 fragments for each
/// datagram.
pub fn fragments_in_small_pieces() -> Attacker {
    Box::new(|arena, tick| {
        for turn in 0..RATE {
            let piece = (tick * RATE + turn) % 4_000;
            let identification = ((tick * RATE + turn) / 4_000) as u16;
            // The offsets fall, so each fragment lies before all earlier fragments of its datagram.
            let offset = (4_000 - piece) as u16 * 16;
            arena.inject(&fragment(STRANGER, identification, offset, true, &[7; 8]));
        }
    })
}

/// Fragments that contradict each other.
pub fn overlapping_fragments() -> Attacker {
    Box::new(|arena, tick| {
        for turn in 0..RATE {
            let identification = ((tick * RATE + turn) / 4) as u16;
            let offset = (turn % 4) as u16 * 504;
            let text = [turn as u8; 1_008];
            arena.inject(&fragment(STRANGER, identification, offset, true, &text));
        }
    })
}

/// Resets, SYNs and payload from the client's address, and ICMP errors from the attacker's own. The
/// attacker knows the port of one connection of the client. The attacker's segments begin at least
/// 1 byte and at most one receive window after the expected sequence number. The sequence numbers
/// that its ICMP errors quote are random.
pub fn blind_injection() -> Attacker {
    Box::new(|arena, _| {
        let Some((port, info)) = arena.clients_numbers() else {
            return;
        };
        for turn in 0..RATE {
            let offset = arena.rng.between(1, info.rcv_wnd.max(2).into()) as u32;
            let mut header = TcpHeader {
                src_port: port,
                dst_port: SOURCE,
                seq: info.rcv_nxt.wrapping_add(offset),
                ack: number(arena),
                flags: TcpFlags::ACK,
                window: 1,
                ..TcpHeader::default()
            };
            match turn % 4 {
                0 => header.flags = TcpFlags::RST,
                1 => header.flags = TcpFlags::SYN,
                2 => {}
                _ => {
                    let quoted = TcpHeader {
                        src_port: SOURCE,
                        dst_port: port,
                        seq: number(arena),
                        ..TcpHeader::default()
                    };
                    let code = match turn % 8 {
                        3 => UnreachableCode::Port,
                        _ => UnreachableCode::FragmentationNeeded,
                    };
                    arena.inject(&icmp(code, &quoted));
                    continue;
                }
            }
            arena.inject(&tcp(CLIENT, &header, b"injected"));
        }
    })
}

/// A reader that acknowledges every byte separately.
pub fn ack_division() -> Attacker {
    let mut scripted: Option<ScriptedPeer> = None;
    let mut acked = 0;
    Box::new(move |arena, _| {
        if scripted.is_none() {
            scripted = ScriptedPeer::open(arena, PORT, SOURCE, 1_460, WINDOW);
            acked = scripted.map_or(0, |scripted| scripted.una);
        }
        let replies = arena.replies();
        let Some(scripted) = &mut scripted else {
            return;
        };
        scripted.record_replies(&replies);
        for _ in 0..RATE {
            if acked == scripted.seen {
                return;
            }
            acked = acked.wrapping_add(1);
            scripted.ack(arena, acked, WINDOW, TcpOptions::NONE);
        }
    })
}

/// A reader that acknowledges payload that has not arrived, and payload never sent.
pub fn optimistic_acks() -> Attacker {
    let mut scripted: Option<ScriptedPeer> = None;
    Box::new(move |arena, _| {
        if scripted.is_none() {
            scripted = ScriptedPeer::open(arena, PORT, SOURCE, 1_460, WINDOW);
        }
        let Some(scripted) = scripted else {
            return;
        };
        for turn in 0..RATE {
            // The reader ignores received payload. Within a step, each ACK is further ahead of
            // SND.UNA than the ACK before it.
            let ahead = 1_460 * (1 + turn) * (1 + turn);
            let ack = arena
                .info(scripted.port)
                .map_or(scripted.una, |info| info.snd_una);
            scripted.ack(arena, ack.wrapping_add(ahead), WINDOW, TcpOptions::NONE);
        }
    })
}

/// Readers that accept 2,000 bytes and then nothing more. If `answers` is true, they answer each
/// probe; otherwise they vanish.
pub fn camping(answers: bool) -> Attacker {
    let mut scripted_peers: Vec<ScriptedPeer> = Vec::new();
    Box::new(move |arena, tick| {
        if tick < u32::from(CAMPERS) {
            let port = PORT + tick as u16;
            scripted_peers.extend(ScriptedPeer::open(arena, port, SOURCE, 1_460, 2_000));
        }
        let replies = arena.replies();
        if !answers {
            return;
        }
        for scripted in &mut scripted_peers {
            let spoke = scripted.record_replies(&replies);
            if spoke {
                let taken = scripted.una.wrapping_add(2_000);
                let seen = scripted.seen.wrapping_sub(scripted.una).min(2_000);
                let ack = if seen == 2_000 {
                    taken
                } else {
                    scripted.una.wrapping_add(seen)
                };
                let window = 2_000 - seen as u16;
                scripted.ack(arena, ack, window, TcpOptions::NONE);
            }
        }
    })
}
