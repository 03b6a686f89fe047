//! Attacks on a host that goes on serving a friend: what each costs it.
//!
//! Rule: each row is one attack against a fresh host with the same small pool,
//! and beside it the friend reads 2 MiB from the host and writes as many to
//! it, each byte verified. The figures are counts in virtual time, so the page
//! that is made from them (`docs/attacks.md`) is the same on every machine.

mod arena;
mod forge;
mod page;
mod strangers;
#[cfg(test)]
mod tests;

pub use page::{attacks_json, attacks_markdown, attacks_text};

use fullpipe::Config;
use fullpipe_pool::Duration;

use arena::{Arena, Peaks, Toll};
use strangers::{Report, Stranger};

/// How long strangers strike before the friend comes, in steps; where they camp
/// in an idle host, a minute.
const HEAD_START: u32 = 500;
const CAMPED: u32 = 11_000;
/// Milliseconds of an attack that has no end of its own.
const LENGTH: u32 = 2_000;
/// From here on time passes in larger steps.
const SLOW: u32 = 10_000;
const STEP: Duration = Duration::from_millis(1);
const SLOW_STEP: Duration = Duration::from_millis(50);
/// The length for those who camp: ten minutes, longer than an orphan is kept.
const CAMPING: u32 = 22_000;
/// The friend is through by then, or will never be.
const LIMIT: u32 = 30_000;

/// What was seen of one attack.
#[derive(Clone, Debug)]
pub struct AttackRow {
    /// Which attack.
    pub attack: &'static str,
    /// What it sent and what that cost.
    pub toll: Toll,
    /// The most memory that was in use at a time.
    pub peaks: Peaks,
    /// Blocks of packet memory in use, or promised, when it was over.
    pub left: u32,
    /// How long the friend took; `None`: it did not get through.
    pub friend: Option<Duration>,
    /// The largest congestion window of the host towards the stranger, and what
    /// the stranger had acknowledged by then; where there was one.
    pub growth: Option<(u32, u32)>,
    /// Counters that say what became of the packets.
    pub counters: Vec<(&'static str, u64)>,
}

/// An attack: its name, its length in steps, who strikes, and the
/// counters that tell.
struct Attack {
    name: &'static str,
    length: u32,
    friend_at: u32,
    stranger: fn() -> Stranger,
    counters: &'static [&'static str],
}

const ATTACKS: [Attack; 19] = [
    attack("none", || Box::new(|_, _| ()), &[]),
    attack(
        "SYN flood, many addresses",
        || strangers::syn_flood(true),
        &["TcpExtSyncookiesSent"],
    ),
    attack(
        "SYN flood, one address",
        || strangers::syn_flood(false),
        &["TcpExtSyncookiesSent"],
    ),
    attack(
        "forged cookies",
        strangers::forged_cookies,
        &["TcpExtSyncookiesFailed", "TcpExtSyncookiesRecv"],
    ),
    attack(
        "SACK of every other byte",
        || strangers::sack_bytes(Report::EveryOther),
        &["TcpRetransSegs"],
    ),
    attack(
        "SACK in random order",
        || strangers::sack_bytes(Report::AnyOrder),
        &["TcpRetransSegs"],
    ),
    attack(
        "SACK plus ACK of two bytes",
        || strangers::sack_bytes(Report::OneMore),
        &["TcpRetransSegs"],
    ),
    attack(
        "the same, and DSACK of everything",
        || strangers::sack_bytes(Report::InVain),
        &["TcpRetransSegs", "TcpExtTCPFullUndo"],
    ),
    attack(
        "one-byte segments out of order",
        || strangers::one_byte_segments(1),
        &["TcpExtTCPOFOQueue", "TcpDiscardNoRange"],
    ),
    attack(
        "the same on 16 connections of one address",
        || strangers::one_byte_segments(16),
        &["TcpExtTCPOFOQueue", "TcpDiscardNoRange"],
    ),
    attack(
        "fragments without end, one address",
        || strangers::fragments_without_end(false),
        &["FragmentEvicted"],
    ),
    attack(
        "fragments without end, many addresses",
        || strangers::fragments_without_end(true),
        &["FragmentEvicted"],
    ),
    attack(
        "fragments in small pieces",
        strangers::fragments_in_small_pieces,
        &["FragmentTooManyPieces", "FragmentOfGivenUp"],
    ),
    attack(
        "overlapping fragments",
        strangers::overlapping_fragments,
        &["FragmentOverlap", "FragmentOfGivenUp"],
    ),
    attack(
        "blind RST, SYN, text and ICMP",
        strangers::blind_injection,
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
        strangers::ack_division,
        &["TcpExtTCPPureAcks"],
    ),
    attack(
        "optimistic ACKs",
        strangers::optimistic_acks,
        &["TcpDiscardAckOfUnsent"],
    ),
    Attack {
        length: CAMPING,
        friend_at: CAMPED,
        ..attack(
            "zero-window camping",
            || strangers::camping(true),
            &["TcpExtTCPAbortOnTimeout", "TcpExtTCPAbortOnMemory"],
        )
    },
    Attack {
        length: CAMPING,
        friend_at: CAMPED,
        ..attack(
            "peers that vanish",
            || strangers::camping(false),
            &["TcpExtTCPAbortOnTimeout", "TcpExtTCPAbortOnMemory"],
        )
    },
];

const fn attack(
    name: &'static str,
    stranger: fn() -> Stranger,
    counters: &'static [&'static str],
) -> Attack {
    Attack {
        name,
        length: LENGTH,
        friend_at: HEAD_START,
        stranger,
        counters,
    }
}

/// The host's knobs: a pool of 512 KiB and tables that a stranger can fill.
pub(crate) const KNOBS: [(&str, &str); 5] = [
    ("pool.blocks", "256"),
    ("pool.block_size", "2048"),
    ("stack.connections", "64"),
    ("stack.half_open", "32"),
    ("stack.half_open_per_source", "8"),
];

/// Plays every attack.
pub fn attacks() -> Vec<AttackRow> {
    ATTACKS.iter().map(play).collect()
}

fn play(attack: &Attack) -> AttackRow {
    let mut config = Config::default();
    for (name, value) in KNOBS {
        config.set(name, value).expect("a knob");
    }
    let mut arena = Arena::new(&config);
    let mut stranger = (attack.stranger)();
    arena.begin_toll();
    let mut growth: Option<(u32, u32)> = None;
    for tick in 0..attack.length + LIMIT {
        if tick == attack.friend_at {
            arena.befriend();
        }
        if tick < attack.length {
            stranger(&mut arena, tick);
            let info = arena.info(strangers::PORT);
            let seen = info.map(|info| (info.cwnd, info.snd_una.wrapping_sub(info.iss)));
            growth = growth.max(seen);
        }
        let is_slow = tick >= SLOW && !arena.has_company();
        arena.pass(if is_slow { SLOW_STEP } else { STEP });
        if tick >= attack.length && arena.friend_took().is_some() {
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
        friend: arena.friend_took(),
        growth,
        counters: attack.counters.iter().map(counted).collect(),
    }
}
