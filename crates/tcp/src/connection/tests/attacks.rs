//! Tests with segments of off-path attackers who guess sequence numbers. RFC 5961, RFC 5927.

use alloc::vec;

use super::*;

/// Creates a segment to the server as an off-path attacker would forge it.
fn forged(pair: &mut Pair, flags: TcpFlags, seq_off: u32, ack_off: u32) -> InTransit {
    let now = pair.now;
    let info = pair.at(SERVER, |connection, env| connection.info(env));
    InTransit {
        due: now,
        to: SERVER,
        seq: SeqNum(info.rcv_nxt) + seq_off,
        ack: SeqNum(info.snd_nxt) + ack_off,
        flags,
        window: 100,
        options: TcpOptions::default(),
        payload: Vec::new(),
        ecn: Ecn::NotEct,
    }
}

#[test]
fn a_reset_must_match_rcv_nxt_and_any_other_in_the_window_gets_a_limited_challenge() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    for _ in 0..50 {
        let reset = forged(&mut pair, TcpFlags::RST, 5, 0);
        pair.deliver(&reset);
    }
    assert_eq!(pair.states()[SERVER], TcpState::Established);
    assert_eq!(pair.ends[SERVER].counters.challenge_ack, 1, "rate-limited");
    let reset = forged(&mut pair, TcpFlags::RST, 0, 0);
    pair.deliver(&reset);
    assert_eq!(pair.states()[SERVER], TcpState::Closed);
}

#[test]
fn a_syn_inside_a_connection_changes_nothing() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    for offset in [0, 3, 0x4000_0000] {
        let syn = forged(&mut pair, TcpFlags::SYN, offset, 0);
        pair.deliver(&syn);
    }
    assert_eq!(pair.states()[SERVER], TcpState::Established);
    pair.transfer(CLIENT, 10_000, Duration::from_secs(2));
}

#[test]
fn an_ack_of_unsent_bytes_frees_nothing_and_its_payload_is_discarded() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    for (offset, reason) in [
        (1, DiscardReason::AckOfUnsent),
        (0x9000_0000, DiscardReason::AckTooOld),
    ] {
        let mut guess = forged(&mut pair, TcpFlags::ACK, 0, offset);
        guess.payload = b"injected".to_vec();
        pair.deliver(&guess);
        assert_eq!(pair.ends[SERVER].discards.get(reason), 1, "{reason:?}");
    }
    assert!(pair.read(SERVER).is_empty());
}

#[test]
fn an_old_timestamp_is_refused() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    let mut old = forged(&mut pair, TcpFlags::ACK, 0, 0);
    old.payload = b"from the past".to_vec();
    let recent = pair
        .sent
        .iter()
        .rev()
        .find(|f| f.to == SERVER)
        .expect("sent")
        .options
        .timestamps;
    let value = recent.expect("timestamps agreed").value.wrapping_sub(10);
    old.options.timestamps = Some(fullpipe_wire::Timestamps { value, echo: 0 });
    pair.deliver(&old);
    assert_eq!(pair.ends[SERVER].counters.paws_estab_rejected, 1);
    assert!(pair.read(SERVER).is_empty());
}

#[test]
fn an_icmp_error_counts_only_when_it_quotes_something_in_flight() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    let needed = IcmpError::FragmentationNeeded {
        mss_limit: 1_000,
        fragment: false,
    };
    let una = pair
        .at(CLIENT, |connection, env| connection.info(env))
        .snd_una;
    pair.at(CLIENT, |connection, env| {
        connection.on_icmp(needed, SeqNum(una), env)
    });
    assert_eq!(
        pair.at(CLIENT, |c, env| c.info(env)).mss,
        1_448,
        "nothing is in flight"
    );
    pair.lose = Box::new(|_| true);
    pair.write(CLIENT, &[3; 5_000]);
    pair.lose = Box::new(|_| false);
    pair.at(CLIENT, |connection, env| {
        connection.on_icmp(needed, SeqNum(una), env)
    });
    assert_eq!(pair.at(CLIENT, |c, env| c.info(env)).mss, 988);
    pair.run_for(Duration::from_millis(100));
    assert_eq!(
        pair.read(SERVER).len(),
        5_000,
        "retransmitted at once in smaller segments"
    );
    pair.at(CLIENT, |connection, env| {
        connection.on_icmp(IcmpError::Unreachable { hard: true }, SeqNum(una), env);
    });
    assert_eq!(pair.states()[CLIENT], TcpState::Established);
}

/// An attacker who knows the sequence numbers cannot make segments small while larger segments are
/// acknowledged. RFC 5927 §7.2.
#[test]
fn a_packet_too_big_message_is_deferred_while_larger_segments_are_acknowledged() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.transfer(CLIENT, 20_000, Duration::from_secs(2));
    let needed = IcmpError::FragmentationNeeded {
        mss_limit: 68,
        fragment: false,
    };
    for _ in 0..20 {
        pair.write(CLIENT, &[3; 5_000]);
        pair.at(CLIENT, |connection, env| {
            let una = SeqNum(connection.info(env).snd_una);
            connection.on_icmp(needed, una, env);
        });
        pair.run_for(Duration::from_millis(30));
        pair.read(SERVER);
        assert_eq!(pair.at(CLIENT, |c, env| c.info(env)).mss, 1_448);
    }
    assert_eq!(pair.ends[CLIENT].counters.retrans_segs, 0);
    // Once no more ACKs arrive, the message may be true.
    pair.run_for(Duration::from_secs(1));
    pair.read(SERVER);
    pair.lose = Box::new(|in_transit| in_transit.payload.len() > 1_000);
    pair.write(CLIENT, &[4; 3_000]);
    let una = pair.at(CLIENT, |c, env| c.info(env)).snd_una;
    let shrunk = IcmpError::FragmentationNeeded {
        mss_limit: 1_000,
        fragment: false,
    };
    pair.at(CLIENT, |connection, env| {
        connection.on_icmp(shrunk, SeqNum(una), env);
    });
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.read(SERVER).len(), 3_000);
}

#[test]
fn payload_in_any_order_and_overlap_makes_the_same_stream() {
    let mut rng = fullpipe_pool::Rng::seeded(3);
    for round in 0..30 {
        let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
        let total = 5_000;
        let base = forged(&mut pair, TcpFlags::ACK, 0, 0);
        let mut pieces: Vec<(usize, usize)> = (0..total).step_by(100).map(|at| (at, 100)).collect();
        for _ in 0..60 {
            let at = rng.below(total as u64) as usize;
            pieces.push((at, (total - at).min(1 + rng.below(700) as usize)));
        }
        while !pieces.is_empty() {
            let (at, len) = pieces.swap_remove(rng.below(pieces.len() as u64) as usize);
            let payload = (at..at + len).map(pattern).collect();
            pair.deliver(&InTransit {
                seq: base.seq + at as u32,
                payload,
                ..base.clone()
            });
            pair.transmit();
        }
        let got = pair.read(SERVER);
        assert!(
            got.iter()
                .enumerate()
                .all(|(at, &byte)| byte == pattern(at)),
            "round {round}"
        );
        assert_eq!(got.len(), total, "round {round}");
    }
}

/// Forges payload with sequence numbers from the whole circle and an ACK number that was never
/// valid, while the server has unread bytes. None of the forged bytes may be read.
#[test]
fn forged_payload_far_from_the_window_never_enters_the_stream() {
    for timestamps in [false, true] {
        let config = TcpConfig {
            timestamps,
            ..TcpConfig::default()
        };
        let mut pair = Pair::established(config.clone(), config);
        pair.write(CLIENT, b"PAY 10 to Alice;");
        pair.run_for(Duration::from_millis(100));
        let mut rng = fullpipe_pool::Rng::seeded(11);
        for round in 0..20_000 {
            let near_the_far_side = 0x8000_0000 - 2_000 + rng.below(4_000) as u32;
            let seq_off = if round % 2 == 0 {
                near_the_far_side
            } else {
                rng.below(1 << 32) as u32
            };
            let mut guess = forged(&mut pair, TcpFlags::ACK, seq_off, 0x0dea_dbee);
            guess.payload = vec![b'!'; 1 + rng.below(1_400) as usize];
            pair.deliver(&guess);
        }
        assert_eq!(pair.read(SERVER), b"PAY 10 to Alice;");
        pair.transfer(CLIENT, 10_000, Duration::from_secs(2));
    }
}

/// A peer that retransmits its last segment with a byte in place of the FIN changes nothing.
#[test]
fn payload_in_the_place_of_a_fin_is_a_duplicate() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    let mut last = forged(&mut pair, TcpFlags::ACK | TcpFlags::FIN, 0, 0);
    last.payload = b"abc".to_vec();
    pair.deliver(&last);
    last.flags = TcpFlags::ACK;
    last.payload = b"abcX".to_vec();
    pair.deliver(&last);
    assert_eq!(pair.read(SERVER), b"abc");
}

/// RFC 5961 §5.2, RFC 7323 §4.3: a segment whose ACK is refused does not change TS.Recent.
/// Otherwise PAWS would reject the peer for 24 days.
#[test]
fn a_refused_ack_leaves_the_recent_timestamp_alone() {
    for (flags, ack_off) in [
        (TcpFlags::ACK, 5_000),
        (TcpFlags::ACK, 0x9000_0000),
        (TcpFlags::NONE, 0),
    ] {
        let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
        let mut guess = forged(&mut pair, flags, 0, ack_off);
        let recent = pair.sent.iter().rev().find(|sent| sent.to == SERVER);
        let recent = recent.and_then(|sent| sent.options.timestamps);
        let value = recent.expect("timestamps agreed").value + (1 << 30);
        guess.options.timestamps = Some(fullpipe_wire::Timestamps { value, echo: 0 });
        guess.payload = b"guess".to_vec();
        pair.deliver(&guess);
        pair.transfer(CLIENT, 10_000, Duration::from_secs(2));
    }
}
