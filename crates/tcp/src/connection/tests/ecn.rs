//! Tests of explicit congestion notification: requests, marks, echoes.

use super::*;
use crate::{CongestionAlgorithm, EcnMode};

fn config(ecn: EcnMode) -> TcpConfig {
    TcpConfig {
        ecn,
        ..TcpConfig::default()
    }
}

/// Creates a pair that is established and has agreed on ECN.
fn agreed() -> Pair {
    Pair::established(config(EcnMode::On), config(EcnMode::Accept))
}

fn uses_ecn(pair: &mut Pair, end: usize) -> bool {
    pair.at(end, |connection, env| connection.info(env).agreed.ecn)
}

/// Marks the `nth` ECN-capable segment with payload to the server.
fn mark_nth(nth: usize) -> SegmentChange {
    let mut seen = 0;
    Box::new(move |in_transit| {
        seen += usize::from(in_transit.ecn == Ecn::Ect0);
        if in_transit.ecn == Ecn::Ect0 && seen == nth {
            in_transit.ecn = Ecn::Ce;
        }
    })
}

#[test]
fn ecn_is_used_when_one_side_requests_and_the_other_accepts_it() {
    use EcnMode::{Accept, Off, On};
    for (client, server, expected) in [
        (On, On, true),
        (On, Accept, true),
        (On, Off, false),
        (Accept, On, false),
        (Accept, Accept, false),
        (Off, On, false),
    ] {
        let mut pair = Pair::established(config(client), config(server));
        let both = [CLIENT, SERVER].map(|end| uses_ecn(&mut pair, end));
        assert_eq!(both, [expected; 2], "{client:?} to {server:?}");
        pair.transfer(CLIENT, 20_000, Duration::from_secs(2));
        let marked = data_sent(&pair, CLIENT).all(|in_transit| in_transit.ecn == Ecn::Ect0);
        assert_eq!(marked, expected, "{client:?} to {server:?}");
    }
}

#[test]
fn a_peer_that_returns_both_ecn_flags_has_not_agreed() {
    for (flags, expected) in [
        (TcpFlags::ECE, true),
        (TcpFlags::ECE | TcpFlags::CWR, false),
        (TcpFlags::CWR, false),
        (TcpFlags::NONE, false),
    ] {
        let mut pair = Pair::new(config(EcnMode::On), config(EcnMode::Accept));
        pair.change = Box::new(move |in_transit| {
            if in_transit.to == CLIENT && in_transit.flags.contains(TcpFlags::SYN) {
                in_transit.flags = TcpFlags::SYN | TcpFlags::ACK | flags;
            }
        });
        pair.run_for(Duration::from_millis(50));
        assert_eq!(uses_ecn(&mut pair, CLIENT), expected, "{flags}");
    }
}

#[test]
fn an_ecn_capable_syn_is_answered_without_ecn() {
    let mut pair = Pair::new(config(EcnMode::On), config(EcnMode::Accept));
    pair.change = Box::new(|in_transit| in_transit.ecn = Ecn::Ect0);
    pair.run_for(Duration::from_millis(50));
    assert_eq!(pair.states(), [TcpState::Established; 2]);
    assert!(!uses_ecn(&mut pair, SERVER));
}

#[test]
fn the_third_syn_does_not_request_ecn() {
    let mut pair = Pair::new(config(EcnMode::On), config(EcnMode::Accept));
    pair.lose = Box::new(|in_transit| in_transit.flags.contains(TcpFlags::SYN | TcpFlags::ECE));
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.states(), [TcpState::Established; 2]);
    let asked = |in_transit: &&InTransit| in_transit.flags.contains(TcpFlags::SYN | TcpFlags::CWR);
    assert_eq!(pair.sent.iter().filter(asked).count(), 2);
    assert!(!uses_ecn(&mut pair, CLIENT));
}

#[test]
fn only_new_payload_is_ecn_capable() {
    let mut pair = agreed();
    pair.lose = lose_nth_data(SERVER, 3);
    pair.transfer(CLIENT, 100_000, Duration::from_secs(5));
    pair.at(CLIENT, |connection, env| connection.close(env));
    pair.run_for(Duration::from_secs(1));
    let mut next = None;
    for in_transit in &pair.sent {
        let new = in_transit.to == SERVER
            && !in_transit.payload.is_empty()
            && next.is_none_or(|next| in_transit.seq.at_or_after(next));
        if new {
            next = Some(in_transit.seq + in_transit.payload.len() as u32);
        }
        let expected = if new { Ecn::Ect0 } else { Ecn::NotEct };
        assert_eq!(in_transit.ecn, expected, "{in_transit:?}");
    }
    assert_eq!(pair.ends[CLIENT].counters.retrans_segs, 1);
}

#[test]
fn a_window_probe_is_not_ecn_capable() {
    // The window has room for three segments, so each further byte leaves as a window probe.
    let server = TcpConfig {
        receive_buffer: 3 * 1_300,
        ..config(EcnMode::Accept)
    };
    let mut pair = Pair::established(config(EcnMode::On), server);
    pair.write(CLIENT, &[1; 20_000]);
    pair.run_for(Duration::from_secs(10));
    assert!(pair.ends[CLIENT].counters.win_probe > 0);
    for in_transit in data_sent(&pair, CLIENT).filter(|in_transit| in_transit.payload.len() == 1) {
        assert_eq!(in_transit.ecn, Ecn::NotEct);
    }
}

#[test]
fn a_mark_is_echoed_on_every_ack_until_cwr() {
    let client = TcpConfig {
        nagle: false,
        ..config(EcnMode::On)
    };
    let server = TcpConfig {
        quick_acks: 1_000,
        ..config(EcnMode::Accept)
    };
    let mut pair = Pair::established(client, server);
    pair.change = mark_nth(3);
    for _ in 0..30 {
        pair.write(CLIENT, b"x");
        pair.run_for(Duration::from_millis(2));
    }
    pair.run_for(Duration::from_millis(50));
    let cwr: Vec<usize> = data_sent(&pair, CLIENT)
        .enumerate()
        .filter(|(_, in_transit)| in_transit.flags.contains(TcpFlags::CWR))
        .map(|(number, _)| number + 1)
        .collect();
    let [cwr] = cwr[..] else {
        panic!("one mark, one reduction: {cwr:?}");
    };
    let echoes: Vec<bool> = pair
        .sent
        .iter()
        .filter(|in_transit| in_transit.to == CLIENT && !in_transit.flags.contains(TcpFlags::SYN))
        .map(|in_transit| in_transit.flags.contains(TcpFlags::ECE))
        .collect();
    let expected: Vec<bool> = (1..=30).map(|number| (3..cwr).contains(&number)).collect();
    assert_eq!(echoes, expected);
    assert_eq!(cwr, 3 + 10, "what was in flight when the echo came");
}

#[test]
fn a_mark_reduces_the_window_without_a_loss() {
    for congestion in [CongestionAlgorithm::NewReno, CongestionAlgorithm::Cubic] {
        let client = TcpConfig {
            congestion,
            ..config(EcnMode::On)
        };
        let cwnd_after = |mark: usize| {
            let mut pair = Pair::established(client.clone(), config(EcnMode::Accept));
            pair.change = mark_nth(mark);
            pair.transfer(CLIENT, 60_000, Duration::from_secs(5));
            let counters = &pair.ends[CLIENT].counters;
            assert_eq!(counters.retrans_segs, 0);
            assert_eq!(counters.delivered_ce > 0, mark > 0);
            pair.at(CLIENT, |connection, env| connection.info(env).cwnd)
        };
        let (unmarked, marked) = (cwnd_after(0), cwnd_after(5));
        assert!(
            marked < unmarked * 7 / 10,
            "{congestion:?}: {marked} of {unmarked}"
        );
    }
}

#[test]
fn a_mark_is_reported_at_once() {
    let server = TcpConfig {
        quick_acks: 0,
        delayed_ack: Duration::from_millis(400),
        ..config(EcnMode::Accept)
    };
    let mut pair = Pair::established(config(EcnMode::On), server);
    pair.change = mark_nth(1);
    pair.write(CLIENT, b"short");
    pair.run_for(Duration::from_millis(25));
    let ack = pair.sent.last().expect("an ACK");
    assert!(ack.to == CLIENT && ack.flags.contains(TcpFlags::ECE));
}

#[test]
fn a_loss_sets_cwr_too() {
    let mut pair = agreed();
    pair.lose = lose_nth_data(SERVER, 20);
    pair.transfer(CLIENT, 200_000, Duration::from_secs(5));
    let has_cwr = |in_transit: &&InTransit| in_transit.flags.contains(TcpFlags::CWR);
    assert_eq!(data_sent(&pair, CLIENT).filter(has_cwr).count(), 1);
}
