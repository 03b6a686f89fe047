//! Ping of iputils in the clients' namespace, whose requests are passed on to real destinations.
//!
//! Rule: the kernel of the servers' namespace answers, so a reply shows that a request reached it.

use std::{fs, process::Command};

use fullpipe_netstack::forward::EchoSockets;

use crate::{
    apart::in_network_namespace,
    ground::{Ground, ip},
};

/// Runs ping, and returns what it printed.
fn ping(arguments: &str) -> String {
    let output = Command::new("ping")
        .args(["-n", "-i", "0.01", "-W", "2"])
        .args(arguments.split(' '))
        .output()
        .expect("iputils is installed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("ping {arguments}\n{said}");
    said
}

/// Pings over IPv4 and IPv6 through sockets of the kind that `groups`, the sysctl
/// `net.ipv4.ping_group_range`, allows.
fn pings_reach_their_destinations(groups: &str) {
    fs::write("/proc/sys/net/ipv4/ping_group_range", groups).expect("root may");
    // The kernel has no way to these addresses.
    ip("route add unreachable 192.0.2.0/25");
    // Requests to these addresses get no reply, because no host has them.
    ip("route add 192.0.2.128/25 dev lo");
    let ground = Ground::prepare_with(Some(EchoSockets::open(None).expect("root may")));
    ground.as_client(|| {
        for arguments in [
            "-c 5 198.51.100.7",
            "-c 5 -s 0 198.51.100.7",
            "-c 5 -s 20000 198.51.100.7",
            "-c 5 2001:db8::7",
            "-c 5 -s 20000 2001:db8::7",
        ] {
            let said = ping(arguments);
            assert!(said.contains("5 received, 0% packet loss"), "{said}");
        }
        let said = ping("-c 1 192.0.2.1");
        assert!(said.contains("Destination Host Unreachable"), "{said}");
        let said = ping("-c 1 203.0.113.1");
        assert!(said.contains("Destination Net Unreachable"), "{said}");
        let said = ping("-c 2 192.0.2.129");
        assert!(said.contains("100% packet loss"), "{said}");
        assert!(!said.contains("Unreachable"), "{said}");
        // Two programs whose requests have the same numbers get their own replies.
        let [first, second] = std::thread::scope(|scope| {
            let (ground, ping) = (&ground, || ping("-c 50 198.51.100.7"));
            let [first, second] = [
                scope.spawn(move || ground.as_client(ping)),
                scope.spawn(move || ground.as_client(ping)),
            ];
            [first, second].map(|one| one.join().expect("it pings"))
        });
        for said in [first, second] {
            assert!(said.contains("50 received"), "{said}");
        }
    });
}

#[test]
#[ignore = "needs root, a TUN device and ping: cargo xtask test"]
fn echo_requests_are_passed_on_through_raw_sockets() {
    in_network_namespace(
        "echo::echo_requests_are_passed_on_through_raw_sockets",
        || {
            pings_reach_their_destinations("1 0");
        },
    );
}

#[test]
#[ignore = "needs root, a TUN device and ping: cargo xtask test"]
fn echo_requests_are_passed_on_through_ping_sockets() {
    in_network_namespace(
        "echo::echo_requests_are_passed_on_through_ping_sockets",
        || {
            pings_reach_their_destinations("0 0");
        },
    );
}
