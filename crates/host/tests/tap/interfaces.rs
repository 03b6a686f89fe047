//! Tests of a stack with two interfaces, each on a TAP device of the same kernel.
//!
//! Rule: the kernel's routing table and its sockets judge by which device a packet came.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use fullpipe::{Config, InterfaceId, RouteEntry};
use fullpipe_host::{DeviceOptions, Runtime, Tap, TcpListener, TcpStream};

use super::{in_network_namespace, ip};

/// Addresses of the kernel on each device, and of the stack.
const KERNEL: [[u8; 4]; 2] = [[10, 81, 1, 1], [10, 81, 2, 1]];
const OWN: [[u8; 4]; 2] = [[10, 81, 1, 2], [10, 81, 2, 2]];
/// An address of the kernel on no device, which a router would have behind it.
const FAR: [u8; 4] = [192, 0, 2, 1];

fn tap(number: usize) -> Tap {
    let mut options = DeviceOptions::new(format!("tap:fptwo{number}").parse().expect("a device"));
    let address = IpAddr::from(KERNEL[number]);
    options.host_address = Some(format!("{address}/24").parse().expect("an address"));
    options.mtu = Some([1_500, 1_000][number]);
    Tap::open(&options).expect("root may")
}

/// Each device has a gateway, which is the kernel; the second has the larger metric.
fn start() -> Runtime {
    let prefix = |number: usize| {
        let address = IpAddr::from(OWN[number]);
        format!("{address}/24").parse().expect("an address")
    };
    let mut config = Config::default();
    config.ip.loopback = true;
    let runtime = Runtime::builder(prefix(0))
        .config(config)
        .gateway(KERNEL[0].into())
        .interface(prefix(1), None, tap(1))
        .start(tap(0))
        .expect("the stack starts");
    let second = runtime.with_stack(|stack, _| {
        let own = stack
            .addresses()
            .find(|own| own.address == IpAddr::from(OWN[1]));
        let interface = own.expect("it was added").interface;
        let route = RouteEntry {
            interface,
            metric: 100,
            ..RouteEntry::default_through(KERNEL[1].into())
        };
        stack.routes_mut().add(route).expect("there is room");
        interface
    });
    assert_ne!(second, InterfaceId::FIRST);
    ip("addr add 192.0.2.1/32 dev lo");
    runtime
}

/// A connection from `local` to the kernel's socket at `to`, with the kernel's end.
fn connect(
    runtime: &Runtime,
    local: Option<[u8; 4]>,
    to: [u8; 4],
) -> (TcpStream, std::net::TcpStream) {
    let listener = std::net::TcpListener::bind(SocketAddr::from((to, 0))).expect("a socket");
    let remote = listener.local_addr().expect("it is bound");
    let stream = match local {
        Some(local) => TcpStream::connect_from(runtime, (local, 0).into(), remote),
        None => TcpStream::connect(runtime, remote),
    };
    let stream = stream.expect("the kernel answers");
    (stream, listener.accept().expect("it connected").0)
}

/// Sends bytes in both directions.
fn exchange(stream: &mut TcpStream, kernel: &mut std::net::TcpStream) {
    let sent: Vec<u8> = (0..50_000u32).map(|n| n as u8).collect();
    let mut received = vec![0; sent.len()];
    stream.write_all(&sent).expect("it is connected");
    kernel.read_exact(&mut received).expect("the bytes come");
    assert_eq!(received, sent);
    kernel.write_all(&sent).expect("it is connected");
    stream.read_exact(&mut received).expect("the bytes come");
    assert_eq!(received, sent);
}

/// Bytes that the kernel received by a device.
fn received(number: usize) -> u64 {
    let text = std::fs::read_to_string("/proc/self/net/dev").expect("the kernel lists devices");
    let device = format!("fptwo{number}:");
    let words = text.split_whitespace();
    let mut after = words.skip_while(|word| *word != device).skip(1);
    after
        .next()
        .and_then(|bytes| bytes.parse().ok())
        .expect("the device is listed")
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn connections_leave_by_the_interface_of_their_address() {
    in_network_namespace(
        "interfaces::connections_leave_by_the_interface_of_their_address",
        || {
            ip("link set lo up");
            let runtime = start();
            for (local, to, by) in [
                (None, KERNEL[0], 0),
                (None, KERNEL[1], 1),
                (None, FAR, 0),
                (Some(OWN[1]), FAR, 1),
                (Some(OWN[0]), FAR, 0),
            ] {
                let before = [received(0), received(1)];
                let (mut stream, mut kernel) = connect(&runtime, local, to);
                assert_eq!(
                    kernel.peer_addr().expect("connected").ip(),
                    IpAddr::from(OWN[by])
                );
                exchange(&mut stream, &mut kernel);
                let carried = [0, 1].map(|number| received(number) - before[number]);
                assert!(carried[by] > 50_000, "{local:?} to {to:?}: {carried:?}");
                assert!(carried[1 - by] < 10_000, "{local:?} to {to:?}: {carried:?}");
            }
        },
    );
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn the_kernel_connects_and_pings_through_each_device() {
    in_network_namespace(
        "interfaces::the_kernel_connects_and_pings_through_each_device",
        || {
            let runtime = start();
            let any = SocketAddr::from(([0, 0, 0, 0], 80));
            let listener = TcpListener::bind(&runtime, any).expect("a free port");
            for own in OWN {
                let remote = SocketAddr::from((own, 80));
                let mut kernel = std::net::TcpStream::connect(remote).expect("it listens");
                let (mut stream, _) = listener.accept().expect("it connected");
                exchange(&mut stream, &mut kernel);
                let host = IpAddr::from(own);
                for len in [56, 3_000] {
                    let output = std::process::Command::new("ping")
                        .args(["-c", "2", "-i", "0.2", "-W", "60", "-s"])
                        .args([len.to_string(), host.to_string()])
                        .output()
                        .expect("ping is installed");
                    let text = String::from_utf8_lossy(&output.stdout);
                    assert!(text.contains(" 0% packet loss"), "{host}, {len}: {text}");
                }
            }
        },
    );
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_removed_address_ends_the_connections_of_its_interface_only() {
    in_network_namespace(
        "interfaces::a_removed_address_ends_the_connections_of_its_interface_only",
        || {
            let runtime = start();
            let (mut kept, mut kernel) = connect(&runtime, None, KERNEL[0]);
            let (mut ended, _other) = connect(&runtime, None, KERNEL[1]);
            ended.set_read_timeout(Some(Duration::from_secs(120)));
            let removed = runtime.with_stack(|stack, now| stack.remove_address(OWN[1].into(), now));
            removed.expect("it was there");
            let error = ended.read(&mut [0; 8]).expect_err("the address is gone");
            assert_ne!(error.kind(), ErrorKind::TimedOut);
            assert_ne!(error.kind(), ErrorKind::WouldBlock);
            exchange(&mut kept, &mut kernel);
        },
    );
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn the_stack_connects_to_itself_and_the_kernel_sees_nothing() {
    in_network_namespace(
        "interfaces::the_stack_connects_to_itself_and_the_kernel_sees_nothing",
        || {
            let runtime = start();
            let any = SocketAddr::from(([0, 0, 0, 0], 80));
            let listener = TcpListener::bind(&runtime, any).expect("a free port");
            for to in [[127, 0, 0, 1], OWN[1]] {
                let before = received(0) + received(1);
                let remote = SocketAddr::from((to, 80));
                let mut client = TcpStream::connect(&runtime, remote).expect("it listens");
                let (mut server, _) = listener.accept().expect("it connected");
                client.write_all(b"to myself").expect("it is connected");
                let mut bytes = [0; 9];
                server.read_exact(&mut bytes).expect("the bytes come");
                assert_eq!(&bytes, b"to myself");
                assert_eq!(received(0) + received(1), before, "{to:?}");
            }
        },
    );
}
