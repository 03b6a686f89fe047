//! Echo requests (ping) of the clients.
//!
//! Rule: a destination answers only if a host has its address, unless the flag says otherwise.

use std::process::Command;

use crate::{
    apart::in_network_namespace,
    ground::{Forwarder, clients, fullpipe, ip},
};

/// Returns true if `address` answers a ping from the clients' namespace.
fn answers(address: &str) -> bool {
    let clients = clients();
    let ping = [
        "netns", "exec", &clients, "ping", "-n", "-c", "2", "-i", "0.2", "-W", "2", address,
    ];
    let output = Command::new("ip").args(ping).output();
    let output = output.expect("iproute2 is installed");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{address}: {said}");
    assert!(said.contains("2 packets transmitted"), "{output:?}");
    said.contains("2 received")
}

#[test]
#[ignore = "needs root, a TUN device and ping: cargo xtask test"]
fn only_a_host_that_exists_answers_ping_unless_the_flag_says_otherwise() {
    in_network_namespace(
        "echo::only_a_host_that_exists_answers_ping_unless_the_flag_says_otherwise",
        || {
            ip("addr add 198.51.100.7/32 dev lo");
            // No host has these addresses.
            ip("route add 192.0.2.0/24 dev lo");
            for (flags, exists, does_not) in [
                // Privileges are given up after the sockets are open.
                ("--user nobody", true, false),
                ("--echo pass", true, false),
                ("--echo answer", true, true),
                ("--echo drop", false, false),
                ("--via socks5://198.51.100.7:1", true, true),
            ] {
                let _forwarder = Forwarder::start(flags);
                assert_eq!(answers("198.51.100.7"), exists, "{flags}: a host");
                assert_eq!(answers("192.0.2.9"), does_not, "{flags}: no host");
            }
        },
    );
}

#[test]
fn echo_requests_cannot_be_passed_on_through_a_proxy() {
    let refused = fullpipe("forward --dev tun:fpecho --via socks5://192.0.2.1:1 --echo pass");
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("--echo pass needs --via direct"), "{said}");
}
