//! Tests of TAP and TUN devices of the kernel: new and existing devices, restored settings, and
//! refused options. Also tests packet sockets.
//!
//! Rule: every test runs in a network namespace of its own, which ends with its
//! process.

#[path = "../apart/mod.rs"]
mod apart;
mod interfaces;

use std::{
    io::{ErrorKind, Read as _, Write as _},
    process::Command,
    thread,
    time::Duration,
};

use apart::in_network_namespace;
use fullpipe::device::TxMeta;
use fullpipe_host::{
    DeviceError, DeviceOptions, HostDevice as _, PacketSocket, Runtime, Tap, TcpListener, TcpStream,
};

/// The output of `ip`; empty if the command fails.
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
fn a_device_made_here_is_up_and_is_removed_with_its_descriptor() {
    in_network_namespace(
        "a_device_made_here_is_up_and_is_removed_with_its_descriptor",
        || {
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
        },
    );
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_device_that_existed_is_given_back_as_it_was() {
    in_network_namespace("a_device_that_existed_is_given_back_as_it_was", || {
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
fn a_refusal_names_the_device_and_a_remedy_and_leaves_nothing_behind() {
    in_network_namespace(
        "a_refusal_names_the_device_and_a_remedy_and_leaves_nothing_behind",
        || {
            let first = Tap::open(&options("tap:fpbusy")).expect("root may");
            assert_eq!(
                refused(&options("tap:fpbusy")),
                "cannot open tap:fpbusy: Device or resource busy (os error 16); another program has fpbusy open: stop that program or choose another name"
            );
            drop(first);

            ip("tuntap add dev fpkind mode tap");
            assert_eq!(
                refused(&options("tun:fpkind")),
                "cannot open tun:fpkind: Invalid argument (os error 22); fpkind exists but is no tun device with a single queue: choose another name"
            );
            assert!(refused(&options("tap:lo")).contains("lo exists but is no tap device"));

            ip("addr add 10.7.0.1/24 dev lo");
            let taken = DeviceOptions {
                host_address: Some("10.7.0.1/24".parse().expect("an address")),
                ..options("tap:fpaddr")
            };
            assert_eq!(
                refused(&taken),
                "fpaddr cannot have the address 10.7.0.1: Address already in use (os error 98); the interface lo has this address: choose another network for --host-addr"
            );
            let oversized = DeviceOptions {
                mtu: Some(70_000),
                ..options("tap:fpaddr")
            };
            assert!(refused(&oversized).contains("use 68 to 65521"));
            // The kernel refuses this address only after the device was created.
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
fn an_error_names_the_capability_that_is_missing() {
    in_network_namespace("an_error_names_the_capability_that_is_missing", || {
        let test = "an_error_names_the_capability_that_is_missing";
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

/// Sends eight megabytes to the kernel and back over `runtime`.
fn exchange(runtime: &Runtime, kernel: &str) {
    let listener = std::net::TcpListener::bind(kernel).expect("the port is free");
    let address = kernel.parse().expect("an address");
    let stream = TcpStream::connect(runtime, address).expect("the kernel listens");
    let (mut kernel, _) = listener.accept().expect("we come");
    let payload: Vec<u8> = (0..8_000_000_u32).map(|n| (n ^ n >> 9) as u8).collect();
    let mut back = vec![0; payload.len()];
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut seen = vec![0; payload.len()];
            kernel.read_exact(&mut seen).expect("all of it comes");
            assert!(seen == payload, "the kernel read what we wrote");
            kernel.write_all(&seen).expect("it goes back");
        });
        (&stream).write_all(&payload).expect("the kernel reads");
        (&stream).read_exact(&mut back).expect("it comes back");
    });
    assert!(back == payload, "we read what the kernel wrote");
}

/// Frames of many segments pass uncut between two stacks of one machine.
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
            exchange(&runtime, "10.8.0.1:80");
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

/// The stack and the kernel are at the two ends of a cable of the kernel (a veth pair).
#[test]
#[ignore = "needs root and network devices: cargo xtask test"]
fn a_packet_socket_is_a_host_on_the_wire_of_an_interface() {
    in_network_namespace(
        "a_packet_socket_is_a_host_on_the_wire_of_an_interface",
        || {
            ip("link add fpwire0 type veth peer name fpwire1");
            ip("addr add 10.8.2.1/24 dev fpwire1");
            let open = |options: &DeviceOptions| options.open().err().map(|e| e.to_string());
            let missing = open(&options("packet:fpnone")).expect("it is refused");
            assert!(
                missing.starts_with("there is no interface fpnone"),
                "{missing}"
            );
            let down = open(&options("packet:fpwire0")).expect("it is refused");
            assert!(down.contains("ip link set fpwire0 up"), "{down}");
            ip("link set fpwire0 up");
            ip("link set fpwire1 up");
            let start = |options: &DeviceOptions, host: u8| {
                let address = format!("10.8.2.{host}/24").parse();
                Runtime::builder(address.expect("an address"))
                    .mac(fullpipe::MacAddress([2, 0, 0, 0, 8, host]))
                    .start(options.open().expect("root may"))
                    .expect("it starts")
            };
            let near = start(&options("packet:fpwire0"), 2);
            exchange(&near, "10.8.2.1:80");
            let neighbour = ip("neighbour show 10.8.2.2");
            assert!(neighbour.contains("02:00:00:00:08:02"), "{neighbour}");
            drop(near);

            // Without offloads, each frame between the two stacks has at most the MTU and a
            // complete checksum, as on a wire.
            let plain = |device| DeviceOptions {
                checksum_offload: false,
                ..options(device)
            };
            let near = start(&plain("packet:fpwire0"), 3);
            let far = start(&plain("packet:fpwire1"), 4);
            let address = ([10, 8, 2, 4], 80).into();
            let listener = TcpListener::bind(&far, address).expect("the port is free");
            let stream = TcpStream::connect(&near, address).expect("it listens");
            let (peer, _) = listener.accept().expect("we come");
            (&stream).write_all(&[7; 100_000]).expect("it is open");
            let mut seen = vec![0; 100_000];
            (&peer).read_exact(&mut seen).expect("it comes");
            assert_eq!(seen, [7; 100_000]);
        },
    );
}

/// Reads for at most a minute. Returns true once a frame of `len` bytes comes.
fn receives(socket: &PacketSocket, len: usize) -> bool {
    let mut buffer = vec![0; socket.frame_max()];
    (0..3_000).any(|_| match socket.receive(&mut buffer) {
        Ok((received, _)) => received == len,
        Err(_) => {
            thread::sleep(Duration::from_millis(20));
            false
        }
    })
}

/// Reads for at most a minute. Returns the error number once the device fails.
fn failure(socket: &PacketSocket) -> Option<i32> {
    let mut buffer = vec![0; socket.frame_max()];
    for _ in 0..3_000 {
        match socket.receive(&mut buffer) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return error.raw_os_error(),
            _ => thread::sleep(Duration::from_millis(20)),
        }
    }
    None
}

/// The kernel reports only once that an interface went down: to the first read or write. A read
/// gets the report before the frames that had arrived.
#[test]
#[ignore = "needs root and network devices: cargo xtask test"]
fn a_deletion_is_noticed_whoever_took_the_report_that_the_interface_is_down() {
    in_network_namespace(
        "a_deletion_is_noticed_whoever_took_the_report_that_the_interface_is_down",
        || {
            let frame = [0xff; 60];
            for report_goes_to_a_write in [true, false] {
                ip("link add fpwire0 type veth peer name fpwire1");
                ip("link set fpwire0 up");
                ip("link set fpwire1 up");
                let open = |device| PacketSocket::open(&options(device)).expect("root may");
                let (near, far) = (open("packet:fpwire0"), open("packet:fpwire1"));
                far.send(&frame, TxMeta::default()).expect("it is up");
                ip("link set fpwire0 down");
                if report_goes_to_a_write {
                    let refused = near.send(&frame, TxMeta::default());
                    let refused = refused.expect_err("it is down");
                    assert_eq!(refused.raw_os_error(), Some(libc::ENETDOWN));
                }
                assert!(receives(&near, frame.len()), "{report_goes_to_a_write}");
                ip("link del fpwire0");
                let ended = failure(&near);
                assert_eq!(ended, Some(libc::ENODEV), "{report_goes_to_a_write}");
            }
        },
    );
}
