//! Tests: filters choose the same connections as tcpdump, and mistakes are explained.

use std::net::SocketAddr;

use super::FlowFilter;
use crate::capture::FlowKey;

fn key(one: &str, other: &str) -> FlowKey {
    let [one, other]: [SocketAddr; 2] = [one, other].map(|text| text.parse().unwrap());
    FlowKey::of(one, other).0
}

#[test]
fn filters_choose_connections_in_tcpdumps_words() {
    let web = key("10.1.0.2:40000", "192.168.7.1:80");
    let six = key("[2001:db8::2]:40000", "[2001:db8:1::1]:443");
    for (filter, chooses_web, chooses_six) in [
        ("tcp", true, true),
        ("ip", true, false),
        ("ip6", false, true),
        ("udp", false, false),
        ("not udp", true, true),
        ("host 10.1.0.2", true, false),
        ("10.1.0.2", true, false),
        ("host 2001:db8::2", false, true),
        ("net 10.0.0.0/8", true, false),
        ("net 10.1", true, false),
        ("net 10.2", false, false),
        ("net 192.168.0.0 mask 255.255.0.0", true, false),
        ("net 2001:db8::/32", false, true),
        ("net 2001:db8:1::/48 and port 443", false, true),
        ("port 80", true, false),
        ("port 80 or 443", true, true),
        ("tcp port 80", true, false),
        ("udp port 80", false, false),
        ("ip6 port 80", false, false),
        ("portrange 400-500", false, true),
        ("src host 10.1.0.2 and dst port 80", true, false),
        ("src host 10.1.0.2 and src port 80", false, false),
        ("dst host 10.1.0.2 and src port 80", true, false),
        ("src or dst port 443", false, true),
        ("src and dst port 80", false, false),
        ("host 10.1.0.2 and not port 80", false, false),
        ("host 10.1.0.2 && ! port 443", true, false),
        ("not (port 80 or port 443)", false, false),
        ("!(port 22)&&(host 10.1.0.2||port 443)", true, true),
        // Without precedence, this filter means (port 443 or port 80) and ip.
        ("port 443 or port 80 and ip", true, false),
        ("ip and port 443 or port 443", false, true),
    ] {
        let parsed: FlowFilter = filter
            .parse()
            .unwrap_or_else(|why| panic!("{filter}: {why}"));
        let chosen = (parsed.chooses(&web), parsed.chooses(&six));
        assert_eq!(chosen, (chooses_web, chooses_six), "{filter}");
    }
}

#[test]
fn a_filter_that_is_wrong_says_what_to_write() {
    for (filter, wanted) in [
        ("", "the filter is empty"),
        ("host", "ends where a value is expected"),
        ("host example.org", "host names are not looked up"),
        ("port http", "expected a port from 0 to 65535"),
        ("port 70000", "expected a port"),
        ("net 10.0.0.0/33", "expected a network such as 10.0.0.0/8"),
        ("net 10.0.0.0 mask 255.0.255.0", "expected a network"),
        ("portrange 80", "expected a range such as 8000-8080"),
        ("(port 80", "a `(` without `)`"),
        ("port 80)", "a `)` without `(`"),
        ("port 80 port 81", "expected `and` or `or` before `port`"),
        (
            "tcp[13] & 2 != 0",
            "a filter cannot have the word `tcp[13]`",
        ),
        ("greater 100", "a filter cannot have the word `greater`"),
        ("port 80 and", "ends where a value is expected"),
    ] {
        let error = filter.parse::<FlowFilter>().expect_err(filter).to_string();
        assert!(error.contains(wanted), "{filter}: {error}");
    }
    let deep = "(".repeat(100_000);
    assert!(deep.parse::<FlowFilter>().is_err());
}
