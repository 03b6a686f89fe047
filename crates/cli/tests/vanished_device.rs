//! Tests of `fullpipe iperf -s` on a network device that is deleted.
//!
//! Rule: each test runs in its own network namespace, which ends with the test's process.

#[path = "../../host/tests/apart/mod.rs"]
mod apart;

use std::{
    io::{BufRead, BufReader},
    net::{SocketAddr, TcpStream},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use fullpipe_host::kernel;

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    let status = status.expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments}");
}

fn delete() {
    ip("link del fpgone");
}

/// Sets the device down, gives the server time to notice, and deletes the device.
fn set_down_and_delete() {
    ip("link set fpgone down");
    thread::sleep(Duration::from_millis(500));
    delete();
}

/// Sets the device down for longer than the server waits between two checks, sets it up again,
/// connects through it, and deletes it.
fn set_down_and_up_and_delete() {
    ip("link set fpgone down");
    thread::sleep(Duration::from_millis(1_500));
    ip("link set fpgone up");
    let server = SocketAddr::from(([10, 77, 0, 2], 5001));
    let served = TcpStream::connect_timeout(&server, Duration::from_secs(120));
    served.expect("the server goes on");
    set_down_and_delete();
}

fn cable() {
    ip("link add fpgone type veth peer name fpother");
    ip("link set fpgone up");
    ip("link set fpother up");
}

/// Starts a server with `flags` on `device`, makes the device vanish with `vanish`, and checks how
/// the server ends.
fn ends(device: &str, flags: &[&str], vanish: fn()) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .args(["iperf", "-s", "--dev", device, "--addr", "10.77.0.2/24"])
        .args(flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let out = BufReader::new(server.stdout.take().expect("it is piped"));
    let mut lines = out.lines().map(|line| line.expect("text"));
    let listens = lines.any(|line| line.contains("listening"));
    if listens {
        vanish();
    }
    let output = server.wait_with_output().expect("it ends");
    let line = String::from_utf8(output.stderr).expect("text");
    let what = format!("{device} {flags:?}: {line}");
    assert!(listens, "{what}");
    assert_eq!(output.status.code(), Some(1), "{what}");
    assert_eq!(line.lines().count(), 1, "{what}");
    assert!(
        line.starts_with("error: ") && line.contains("the network device is gone"),
        "{what}"
    );
    println!("{what}");
}

#[test]
#[ignore = "needs root and a network namespace: cargo xtask test"]
fn a_server_whose_device_is_deleted_ends_with_exit_code_1() {
    apart::in_network_namespace(
        "a_server_whose_device_is_deleted_ends_with_exit_code_1",
        || {
            for flags in [&[][..], &["-u"]] {
                ends("tap:fpgone", flags, delete);
                ends("tun:fpgone", flags, delete);
                for device in ["packet:fpgone", "xdp:fpgone"] {
                    cable();
                    ends(device, flags, delete);
                    cable();
                    ends(device, flags, set_down_and_delete);
                }
            }
        },
    );
}

#[test]
#[ignore = "needs root and a network namespace: cargo xtask test"]
fn a_server_whose_device_is_down_for_a_while_goes_on() {
    apart::in_network_namespace("a_server_whose_device_is_down_for_a_while_goes_on", || {
        for device in ["packet:fpgone", "xdp:fpgone"] {
            cable();
            ip("addr add 10.77.0.1/24 dev fpother");
            // Let the kernel complete checksums, because an xdp device refuses incomplete ones.
            kernel::set_checksum_offload("fpother", false).expect("veth can");
            ends(device, &[], set_down_and_up_and_delete);
        }
    });
}
