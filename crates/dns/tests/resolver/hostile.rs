//! Tests with answers that are forged, damaged, or about another question.

use fullpipe::Rng;
use fullpipe_dns::{LookupError, Transport};
use simple_dns::{Packet, PacketFlag, TYPE};

use crate::server::*;

#[test]
fn an_answer_out_of_turn_changes_nothing() {
    let mut resolver = resolver();
    let (_, sent) = ask(&mut resolver, "example.com", at(0));
    let honest = with(&sent, vec![a("example.com", 60, 1)]);
    let mut wrong_id = honest.clone();
    wrong_id[0] ^= 1;
    let mut is_query = honest.clone();
    is_query[2] &= 0x7f;
    let other_name = answer(&sent, |packet| {
        packet.questions[0].qname = simple_dns::Name::new_unchecked("example.net");
        packet.answers.push(a("example.net", 60, 66));
    });
    let other_type = answer(&sent, |packet| {
        packet.questions[0].qtype = TYPE::AAAA.into();
        packet.answers.push(a("example.com", 60, 66));
    });
    for bytes in [
        &wrong_id,
        &is_query,
        &other_name,
        &other_type,
        &honest[..11].to_vec(),
    ] {
        deliver(&mut resolver, &sent, bytes, at(1));
    }
    for from in ["192.0.2.53:54", "192.0.2.99:53", OTHER] {
        resolver.on_datagram(sent.attempt, address(from), &honest, at(1));
    }
    assert_eq!(outcome(&mut resolver), None);
    let counters = *resolver.counters();
    assert_eq!((counters.wrong_id, counters.wrong_question), (1, 3));
    assert_eq!((counters.wrong_server, counters.malformed), (3, 1));
    deliver(&mut resolver, &sent, &honest, at(2));
    assert_eq!(last_bytes(&mut resolver), Some(Ok(vec![1])));
    deliver(&mut resolver, &sent, &honest, at(3));
    assert_eq!(resolver.counters().closed_socket, 1);
    assert_eq!(outcome(&mut resolver), None);
}

/// The attacker knows the question, the server and even the port, and guesses ids.
#[test]
fn ten_thousand_forged_answers_end_in_a_query_over_tcp() {
    let mut resolver = resolver();
    let (_, sent) = ask(&mut resolver, "example.com", at(0));
    let mut forged = with(&sent, vec![a("example.com", 86_400, 66)]);
    let id = u16::from_be_bytes([forged[0], forged[1]]);
    let mut over_tcp = None;
    for guess in 1..=10_000 {
        forged[..2].copy_from_slice(&id.wrapping_add(guess).to_be_bytes());
        deliver(&mut resolver, &sent, &forged, at(1));
        over_tcp = over_tcp.or(resolver.poll_transmit());
    }
    assert_eq!(outcome(&mut resolver), None);
    assert_eq!(
        (resolver.counters().wrong_id, resolver.counters().forged),
        (8, 1)
    );
    assert_eq!(resolver.counters().closed_socket, 9_992);
    // Even the right id now comes too late.
    forged[..2].copy_from_slice(&id.to_be_bytes());
    deliver(&mut resolver, &sent, &forged, at(1));
    assert_eq!(outcome(&mut resolver), None);
    let over_tcp = over_tcp.expect("a query over TCP");
    assert_eq!(over_tcp.transport, Transport::Tcp);
    let bytes = with(&over_tcp, vec![a("example.com", 60, 1)]);
    resolver.on_tcp_message(over_tcp.attempt, &bytes, at(20));
    assert_eq!(last_bytes(&mut resolver), Some(Ok(vec![1])));
}

#[test]
fn records_that_nobody_asked_for_are_ignored() {
    let mut resolver = resolver();
    let (_, sent) = ask(&mut resolver, "example.com", at(0));
    let bytes = answer(&sent, |packet| {
        packet.answers = vec![
            a("bank.test", 60, 66),
            aaaa("example.com", 60, 66),
            a("example.com", 60, 1),
            alias("bank.test", 60, "example.com"),
        ];
        packet.additional_records = vec![a("example.com", 60, 67), a("bank.test", 60, 68)];
    });
    deliver(&mut resolver, &sent, &bytes, at(0));
    assert_eq!(last_bytes(&mut resolver), Some(Ok(vec![1])));
    assert_eq!(resolver.cached(), 1);
    ask(&mut resolver, "bank.test", at(1)); // asks the server
}

#[test]
fn aliases_in_a_circle_and_long_chains_end() {
    let mut resolver = resolver();
    let (_, sent) = ask(&mut resolver, "a.test", at(0));
    let circle = vec![alias("a.test", 60, "b.test"), alias("b.test", 60, "a.test")];
    let bytes = with(&sent, circle);
    deliver(&mut resolver, &sent, &bytes, at(0));
    assert_eq!(
        outcome(&mut resolver),
        Some(Err(LookupError::TooManyAliases))
    );

    // One alias in each answer.
    let (_, mut sent) = ask(&mut resolver, "n0.test", at(0));
    for count in 0..9 {
        let (owner, target) = (format!("n{count}.test"), format!("n{}.test", count + 1));
        let bytes = with(&sent, vec![alias(&owner, 60, &target)]);
        deliver(&mut resolver, &sent, &bytes, at(0));
        if count < 8 {
            sent = resolver.poll_transmit().expect("the next name");
        }
    }
    assert_eq!(
        outcome(&mut resolver),
        Some(Err(LookupError::TooManyAliases))
    );
    assert_eq!(resolver.next_timeout(), None);
}

#[test]
fn a_huge_time_to_live_is_shortened_and_a_negative_one_is_zero() {
    for (ttl, kept_s) in [(u32::MAX, 0), (i32::MAX as u32, 86_400), (0, 0)] {
        let mut resolver = resolver();
        let (_, sent) = ask(&mut resolver, "example.com", at(0));
        let bytes = with(&sent, vec![a("example.com", ttl, 1)]);
        deliver(&mut resolver, &sent, &bytes, at(0));
        let answer = outcome(&mut resolver)
            .expect("an outcome")
            .expect("addresses");
        assert_eq!(answer.valid_until, at(kept_s * 1_000));
    }
}

#[test]
fn answers_over_tcp_are_checked_too() {
    let mut resolver = resolver();
    let (_, sent) = ask(&mut resolver, "example.com", at(0));
    let bytes = answer(&sent, |packet| packet.set_flags(PacketFlag::TRUNCATION));
    deliver(&mut resolver, &sent, &bytes, at(0));
    let over_tcp = resolver.poll_transmit().expect("a query over TCP");
    let mut bytes = with(&over_tcp, vec![a("example.com", 60, 66)]);
    bytes[0] ^= 1;
    resolver.on_tcp_message(over_tcp.attempt, &bytes, at(0));
    assert_eq!(outcome(&mut resolver), None);
    assert!(!resolver.is_open(over_tcp.attempt));
    assert!(resolver.poll_transmit().is_some(), "the next server");
}

/// Random bytes after a valid header and question, and valid answers with damaged bytes.
#[test]
fn a_damaged_answer_never_panics() {
    let mut rng = Rng::seeded(36);
    let mut outcomes = [0_u32; 2];
    for round in 0..100_000_u64 {
        let mut resolver = resolver();
        let (_, sent) = ask(&mut resolver, "www.example.com", at(round));
        let mut bytes = answer(&sent, |packet: &mut Packet<'_>| {
            packet.answers = vec![
                alias("www.example.com", 60, "b.example.com"),
                a("b.example.com", 60, 1),
                aaaa("b.example.com", 60, 1),
            ];
            packet.name_servers.push(soa("example.com", 60, 60));
        });
        let question_end = 12 + 17 + 4;
        if round % 2 == 0 {
            let len = rng.next_u64() as usize % 200;
            bytes.truncate(question_end);
            bytes.extend((0..len).map(|_| rng.next_u64() as u8));
            for count in [7, 9, 11] {
                bytes[count] = rng.next_u64() as u8 % 8;
            }
        } else {
            for _ in 0..=rng.next_u64() % 8 {
                let place = rng.next_u64() as usize % bytes.len();
                bytes[place] = rng.next_u64() as u8;
            }
            let len = bytes.len() - rng.next_u64() as usize % 4;
            bytes.truncate(len);
        }
        deliver(&mut resolver, &sent, &bytes, at(round));
        outcomes[usize::from(outcome(&mut resolver).is_some())] += 1;
    }
    // Many messages have an outcome, and many have none.
    assert!(outcomes.iter().all(|count| *count > 1_000), "{outcomes:?}");
}
