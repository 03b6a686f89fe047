//! What must hold under each attack, and the page that says so.
//!
//! To accept other figures: `UPDATE_SNAPSHOTS=1 cargo test -p fullpipe-lab attacks`.

use std::{env, fs, path::Path, sync::OnceLock};

use super::*;

/// Segments that a friend may lose to a host under attack cost time, not bytes.
const SLOWEST: Duration = Duration::from_secs(3);
/// Nodes that one packet may make the host visit: what one connection may hold
/// behind gaps, a few times over.
const DEAREST: u64 = 2_500;

/// Every attack, played once for all tests.
fn rows() -> &'static [AttackRow] {
    static ROWS: OnceLock<Vec<AttackRow>> = OnceLock::new();
    ROWS.get_or_init(attacks)
}

fn row(name: &str) -> AttackRow {
    let row = rows().iter().find(|row| row.attack == name);
    row.expect("an attack of this name").clone()
}

fn counted(row: &AttackRow, name: &str) -> u64 {
    let found = row.counters.iter().find(|counter| counter.0 == name);
    found.expect("a counter of this row").1
}

/// Memory and work are bounded, and the friend is served.
fn endured(row: &AttackRow) {
    let name = row.attack;
    assert!(row.toll.packets > 1_000, "{name}: {row:?}");
    assert!(row.peaks.blocks <= 256, "{name}: {row:?}");
    assert!(
        row.friend.is_some_and(|took| took < SLOWEST),
        "{name}: {row:?}"
    );
    assert!(row.toll.walked_for_one <= DEAREST, "{name}: {row:?}");
}

#[test]
fn a_syn_flood_is_answered_with_cookies_and_a_friend_still_connects() {
    let flood = row("SYN flood, many addresses");
    endured(&flood);
    assert!(
        counted(&flood, "TcpExtSyncookiesSent") > 30_000,
        "{flood:?}"
    );
    // A quarter of the pool is the most that half-open windows may promise.
    assert!(flood.peaks.blocks < 256, "{flood:?}");
    let single = row("SYN flood, one address");
    endured(&single);
    assert!(
        single.peaks.blocks < flood.peaks.blocks.max(128),
        "{single:?}"
    );
}

#[test]
fn no_forged_cookie_is_believed() {
    let forged = row("forged cookies");
    endured(&forged);
    assert!(counted(&forged, "TcpExtSyncookiesFailed") > 10_000);
    // The friend's own two connections may have come from cookies.
    assert!(counted(&forged, "TcpExtSyncookiesRecv") <= 2);
}

#[test]
fn reports_of_every_other_byte_cost_a_bounded_number_of_pieces() {
    let sack = row("SACK of every other byte");
    endured(&sack);
    assert!(sack.peaks.pieces <= 1_024 + 64, "{sack:?}");
}

#[test]
fn single_bytes_behind_gaps_cost_a_bounded_number_of_ranges() {
    let bytes = row("one-byte segments out of order");
    endured(&bytes);
    assert!(bytes.peaks.ranges <= 3 * 64, "{bytes:?}");
    assert!(bytes.toll.walked_for_one <= 2 * 64, "{bytes:?}");
}

#[test]
fn fragments_cost_a_bounded_part_of_the_pool_however_they_come() {
    for name in [
        "fragments without end, one address",
        "fragments without end, many addresses",
        "fragments in small pieces",
        "overlapping fragments",
    ] {
        let fragments = row(name);
        endured(&fragments);
        assert!(fragments.toll.walked_for_one <= 200, "{fragments:?}");
    }
}

#[test]
fn what_a_stranger_says_in_the_friends_name_changes_nothing() {
    let blind = row("blind RST, SYN, text and ICMP");
    let alone = row("none");
    assert!(blind.toll.packets > 100);
    assert!(
        blind
            .friend
            .is_some_and(|took| took < alone.friend.expect("it got through") * 2)
    );
}

#[test]
fn acks_in_pieces_or_ahead_open_the_window_by_what_they_acknowledge() {
    let divided = row("ACK division");
    endured(&divided);
    let (cwnd, acked) = divided.growth.expect("a connection");
    assert!(cwnd <= 10 * 1_460 + acked, "{divided:?}");
    let ahead = row("optimistic ACKs");
    endured(&ahead);
    let (cwnd, acked) = ahead.growth.expect("a connection");
    assert!(cwnd <= 10 * 1_460 + acked, "{ahead:?}");
    assert!(counted(&ahead, "TcpDiscardAckOfUnsent") > 500, "{ahead:?}");
}

#[test]
fn those_who_camp_lose_what_they_hold() {
    for name in ["zero-window camping", "peers that vanish"] {
        let camping = row(name);
        assert!(
            camping.friend.is_some_and(|took| took < SLOWEST),
            "{camping:?}"
        );
        assert_eq!(camping.left, 0, "{camping:?}");
        assert!(camping.peaks.blocks <= 256);
    }
}

#[test]
fn the_page_of_attacks_is_what_came_out() {
    let page = attacks_markdown(rows());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/attacks.md");
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/attacks.md is out of date; this came out:\n{page}"
    );
}
