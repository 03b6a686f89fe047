//! Tests of packet-too-big messages, timeouts and probes on paths of known MTU.

use alloc::vec::Vec;

use fullpipe_pool::Duration;

use super::*;

const LINK: u16 = 1_460;
const NOW: Instant = Instant::from_secs(10);
/// Sequence number that the packet-too-big messages of these tests quote.
const SEQ: SeqNum = SeqNum(2_000);
const NEVER: Instant = Instant::from_secs(1_000_000);

fn config(mtu_probing: MtuProbing) -> TcpConfig {
    TcpConfig {
        mtu_probing,
        ..TcpConfig::default()
    }
}

/// Probes until nothing is left to find out, on a path that carries `truth`.
/// Returns the limit and the number of probes lost.
fn search(path: &mut PathMtu, truth: u16) -> (u16, u32) {
    let (mut at, mut lost) = (SeqNum(0), 0);
    for _ in 0..100 {
        let Some(size) = path.candidate(LINK) else {
            return (path.limit(), lost);
        };
        assert!(size > path.limit() && size <= LINK, "{size}");
        let end = at + u32::from(size);
        path.on_probe(at, end, size);
        assert_eq!(path.candidate(LINK), None, "one at a time");
        if size <= truth {
            assert!(path.on_ack(end));
        } else {
            assert!(path.on_probe_lost(NEVER));
            lost += 1;
        }
        at = end;
    }
    panic!("an endless search");
}

fn report(size: u16) -> PacketTooBig {
    PacketTooBig {
        size,
        fragment: false,
        seq: SEQ,
    }
}

#[test]
fn a_search_ends_close_below_the_path_mtu() {
    let config = config(MtuProbing::Always);
    for truth in (1_024..=LINK).step_by(7) {
        let mut path = PathMtu::new(LINK, &config);
        assert_eq!(path.limit(), 1_024);
        let (limit, lost) = search(&mut path, truth);
        assert!(
            limit <= truth && limit + STEP >= truth,
            "{limit} of {truth}"
        );
        assert!(lost <= 14, "{lost} lost for {truth}");
    }
}

#[test]
fn timeouts_lead_to_the_base_and_then_to_half_but_not_below_the_floor() {
    let config = config(MtuProbing::BlackHole);
    let mut path = PathMtu::new(LINK, &config);
    let limits: Vec<u16> = (1..=9)
        .map(|in_row| {
            path.on_timeout(in_row, path.limit(), NOW, &config);
            path.limit()
        })
        .collect();
    assert_eq!(limits, [1_460, 1_460, 1_024, 512, 256, 216, 216, 216, 216]);
    assert_eq!(
        search(&mut path, LINK),
        (LINK, 0),
        "it was an outage: one probe"
    );
}

#[test]
fn without_probing_timeouts_change_nothing() {
    let config = config(MtuProbing::Off);
    let mut path = PathMtu::new(LINK, &config);
    assert!((1..20).all(|in_row| !path.on_timeout(in_row, LINK, NOW, &config)));
    assert_eq!((path.limit(), path.candidate(LINK)), (LINK, None));
}

#[test]
fn a_packet_too_big_message_counts_at_once_unless_a_larger_size_was_acknowledged() {
    let config = config(MtuProbing::Off);
    let mut path = PathMtu::new(LINK, &config);
    assert_eq!(
        path.on_packet_too_big(report(1_360), NOW, &config),
        PtbOutcome::Accepted
    );
    assert_eq!(
        path.on_packet_too_big(report(1_400), NOW, &config),
        PtbOutcome::Ignored,
        "only smaller"
    );
    assert_eq!(
        path.on_packet_too_big(report(1_300), NOW, &config),
        PtbOutcome::Accepted,
        "the next hop"
    );
    path.on_sent(SeqNum(0), SeqNum(1_300), 1_300);
    path.on_ack(SeqNum(1_300));
    assert_eq!(
        path.on_packet_too_big(report(500), NOW, &config),
        PtbOutcome::Deferred
    );
    assert_eq!(path.limit(), 1_300);
    assert!(
        path.on_timeout(1, 1_300, NOW, &config),
        "now it is plausible"
    );
    assert_eq!(path.limit(), 500);
    path.on_packet_too_big(report(0), NOW, &config);
    assert_eq!(path.limit(), LEAST_REPORTED);
}

#[test]
fn a_deferred_message_is_dropped_when_the_quoted_segment_is_acknowledged() {
    let config = config(MtuProbing::Off);
    let mut path = PathMtu::new(LINK, &config);
    path.on_sent(SeqNum(0), SeqNum(1_460), LINK);
    path.on_ack(SeqNum(1_460));
    assert_eq!(
        path.on_packet_too_big(report(500), NOW, &config),
        PtbOutcome::Deferred
    );
    path.on_ack(SEQ + 1);
    assert!(!path.on_timeout(1, LINK, NOW, &config));
    assert_eq!(path.limit(), LINK);
}

#[test]
fn retransmitted_payload_proves_no_size() {
    let config = config(MtuProbing::Off);
    let mut path = PathMtu::new(LINK, &config);
    path.on_sent(SeqNum(0), SeqNum(1_460), 1_460);
    path.on_retransmitted(SeqNum(0), SeqNum(536), NEVER);
    path.on_ack(SeqNum(1_460));
    assert_eq!(
        path.on_packet_too_big(report(536), NOW, &config),
        PtbOutcome::Accepted
    );
}

#[test]
fn a_size_that_was_too_large_is_tried_again_later() {
    for (mtu_probing, expected) in [
        (MtuProbing::Off, LINK),
        (MtuProbing::BlackHole, 1_000),
        (MtuProbing::Always, 1_000),
    ] {
        let config = config(mtu_probing);
        let mut path = PathMtu::new(LINK, &config);
        path.on_packet_too_big(report(1_000), NOW, &config);
        let again_at = NOW + config.probe_interval;
        path.on_time(again_at - Duration::from_nanos(1), &config);
        assert_eq!((path.limit(), path.candidate(LINK)), (1_000, None));
        path.on_time(again_at, &config);
        assert_eq!(path.limit(), expected, "{mtu_probing:?}");
        assert_eq!(search(&mut path, LINK).0, LINK, "{mtu_probing:?}");
    }
}

#[test]
fn a_path_that_carries_less_than_the_least_mtu_gets_packets_that_routers_may_fragment() {
    let config = config(MtuProbing::Off);
    let mut path = PathMtu::new(LINK, &config);
    let least = PacketTooBig {
        fragment: true,
        ..report(512)
    };
    assert!(!path.may_fragment(100));
    let outcome = path.on_packet_too_big(least, NOW, &config);
    assert_eq!((outcome, path.limit()), (PtbOutcome::Accepted, 512));
    assert!(path.may_fragment(512) && !path.may_fragment(513));
    let again = path.on_packet_too_big(least, NOW, &config);
    assert_eq!(again, PtbOutcome::Ignored);
    path.on_time(NOW + config.probe_interval, &config);
    assert_eq!(path.limit(), LINK);
    assert!(!path.may_fragment(512), "the path may have changed");
}

#[test]
fn an_acknowledged_size_outweighs_a_message_that_would_clear_df() {
    let config = config(MtuProbing::Off);
    let mut path = PathMtu::new(512, &config);
    path.on_sent(SeqNum(0), SeqNum(512), 512);
    path.on_ack(SeqNum(512));
    let least = PacketTooBig {
        fragment: true,
        ..report(512)
    };
    let outcome = path.on_packet_too_big(least, NOW, &config);
    assert_eq!(outcome, PtbOutcome::Deferred);
    assert!(!path.may_fragment(512));
    path.on_timeout(1, 512, NOW, &config);
    assert!(path.may_fragment(512));
}

#[test]
fn a_segment_of_a_proven_size_does_not_hide_a_larger_one() {
    let config = config(MtuProbing::Off);
    let mut path = PathMtu::new(LINK, &config);
    path.on_sent(SeqNum(0), SeqNum(1_000), 1_000);
    path.on_ack(SeqNum(1_000));
    path.on_sent(SeqNum(1_000), SeqNum(2_000), 1_000);
    path.on_sent(SeqNum(2_000), SeqNum(3_300), 1_300);
    path.on_ack(SeqNum(3_300));
    let outcome = path.on_packet_too_big(report(1_299), NOW, &config);
    assert_eq!(outcome, PtbOutcome::Deferred);
    let outcome = path.on_packet_too_big(report(1_300), NOW, &config);
    assert_eq!(outcome, PtbOutcome::Accepted);
}

/// RFC 5927 §7.2: if only a part of a segment was acknowledged, its size is not proven.
#[test]
fn only_a_whole_segment_proves_its_size() {
    let config = config(MtuProbing::Off);
    for (acked, expected) in [(1_459, PtbOutcome::Accepted), (1_460, PtbOutcome::Deferred)] {
        let mut path = PathMtu::new(LINK, &config);
        path.on_sent(SeqNum(0), SeqNum(1_460), 1_460);
        path.on_ack(SeqNum(acked));
        let outcome = path.on_packet_too_big(report(900), NOW, &config);
        assert_eq!(outcome, expected, "{acked}");
    }
}

#[test]
fn a_retransmission_beside_the_evidence_or_the_probe_leaves_them() {
    let config = config(MtuProbing::Always);
    for (start, end, lost) in [
        (0, 1_000, false),
        (0, 1_001, true),
        (2_400, 3_000, false),
        (2_399, 3_000, true),
    ] {
        let mut path = PathMtu::new(LINK, &config);
        path.on_probe(SeqNum(1_000), SeqNum(2_400), 1_400);
        path.on_sent(SeqNum(1_000), SeqNum(2_400), 1_024);
        let found = path.on_retransmitted(SeqNum(start), SeqNum(end), NEVER);
        assert_eq!(found, lost, "{start}..{end}");
        assert_eq!(path.evidence.is_none(), lost, "{start}..{end}");
        assert_eq!(path.on_ack(SeqNum(2_400)), !lost, "{start}..{end}");
    }
    assert!(!PathMtu::new(LINK, &config).on_probe_lost(NEVER));
}

/// RFC 8899 §5.1.3: a size is too large after MAX_PROBES losses, which is two here.
#[test]
fn one_lost_probe_proves_nothing() {
    let config = config(MtuProbing::Always);
    let mut path = PathMtu::new(LINK, &config);
    let probes: Vec<Option<u16>> = (0..5)
        .map(|_| {
            let size = path.candidate(LINK);
            path.on_probe(SeqNum(0), SeqNum(1), size.unwrap_or(0));
            path.on_probe_lost(NOW);
            size
        })
        .collect();
    // Once 1,460 counts as too large, the next size is in the middle of the remaining sizes: 1,024
    // + ceil(435 / 2).
    assert_eq!(probes, [1_460, 1_460, 1_242, 1_242, 1_133].map(Some));
    assert_eq!(path.retry_at, Some(NOW));
    path.on_time(NOW - Duration::from_nanos(1), &config);
    assert_eq!(path.too_large, 1_242);
    path.on_time(NOW, &config);
    assert_eq!((path.too_large, path.retry_at), (LINK + 1, None));
}

#[test]
fn a_probe_is_no_larger_than_the_caller_allows() {
    let config = config(MtuProbing::Always);
    let mut path = PathMtu::new(LINK, &config);
    assert_eq!(path.candidate(1_100), Some(1_100));
    assert_eq!(path.candidate(1_024), None);
    assert_eq!(path.candidate(1_025), Some(1_025));
    assert!(path.searching, "the caller's bound is no finding");
    path.too_large = 1_040;
    assert_eq!(path.candidate(LINK), None, "15 bytes are not worth a probe");
    assert!(!path.searching);
    (path.searching, path.too_large) = (true, 1_041);
    assert_eq!(path.candidate(LINK), Some(1_032));
}

/// RFC 4821 §7.7: a black hole is suspected after R1 (knob `tcp.retries1`) timeouts of segments
/// above the smallest size.
#[test]
fn timeouts_of_small_segments_are_no_black_hole() {
    let config = config(MtuProbing::BlackHole);
    let retries1 = config.retries1;
    for (in_row, used, expected) in [
        (retries1 - 1, 1_460, 1_460),
        (retries1, 216, 1_460),
        (retries1, 217, 216),
        (retries1, 1_000, 500),
        (retries1, 1_024, 512),
        (retries1, 1_025, 1_024),
    ] {
        let mut path = PathMtu::new(LINK, &config);
        let changed = path.on_timeout(in_row, used, NOW, &config);
        assert_eq!(
            (path.limit(), changed),
            (expected, expected != LINK),
            "{used}"
        );
    }
}

#[test]
fn a_path_without_probing_starts_with_what_the_first_link_carries() {
    for (mtu_probing, link, limit, searching) in [
        (MtuProbing::Off, LINK, LINK, false),
        (MtuProbing::Always, LINK, 1_024, true),
        (MtuProbing::Always, 1_000, 1_000, false),
    ] {
        let path = PathMtu::new(link, &config(mtu_probing));
        assert_eq!((path.limit(), path.searching), (limit, searching));
    }
}

#[test]
fn the_evidence_is_the_first_segment_of_an_unproven_size() {
    let config = config(MtuProbing::Off);
    let mut path = PathMtu::new(LINK, &config);
    path.on_sent(SeqNum(0), SeqNum(1_400), 1_400);
    path.on_sent(SeqNum(1_400), SeqNum(2_700), 1_300);
    path.on_ack(SeqNum(1_400));
    let outcome = path.on_packet_too_big(report(1_350), NOW, &config);
    assert_eq!(outcome, PtbOutcome::Deferred);
    assert!(path.on_timeout(1, 1_400, NOW, &config));
    assert_eq!(path.limit(), 1_350);
    assert_eq!(path.retry_at, Some(NOW + config.probe_interval));
}

#[test]
fn acknowledged_segments_prove_nothing_about_an_ack_that_was_too_big() {
    let config = config(MtuProbing::Off);
    let mut path = PathMtu::new(LINK, &config);
    path.on_sent(SeqNum(0), SeqNum(1_000), 1_000);
    path.on_ack(SeqNum(1_000));
    let outcome = path.on_packet_too_big(report(48), NOW, &config);
    assert_eq!(outcome, PtbOutcome::Deferred);
    let outcome = path.on_ack_too_big(report(48), NOW, &config);
    assert_eq!((outcome, path.limit()), (PtbOutcome::Accepted, 48));
    let outcome = path.on_ack_too_big(report(100), NOW, &config);
    assert_eq!((outcome, path.limit()), (PtbOutcome::Ignored, 48));
}
