//! Tests of DHCP leases: a lease is obtained, renewed and released, and an address that is in use
//! is declined.

use std::{
    io::{ErrorKind, Read},
    net::{IpAddr, Ipv4Addr, TcpListener},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use fullpipe_host::{Runtime, TcpStream};

use crate::{
    apart,
    server::{self, Dnsmasq, SERVER},
};

/// Longest wait for a condition of a test.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until `done` returns true. If it never does, fails and shows dnsmasq's
/// log.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "{what}:\n{}", Dnsmasq::log());
        thread::sleep(Duration::from_millis(10));
    }
}

fn obtain(runtime: &Runtime) -> fullpipe_host::Lease {
    let lease = runtime.wait_for_lease(PATIENCE);
    lease.unwrap_or_else(|error| panic!("{error}:\n{}", Dnsmasq::log()))
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_lease_of_dnsmasq_is_obtained_renewed_and_returned() {
    let test = "dhcp::a_lease_of_dnsmasq_is_obtained_renewed_and_returned";
    apart::in_network_namespace(test, || {
        let runtime = server::start();
        let _server = Dnsmasq::start(&[]);
        let lease = obtain(&runtime);
        assert_eq!(lease.address.octets()[..3], [10, 77, 0]);
        assert_eq!(lease.prefix_len, 24);
        assert_eq!(lease.routers, [Ipv4Addr::from(SERVER)]);
        assert_eq!(lease.dns_servers, [Ipv4Addr::from(SERVER)]);
        assert_eq!(lease.mtu, Some(1_400));
        assert_eq!(lease.domain.as_deref(), Some("example.test"));

        // The address works, and a connection survives the renewal.
        let listener = TcpListener::bind((IpAddr::from(SERVER), 7_000)).expect("the port is free");
        let mut stream = TcpStream::connect(&runtime, (SERVER, 7_000).into()).expect("it listens");
        let (_peer, _) = listener.accept().expect("a connection");
        assert_eq!(stream.local_addr().ip(), lease.address);
        runtime.renew_lease();
        wait_until("no renewal", || {
            runtime.lease().is_some_and(|now| now.since > lease.since)
        });
        assert!(stream.info().is_ok());

        runtime.release_lease();
        assert_eq!(runtime.lease(), None);
        let ended = stream.read(&mut [0; 1]).map_err(|error| error.kind());
        assert_eq!(ended, Err(ErrorKind::AddrNotAvailable));
        let release = format!("DHCPRELEASE(fpdnsmasq) {}", lease.address);
        wait_until("no release", || Dnsmasq::log().contains(&release));
    });
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn an_address_that_the_kernel_has_is_declined() {
    let test = "dhcp::an_address_that_the_kernel_has_is_declined";
    apart::in_network_namespace(test, || {
        // Add the address to the loopback interface: the kernel answers ARP requests for the
        // addresses of all its interfaces, so the stack finds that the address is in use.
        let added = Command::new("ip")
            .args(["addr", "add", "10.77.0.52/32", "dev", "lo"])
            .status();
        assert!(added.is_ok_and(|status| status.success()));
        let builder = Runtime::dhcp().previous_address(Ipv4Addr::new(10, 77, 0, 52));
        let runtime = builder.start(server::open()).expect("the stack starts");
        let _server = Dnsmasq::start(&[]);
        wait_until("no decline", || Dnsmasq::log().contains("DHCPDECLINE"));
        assert_eq!(runtime.lease(), None);
    });
}
