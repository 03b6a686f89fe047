//! Tests of the bounds that hold under each attack, and of the page of the results.
//!
//! To accept changed results: `UPDATE_SNAPSHOTS=1 cargo test -p fullpipe-attacks`.

use std::{env, fs, path::Path, sync::OnceLock};

use serde_json::Value;

use super::*;

/// Longest accepted duration of the client's transfers. Lost segments may delay the client.
const SLOWEST: Duration = Duration::from_secs(3);
/// Largest accepted number of nodes of lists and trees that the host visits for one packet: a few
/// times the number of out-of-order ranges that one connection may have.
const DEAREST: u64 = 2_500;
/// Largest accepted mean number of nodes visited for a packet with SACK blocks. Each of its four
/// blocks needs a path through a tree of a thousand nodes, and changes nodes at the path's end.
const SACK_MEAN: f64 = 250.0;
/// Largest accepted mean number of nodes visited for a packet that also carries a DSACK. DSACKs
/// often undo a recovery, and an undo visits every lost range.
const UNDO_MEAN: f64 = 500.0;

/// Each attack, run once for all tests by the first test that needs it.
static ROWS: [OnceLock<AttackRow>; ATTACKS.len()] = [const { OnceLock::new() }; ATTACKS.len()];

fn row(name: &str) -> AttackRow {
    let place = ATTACKS.iter().position(|attack| attack.name == name);
    row_at(place.expect("an attack of this name"))
}

fn row_at(place: usize) -> AttackRow {
    ROWS[place].get_or_init(|| play(&ATTACKS[place])).clone()
}

fn rows() -> Vec<AttackRow> {
    (0..ATTACKS.len()).map(row_at).collect()
}

fn counted(row: &AttackRow, name: &str) -> u64 {
    let found = row.counters.iter().find(|counter| counter.0 == name);
    found.expect("a counter of this row").1
}

/// Checks that memory and work are bounded and that the client is served.
fn endured(row: &AttackRow) {
    let name = row.attack;
    assert!(row.toll.packets > 1_000, "{name}: {row:?}");
    assert!(row.peaks.blocks <= 256, "{name}: {row:?}");
    assert!(
        row.client.is_some_and(|took| took < SLOWEST),
        "{name}: {row:?}"
    );
    assert!(row.toll.walked_for_one <= DEAREST, "{name}: {row:?}");
}

#[test]
fn a_syn_flood_is_answered_with_cookies_and_a_client_still_connects() {
    let flood = row("SYN flood, many addresses");
    endured(&flood);
    assert!(
        counted(&flood, "TcpExtSyncookiesSent") > 30_000,
        "{flood:?}"
    );
    // The pool is never full, because handshakes may reserve at most a quarter of it.
    assert!(flood.peaks.blocks < 256, "{flood:?}");
    let single = row("SYN flood, one address");
    endured(&single);
    assert!(
        single.peaks.blocks < flood.peaks.blocks.max(128),
        "{single:?}"
    );
}

#[test]
fn floods_from_on_link_addresses_shut_out_no_client_that_was_unknown_before() {
    let alone = row("none").client.expect("it got through");
    for name in [
        "SYN flood, on-link addresses",
        "echo requests, on-link addresses",
        "ARP requests, on-link addresses",
    ] {
        let flood = row(name);
        endured(&flood);
        // The attack costs the client three round trips of 10 ms: two for ARP, one in each
        // direction, and one for the cookie. Allow 10 ms more.
        let most = alone + Duration::from_millis(40);
        assert!(flood.client.is_some_and(|took| took <= most), "{flood:?}");
    }
    for name in [
        "SYN flood, on-link addresses",
        "echo requests, on-link addresses",
    ] {
        // The host sends at most one ARP request, for the client's address.
        assert!(counted(&row(name), "ArpOutRequests") <= 1, "{name}");
    }
}

#[test]
fn attacks_over_ipv6_shut_out_no_client() {
    let alone = row("none").client.expect("it got through");
    // As over IPv4: two round trips of 10 ms for neighbour discovery, one for the cookie, and
    // 10 ms more.
    let most = alone + Duration::from_millis(40);
    let names = ATTACKS.iter().map(|attack| attack.name);
    let over_v6: Vec<_> = names.filter(|name| name.starts_with("IPv6: ")).collect();
    assert_eq!(over_v6.len(), 9);
    for name in over_v6 {
        let attack = row(name);
        endured(&attack);
        assert!(attack.client.is_some_and(|took| took <= most), "{attack:?}");
        assert!(attack.toll.walked_for_one <= 200, "{attack:?}");
    }
}

/// After a duplicate, a host gives up its address and forms another one, at most three times for
/// each prefix (RFC 7217 §5). The host has two prefixes: the link-local one and that of one router.
#[test]
fn claims_of_addresses_and_floods_of_routers_are_bounded() {
    let claims = row("IPv6: claims of the host's new addresses");
    assert!(
        (1..=8).contains(&counted(&claims, "NdDuplicate")),
        "{claims:?}"
    );
    let routers = row("IPv6: router advertisements, many routers and prefixes");
    assert!(counted(&routers, "RaTableFull") > 70_000, "{routers:?}");
    let redirects = row("IPv6: redirects of the client's packets");
    assert_eq!(counted(&redirects, "IcmpUnwanted"), redirects.toll.packets);
}

#[test]
fn every_forged_cookie_is_refused() {
    let forged = row("forged cookies");
    endured(&forged);
    assert!(counted(&forged, "TcpExtSyncookiesFailed") > 10_000);
    // Up to two cookies are the client's: it opens two connections.
    assert!(counted(&forged, "TcpExtSyncookiesRecv") <= 2);
}

/// Nodes visited for each packet of the attacker; work for the client is included.
fn mean(row: &AttackRow) -> f64 {
    row.toll.walked as f64 / row.toll.packets as f64
}

#[test]
fn reports_of_single_bytes_cost_a_bounded_number_of_pieces_and_steps_in_any_order() {
    for name in [
        "SACK of every other byte",
        "SACK in random order",
        "SACK plus ACK of two bytes",
    ] {
        let sack = row(name);
        endured(&sack);
        // The number of tracked ranges reached the cap of one connection and did not exceed it.
        assert!((900..=1_024 + 64).contains(&sack.peaks.pieces), "{sack:?}");
        assert!(mean(&sack) <= SACK_MEAN, "{}: {sack:?}", mean(&sack));
    }
}

#[test]
fn each_undo_by_dsacks_needs_a_retransmission_first() {
    let spurious = row("SACK plus ACK of two bytes, and DSACK of everything");
    endured(&spurious);
    // An undo visits every lost range. Each undo needs an earlier retransmission, so the number of
    // undos is bounded.
    let undos = counted(&spurious, "TcpExtTCPFullUndo");
    assert!(undos > 1_000, "{spurious:?}");
    assert!(
        undos <= counted(&spurious, "TcpRetransSegs"),
        "{spurious:?}"
    );
    assert!(
        mean(&spurious) <= UNDO_MEAN,
        "{}: {spurious:?}",
        mean(&spurious)
    );
}

#[test]
fn single_bytes_behind_gaps_cost_a_bounded_number_of_ranges() {
    let bytes = row("one-byte segments out of order");
    endured(&bytes);
    assert!(bytes.peaks.ranges <= 3 * 64, "{bytes:?}");
    assert!(bytes.toll.walked_for_one <= 2 * 64, "{bytes:?}");
}

#[test]
fn one_address_with_many_connections_leaves_others_the_reserve_of_ranges() {
    let many = row("one-byte segments out of order on 16 connections of one address");
    endured(&many);
    // No knob bounds the ranges of one address: 16 connections with 64 ranges each could take all
    // 1,024. The last sixteenth is reserved for connections with fewer than four ranges.
    assert!((900..=1_024 - 64).contains(&many.peaks.ranges), "{many:?}");
    assert!(many.toll.walked_for_one <= 2 * 64, "{many:?}");
    let discarded = counted(&many, "TcpDiscardTooManyHoles") + counted(&many, "TcpDiscardNoRange");
    assert!(discarded > 1_000, "{many:?}");
}

#[test]
fn fragments_in_any_form_cost_a_bounded_part_of_the_pool() {
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
fn packets_forged_in_the_clients_name_change_nothing() {
    let blind = row("blind RST, SYN, payload and ICMP");
    let alone = row("none");
    assert!(blind.toll.packets > 1_000);
    // Each of the attacker's packets is counted, and none is accepted. Packets of the client's two
    // connections are not counted here.
    let fates = ["InexactReset", "UnexpectedSyn", "AckOfUnsent", "AckTooOld"];
    let fates = fates.iter().chain(&["OutsideWindow", "IcmpOutsideWindow"]);
    let discarded: u64 = fates
        .map(|fate| counted(&blind, &format!("TcpDiscard{fate}")))
        .sum();
    assert_eq!(discarded, blind.toll.packets, "{blind:?}");
    let quarter = blind.toll.packets / 4;
    assert_eq!(counted(&blind, "TcpDiscardIcmpOutsideWindow"), quarter);
    assert_eq!(counted(&blind, "TcpDiscardUnexpectedSyn"), quarter);
    assert!(counted(&blind, "TcpExtTCPChallengeACK") < 10, "{blind:?}");
    assert!(
        blind
            .client
            .is_some_and(|took| took < alone.client.expect("it got through") * 2)
    );
}

#[test]
fn divided_and_optimistic_acks_open_the_window_only_by_acknowledged_bytes() {
    let divided = row("ACK division");
    endured(&divided);
    let (cwnd, acked) = divided.growth.expect("a connection");
    assert!(cwnd <= 10 * 1_460 + acked, "{divided:?}");
    let ahead = row("optimistic ACKs");
    endured(&ahead);
    let (cwnd, _) = ahead.growth.expect("a connection");
    // Slow start ends when the congestion window is twice the peer's window.
    let window = u32::from(attackers::WINDOW);
    assert!(cwnd <= 2 * window + 10 * 1_460, "{ahead:?}");
    assert!(counted(&ahead, "TcpDiscardAckOfUnsent") > 500, "{ahead:?}");
}

#[test]
fn connections_that_take_nothing_are_aborted_and_free_their_memory() {
    for name in ["zero-window camping", "peers that vanish"] {
        let camping = row(name);
        assert!(
            camping.client.is_some_and(|took| took < SLOWEST),
            "{camping:?}"
        );
        assert_eq!(camping.left, 0, "{camping:?}");
        assert!(camping.peaks.blocks <= 256);
    }
}

#[test]
fn the_page_of_attacks_has_the_current_results() {
    let page = attacks_markdown(&rows());
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

#[test]
fn programs_get_a_row_for_each_attack() {
    let rows = rows();
    let json: Value = serde_json::from_str(&attacks_json(&rows, 1)).unwrap();
    let objects = json.as_array().unwrap();
    assert_eq!(objects.len(), ATTACKS.len());
    for (attack, object) in ATTACKS.iter().zip(objects) {
        assert_eq!(object["label"], attack.name);
        assert!(object["measured"]["transfer_s"].is_f64(), "{object}");
    }
}

#[test]
fn an_attack_that_is_named_is_played_alone() {
    let played = |parts: &[&str]| {
        let parts: Vec<_> = parts.iter().map(|part| part.to_string()).collect();
        let rows = attacks(&parts)?;
        Ok::<_, UnknownAttack>(rows.iter().map(|row| row.attack).collect::<Vec<_>>())
    };
    let names = ["none", "overlapping fragments"];
    assert_eq!(played(&["overlapping", "none"]), Ok(names.to_vec()));
    assert_eq!(
        played(&["nine"]).unwrap_err().to_string(),
        "no attack's name contains `nine`; did you mean `none`?"
    );
}
