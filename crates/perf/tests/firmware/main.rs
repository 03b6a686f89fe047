//! Tests of stock iperf against the firmware in `firmware/`, on an emulated Cortex-M3 with an
//! emulated LAN9118.
//!
//! Rule: every test runs in its own network namespace, which ends with its process. Tests compare
//! bytes, not rates. `cargo xtask test` builds the firmware and sets its folder.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;
mod device;
mod faults;
mod flood;
mod limits;
#[path = "../live_link/path.rs"]
mod path;
mod radio;
#[path = "../stock_iperf/stock.rs"]
mod stock;

use std::{path::Path, process::Command};

use device::{DEVICE, Device, KERNEL, POOLS, TAP, bytes, number};
use stock::Stock;

const PORT: u16 = 5001;
/// Rate at which datagrams are sent, in bit/s.
const DATAGRAM_RATE: u32 = 5_000_000;

/// Runs `body` in a network namespace with a TAP device for the emulator.
fn in_namespace(test: &str, body: fn()) {
    assert!(stock::is_installed(), "iperf 2 is installed");
    apart::in_network_namespace(test, body);
}

fn run(program: &str, arguments: &str) {
    let status = Command::new(program).args(arguments.split(' ')).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "{program} {arguments}"
    );
}

/// Creates the TAP device with the kernel's address.
fn make_tap() {
    run("ip", &format!("tuntap add dev {TAP} mode tap"));
    std::fs::write(format!("/proc/sys/net/ipv6/conf/{TAP}/disable_ipv6"), "1").expect("root may");
    let [a, b, c, d] = KERNEL;
    run("ip", &format!("addr add {a}.{b}.{c}.{d}/24 dev {TAP}"));
    run("ip", &format!("link set {TAP} up"));
}

/// Checks that the capture opens, that no frame is malformed, and that no frame of the device has a
/// wrong checksum. Frames of the kernel are not checked for a wrong checksum, because the kernel
/// sends 0xffff for a checksum of 0, and tshark reports 0xffff as wrong.
fn check_capture(capture: &Path) {
    let [a, b, c, d] = DEVICE;
    let wrong = format!(
        "_ws.malformed || ip.src == {a}.{b}.{c}.{d} && \
        (ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0)"
    );
    let output = Command::new("tshark")
        .args(["-n", "-r", &capture.to_string_lossy(), "-Y", &wrong])
        .args([
            "-o",
            "ip.check_checksum:TRUE",
            "-o",
            "udp.check_checksum:TRUE",
        ])
        .args(["-o", "tcp.check_checksum:TRUE"])
        .output()
        .expect("tshark is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "wrong frames");
    std::fs::remove_file(capture).expect("the file is there");
}

/// Ends the device and checks that no test failed and that all of its pool is free. Returns the
/// text that the device printed.
fn check_end(device: Device) -> String {
    let (text, succeeded) = check_pool(device);
    assert!(succeeded, "{text}");
    text
}

/// Ends the device and checks that all of its pool is free. Returns the text that the device
/// printed, and true if no test failed.
fn check_pool(device: Device) -> (String, bool) {
    let capture = device.capture.clone();
    let (text, succeeded) = device.end();
    let (free, all) = (number(&text, "pool: "), number(&text, " blocks of "));
    assert_eq!(free, all, "{text}");
    check_capture(&capture);
    (text, succeeded)
}

/// Runs a test of two seconds in which the stock program is the client. Returns the device's text
/// and the bytes that the client counted.
fn stock_client(protocol: &str, pool: &str, flags: &str) -> (String, u64) {
    let device = Device::start("iperf", &format!("{protocol}-server tests=1 {pool}"));
    let peer = Stock::run_client((DEVICE, PORT).into(), &format!("-t 2 {flags}"));
    (check_end(device), peer.bytes())
}

/// Runs a test of two seconds in which the stock program is the server. Returns the device's text
/// and the bytes that the server counted.
fn stock_server(protocol: &str, pool: &str, flags: &[&str]) -> (String, u64) {
    let server = Stock::start(&[&["-s", "-y", "C"], flags].concat());
    match protocol {
        "udp" => server.wait_for_udp(([0; 4], PORT).into()),
        _ => server.wait_for_tcp(([0; 4], PORT).into()),
    }
    let line = format!("{protocol}-client seconds=2 rate={DATAGRAM_RATE} {pool}");
    let text = check_end(Device::start("iperf", &line));
    let rows = server.stop_and_read_rows(1);
    (text, rows.iter().map(|row| row.bytes).sum())
}

#[test]
#[ignore = "needs root, QEMU and the firmware: cargo xtask test"]
fn firmware_and_stock_iperf_count_the_same_bytes_over_tcp() {
    in_namespace(
        "firmware_and_stock_iperf_count_the_same_bytes_over_tcp",
        || {
            make_tap();
            for pool in POOLS {
                let (text, theirs) = stock_client("tcp", pool, "-i 0");
                assert_eq!(bytes(&text, "tcp received"), theirs, "{pool}: {text}");
                let (text, theirs) = stock_server("tcp", pool, &[]);
                assert_eq!(bytes(&text, "tcp sent"), theirs, "{pool}: {text}");
                assert!(text.contains("limits (sender): "), "{text}");
            }
        },
    );
}

#[test]
#[ignore = "needs root, QEMU and the firmware: cargo xtask test"]
fn firmware_and_stock_iperf_count_the_same_datagrams() {
    in_namespace("firmware_and_stock_iperf_count_the_same_datagrams", || {
        make_tap();
        for pool in POOLS {
            let (text, theirs) = stock_client("udp", pool, &format!("-u -b {DATAGRAM_RATE}"));
            let (length, ours) = (1_470, bytes(&text, "udp received"));
            // The device reports how many datagrams it lost; the client counts all datagrams that
            // it sent.
            let lost = number(&text, ", lost ");
            let sent = number(&text, &format!(", lost {lost} of ")) * length;
            assert_eq!(ours + lost * length, sent, "{pool}: {text}");
            assert!(
                theirs.abs_diff(sent) <= 2 * length,
                "{pool}: {theirs} {text}"
            );
            let (text, theirs) = stock_server("udp", pool, &["-u"]);
            assert_eq!(bytes(&text, "at the peer"), theirs, "{pool}: {text}");
            let sent = bytes(&text, "udp sent");
            let lost = number(&text, ", lost ") * length;
            assert!(theirs + lost <= sent + length, "{pool}: {text}");
        }
    });
}
