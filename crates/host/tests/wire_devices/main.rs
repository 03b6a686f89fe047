//! Tests of devices on the wire of an interface (`packet:`, `xdp:`). The kernel's stack is at the
//! other end of a veth pair.
//!
//! Rule: every test runs in a network namespace of its own, which ends with its process.

#[path = "../apart/mod.rs"]
mod apart;
mod refused;

use std::{
    collections::hash_map::DefaultHasher,
    hash::Hasher,
    io::{Read, Write},
    net::{Shutdown, SocketAddr},
    process::Command,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use apart::in_network_namespace;
use fullpipe::MacAddress;
use fullpipe_host::{DeviceOptions, Namespace, Runtime, TcpListener, TcpStream, kernel};

/// Both kinds of device.
const DEVICES: [&str; 2] = ["packet:fpwire0", "xdp:fpwire0"];
/// Name of the test that runs this test program in a second process.
const DETACHED: &str = "the_xdp_program_is_detached_on_every_way_out";
/// Bytes of a file; no multiple of a segment's payload.
const FILE: usize = 12_000_001;

/// The output of `ip`, which must succeed.
fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.expect("iproute2 is installed");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "ip {arguments}: {text}");
    text
}

fn options(device: &str) -> DeviceOptions {
    DeviceOptions::new(device.parse().expect("a device"))
}

/// Makes the veth pair `fpwire0`, `fpwire1`. At `fpwire1`, the kernel has the address 10.8.3.1.
fn cable() {
    ip("link add fpwire0 type veth peer name fpwire1");
    ip("addr add 10.8.3.1/24 dev fpwire1");
    ip("link set fpwire0 up");
    ip("link set fpwire1 up");
}

/// For `xdp:`, switches off checksum offload at `fpwire1`, because XDP sees frames before a device
/// could complete their checksums.
fn without_offload(device: &str) {
    if device.starts_with("xdp") {
        kernel::set_checksum_offload("fpwire1", false).expect("veth can");
    }
}

/// Starts a stack with the MAC address 02:00:00:00:08:`station`.
fn start(options: &DeviceOptions, station: u8) -> Runtime {
    let device = options.open().unwrap_or_else(|error| panic!("{error}"));
    Runtime::builder("10.8.3.2/24".parse().expect("an address"))
        .mac(MacAddress([2, 0, 0, 0, 8, station]))
        .start(device)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the bytes of a file; each `seed` gives another file.
fn file(seed: u64) -> Vec<u8> {
    let mut state = seed;
    (0..FILE)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

/// Returns the number of bytes, and their hash.
fn digest(bytes: &[u8]) -> (usize, u64) {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    (bytes.len(), hasher.finish())
}

/// Writes `sent` and calls `end`. At the same time, reads to the end and returns what was read.
fn swap(
    mut reader: impl Read,
    mut writer: impl Write + Send,
    sent: &[u8],
    end: impl Fn() + Send,
) -> Vec<u8> {
    let mut received = Vec::new();
    thread::scope(|scope| {
        scope.spawn(move || {
            writer.write_all(sent).expect("the peer reads");
            end();
        });
        reader.read_to_end(&mut received).expect("the peer writes");
    });
    received
}

/// Carries a file in each direction at the same time over IPv4. The stack opens the connection if
/// `stack_connects`, otherwise the kernel.
fn swap_files(runtime: &Runtime, stack_connects: bool) {
    swap_between(runtime, ["10.8.3.1:80", "10.8.3.2:80"], stack_connects);
}

/// Carries a file in each direction between the kernel and the stack. `ends` has the kernel's
/// address first, then the stack's.
fn swap_between(runtime: &Runtime, ends: [&str; 2], stack_connects: bool) {
    let (ours, theirs) = (file(1), file(2));
    let [at_kernel, at_stack] = ends.map(|end| end.parse::<SocketAddr>().expect("an address"));
    let (stream, peer) = if stack_connects {
        let listener = std::net::TcpListener::bind(at_kernel).expect("the port is free");
        let stream = TcpStream::connect(runtime, at_kernel).expect("the kernel listens");
        (stream, listener.accept().expect("the stack connects").0)
    } else {
        let listener = TcpListener::bind(runtime, at_stack).expect("the port is free");
        let peer = std::net::TcpStream::connect(at_stack).expect("the stack listens");
        (listener.accept().expect("the kernel connects").0, peer)
    };
    let (at_peer, here) = thread::scope(|scope| {
        let kernel = scope.spawn(|| {
            swap(&peer, &peer, &theirs, || {
                peer.shutdown(Shutdown::Write).expect("it is open")
            })
        });
        let here = swap(&stream, &stream, &ours, || {
            stream.shutdown(Shutdown::Write).expect("it is open");
        });
        (kernel.join().expect("no panic"), here)
    });
    assert_eq!(digest(&at_peer), digest(&ours), "the stack's file");
    assert_eq!(digest(&here), digest(&theirs), "the kernel's file");
}

/// Returns true if `host` answers three echo requests within a minute.
fn ping(host: &str) -> bool {
    let flags = ["-c", "3", "-i", "0.2", "-w", "60", "-q", host];
    let output = Command::new("ping").args(flags).output();
    let output = output.expect("iputils-ping is installed");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    output.status.success()
}

#[test]
#[ignore = "needs root and network devices: cargo xtask test"]
fn files_arrive_whole_in_both_directions_and_pings_are_answered() {
    in_network_namespace(
        "files_arrive_whole_in_both_directions_and_pings_are_answered",
        || {
            cable();
            // Each stack has a different MAC address, which the kernel must learn at once.
            let mut stations = 1..;
            for device in DEVICES {
                without_offload(device);
                for checksum_offload in [true, false] {
                    let station = stations.next().expect("there are more");
                    let wanted = DeviceOptions {
                        checksum_offload,
                        ..options(device)
                    };
                    let runtime = start(&wanted, station);
                    assert!(ping("10.8.3.2"), "{device} answers");
                    let began = Instant::now();
                    for stack_connects in [true, false] {
                        swap_files(&runtime, stack_connects);
                    }
                    println!(
                        "{device}, offload {checksum_offload}: {:?}",
                        began.elapsed()
                    );
                    let neighbour = ip("neighbour show 10.8.3.2");
                    let mac = format!("02:00:00:00:08:{station:02x}");
                    assert!(neighbour.contains(&mac), "{neighbour}");
                }
            }
        },
    );
}

/// Super-segments of the kernel arrive uncut over IPv6, too.
#[test]
#[ignore = "needs root and network devices: cargo xtask test"]
fn a_packet_socket_carries_ipv6() {
    in_network_namespace("a_packet_socket_carries_ipv6", || {
        cable();
        ip("addr add fd08:3::1/64 dev fpwire1 nodad");
        for checksum_offload in [true, false] {
            let wanted = DeviceOptions {
                checksum_offload,
                ..options("packet:fpwire0")
            };
            let device = wanted.open().unwrap_or_else(|error| panic!("{error}"));
            let runtime = Runtime::builder("fd08:3::2/64".parse().expect("an address"))
                .mac(MacAddress([2, 0, 0, 0, 8, 1]))
                .start(device)
                .unwrap_or_else(|error| panic!("{error}"));
            assert!(ping("fd08:3::2"), "the stack answers");
            for stack_connects in [true, false] {
                swap_between(
                    &runtime,
                    ["[fd08:3::1]:80", "[fd08:3::2]:80"],
                    stack_connects,
                );
            }
            let (received, frames) = runtime.with_stack(|stack, _| {
                let mib = &stack.counters().mib;
                (stack.tcp_counters().in_segs, mib.ip_in_receives)
            });
            println!("{frames} frames for {received} segments received");
            assert!(frames < received);
        }
        let begun = Runtime::builder("fd08:3::3/64".parse().expect("an address"))
            .start(options("xdp:fpwire0").open().expect("root may"));
        let error = begun.expect_err("it is refused").to_string();
        assert!(
            error.contains("use packet, tap or tun devices for IPv6"),
            "{error}"
        );
    });
}

/// Super-segments of the kernel arrive uncut, and those of the stack leave uncut.
#[test]
#[ignore = "needs root and network devices: cargo xtask test"]
fn a_packet_socket_carries_super_segments_in_both_directions() {
    in_network_namespace(
        "a_packet_socket_carries_super_segments_in_both_directions",
        || {
            cable();
            let runtime = start(&options("packet:fpwire0"), 1);
            swap_files(&runtime, true);
            let (sent, packets, received, frames) = runtime.with_stack(|stack, _| {
                let (tcp, mib) = (stack.tcp_counters(), &stack.counters().mib);
                let (out, into) = (mib.ip_out_requests, mib.ip_in_receives);
                (tcp.out_segs, out, tcp.in_segs, into)
            });
            println!("{packets} frames for {sent} segments sent, {frames} for {received} received");
            assert!(packets < sent && frames < received);
        },
    );
}

/// The interface keeps its own address, and the kernel still gets its own traffic.
#[test]
#[ignore = "needs root and network devices: cargo xtask test"]
fn the_kernel_keeps_its_own_traffic_on_the_interface() {
    in_network_namespace("the_kernel_keeps_its_own_traffic_on_the_interface", || {
        let here = std::process::id();
        let far = Namespace::new().expect("root may");
        far.enter(|| {
            ip(&format!(
                "link add fpwire1 type veth peer name fpwire0 netns {here}"
            ));
            ip("addr add 10.8.3.1/24 dev fpwire1");
            ip("link set fpwire1 up");
            kernel::set_checksum_offload("fpwire1", false).expect("veth can");
        })
        .expect("it can be entered");
        ip("addr add 10.8.3.9/24 dev fpwire0");
        ip("link set fpwire0 up");
        for device in DEVICES {
            let runtime = start(&options(device), 1);
            far.enter(|| {
                assert!(ping("10.8.3.2"), "{device}: the stack answers");
                assert!(ping("10.8.3.9"), "{device}: the kernel answers");
                ip("neighbour flush dev fpwire1");
            })
            .expect("it can be entered");
            drop(runtime);
            let begun = Runtime::builder("10.8.3.9/24".parse().expect("an address"))
                .start(options(device).open().expect("root may"));
            let error = begun.expect_err("the kernel has it").to_string();
            assert!(
                error.contains("this machine's fpwire0 has this address"),
                "{error}"
            );
        }
    });
}

/// Waits until `ip link` shows an XDP program, or, if `wanted` is false, shows none.
fn await_program(wanted: bool) {
    for _ in 0..3_000 {
        if ip("link show dev fpwire0").contains("xdp") == wanted {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("program attached: {}", !wanted);
}

/// The XDP program is gone after a drop, after a panic's unwinding and after SIGKILL.
#[test]
#[ignore = "needs root and network devices: cargo xtask test"]
fn the_xdp_program_is_detached_on_every_way_out() {
    in_network_namespace(DETACHED, || {
        if std::env::var_os("FULLPIPE_TO_BE_KILLED").is_some() {
            let _runtime = start(&options("xdp:fpwire0"), 1);
            thread::sleep(Duration::from_secs(1_000));
            return;
        }
        cable();
        assert!(!ip("link show dev fpwire0").contains("xdp"));
        let runtime = start(&options("xdp:fpwire0"), 1);
        assert!(ip("link show dev fpwire0").contains("xdpgeneric"));
        assert!(ip("-d link show dev fpwire0").contains("promiscuity 1"));
        drop(runtime);
        await_program(false);

        let (sender, started) = mpsc::channel();
        let ended = thread::spawn(move || {
            let _runtime = start(&options("xdp:fpwire0"), 1);
            sender.send(()).expect("it is awaited");
            panic!("the test ends this thread by a panic");
        });
        started.recv().expect("it starts");
        assert!(ended.join().is_err());
        await_program(false);

        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["--include-ignored", "--exact", DETACHED, "--nocapture"])
            .env("FULLPIPE_TO_BE_KILLED", "1")
            .spawn()
            .expect("it starts");
        await_program(true);
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
        await_program(false);
        let shown = ip("-d link show dev fpwire0");
        assert!(shown.contains("promiscuity 0"), "{shown}");
    });
}
