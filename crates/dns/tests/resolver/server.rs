//! A name server of the tests: it writes the answers to queries of a resolver.
//!
//! Rule: the test decides what arrives, when and from where.

use std::net::SocketAddr;

use fullpipe::{Duration, Instant};
use fullpipe_dns::{
    Answer, AttemptId, DnsName, Family, LookupError, QueryId, Resolver, Settings, Transmit,
};
use simple_dns::{
    CLASS, Name, Packet, PacketFlag, RCODE, ResourceRecord,
    rdata::{A, AAAA, CNAME, RData, SOA},
};

pub const SERVER: &str = "192.0.2.53:53";
pub const OTHER: &str = "192.0.2.54:53";

pub fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

pub fn name(text: &str) -> DnsName {
    text.parse().expect("a host name")
}

pub fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// Returns a resolver with two servers.
pub fn resolver() -> Resolver {
    let mut resolver = Resolver::new(Settings::default(), [7; 16]);
    resolver.set_servers([address(SERVER), address(OTHER)]);
    resolver
}

/// Asks for IPv4 addresses of `text`, and returns the query that the resolver sends.
pub fn ask(resolver: &mut Resolver, text: &str, now: Instant) -> (QueryId, Transmit) {
    let id = resolver.query(&name(text), Family::V4, now);
    let sent = resolver.poll_transmit().expect("a query");
    (id.expect("there is room"), sent)
}

pub fn record<'a>(owner: &'a str, ttl: u32, data: RData<'a>) -> ResourceRecord<'a> {
    ResourceRecord::new(Name::new_unchecked(owner), CLASS::IN, ttl, data)
}

pub fn a<'a>(owner: &'a str, ttl: u32, last: u8) -> ResourceRecord<'a> {
    let address = u32::from_be_bytes([198, 51, 100, last]);
    record(owner, ttl, RData::A(A { address }))
}

pub fn aaaa<'a>(owner: &'a str, ttl: u32, last: u8) -> ResourceRecord<'a> {
    let address = 0x2001_0db8 << 96 | u128::from(last);
    record(owner, ttl, RData::AAAA(AAAA { address }))
}

pub fn alias<'a>(owner: &'a str, ttl: u32, target: &'a str) -> ResourceRecord<'a> {
    record(owner, ttl, RData::CNAME(CNAME(Name::new_unchecked(target))))
}

pub fn soa(zone: &str, ttl: u32, minimum: u32) -> ResourceRecord<'_> {
    let soa = SOA {
        mname: Name::new_unchecked("ns.example.com"),
        rname: Name::new_unchecked("root.example.com"),
        serial: 1,
        refresh: 2,
        retry: 3,
        expire: 4,
        minimum,
    };
    record(zone, ttl, RData::SOA(soa))
}

/// Returns the answer to the query in `sent`, after a change.
pub fn answer(sent: &Transmit, change: impl FnOnce(&mut Packet<'_>)) -> Vec<u8> {
    let message = match sent.transport {
        fullpipe_dns::Transport::Udp => &sent.payload[..],
        fullpipe_dns::Transport::Tcp => &sent.payload[2..],
    };
    let query = Packet::parse(message).expect("the resolver writes valid messages");
    let mut packet = Packet::new_reply(query.id());
    packet.set_flags(PacketFlag::RECURSION_AVAILABLE | PacketFlag::RECURSION_DESIRED);
    packet.questions = query.questions.clone();
    change(&mut packet);
    packet.build_bytes_vec_compressed().expect("a valid answer")
}

/// Returns an answer with these records.
pub fn with(sent: &Transmit, records: Vec<ResourceRecord<'_>>) -> Vec<u8> {
    answer(sent, |packet| {
        packet.answers = records
            .into_iter()
            .map(ResourceRecord::into_owned)
            .collect();
    })
}

/// Returns a negative answer, with a SOA record of `zone` if the TTL is not zero.
pub fn negative(sent: &Transmit, code: RCODE, (zone, ttl): (&str, u32)) -> Vec<u8> {
    answer(sent, |packet| {
        *packet.rcode_mut() = code;
        if ttl > 0 {
            packet.name_servers.push(soa(zone, ttl, ttl).into_owned());
        }
    })
}

/// Passes `bytes` to the resolver as a message from the server that was asked with `sent`.
pub fn deliver(resolver: &mut Resolver, sent: &Transmit, bytes: &[u8], now: Instant) {
    resolver.on_datagram(sent.attempt, sent.server, bytes, now);
}

/// Returns the outcome of the only question.
pub fn outcome(resolver: &mut Resolver) -> Option<Result<Answer, LookupError>> {
    resolver.poll_answer().map(|(_, outcome)| outcome)
}

/// Returns the last bytes of the addresses in the outcome.
pub fn last_bytes(resolver: &mut Resolver) -> Option<Result<Vec<u8>, LookupError>> {
    outcome(resolver).map(|outcome| {
        outcome.map(|answer| {
            let last = |ip: &std::net::IpAddr| match ip {
                std::net::IpAddr::V4(ip) => ip.octets()[3],
                std::net::IpAddr::V6(ip) => ip.octets()[15],
            };
            answer.addresses.iter().map(last).collect()
        })
    })
}

/// Returns true if the sockets of these attempts are closed.
pub fn are_closed(resolver: &Resolver, attempts: &[AttemptId]) -> bool {
    attempts.iter().all(|attempt| !resolver.is_open(*attempt))
}
