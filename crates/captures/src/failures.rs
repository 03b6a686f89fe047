//! Failed connections in words: what the capture shows, and what to check.
//!
//! Rule: a sentence says only what the segments and ICMP errors show. The things to check are
//! causes that they leave open.

use fullpipe_diagnose::{
    capture::{End, EndedFlow, Unreachable},
    observe::{ConnectionFailure, ObservedConnection, Side},
};
use fullpipe_lab::units::{counted, seconds_text};

/// A failed connection in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureWords {
    /// The event, as a clause without a full stop.
    pub what: String,
    /// The advice: places to check, in sentences.
    pub check: String,
}

/// Returns the words for the failure of `flow`; `None` if the capture shows no failure.
pub fn failure_words(flow: &EndedFlow<ObservedConnection>) -> Option<FailureWords> {
    let seen = &flow.outcome;
    let address = |end: End| flow.key.address(end);
    let client = seen.client.unwrap_or(seen.sender);
    let server = address(client.other());
    let (what, check) = match seen.failure? {
        ConnectionFailure::Refused { after_ns } => (
            format!(
                "refused: {server} answered the SYN with a reset after {}",
                ns_text(after_ns)
            ),
            format!(
                "Check that a program listens at {server} (`ss -ltn` on that host), at this address \
                 and not only at 127.0.0.1, and that no firewall rejects the port with a reset."
            ),
        ),
        ConnectionFailure::Unanswered { syns } => unanswered(flow, client, syns),
        ConnectionFailure::Reset {
            by,
            in_flight_bytes,
        } => {
            let flight = match in_flight_bytes {
                0 => "nothing was in flight".to_string(),
                bytes => format!("{} were in flight", counted(bytes, "byte")),
            };
            (
                format!("reset by {} while {flight}", address(by)),
                reset_check(&address(by).to_string(), in_flight_bytes, flow.unreachable),
            )
        }
        ConnectionFailure::Vanished {
            end,
            unanswered,
            silent_ns,
            gave_up,
        } => {
            let vanished = address(end);
            let end_text = match gave_up {
                true => ", which then reset the connection",
                false => "",
            };
            (
                format!(
                    "{vanished} sent nothing for {} and answered none of {unanswered} timeouts, keep-alives \
                     or window probes of the other end{end_text}",
                    ns_text(silent_ns)
                ),
                vanished_check(&vanished.to_string(), flow.unreachable),
            )
        }
    };
    Some(FailureWords { what, check })
}

fn ns_text(ns: u64) -> String {
    seconds_text(ns as f64 / 1e9)
}

/// Words for a SYN that no segment answered.
fn unanswered(flow: &EndedFlow<ObservedConnection>, client: End, syns: u64) -> (String, String) {
    let server = flow.key.address(client.other());
    let lasted = ns_text(flow.outcome.lifetime_ns);
    let syns = counted(syns, "SYN");
    if let Some(reason) = flow.unreachable {
        return (
            format!(
                "unreachable: {server} answered none of {syns} in {lasted}; {}",
                returned(reason)
            ),
            unreachable_check(&server.to_string(), reason),
        );
    }
    let at_server = match flow.outcome.vantage.side {
        Side::Receiver => {
            " The capture was made near that host, so look there first: a firewall, or a full queue \
             of new connections (`nstat -az TcpExtListenDrops`)."
        }
        Side::Sender | Side::Middle | Side::Unknown => "",
    };
    (
        format!("unanswered: {server} answered none of {syns} in {lasted}"),
        format!(
            "Check that {server} is the right address and its host is up, that no firewall drops the \
             port, and that the route back leads to {}. A capture at {server} shows which of the two \
             directions loses the segments.{at_server}",
            flow.key.address(client).ip()
        ),
    )
}

/// The ICMP error in words.
const fn returned(reason: Unreachable) -> &'static str {
    match reason {
        Unreachable::Network => "an ICMP error says that a router has no route to the network",
        Unreachable::Host => "an ICMP error says that the last router does not reach the host",
        Unreachable::Port => "an ICMP error says that nothing is at the port",
        Unreachable::Prohibited => "an ICMP error says that a rule prohibits the packet",
        Unreachable::TimeExceeded => "an ICMP error says that its time to live ran out",
    }
}

fn unreachable_check(server: &str, reason: Unreachable) -> String {
    match reason {
        Unreachable::Network => {
            format!("Check the routes to {server} (`ip route get`, `traceroute`).")
        }
        Unreachable::Host => format!(
            "Check that the host of {server} is up and has this address; the router that sent the \
             ICMP error gets no answer to ARP or neighbour discovery."
        ),
        Unreachable::Port | Unreachable::Prohibited => format!(
            "Check the firewall in front of {server}: the sender of the ICMP error rejects the port \
             (in nftables: `reject`)."
        ),
        Unreachable::TimeExceeded => {
            format!("Look for a loop in the routes to {server} (`traceroute`).")
        }
    }
}

fn reset_check(by: &str, in_flight_bytes: u64, reason: Option<Unreachable>) -> String {
    let lost = match in_flight_bytes {
        0 => "",
        _ => " Payload in flight may not have reached the program.",
    };
    let icmp = reason.map_or(String::new(), |reason| {
        format!(" Also, {}.", returned(reason))
    });
    format!(
        "Check the log of the program at {by}: a program resets a connection if it crashes, if it \
         closes the socket with unread payload in its receive buffer, or if SO_LINGER is set to 0. A \
         firewall, NAT or load balancer that forgot the connection also sends resets in its \
         name.{lost}{icmp}"
    )
}

fn vanished_check(end: &str, reason: Option<Unreachable>) -> String {
    let icmp = reason.map_or(String::new(), |reason| {
        format!(" {}.", capital(returned(reason)))
    });
    format!(
        "Check that the host of {end} is up and the path to it works in both directions, and that no \
         firewall or NAT between the ends forgot the connection. Linux gives up after \
         net.ipv4.tcp_retries2 timeouts (15: about 15 minutes); TCP_USER_TIMEOUT makes it shorter.{icmp}"
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
