//! Attacks on a host that serves an honest client: cost and effect of each.
//!
//! Rule: each row is one attack on a fresh host with the same small pool; the first row
//! has no attack. During the attack a client connects, reads 2 MiB from the host and
//! writes 2 MiB to it. The client verifies every byte that it reads. Results are counts
//! and virtual times, so `docs/attacks.md` is the same on every machine.

#![forbid(unsafe_code)]

mod arena;
mod attackers;
mod attackers_v6;
mod forge;
mod forge_v6;
mod page;
#[cfg(test)]
mod tests;

pub use page::{HEADINGS, attacks_json, attacks_markdown};

use std::fmt;

use fullpipe::Config;
use fullpipe_pool::{Duration, knobs::nearest};

use arena::{Arena, Network, Peaks, Toll};
use attackers::{Attacker, SackReport};

/// Number of the step at which the client connects, half a second after the attack begins.
const HEAD_START: u32 = 500;
/// Number of the step at which the client connects in an attack that makes the host hold memory.
/// That step is a minute after the attack begins: 10,000 steps of 1 ms and 1,000 steps of 50 ms.
const CAMPED: u32 = 11_000;
/// Number of steps of an attack. An attack that makes the host hold memory has [`CAMPING`] steps
/// instead.
const LENGTH: u32 = 2_000;
/// Number of the first step that lasts [`SLOW_STEP`] instead of [`STEP`]. While the client's
/// transfers run, every step lasts [`STEP`].
const SLOW: u32 = 10_000;
const STEP: Duration = Duration::from_millis(1);
const SLOW_STEP: Duration = Duration::from_millis(50);
/// Number of steps of an attack that makes the host hold memory. The steps take about ten minutes,
/// which is longer than the host keeps an orphan, a connection that its application has closed.
const CAMPING: u32 = 22_000;
/// Number of steps after the end of the attack in which the client can still finish.
const LIMIT: u32 = 30_000;

/// Result of one attack.
#[derive(Clone, Debug)]
pub struct AttackRow {
    /// The attack's name.
    pub attack: &'static str,
    /// Packets sent, and their cost.
    pub toll: Toll,
    /// Peaks of memory use.
    pub peaks: Peaks,
    /// Blocks of packet memory in use or reserved at the end.
    pub left: u32,
    /// Duration of the client's transfers; `None` if they did not finish.
    pub client: Option<Duration>,
    /// The host's largest congestion window towards the attacker, and the bytes that the
    /// attacker had acknowledged at that time.
    pub growth: Option<(u32, u32)>,
    /// Counters that show what the host did with the packets.
    pub counters: Vec<(&'static str, u64)>,
}

/// An attack: its name, its length in steps, the step at which the client connects, its network,
/// its attacker, and the counters to report.
struct Attack {
    name: &'static str,
    length: u32,
    client_at: u32,
    network: Network,
    attacker: fn() -> Attacker,
    counters: &'static [&'static str],
}

const ATTACKS: [Attack; 31] = [
    attack("none", || Box::new(|_, _| ()), &[]),
    attack(
        "SYN flood, many addresses",
        || attackers::syn_flood(true),
        &["TcpExtSyncookiesSent"],
    ),
    attack(
        "SYN flood, one address",
        || attackers::syn_flood(false),
        &["TcpExtSyncookiesSent"],
    ),
    on_link(attack(
        "SYN flood, on-link addresses",
        || attackers::syn_flood(true),
        &["TcpExtSyncookiesSent", "ArpOutRequests"],
    )),
    on_link(attack(
        "echo requests, on-link addresses",
        attackers::echo_requests,
        &["IcmpOutEchoReps", "ArpOutRequests"],
    )),
    on_link(attack(
        "ARP requests, on-link addresses",
        attackers::arp_requests,
        &["ArpOutReplies", "ArpReplyQueueFull", "ArpTableFull"],
    )),
    attack(
        "forged cookies",
        attackers::forged_cookies,
        &["TcpExtSyncookiesFailed", "TcpExtSyncookiesRecv"],
    ),
    attack(
        "SACK of every other byte",
        || attackers::sack_bytes(SackReport::EveryOther),
        &["TcpRetransSegs"],
    ),
    attack(
        "SACK in random order",
        || attackers::sack_bytes(SackReport::AnyOrder),
        &["TcpRetransSegs"],
    ),
    attack(
        "SACK plus ACK of two bytes",
        || attackers::sack_bytes(SackReport::OneMore),
        &["TcpRetransSegs"],
    ),
    attack(
        "SACK plus ACK of two bytes, and DSACK of everything",
        || attackers::sack_bytes(SackReport::AllSpurious),
        &["TcpRetransSegs", "TcpExtTCPFullUndo"],
    ),
    attack(
        "one-byte segments out of order",
        || attackers::one_byte_segments(1),
        &["TcpExtTCPOFOQueue", "TcpDiscardTooManyHoles"],
    ),
    attack(
        "one-byte segments out of order on 16 connections of one address",
        || attackers::one_byte_segments(16),
        &[
            "TcpExtTCPOFOQueue",
            "TcpDiscardTooManyHoles",
            "TcpDiscardNoRange",
        ],
    ),
    attack(
        "fragments without end, one address",
        || attackers::fragments_without_end(false),
        &["FragmentEvicted"],
    ),
    attack(
        "fragments without end, many addresses",
        || attackers::fragments_without_end(true),
        &["FragmentEvicted"],
    ),
    attack(
        "fragments in small pieces",
        attackers::fragments_in_small_pieces,
        &["FragmentTooManyPieces", "FragmentOfGivenUp"],
    ),
    attack(
        "overlapping fragments",
        attackers::overlapping_fragments,
        &["FragmentOverlap", "FragmentOfGivenUp"],
    ),
    attack(
        "blind RST, SYN, payload and ICMP",
        attackers::blind_injection,
        &[
            "TcpExtTCPChallengeACK",
            "TcpDiscardInexactReset",
            "TcpDiscardUnexpectedSyn",
            "TcpDiscardAckOfUnsent",
            "TcpDiscardAckTooOld",
            "TcpDiscardOutsideWindow",
            "TcpDiscardIcmpOutsideWindow",
        ],
    ),
    attack(
        "ACK division",
        attackers::ack_division,
        &["TcpExtTCPPureAcks"],
    ),
    attack(
        "optimistic ACKs",
        attackers::optimistic_acks,
        &["TcpDiscardAckOfUnsent"],
    ),
    Attack {
        length: CAMPING,
        client_at: CAMPED,
        ..attack(
            "zero-window camping",
            || attackers::camping(true),
            &["TcpExtTCPAbortOnTimeout", "TcpExtTCPAbortOnMemory"],
        )
    },
    Attack {
        length: CAMPING,
        client_at: CAMPED,
        ..attack(
            "peers that vanish",
            || attackers::camping(false),
            &["TcpExtTCPAbortOnTimeout", "TcpExtTCPAbortOnMemory"],
        )
    },
    over_v6(attack(
        "IPv6: SYN flood, on-link addresses",
        attackers_v6::syn_flood,
        &["TcpExtSyncookiesSent", "ArpOutRequests"],
    )),
    over_v6(attack(
        "IPv6: echo requests, on-link addresses",
        attackers_v6::echo_requests,
        &["IcmpOutEchoReps", "ArpOutRequests"],
    )),
    over_v6(attack(
        "IPv6: neighbour solicitations, on-link addresses",
        attackers_v6::solicitations,
        &["ArpReplyQueueFull", "ArpTableFull"],
    )),
    over_v6(attack(
        "IPv6: fragments without end, one address",
        || attackers_v6::fragments_without_end(false),
        &["FragmentEvicted"],
    )),
    over_v6(attack(
        "IPv6: fragments without end, many addresses",
        || attackers_v6::fragments_without_end(true),
        &["FragmentEvicted"],
    )),
    over_v6(attack(
        "IPv6: fragments in small pieces",
        attackers_v6::fragments_in_small_pieces,
        &["FragmentTooManyPieces", "FragmentOfGivenUp"],
    )),
    over_v6(attack(
        "IPv6: redirects of the client's packets",
        attackers_v6::redirects,
        &["IcmpUnwanted"],
    )),
    autoconfigured(attack(
        "IPv6: router advertisements, many routers and prefixes",
        attackers_v6::router_advertisements,
        &["RaTableFull"],
    )),
    autoconfigured(attack(
        "IPv6: claims of the host's new addresses",
        attackers_v6::claims_of_addresses,
        &["NdDuplicate"],
    )),
];

const fn attack(
    name: &'static str,
    attacker: fn() -> Attacker,
    counters: &'static [&'static str],
) -> Attack {
    Attack {
        name,
        length: LENGTH,
        client_at: HEAD_START,
        network: Network::Packets,
        attacker,
        counters,
    }
}

/// Returns `attack` on an Ethernet, where neither host knows the other's MAC address.
const fn on_link(attack: Attack) -> Attack {
    Attack {
        network: Network::Ethernet,
        ..attack
    }
}

/// Returns `attack` on an Ethernet on which the client uses IPv6.
const fn over_v6(attack: Attack) -> Attack {
    Attack {
        network: Network::EthernetV6,
        ..attack
    }
}

/// Returns `attack` on an Ethernet on which the client uses IPv4, and the hosts configure IPv6.
const fn autoconfigured(attack: Attack) -> Attack {
    Attack {
        network: Network::Autoconfigured,
        ..attack
    }
}

/// The host's knobs: a pool of 512 KiB and tables that an attacker can fill.
pub(crate) const KNOBS: [(&str, &str); 5] = [
    ("pool.blocks", "256"),
    ("pool.block_size", "2048"),
    ("stack.connections", "64"),
    ("stack.half_open", "32"),
    ("stack.half_open_per_source", "8"),
];

/// Runs every attack whose name contains one of `parts`; all attacks if `parts` is empty.
///
/// # Errors
/// Returns the first of `parts` that no attack's name contains, with the most similar
/// name.
pub fn attacks(parts: &[String]) -> Result<Vec<AttackRow>, UnknownAttack> {
    let names = || ATTACKS.iter().map(|attack| attack.name);
    if let Some(part) = parts
        .iter()
        .find(|part| !names().any(|name| name.contains(part.as_str())))
    {
        return Err(UnknownAttack {
            part: part.clone(),
            near: nearest(part, names()),
        });
    }
    let is_wanted =
        |attack: &&Attack| parts.is_empty() || parts.iter().any(|part| attack.name.contains(part));
    Ok(ATTACKS.iter().filter(is_wanted).map(play).collect())
}

/// No attack has a name with this part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAttack {
    part: String,
    near: Option<&'static str>,
}

impl fmt::Display for UnknownAttack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no attack's name contains `{}`", self.part)?;
        match self.near {
            Some(near) => write!(f, "; did you mean `{near}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownAttack {}

fn play(attack: &Attack) -> AttackRow {
    let mut config = Config::default();
    for (name, value) in KNOBS {
        config.set(name, value).expect("a knob");
    }
    let mut arena = Arena::new(&config, attack.network);
    let mut attacker = (attack.attacker)();
    arena.reset_cost();
    let mut growth: Option<(u32, u32)> = None;
    for tick in 0..attack.length + LIMIT {
        if tick == attack.client_at {
            arena.connect_client();
        }
        if tick < attack.length {
            attacker(&mut arena, tick);
            let info = arena.info(attackers::PORT);
            let seen = info.map(|info| (info.cwnd, info.snd_una.wrapping_sub(info.iss)));
            growth = growth.max(seen);
        }
        let is_slow = tick >= SLOW && !arena.has_client();
        arena.pass(if is_slow { SLOW_STEP } else { STEP });
        if tick >= attack.length && arena.client_took().is_some() {
            break;
        }
    }
    let pool = arena.stack().pool();
    let left = pool.block_count() - pool.free_blocks() + pool.promised();
    let counted = |name: &&'static str| (*name, arena.counter(name));
    AttackRow {
        attack: attack.name,
        toll: arena.toll,
        peaks: arena.peaks,
        left,
        client: arena.client_took(),
        growth,
        counters: attack.counters.iter().map(counted).collect(),
    }
}
