//! Tests of lookups with honest servers, which may be slow, silent, old, or far away.

use fullpipe_dns::{Family, LookupError, NameError, Resolver, Settings, Transport};
use simple_dns::{Packet, PacketFlag, RCODE};

use crate::server::*;

#[test]
fn an_address_is_found_and_kept_until_its_time_to_live_ends() {
    let mut resolver = resolver();
    let (id, sent) = ask(&mut resolver, "WWW.example.com.", at(0));
    assert_eq!(sent.server, address(SERVER));
    let query = Packet::parse(&sent.payload).expect("a valid query");
    assert_eq!(query.opt().map(|opt| opt.udp_packet_size), Some(1_232));
    assert!(query.has_flags(PacketFlag::RECURSION_DESIRED));
    let bytes = with(
        &sent,
        vec![a("www.example.com", 60, 1), a("www.example.com", 30, 2)],
    );
    deliver(&mut resolver, &sent, &bytes, at(20));
    let (answered, outcome) = resolver.poll_answer().expect("an answer");
    assert_eq!(answered, id);
    let answer = outcome.expect("addresses");
    assert_eq!(
        (answer.addresses.len(), answer.valid_until),
        (2, at(30_020))
    );
    assert!(are_closed(&resolver, &[sent.attempt]));
    assert_eq!(resolver.next_timeout(), None);

    // The cache has the answer until just before it expires, and no longer at that time.
    resolver
        .query(&name("www.example.com"), Family::V4, at(30_019))
        .expect("known");
    assert!(resolver.poll_transmit().is_none());
    assert_eq!(last_bytes(&mut resolver), Some(Ok(vec![1, 2])));
    resolver
        .query(&name("www.example.com"), Family::V4, at(30_020))
        .expect("room");
    assert!(resolver.poll_transmit().is_some());
}

#[test]
fn a_lost_query_goes_to_the_next_server_and_a_late_answer_still_counts() {
    let mut resolver = resolver();
    let (_, first) = ask(&mut resolver, "example.com", at(0));
    assert_eq!(resolver.next_timeout(), Some(at(1_000)));
    resolver.on_timeout(at(1_000));
    let second = resolver
        .poll_transmit()
        .expect("a query for the other server");
    assert_eq!(second.server, address(OTHER));
    assert_ne!(
        first.payload[..2],
        second.payload[..2],
        "each query has its own id"
    );
    let bytes = with(&first, vec![a("example.com", 60, 1)]);
    deliver(&mut resolver, &first, &bytes, at(1_500));
    assert_eq!(last_bytes(&mut resolver), Some(Ok(vec![1])));
    assert!(are_closed(&resolver, &[first.attempt, second.attempt]));
}

#[test]
fn a_lookup_without_any_answer_ends() {
    let mut resolver = resolver();
    ask(&mut resolver, "example.com", at(0));
    let mut times = Vec::new();
    while let Some(due) = resolver.next_timeout() {
        times.push(due);
        resolver.on_timeout(due);
        resolver.poll_transmit();
    }
    assert_eq!(times, [1_000, 2_000, 4_000, 6_000, 10_000, 14_000].map(at));
    assert_eq!(outcome(&mut resolver), Some(Err(LookupError::TimedOut)));
    assert_eq!(resolver.counters().sent, 6);
}

#[test]
fn a_server_that_fails_is_left_at_once() {
    let mut resolver = resolver();
    let (_, mut sent) = ask(&mut resolver, "example.com", at(0));
    for _ in 0..5 {
        let bytes = negative(&sent, RCODE::ServerFailure, ("", 0));
        deliver(&mut resolver, &sent, &bytes, at(10));
        let next = resolver.poll_transmit().expect("another attempt");
        assert_ne!(next.server, sent.server);
        sent = next;
    }
    resolver.on_failure(sent.attempt, at(10)); // for example a port that is unreachable
    assert_eq!(
        outcome(&mut resolver),
        Some(Err(LookupError::ServersFailed))
    );
}

#[test]
fn a_truncated_answer_leads_to_tcp() {
    let mut resolver = resolver();
    let (_, sent) = ask(&mut resolver, "example.com", at(0));
    let bytes = answer(&sent, |packet| packet.set_flags(PacketFlag::TRUNCATION));
    deliver(&mut resolver, &sent, &bytes, at(10));
    let over_tcp = resolver.poll_transmit().expect("a query over TCP");
    assert_eq!(
        (over_tcp.transport, over_tcp.server),
        (Transport::Tcp, sent.server)
    );
    assert!(!resolver.is_open(sent.attempt));
    let length = usize::from(over_tcp.payload[0]) << 8 | usize::from(over_tcp.payload[1]);
    assert_eq!(length, over_tcp.payload.len() - 2);
    let records = (0..16).map(|last| a("example.com", 60, last)).collect();
    let bytes = with(&over_tcp, records);
    resolver.on_tcp_message(over_tcp.attempt, &bytes, at(40));
    let found = last_bytes(&mut resolver).and_then(Result::ok);
    assert_eq!(found.map(|found| found.len()), Some(16));
}

#[test]
fn a_connection_that_fails_leads_to_the_next_server() {
    let mut resolver = resolver();
    let (_, sent) = ask(&mut resolver, "example.com", at(0));
    let bytes = answer(&sent, |packet| packet.set_flags(PacketFlag::TRUNCATION));
    deliver(&mut resolver, &sent, &bytes, at(10));
    let over_tcp = resolver.poll_transmit().expect("a query over TCP");
    resolver.on_failure(over_tcp.attempt, at(20));
    let next = resolver
        .poll_transmit()
        .expect("a query for the other server");
    assert_eq!(
        (next.transport, next.server),
        (Transport::Udp, address(OTHER))
    );
}

#[test]
fn a_server_without_edns_gets_a_query_without_it() {
    let mut resolver = resolver();
    let (_, sent) = ask(&mut resolver, "example.com", at(0));
    let bytes = answer(&sent, |packet| {
        *packet.rcode_mut() = RCODE::FormatError;
        packet.questions.clear();
    });
    deliver(&mut resolver, &sent, &bytes, at(10));
    let plain = resolver.poll_transmit().expect("a query without EDNS");
    assert_eq!(plain.server, sent.server);
    assert!(
        Packet::parse(&plain.payload)
            .expect("valid")
            .opt()
            .is_none()
    );
}

#[test]
fn aliases_are_followed_within_an_answer_and_across_answers() {
    let mut resolver = resolver();
    let (_, sent) = ask(&mut resolver, "www.example.com", at(0));
    let records = vec![
        alias("b.example.net", 10, "c.example.net"),
        alias("www.example.com", 300, "b.example.net"),
    ];
    let bytes = with(&sent, records);
    deliver(&mut resolver, &sent, &bytes, at(0));
    let next = resolver
        .poll_transmit()
        .expect("a query for the end of the aliases");
    let query = Packet::parse(&next.payload).expect("valid");
    assert_eq!(query.questions[0].qname.to_string(), "c.example.net");
    let bytes = with(&next, vec![a("c.example.net", 60, 9)]);
    deliver(&mut resolver, &next, &bytes, at(0));
    let answer = outcome(&mut resolver)
        .expect("an outcome")
        .expect("addresses");
    assert_eq!(
        answer.valid_until,
        at(10_000),
        "the shortest time to live counts"
    );
    resolver
        .query(&name("www.example.com"), Family::V4, at(1))
        .expect("known");
    assert_eq!(last_bytes(&mut resolver), Some(Ok(vec![9])));
}

#[test]
fn negative_answers_are_kept_as_long_as_the_zone_says() {
    for (code, error) in [
        (RCODE::NameError, LookupError::NoSuchName),
        (RCODE::NoError, LookupError::NoAddress),
    ] {
        for (zone, ttl, kept_ms) in [
            ("example.com", 30, 30_000),
            ("", 7, 7_000),
            ("example.com", 90_000, 900_000),
            ("other.test", 30, 0), // the SOA record of another zone
            ("example.com", 0, 0),
        ] {
            let mut resolver = resolver();
            let (_, sent) = ask(&mut resolver, "nothing.example.com", at(0));
            let bytes = negative(&sent, code, (zone, ttl));
            deliver(&mut resolver, &sent, &bytes, at(0));
            assert_eq!(outcome(&mut resolver), Some(Err(error)));
            let is_known = |resolver: &mut Resolver, now| {
                let asked = resolver.query(&name("nothing.example.com"), Family::V4, at(now));
                asked.expect("room");
                resolver.poll_transmit().is_none()
            };
            if kept_ms > 0 {
                assert!(is_known(&mut resolver, kept_ms - 1), "{zone} {ttl}");
            }
            assert!(!is_known(&mut resolver, kept_ms), "{zone} {ttl}");
        }
    }
}

#[test]
fn a_question_asked_twice_is_sent_once() {
    let mut resolver = resolver();
    let (first, sent) = ask(&mut resolver, "example.com", at(0));
    let second = resolver
        .query(&name("example.com"), Family::V4, at(1))
        .expect("room");
    assert!(resolver.poll_transmit().is_none());
    resolver.cancel(first);
    assert!(resolver.is_open(sent.attempt));
    let bytes = with(&sent, vec![a("example.com", 60, 1)]);
    deliver(&mut resolver, &sent, &bytes, at(2));
    assert_eq!(resolver.poll_answer().map(|(id, _)| id), Some(second));
    assert!(resolver.poll_answer().is_none());
}

#[test]
fn a_lookup_that_nobody_waits_for_ends() {
    let mut resolver = resolver();
    let (id, sent) = ask(&mut resolver, "example.com", at(0));
    resolver.cancel(id);
    assert!(are_closed(&resolver, &[sent.attempt]));
    assert_eq!(resolver.next_timeout(), None);
}

#[test]
fn memory_is_bounded() {
    let settings = Settings {
        cache_max: 4,
        lookups_max: 3,
        ..Settings::default()
    };
    let mut resolver = Resolver::new(settings, [7; 16]);
    let asked = resolver.query(&name("example.com"), Family::V4, at(0));
    assert_eq!(asked, Err(LookupError::NoServer));
    resolver.set_servers([address(SERVER)]);
    for count in 0..100 {
        let text = format!("h{count}.example.com");
        let (_, sent) = ask(&mut resolver, &text, at(0));
        let bytes = with(&sent, vec![a(&text, 60 + count, 1)]);
        deliver(&mut resolver, &sent, &bytes, at(0));
        assert!(outcome(&mut resolver).is_some());
        assert!(resolver.cached() <= 4);
    }
    for text in ["a.test", "b.test", "c.test"] {
        ask(&mut resolver, text, at(0));
    }
    let asked = resolver.query(&name("d.test"), Family::V4, at(0));
    assert_eq!(asked, Err(LookupError::TooManyLookups));
    resolver.set_servers([address(OTHER)]);
    assert_eq!(resolver.cached(), 0, "another network has other names");
}

#[test]
fn localhost_is_this_host() {
    let mut resolver = resolver();
    resolver
        .query(&name("x.localhost"), Family::V4, at(0))
        .expect("known");
    assert!(resolver.poll_transmit().is_none());
    assert_eq!(last_bytes(&mut resolver), Some(Ok(vec![1])));
}

#[test]
fn a_name_that_does_not_fit_into_a_message_is_refused() {
    let label = "a".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
    for (text, expected) in [
        (String::new(), Some(NameError::Empty)),
        (".".into(), Some(NameError::Empty)),
        ("a..b".into(), Some(NameError::Empty)),
        ("a b".into(), Some(NameError::Character(' '))),
        ("bücher.example".into(), Some(NameError::Character('ü'))),
        (format!("{label}a.test"), Some(NameError::LabelTooLong)),
        (format!("{label}.test"), None),
        (longest.clone(), None),
        (format!("{longest}a"), Some(NameError::NameTooLong)),
        ("_https.xn--bcher-kva.example.".into(), None),
    ] {
        let parsed = text.parse::<fullpipe_dns::DnsName>();
        assert_eq!(parsed.err(), expected, "{text}");
    }
    let (_, sent) = ask(&mut resolver(), &longest, at(0));
    assert!(Packet::parse(&sent.payload).is_ok());
}
