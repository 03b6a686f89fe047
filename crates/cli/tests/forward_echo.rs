//! Tests of the echo requests (ping) of `fullpipe forward`.
//!
//! Rule: tests that need root are ignored. They run in their own network namespace, in which the
//! destinations are, and make a second one for ping.

#[path = "../../host/tests/apart/mod.rs"]
mod apart;

use std::{
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

/// Number of tries until the forwarder runs, a fifth of a second apart.
const TRIES: usize = 300;

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    let status = status.expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments}");
}

fn fullpipe(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    let output = command.args(arguments.split(' ')).output();
    output.expect("the program starts")
}

/// The name of the clients' namespace.
fn clients() -> String {
    format!("fp-echo-{}", std::process::id())
}

/// A running `fullpipe forward`, with the namespace of its clients.
struct Forwarder(Child);

impl Forwarder {
    fn start(flags: &str) -> Self {
        let clients = clients();
        let _ = Command::new("ip").args(["netns", "del", &clients]).output();
        ip(&format!("netns add {clients}"));
        ip(&format!("-n {clients} link set lo up"));
        let forward = format!("forward --dev tun:fpecho --netns {clients} --host-addr 10.9.0.1/24");
        let child = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
            .args(forward.split(' '))
            .args(flags.split(' ').filter(|flag| !flag.is_empty()))
            .stdout(Stdio::null())
            .spawn()
            .expect("the program starts");
        let forwarder = Self(child);
        let asks = format!("addr {}", forwarder.0.id());
        let is_up = (0..TRIES).any(|_| {
            thread::sleep(Duration::from_millis(200));
            fullpipe(&asks).status.success()
        });
        assert!(is_up, "{flags}: it does not start");
        ip(&format!("-n {clients} route add default dev fpecho"));
        forwarder
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = Command::new("ip")
            .args(["netns", "del", &clients()])
            .status();
    }
}

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
    apart::in_network_namespace(
        "only_a_host_that_exists_answers_ping_unless_the_flag_says_otherwise",
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
