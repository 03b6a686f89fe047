//! Tests of names over the sockets of a stack, in virtual time. The stack's host asks a second
//! host, which has a name server and an application.

mod network;

use fullpipe_dns::{Finish, LookupError, RaceError};

use network::{DEAD_V6, Network, V4, V6, Zone};

#[test]
fn a_name_leads_to_a_connection_over_ipv6() {
    let mut network = Network::new(Zone {
        six: vec![V6],
        four: vec![V4],
        ..Zone::default()
    });
    assert_eq!(network.connect("www.example.com"), Ok(V6.into()));
}

#[test]
fn a_dead_ipv6_path_does_not_stop_a_connection_over_ipv4() {
    let mut network = Network::new(Zone {
        six: vec![DEAD_V6],
        four: vec![V4],
        ..Zone::default()
    });
    assert_eq!(network.connect("www.example.com"), Ok(V4.into()));
    // The connection takes a few round trips of 10 ms for ARP, the answers and the handshake, and
    // 250 ms for the attempt over IPv6.
    let elapsed_ms = network.elapsed_ms();
    assert!((250..400).contains(&elapsed_ms), "{elapsed_ms} ms");
    assert_eq!(
        network.client.tcp_counts().0,
        1,
        "the other attempt is gone"
    );
}

#[test]
fn a_silent_aaaa_question_costs_fifty_milliseconds() {
    let mut network = Network::new(Zone {
        four: vec![V4],
        ignores_aaaa: true,
        ..Zone::default()
    });
    assert_eq!(network.connect("www.example.com"), Ok(V4.into()));
    let elapsed_ms = network.elapsed_ms();
    assert!((50..200).contains(&elapsed_ms), "{elapsed_ms} ms");
    assert!(network.names.is_idle(), "the question was given up");
}

#[test]
fn a_truncated_answer_is_asked_for_over_tcp() {
    let mut network = Network::new(Zone {
        four: vec![V4],
        truncates: true,
        ..Zone::default()
    });
    let found = network.lookup("www.example.com");
    assert_eq!(found, Ok(Finish::Addresses(vec![V4.into()])));
    assert_eq!(network.names.resolver().counters().truncated, 2);
}

#[test]
fn lost_queries_and_forged_answers_cost_only_time() {
    let mut network = Network::new(Zone {
        four: vec![V4],
        ignored: 3,
        forges: true,
        ..Zone::default()
    });
    let found = network.lookup("www.example.com");
    assert_eq!(found, Ok(Finish::Addresses(vec![V4.into()])));
    let counters = network.names.resolver().counters();
    assert!(
        counters.wrong_server > 0 && counters.wrong_id > 0,
        "{counters:?}"
    );
}

#[test]
fn a_name_without_addresses_and_a_refused_port_are_errors() {
    let mut network = Network::new(Zone::default());
    let none = Err(RaceError::Lookup(LookupError::NoAddress));
    assert_eq!(network.connect("www.example.com"), none);

    let mut network = Network::new(Zone {
        four: vec![V4],
        has_no_listener: true,
        ..Zone::default()
    });
    let refused = Err(RaceError::Closed(fullpipe::CloseReason::Refused));
    assert_eq!(network.connect("www.example.com"), refused);
    assert_eq!(network.client.tcp_counts().0, 0);
}

#[test]
fn a_cancelled_connection_leaves_nothing_behind() {
    let mut network = Network::new(Zone {
        six: vec![DEAD_V6],
        ..Zone::default()
    });
    let id = network.begin("www.example.com");
    network.run(40);
    assert!(network.client.tcp_counts().0 > 0);
    let now = network.now();
    network.names.cancel(id, &mut network.client, now);
    assert!(network.names.is_idle());
    network.run(10);
    assert_eq!(network.client.tcp_counts().0, 0);
}
