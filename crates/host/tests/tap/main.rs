//! TAP and TUN devices of the kernel: made, found, given back, refused.
//!
//! Rule: every test runs in a network namespace of its own, which ends with its
//! process.

#[path = "../apart/mod.rs"]
mod apart;

use std::{
    io::{Read as _, Write as _},
    process::Command,
    thread,
};

use apart::in_network_namespace;
use fullpipe_host::{DeviceError, DeviceOptions, Runtime, Tap, TcpStream};

/// What `ip` says, or an empty text when it refuses.
fn ip(arguments: &str) -> String {
    let output = Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .expect("iproute2 is installed");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn options(device: &str) -> DeviceOptions {
    DeviceOptions::new(device.parse().expect("a device"))
}

fn refused(options: &DeviceOptions) -> String {
    let outcome: Result<Tap, DeviceError> = Tap::open(options);
    outcome.expect_err("it is refused").to_string()
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_device_that_we_made_is_up_and_goes_with_us() {
    in_network_namespace("a_device_that_we_made_is_up_and_goes_with_us", || {
        for device in ["tap:fpmade", "tun:fpmade"] {
            let wanted = DeviceOptions {
                mtu: Some(1_400),
                host_address: Some("10.5.0.1/24".parse().expect("an address")),
                ..options(device)
            };
            let tap = Tap::open(&wanted).expect("root may");
            let shown = ip("addr show dev fpmade");
            assert!(
                shown.contains("mtu 1400") && shown.contains("UP"),
                "{shown}"
            );
            assert!(shown.contains("inet 10.5.0.1/24"), "{shown}");
            drop(tap);
            assert_eq!(ip("addr show dev fpmade"), "", "{device} is left behind");
        }
    });
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_device_that_was_there_is_given_back_as_it_was() {
    in_network_namespace("a_device_that_was_there_is_given_back_as_it_was", || {
        ip("tuntap add dev fpkept mode tap");
        ip("addr add 10.6.0.1/24 dev fpkept");
        let interesting = |shown: String| -> Vec<String> {
            let words = shown.split_whitespace();
            words
                .filter(|word| {
                    word.contains("10.") || word.contains("UP") || word.starts_with("15")
                })
                .map(Into::into)
                .collect()
        };
        let before = interesting(ip("addr show dev fpkept"));
        let wanted = DeviceOptions {
            mtu: Some(1_300),
            host_address: Some("10.5.0.1/24".parse().expect("an address")),
            ..options("tap:fpkept")
        };
        let tap = Tap::open(&wanted).expect("root may");
        let during = ip("addr show dev fpkept");
        assert!(
            during.contains("10.5.0.1/24")
                && during.contains("10.6.0.1/24")
                && during.contains("mtu 1300"),
            "{during}"
        );
        drop(tap);
        assert_eq!(interesting(ip("addr show dev fpkept")), before);

        let had = DeviceOptions {
            host_address: Some("10.6.0.1/24".parse().expect("an address")),
            ..options("tap:fpkept")
        };
        drop(Tap::open(&had).expect("its own address is no conflict"));
        assert!(
            ip("addr show dev fpkept").contains("10.6.0.1/24"),
            "its address is not ours to take"
        );
    });
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_refusal_names_the_device_and_a_way_out_and_leaves_nothing_behind() {
    in_network_namespace(
        "a_refusal_names_the_device_and_a_way_out_and_leaves_nothing_behind",
        || {
            let first = Tap::open(&options("tap:fpbusy")).expect("root may");
            assert_eq!(
                refused(&options("tap:fpbusy")),
                "cannot open tap:fpbusy: Device or resource busy (os error 16); another program has it open: stop that one or choose another name"
            );
            drop(first);

            ip("tuntap add dev fpkind mode tap");
            assert_eq!(
                refused(&options("tun:fpkind")),
                "cannot open tun:fpkind: Invalid argument (os error 22); fpkind exists and is no tun device with one queue: choose another name"
            );
            assert!(refused(&options("tap:lo")).contains("lo exists and is no tap device"));

            ip("addr add 10.7.0.1/24 dev lo");
            let taken = DeviceOptions {
                host_address: Some("10.7.0.1/24".parse().expect("an address")),
                ..options("tap:fpaddr")
            };
            assert_eq!(
                refused(&taken),
                "fpaddr cannot have the address 10.7.0.1: Address already in use (os error 98); lo has it: choose another network for --host-addr"
            );
            let oversized = DeviceOptions {
                mtu: Some(70_000),
                ..options("tap:fpaddr")
            };
            assert!(refused(&oversized).contains("use 68 to 65521"));
            // Refused by the kernel only after the device was made.
            let multicast = DeviceOptions {
                host_address: Some("224.0.0.1/24".parse().expect("an address")),
                ..options("tap:fpaddr")
            };
            let _ = Tap::open(&multicast);
            assert_eq!(ip("addr show dev fpaddr"), "", "something is left behind");
        },
    );
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn without_the_capability_the_error_says_which_one() {
    in_network_namespace("without_the_capability_the_error_says_which_one", || {
        let test = "without_the_capability_the_error_says_which_one";
        if std::env::var_os("FULLPIPE_POWERLESS").is_some() {
            let line = refused(&options("tap:fpdenied"));
            assert!(
                line.starts_with("cannot create tap:fpdenied: Operation not permitted"),
                "{line}"
            );
            assert!(
                line.contains("CAP_NET_ADMIN")
                    && line.contains("ip tuntap add dev fpdenied mode tap user"),
                "{line}"
            );
            return;
        }
        let status = Command::new("setpriv")
            .args(["--bounding-set", "-net_admin", "--inh-caps", "-net_admin"])
            .arg(std::env::current_exe().expect("this program has a path"))
            .args(["--include-ignored", "--exact", test, "--nocapture"])
            .env("FULLPIPE_POWERLESS", "1")
            .status()
            .expect("setpriv is part of util-linux");
        assert!(status.success());
    });
}

/// Megabytes both ways, in frames of many segments: the kernel cuts and merges
/// none of them on the way.
#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn frames_of_many_segments_go_both_ways_and_every_byte_arrives() {
    in_network_namespace(
        "frames_of_many_segments_go_both_ways_and_every_byte_arrives",
        || {
            let wanted = DeviceOptions {
                host_address: Some("10.8.0.1/24".parse().expect("an address")),
                ..options("tap:fplarge")
            };
            let tap = Tap::open(&wanted).expect("root may");
            let address = "10.8.0.2/24".parse().expect("an address");
            let runtime = Runtime::builder(address).start(tap).expect("it starts");
            let listener = std::net::TcpListener::bind("10.8.0.1:80").expect("the port is free");
            let stream = TcpStream::connect(&runtime, ([10, 8, 0, 1], 80).into())
                .expect("the kernel listens");
            let (mut kernel, _) = listener.accept().expect("we come");
            let text: Vec<u8> = (0..8_000_000_u32).map(|n| (n ^ n >> 9) as u8).collect();
            let mut back = vec![0; text.len()];
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut seen = vec![0; text.len()];
                    kernel.read_exact(&mut seen).expect("all of it comes");
                    assert!(seen == text, "the kernel read what we wrote");
                    kernel.write_all(&seen).expect("it goes back");
                });
                (&stream).write_all(&text).expect("the kernel reads");
                (&stream).read_exact(&mut back).expect("it comes back");
            });
            assert!(back == text, "we read what the kernel wrote");
            let (sent, packets, received, frames) = runtime.with_stack(|stack, _| {
                let (tcp, mib) = (stack.tcp_counters(), &stack.counters().mib);
                (
                    tcp.out_segs,
                    mib.ip_out_requests,
                    tcp.in_segs,
                    mib.ip_in_receives,
                )
            });
            assert!(packets < sent, "{packets} frames for {sent} segments sent");
            assert!(
                frames < received,
                "{frames} frames for {received} segments received"
            );
        },
    );
}
