//! Failed connections in words: what the capture shows, and what to check.
//!
//! Rule: a sentence says only what the segments and ICMP errors show. The things to check are
//! causes that they leave open.

use fullpipe_diagnose::{
    capture::{End, EndedFlow, ReturnedSegment, Unreachable},
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
            fin_in_flight,
        } => {
            let flight = match (in_flight_bytes, fin_in_flight) {
                (0, false) => "nothing".to_string(),
                (0, true) => "a FIN".to_string(),
                (bytes, false) => counted(bytes, "byte"),
                (bytes, true) => format!("{} and a FIN", counted(bytes, "byte")),
            };
            let icmp = returned_segment(flow).map_or(String::new(), |returned| {
                format!(" Also, {}.", returned_text(flow, returned))
            });
            (
                format!("reset by {} with {flight} in flight", address(by)),
                reset_check(&address(by).to_string(), in_flight_bytes) + &icmp,
            )
        }
        ConnectionFailure::Vanished {
            end,
            unanswered,
            in_handshake,
            silent_ns,
            gave_up,
            ..
        } => {
            let vanished = address(end);
            let end_text = match gave_up {
                true => ", which then reset the connection",
                false => "",
            };
            let asked = match in_handshake {
                true => "SYN-ACKs",
                false => "timeouts, keep-alives or window probes",
            };
            let icmp = returned_segment(flow).map_or(String::new(), |returned| {
                format!(" {}.", capital(&returned_text(flow, returned)))
            });
            (
                format!(
                    "{vanished} sent nothing for {} and answered none of {unanswered} {asked} of the \
                     other end{end_text}",
                    ns_text(silent_ns)
                ),
                vanished_check(&vanished.to_string(), in_handshake) + &icmp,
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
    if let Some(returned) = returned_segment(flow) {
        return (
            format!(
                "unreachable: {server} answered none of {syns} in {lasted}; {}",
                returned_text(flow, returned)
            ),
            unreachable_check(&server.to_string(), returned.reason),
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

/// Returns the segment, returned by an ICMP error, that may explain the failure of the connection: a
/// SYN that was not answered, or a segment after the last one of an end that vanished. For other
/// connections, returns the segment that was returned last.
pub(crate) fn returned_segment(flow: &EndedFlow<ObservedConnection>) -> Option<ReturnedSegment> {
    let seen = &flow.outcome;
    match seen.failure {
        Some(ConnectionFailure::Unanswered { .. }) => flow.returned_from(seen.client?),
        Some(ConnectionFailure::Vanished { end, last_ns, .. }) => {
            let returned = flow.returned_from(end.other())?;
            let at_ns = returned.at_ns.saturating_sub(seen.begin_ns);
            (at_ns >= last_ns.cast_signed()).then_some(returned)
        }
        Some(ConnectionFailure::Refused { .. } | ConnectionFailure::Reset { .. }) | None => {
            let all = flow.returned.into_iter().flatten();
            all.max_by_key(|returned| returned.at_ns)
        }
    }
}

/// The ICMP error in words. Its time counts from the first segment of the connection.
fn returned_text(flow: &EndedFlow<ObservedConnection>, returned: ReturnedSegment) -> String {
    let at_ns = returned.at_ns.saturating_sub(flow.began_ns).max(0);
    let from = flow.key.address(returned.from);
    let reason = match returned.reason {
        Unreachable::Network => "a router has no route to the network",
        Unreachable::Host => "the last router does not reach the host",
        Unreachable::Protocol => "the host does not accept TCP",
        Unreachable::Port => "nothing is at the port",
        Unreachable::Prohibited => "a rule prohibits the packet",
        Unreachable::TimeExceeded => "its time to live ran out",
    };
    let at = ns_text(at_ns.unsigned_abs());
    format!(
        "an ICMP error about a segment of {from}, {at} after the first segment, says that {reason}"
    )
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
        Unreachable::Protocol => format!(
            "Check that {server} is the right address: its host has no TCP, or a firewall rejects TCP in \
             its name (in nftables: `reject with icmp prot-unreachable`)."
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

fn reset_check(by: &str, in_flight_bytes: u64) -> String {
    let lost = match in_flight_bytes {
        0 => "",
        _ => " Payload in flight may not have reached the program.",
    };
    format!(
        "Check the log of the program at {by}: a program resets a connection if it crashes, if it \
         closes the socket with unread payload in its receive buffer, or if SO_LINGER is set to 0. A \
         firewall, NAT or load balancer that forgot the connection also sends resets in its \
         name.{lost}"
    )
}

fn vanished_check(end: &str, in_handshake: bool) -> String {
    if in_handshake {
        return format!(
            "Check that the host of {end} is up, that its address is not forged (a SYN flood), and that the \
             path to it works: a host that receives the SYN-ACK answers with an ACK or a reset."
        );
    }
    format!(
        "Check that the host of {end} is up and the path to it works in both directions, and that no \
         firewall or NAT between the ends forgot the connection. Linux waits about 15 minutes before it \
         gives up (net.ipv4.tcp_retries2 = 15); TCP_USER_TIMEOUT makes this time shorter."
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
