//! Explicit congestion notification: who asks, who is marked, who answers.

use super::*;
use crate::{CongestionAlgorithm, EcnMode};

fn config(ecn: EcnMode) -> TcpConfig {
    TcpConfig {
        ecn,
        ..TcpConfig::default()
    }
}

/// Both ends established and agreed.
fn agreed() -> Pair {
    Pair::established(config(EcnMode::On), config(EcnMode::Accept))
}

fn uses_ecn(pair: &mut Pair, end: usize) -> bool {
    pair.at(end, |connection, env| connection.info(env).agreed.ecn)
}

/// Marks the `nth` segment with text to the server that can be marked.
fn mark_nth(nth: usize) -> Change {
    let mut seen = 0;
    Box::new(move |flying| {
        seen += usize::from(flying.ecn == Ecn::Ect0);
        if flying.ecn == Ecn::Ect0 && seen == nth {
            flying.ecn = Ecn::Ce;
        }
    })
}

#[test]
fn ecn_is_used_when_one_side_asks_and_the_other_agrees() {
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
        let marked = data_sent(&pair, CLIENT).all(|flying| flying.ecn == Ecn::Ect0);
        assert_eq!(marked, expected, "{client:?} to {server:?}");
    }
}

#[test]
fn a_peer_that_sends_the_question_back_has_not_agreed() {
    for (flags, expected) in [
        (TcpFlags::ECE, true),
        (TcpFlags::ECE | TcpFlags::CWR, false),
        (TcpFlags::CWR, false),
        (TcpFlags::NONE, false),
    ] {
        let mut pair = Pair::new(config(EcnMode::On), config(EcnMode::Accept));
        pair.change = Box::new(move |flying| {
            if flying.to == CLIENT && flying.flags.contains(TcpFlags::SYN) {
                flying.flags = TcpFlags::SYN | TcpFlags::ACK | flags;
            }
        });
        pair.run_for(Duration::from_millis(50));
        assert_eq!(uses_ecn(&mut pair, CLIENT), expected, "{flags}");
    }
}

#[test]
fn a_syn_that_claims_to_be_markable_is_answered_without_ecn() {
    let mut pair = Pair::new(config(EcnMode::On), config(EcnMode::Accept));
    pair.change = Box::new(|flying| flying.ecn = Ecn::Ect0);
    pair.run_for(Duration::from_millis(50));
    assert_eq!(pair.states(), [TcpState::Established; 2]);
    assert!(!uses_ecn(&mut pair, SERVER));
}

#[test]
fn where_asking_syns_are_lost_the_third_does_not_ask() {
    let mut pair = Pair::new(config(EcnMode::On), config(EcnMode::Accept));
    pair.lose = Box::new(|flying| flying.flags.contains(TcpFlags::SYN | TcpFlags::ECE));
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.states(), [TcpState::Established; 2]);
    let asked = |flying: &&Flying| flying.flags.contains(TcpFlags::SYN | TcpFlags::CWR);
    assert_eq!(pair.sent.iter().filter(asked).count(), 2);
    assert!(!uses_ecn(&mut pair, CLIENT));
}

#[test]
fn only_new_text_can_be_marked() {
    let mut pair = agreed();
    pair.lose = lose_nth_data(SERVER, 3);
    pair.transfer(CLIENT, 100_000, Duration::from_secs(5));
    pair.at(CLIENT, |connection, env| connection.close(env));
    pair.run_for(Duration::from_secs(1));
    let mut next = None;
    for flying in &pair.sent {
        let new = flying.to == SERVER
            && !flying.text.is_empty()
            && next.is_none_or(|next| flying.seq.at_or_after(next));
        if new {
            next = Some(flying.seq + flying.text.len() as u32);
        }
        let expected = if new { Ecn::Ect0 } else { Ecn::NotEct };
        assert_eq!(flying.ecn, expected, "{flying:?}");
    }
    assert_eq!(pair.ends[CLIENT].counters.retrans_segs, 1);
}

#[test]
fn a_window_probe_cannot_be_marked() {
    // Three segments: no byte of the window is left that is not a probe.
    let server = TcpConfig {
        receive_buffer: 3 * 1_300,
        ..config(EcnMode::Accept)
    };
    let mut pair = Pair::established(config(EcnMode::On), server);
    pair.write(CLIENT, &[1; 20_000]);
    pair.run_for(Duration::from_secs(10));
    assert!(pair.ends[CLIENT].counters.win_probe > 0);
    for flying in data_sent(&pair, CLIENT).filter(|flying| flying.text.len() == 1) {
        assert_eq!(flying.ecn, Ecn::NotEct);
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
        .filter(|(_, flying)| flying.flags.contains(TcpFlags::CWR))
        .map(|(number, _)| number + 1)
        .collect();
    let [cwr] = cwr[..] else {
        panic!("one mark, one reduction: {cwr:?}");
    };
    let echoes: Vec<bool> = pair
        .sent
        .iter()
        .filter(|flying| flying.to == CLIENT && !flying.flags.contains(TcpFlags::SYN))
        .map(|flying| flying.flags.contains(TcpFlags::ECE))
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
fn a_mark_is_told_at_once() {
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
fn a_loss_is_told_with_cwr_too() {
    let mut pair = agreed();
    pair.lose = lose_nth_data(SERVER, 20);
    pair.transfer(CLIENT, 200_000, Duration::from_secs(5));
    let told = |flying: &&Flying| flying.flags.contains(TcpFlags::CWR);
    assert_eq!(data_sent(&pair, CLIENT).filter(told).count(), 1);
}
