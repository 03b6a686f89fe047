//! What strangers do, one function for each attack.
//!
//! Rule: a stranger sends packets and sees what comes back to its own address,
//! nothing else; where it is given numbers that it would have to guess, its
//! guesses are better than any real one's. What that costs the host is measured
//! elsewhere.

use std::net::Ipv4Addr;

use fullpipe_wire::{SackBlock, SackBlocks, TcpFlags, TcpHeader, TcpOptions, UnreachableCode};

use super::{
    arena::{Arena, FRIEND, SINK, SOURCE, STRANGER},
    forge::{Puppet, fragment, icmp, tcp},
};

/// Packets that a stranger sends in a millisecond.
const RATE: u32 = 20;
/// Peers that a camping stranger plays.
const CAMPERS: u16 = 32;
/// The port of a lone puppet.
pub const PORT: u16 = 2_000;
/// The window of a puppet.
pub const WINDOW: u16 = 60_000;

/// A stranger: called once a millisecond with the number of the call.
pub type Stranger = Box<dyn FnMut(&mut Arena, u32)>;

/// An address of nobody.
fn nobody(arena: &mut Arena) -> Ipv4Addr {
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

/// SYNs that nobody means, from everywhere or from one address.
pub fn syn_flood(everywhere: bool) -> Stranger {
    Box::new(move |arena, _| {
        for _ in 0..RATE {
            let src = if everywhere { nobody(arena) } else { STRANGER };
            let header = syn(arena);
            arena.strike(&tcp(src, &header, &[]));
        }
    })
}

/// SYNs, so that cookies are out, and as many ACKs that guess one.
pub fn forged_cookies() -> Stranger {
    Box::new(|arena, _| {
        for turn in 0..RATE {
            let src = nobody(arena);
            let mut header = syn(arena);
            if turn % 2 == 0 {
                header.flags = TcpFlags::ACK;
                header.ack = number(arena);
            }
            arena.strike(&tcp(src, &header, &[]));
        }
    })
}

/// What a reader with the smallest segments reports once there is much to
/// report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Every other byte of what it got, again and again; it acknowledges nothing.
    EveryOther,
    /// The same bytes, four at a time, in no order.
    AnyOrder,
    /// One byte that is news, and two more bytes acknowledged each time.
    OneMore,
    /// The same, and that whatever was sent again had arrived before. It waits
    /// for what the host says to each.
    InVain,
}

/// Bytes behind the hole that a reader keeps reported who acknowledges.
const BACKLOG: u32 = 1_000;

/// A reader with the smallest segments who SACKs single bytes.
pub fn sack_bytes(report: Report) -> Stranger {
    let mut puppet: Option<Puppet> = None;
    let (mut acked, mut next) = (0_u32, 0_u32);
    let acknowledges = matches!(report, Report::OneMore | Report::InVain);
    Box::new(move |arena, tick| {
        if puppet.is_none() {
            puppet = Puppet::open(arena, PORT, SOURCE, 1, WINDOW);
            acked = puppet.map_or(0, |puppet| puppet.una);
        }
        let replies = arena.replies();
        let Some(puppet) = &mut puppet else {
            return;
        };
        puppet.hear(&replies);
        // The congestion window must be large before there is much to report.
        if tick < 12 {
            acked = puppet.seen;
            next = acked;
            return puppet.ack(arena, acked, WINDOW, TcpOptions::NONE);
        }
        for _ in 0..RATE {
            let flight = puppet.seen.wrapping_sub(acked);
            let mut blocks = SackBlocks::NONE;
            if report == Report::InVain {
                // Everything, inside of everything. RFC 2883 §4.
                let twice = SackBlock {
                    left: acked,
                    right: puppet.seen,
                };
                puppet.hear(&arena.replies());
                _ = (blocks.push(twice), blocks.push(twice));
            }
            let count = if acknowledges { 1 } else { 4 };
            for _ in 0..count {
                let ahead = next.wrapping_sub(acked);
                next = match report {
                    Report::AnyOrder => {
                        let pairs = (flight / 2).saturating_sub(1).max(1);
                        acked.wrapping_add(2 + 2 * arena.rng.below(pairs.into()) as u32)
                    }
                    // What is acknowledged stays between the bytes reported.
                    _ if acknowledges && ahead == 0 => acked.wrapping_add(1),
                    _ if acknowledges && ahead + 3 >= flight => next,
                    Report::EveryOther if ahead + 2 >= flight => acked.wrapping_add(2),
                    Report::EveryOther | Report::OneMore | Report::InVain => next.wrapping_add(2),
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
            puppet.ack(arena, acked, WINDOW, options);
        }
    })
}

/// Writers of single bytes, each behind a gap, all over the window: `count`
/// connections of one address.
pub fn one_byte_segments(count: u16) -> Stranger {
    let mut puppets: Vec<Puppet> = Vec::new();
    Box::new(move |arena, tick| {
        if tick < count.into() {
            let port = PORT + tick as u16;
            puppets.extend(Puppet::open(arena, port, SINK, 1_460, WINDOW));
        }
        for turn in 0..RATE as usize {
            let Some(puppet) = puppets.get((tick as usize + turn) % puppets.len().max(1)) else {
                return;
            };
            let at = 1 + 2 * arena.rng.below(7_000) as u32;
            let header = puppet.header(puppet.first + at, puppet.una, WINDOW);
            arena.strike(&tcp(STRANGER, &header, b"x"));
        }
    })
}

/// First fragments whose rest never comes.
pub fn fragments_without_end(everywhere: bool) -> Stranger {
    Box::new(move |arena, tick| {
        for turn in 0..RATE {
            let src = if everywhere { nobody(arena) } else { STRANGER };
            let identification = (tick * RATE + turn) as u16;
            arena.strike(&fragment(src, identification, 0, true, &[7; 1_480]));
        }
    })
}

/// Datagrams in pieces of 8 bytes with gaps between, as many as fit.
pub fn fragments_in_small_pieces() -> Stranger {
    Box::new(|arena, tick| {
        for turn in 0..RATE {
            let piece = (tick * RATE + turn) % 4_000;
            let identification = ((tick * RATE + turn) / 4_000) as u16;
            // From the highest on down: each is before all that are there.
            let offset = (4_000 - piece) as u16 * 16;
            arena.strike(&fragment(STRANGER, identification, offset, true, &[7; 8]));
        }
    })
}

/// Fragments that contradict each other.
pub fn overlapping_fragments() -> Stranger {
    Box::new(|arena, tick| {
        for turn in 0..RATE {
            let identification = ((tick * RATE + turn) / 4) as u16;
            let offset = (turn % 4) as u16 * 504;
            let text = [turn as u8; 1_008];
            arena.strike(&fragment(STRANGER, identification, offset, true, &text));
        }
    })
}

/// Resets, SYNs, text and ICMP errors in the name of the friend, whose ports
/// are known and whose window is hit, though never exactly.
pub fn blind_injection() -> Stranger {
    Box::new(|arena, _| {
        let Some((port, info)) = arena.friends_numbers() else {
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
                    arena.strike(&icmp(code, &quoted));
                    continue;
                }
            }
            arena.strike(&tcp(FRIEND, &header, b"injected"));
        }
    })
}

/// A reader who acknowledges every byte by itself.
pub fn ack_division() -> Stranger {
    let mut puppet: Option<Puppet> = None;
    let mut acked = 0;
    Box::new(move |arena, _| {
        if puppet.is_none() {
            puppet = Puppet::open(arena, PORT, SOURCE, 1_460, WINDOW);
            acked = puppet.map_or(0, |puppet| puppet.una);
        }
        let replies = arena.replies();
        let Some(puppet) = &mut puppet else {
            return;
        };
        puppet.hear(&replies);
        for _ in 0..RATE {
            if acked == puppet.seen {
                return;
            }
            acked = acked.wrapping_add(1);
            puppet.ack(arena, acked, WINDOW, TcpOptions::NONE);
        }
    })
}

/// A reader who acknowledges what has not reached it, and what was never sent.
pub fn optimistic_acks() -> Stranger {
    let mut puppet: Option<Puppet> = None;
    Box::new(move |arena, _| {
        if puppet.is_none() {
            puppet = Puppet::open(arena, PORT, SOURCE, 1_460, WINDOW);
        }
        let Some(puppet) = puppet else {
            return;
        };
        for turn in 0..RATE {
            // It hears nothing: it assumes a flight that grows.
            let ahead = 1_460 * (1 + turn) * (1 + turn);
            let ack = arena
                .info(puppet.port)
                .map_or(puppet.una, |info| info.snd_una);
            puppet.ack(arena, ack.wrapping_add(ahead), WINDOW, TcpOptions::NONE);
        }
    })
}

/// Readers who take 2,000 bytes and then nothing more; they answer each probe,
/// or are never heard of again.
pub fn camping(answers: bool) -> Stranger {
    let mut puppets: Vec<Puppet> = Vec::new();
    Box::new(move |arena, tick| {
        if tick < u32::from(CAMPERS) {
            let port = PORT + tick as u16;
            puppets.extend(Puppet::open(arena, port, SOURCE, 1_460, 2_000));
        }
        let replies = arena.replies();
        if !answers {
            return;
        }
        for puppet in &mut puppets {
            let spoke = puppet.hear(&replies);
            if spoke {
                let taken = puppet.una.wrapping_add(2_000);
                let seen = puppet.seen.wrapping_sub(puppet.una).min(2_000);
                let ack = if seen == 2_000 {
                    taken
                } else {
                    puppet.una.wrapping_add(seen)
                };
                let window = 2_000 - seen as u16;
                puppet.ack(arena, ack, window, TcpOptions::NONE);
            }
        }
    })
}
