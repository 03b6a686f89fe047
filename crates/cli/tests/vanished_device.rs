//! `fullpipe iperf -s` on a network device that is deleted.
//!
//! Rule: each test runs in a network namespace of its own, which ends with its process.

#[path = "../../host/tests/apart/mod.rs"]
mod apart;

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    let status = status.expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments}");
}

/// Starts a server with `flags` on `device`, deletes the device, and checks its end.
fn ends(device: &str, flags: &[&str]) {
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
        ip("link del fpgone");
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
                ends("tap:fpgone", flags);
                ends("tun:fpgone", flags);
                ip("link add fpgone type veth peer name fpother");
                ip("link set fpgone up");
                ip("link set fpother up");
                ends("packet:fpgone", flags);
            }
        },
    );
}
