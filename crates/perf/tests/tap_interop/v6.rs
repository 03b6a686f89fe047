//! The tests of `main.rs` over IPv6: neighbour discovery with the kernel, echo requests, TCP
//! and UDP.

use std::{net::SocketAddr, process::Command};

use fullpipe_host::{DeviceOptions, Runtime};
use fullpipe_perf::{
    fullpipe_sockets::configure_udp_for_iperf,
    iperf2::{Amount, ClientOptions, ServerOptions},
};

use super::{
    bytes, client, in_namespace, server,
    stock::{Stock, wait_until},
};

const KERNEL: &str = "[fd77::1]:5001";
const OURS: &str = "[fd77::2]:5001";

fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address with a port")
}

/// Starts a stack on a TAP or TUN device whose other end is the kernel.
fn start(device: &str, offload: bool) -> Runtime {
    let mut options = DeviceOptions::new(device.parse().expect("a device"));
    options.host_address = Some("fd77::1/64".parse().expect("an address"));
    options.checksum_offload = offload;
    let device = options.open().expect("the device opens");
    let mut config = fullpipe::Config::default();
    configure_udp_for_iperf(&mut config, None);
    let address = "fd77::2/64".parse().expect("an address");
    let builder = Runtime::builder(address).config(config);
    builder.start(device).expect("the stack starts")
}

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
            let runtime = start(&format!("{device}:fpinterop"), offload);
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
fn tcp_over_ipv6_counts_the_same_bytes_in_each_direction() {
    in_namespace(
        "v6::tcp_over_ipv6_counts_the_same_bytes_in_each_direction",
        || {
            for (device, offload, flags) in [
                ("tap", true, "-V -n 30000001"),
                ("tap", true, "-V -n 30000001 -R"),
                ("tap", false, "-V -n 10000001"),
                ("tap", false, "-V -n 10000001 -R"),
                ("tun", true, "-V -n 30000001"),
                ("tun", true, "-V -n 30000001 -R"),
            ] {
                let runtime = start(&format!("{device}:fpinterop"), offload);
                let options = ServerOptions {
                    connections: Some(1),
                    ..ServerOptions::new(at(OURS))
                };
                let (summary, text, peer) =
                    server(&runtime, &options, || Stock::run_client(at(OURS), flags));
                let what = format!("{device}, {offload}, {flags}: {text}\n{}", peer.text);
                assert_eq!(bytes(&summary), peer.bytes(), "{what}");
            }
        },
    );
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn our_client_reaches_a_server_of_the_kernel_over_ipv6() {
    in_namespace(
        "v6::our_client_reaches_a_server_of_the_kernel_over_ipv6",
        || {
            let runtime = start("tap:fpinterop", true);
            for (amount, reverse) in [(30_000_001, false), (30_000_001, true)] {
                let stock = Stock::start(&["-s", "-V", "-y", "C"]);
                // A socket listens (state 0A) on port 5001 of every address.
                let listens = || {
                    let sockets = std::fs::read_to_string("/proc/thread-self/net/tcp6");
                    let sockets = sockets.expect("the kernel has IPv6");
                    sockets
                        .lines()
                        .any(|line| line.contains(":1389 ") && line.contains(" 0A "))
                };
                assert!(wait_until(listens), "the server listens");
                let options = ClientOptions {
                    amount: Amount::Bytes(amount),
                    reverse,
                    ..ClientOptions::new(at(KERNEL))
                };
                let (summary, text) = client(&runtime, &options);
                let rows = stock.stop_and_read_rows(1);
                let theirs: u64 = rows.iter().map(|row| row.bytes).sum();
                assert_eq!(bytes(&summary), theirs, "reverse {reverse}: {text}");
            }
        },
    );
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_datagram_to_a_closed_port_is_refused_to_the_kernel() {
    in_namespace(
        "v6::a_datagram_to_a_closed_port_is_refused_to_the_kernel",
        || {
            let _runtime = start("tap:fpinterop", true);
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
