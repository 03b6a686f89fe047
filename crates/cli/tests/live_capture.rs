//! Tests of `fullpipe why -i` on the loopback interface.
//!
//! Rule: the test runs in its own network namespace, which ends with the test's process.

#[path = "../../host/tests/apart/mod.rs"]
mod apart;

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

const BYTES: usize = 3_000_000;

/// Waits until a process in this namespace has a packet socket for all protocols (protocol 3).
fn wait_for_packet_socket() {
    let deadline = Instant::now() + Duration::from_secs(300);
    let list = || fs::read_to_string("/proc/thread-self/net/packet").expect("a list");
    while !list().contains(" 0003 ") {
        assert!(Instant::now() < deadline, "the capture has not begun");
        thread::sleep(Duration::from_millis(10));
    }
}

fn transfer() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let reader = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("all bytes");
        all.len()
    });
    let mut stream = TcpStream::connect(address).expect("a server");
    stream.write_all(&vec![7; BYTES]).expect("all bytes");
    drop(stream);
    assert_eq!(reader.join().expect("the reader ends"), BYTES);
}

#[test]
#[ignore = "needs root: cargo xtask test"]
fn a_capture_on_an_interface_counts_every_byte_of_a_transfer_until_ctrl_c() {
    let name = "a_capture_on_an_interface_counts_every_byte_of_a_transfer_until_ctrl_c";
    apart::in_network_namespace(name, || {
        for interface in ["lo", "any"] {
            let capture = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
                .args(["why", "-i", interface, "--json"])
                .stdout(Stdio::piped())
                .spawn()
                .expect("the command starts");
            wait_for_packet_socket();
            transfer();
            let interrupt = Command::new("kill")
                .args(["-INT", &capture.id().to_string()])
                .status();
            assert!(interrupt.is_ok_and(|status| status.success()));
            let output = capture.wait_with_output().expect("the command ends");
            assert!(output.status.success(), "{interface}: {:?}", output.status);
            let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let connection = &answer["connections"][0];
            assert_eq!(
                connection["payload_bytes"], BYTES,
                "{interface}: {connection}"
            );
            assert_eq!(connection["ending"], "closed", "{interface}: {connection}");
        }
    });
}
