//! Tests of lookups of names: existing names, aliases, an answer too long for a datagram, and
//! unknown names.

use std::{
    io::ErrorKind,
    net::{IpAddr, TcpListener},
    time::Duration,
};

use fullpipe_host::TcpStream;

use crate::{
    apart,
    server::{self, Dnsmasq, SERVER},
};

/// Longest wait for the lease.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn names_of_dnsmasq_lead_to_connections() {
    let test = "names::names_of_dnsmasq_lead_to_connections";
    apart::in_network_namespace(test, || {
        let mut records: Vec<String> = (1..=120)
            .map(|last| format!("--host-record=many.example.test,10.77.1.{last}"))
            .collect();
        records.push("--host-record=www.example.test,10.77.0.1".into());
        records.push("--cname=alias.example.test,www.example.test".into());
        records.push("--local=/example.test/".into());
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        let runtime = server::start();
        let _server = Dnsmasq::start(&records);
        let lease = runtime.wait_for_lease(PATIENCE);
        lease.unwrap_or_else(|error| panic!("{error}:\n{}", Dnsmasq::log()));
        assert_eq!(runtime.dns_servers(), [(SERVER, 53).into()]);

        let found = |name: &str| {
            let found = runtime.lookup(name);
            found.unwrap_or_else(|error| panic!("{error}:\n{}", Dnsmasq::log()))
        };
        let server = IpAddr::from(SERVER);
        assert_eq!(found("www.example.test"), [server]);
        // The answer is too long for a datagram, so a second query goes over TCP. The
        // resolver keeps 16 of the answer's 120 addresses.
        assert_eq!(found("many.example.test").len(), 16);
        let queries = |log: String| log.matches("query[A] many.example.test").count();
        assert_eq!(queries(Dnsmasq::log()), 2, "{}", Dnsmasq::log());
        let unknown = runtime.lookup("nothing.example.test");
        assert_eq!(
            unknown.map_err(|error| error.kind()),
            Err(ErrorKind::NotFound)
        );

        let listener = TcpListener::bind((server, 7_000)).expect("the port is free");
        let stream = TcpStream::connect_to_name(&runtime, "alias.example.test:7000");
        let stream = stream.unwrap_or_else(|error| panic!("{error}:\n{}", Dnsmasq::log()));
        let (_peer, from) = listener.accept().expect("a connection");
        assert_eq!(
            (stream.peer_addr(), stream.local_addr()),
            ((server, 7_000).into(), from)
        );
    });
}
