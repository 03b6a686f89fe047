//! Tests that only IPv6 has: neighbour discovery with the kernel, link-local addresses with their
//! zones, and ICMPv6.

use std::process::Command;

use super::{V6, in_namespace, start, stock::wait_until};

/// Sends three echo requests with `len` bytes of data to `host`, and requires three replies.
pub(super) fn ping(host: &str, len: u32) {
    let len = len.to_string();
    let output = Command::new("ping")
        .args(["-6", "-c", "3", "-i", "0.2", "-W", "60", "-s", &len, host])
        .output()
        .expect("ping is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains(" 0% packet loss"), "{host}, {len}: {text}");
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn the_kernel_finds_and_pings_us_over_ipv6() {
    in_namespace("v6::the_kernel_finds_and_pings_us_over_ipv6", || {
        for (device, offload) in [("tap", true), ("tap", false), ("tun", true)] {
            let runtime = start(V6, &format!("{device}:fpinterop"), offload, None);
            for len in [56, 1_452, 60_000] {
                ping("fd77::2", len);
            }
            if device == "tap" {
                let own = runtime.with_stack(|stack, _| stack.addresses().collect::<Vec<_>>());
                let link_local = own[1].address;
                ping(&format!("{link_local}%fpinterop"), 56);
            }
        }
    });
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_datagram_to_a_closed_port_is_refused_to_the_kernel() {
    in_namespace(
        "v6::a_datagram_to_a_closed_port_is_refused_to_the_kernel",
        || {
            let _runtime = start(V6, "tap:fpinterop", true, None);
            let socket = std::net::UdpSocket::bind("[fd77::1]:0").expect("a free port");
            socket.connect("[fd77::2]:9").expect("a route");
            let refused = wait_until(|| {
                // A later call returns the error of an earlier datagram.
                let error = socket.send(b"anybody there?").err();
                error.is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
            });
            assert!(refused, "the kernel reports no ICMPv6 error");
        },
    );
}
