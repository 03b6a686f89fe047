//! Tests of faults: a pulled cable, a peer that vanishes, a pool with no free block, and a flood.
//!
//! Rule: all faults happen to one device, one after another, and its pool is free at the end.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use crate::{
    PORT, check_pool,
    device::{DEVICE, Device, POOLS, TAP, bytes},
    flood, in_namespace, make_tap, run,
    stock::{Stock, wait_until},
};

/// Knobs (settings of the stack) with which a connection ends about twelve seconds after its peer
/// has vanished, and a handshake after about three seconds. A connection survives the test with the
/// pulled cable: the cable is missing for less than a second, or for less than ten on a machine
/// that is ten times slower.
const QUICK: &str = "tcp.keepalive_time=2s tcp.keepalive_interval=2s \
    tcp.keepalive_probes=5 tcp.synack_retries=1";
/// Number of simultaneous connections that use up the pool.
const STREAMS: usize = 4;
/// Packets of each flood.
const FLOOD: u32 = 20_000;

fn pause(millis: u64) {
    thread::sleep(Duration::from_millis(millis));
}

/// Returns the number of tests that the device has reported.
fn reported(device: &Device) -> usize {
    device.said().matches("tcp received ").count()
}

/// Waits until the device has reported `count` tests. Returns the text of the last report.
fn wait_for_reports(device: &Device, count: usize) -> String {
    let deadline = Instant::now() + Duration::from_secs(120);
    while reported(device) < count {
        assert!(
            Instant::now() < deadline,
            "{count} tests: {}",
            device.said()
        );
        pause(20);
    }
    let text = device.said();
    let (_, last) = text.rsplit_once("tcp received ").expect("a report");
    format!("tcp received {last}")
}

/// Sends for a time in which the cable is missing for less than a second.
fn pulled_cable(device: &Device) {
    let peer = thread::scope(|scope| {
        let peer = scope.spawn(|| Stock::run_client((DEVICE, PORT).into(), "-t 2"));
        pause(500);
        device.command("set_link net off");
        pause(800);
        device.command("set_link net on");
        peer.join().expect("the stock client ends")
    });
    let text = wait_for_reports(device, 1);
    assert_eq!(bytes(&text, "tcp received"), peer.bytes(), "{text}");
    assert!(device.said().contains("link: down"), "{}", device.said());
}

/// Returns true if the kernel has an established connection to the device.
fn is_connected() -> bool {
    let table = fs::read_to_string("/proc/thread-self/net/tcp").expect("the kernel has TCP");
    // A line has the remote address and port, and then the state; 01 is ESTABLISHED.
    table.contains(&format!(":{PORT:04X} 01"))
}

/// Kills a client while none of its segments, not even its FIN, can leave.
fn vanished_peer(device: &Device) {
    let [a, b, c, d] = DEVICE;
    let client = Stock::start(&["-c", &format!("{a}.{b}.{c}.{d}"), "-t", "600"]);
    assert!(wait_until(is_connected), "{}", device.said());
    // Let the last segment of the handshake and some payload reach the device.
    pause(700);
    run("ip", &format!("link set {TAP} down"));
    drop(client);
    let text = wait_for_reports(device, 2);
    assert!(text.contains("failed: "), "{text}");
    run("ip", &format!("link set {TAP} up"));
}

/// Sends over several connections at once; their windows together are larger than the pool.
fn used_up_pool(device: &Device) {
    let flags = format!("-n 200000 -P {STREAMS}");
    let peer = Stock::run_client((DEVICE, PORT).into(), &flags);
    wait_for_reports(device, 2 + STREAMS);
    assert_eq!(peer.bytes(), 200_000 * STREAMS as u64, "{}", peer.text);
}

/// Floods the device, then sends as before.
fn flooded(device: &Device) {
    thread::scope(|scope| {
        scope.spawn(|| flood::syns(PORT, FLOOD));
        scope.spawn(|| flood::datagrams(FLOOD));
    });
    let peer = Stock::run_client((DEVICE, PORT).into(), "-n 200000");
    let text = wait_for_reports(device, 3 + STREAMS);
    assert_eq!(bytes(&text, "tcp received"), peer.bytes(), "{text}");
}

#[test]
#[ignore = "needs root, QEMU and the firmware: cargo xtask test"]
fn firmware_recovers_from_faults_and_all_of_its_pool_is_free() {
    in_namespace(
        "faults::firmware_recovers_from_faults_and_all_of_its_pool_is_free",
        || {
            make_tap();
            let line = format!("tcp-server {} {QUICK} tests={}", POOLS[0], 3 + STREAMS);
            let device = Device::start("iperf", &line);
            pulled_cable(&device);
            vanished_peer(&device);
            used_up_pool(&device);
            flooded(&device);
            // The program fails, because the peer of one test vanished.
            let (text, succeeded) = check_pool(device);
            assert!(!succeeded, "{text}");
        },
    );
}
