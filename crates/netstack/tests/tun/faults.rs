//! Faults during a transfer: a target that is killed, a client or a device that pauses, and an MTU
//! that becomes smaller.
//!
//! Rule: after the fault, either every byte arrives, or the client gets an error. No test waits for
//! a fixed time to judge a result.

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    net::SocketAddr,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use fullpipe_host::Namespace;

use crate::{
    apart::in_network_namespace,
    ground::{
        DEVICE, Ground, PATIENCE, Running, connect, connect_to, ip, read_request, receive_payload,
        send_payload, serve, server, server6, wait_until,
    },
};

/// Payload of one transfer.
const LEN: usize = 24 << 20;
/// Payload after which the fault happens.
const FAULT_AT: usize = 4 << 20;
/// Time for which a client or a device pauses.
const PAUSE: Duration = Duration::from_secs(2);

/// Port whose server sends [`LEN`] bytes.
const DOWN: u16 = 90;
/// Port whose server receives [`LEN`] bytes and answers with one byte.
const UP: u16 = 91;

fn serve_transfers() {
    // The test fails at the client if the server fails.
    serve(DOWN, |mut client| drop(send_payload(&mut client, LEN)));
    serve(UP, |mut client| {
        if receive_payload(&mut client, LEN, |_| ()).is_ok() {
            let _ = client.write_all(b"k");
        }
    });
}

/// Transfers [`LEN`] bytes in both directions at the same time. Calls `fault` when [`FAULT_AT`]
/// bytes have arrived.
fn transfer_with(fault: impl FnOnce() + Send) {
    transfer_to(server, fault);
}

/// As [`transfer_with`], with `server` as the server's address.
fn transfer_to(server: fn(u16) -> SocketAddr, fault: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let upload = scope.spawn(|| {
            let mut stream = connect_to(server(UP));
            send_payload(&mut stream, LEN).expect("the upload goes on");
            stream.read_exact(&mut [0]).expect("every byte arrived");
        });
        let mut fault = Some(fault);
        let mut stream = connect_to(server(DOWN));
        let arrived = receive_payload(&mut stream, LEN, |at| {
            if at >= FAULT_AT
                && let Some(fault) = fault.take()
            {
                fault();
            }
        });
        arrived.expect("the download goes on");
        upload.join().expect("the upload ends");
    });
}

#[test]
#[ignore = "needs root and a TUN device: cargo xtask test"]
fn a_forwarder_that_ends_resets_its_flows() {
    in_network_namespace("faults::a_forwarder_that_ends_resets_its_flows", || {
        let ground = Ground::prepare();
        // The server reads, and neither answers nor closes.
        serve(85, |mut client| drop(client.read(&mut [0; 1])));
        ground.as_client(|| {
            let mut stream = connect(85);
            stream.set_nodelay(true).expect("an option");
            wait_until("the flow is not listed", || {
                ground.table.totals().tcp_open > 0
            });
            ground.table.reset_flows(PATIENCE);
            let ended = stream.read(&mut [0; 1]).expect_err("it is reset");
            assert_eq!(ended.kind(), ErrorKind::ConnectionReset);
        });
    });
}

#[test]
#[ignore = "needs root, a TUN device and iperf: cargo xtask test"]
fn a_client_gets_an_error_when_its_server_is_killed() {
    in_network_namespace(
        "faults::a_client_gets_an_error_when_its_server_is_killed",
        || {
            let ground = Ground::prepare();
            let address = server(0).ip().to_string();
            let mut iperf = Command::new("iperf");
            let mut iperf = Running::start(iperf.args(["-s", "-B", &address]));
            ground.as_client(|| {
                let mut client = Command::new("iperf");
                client.args(["-c", &address, "-t", "3600"]);
                let mut client = Running::start(client.stderr(Stdio::piped()));
                wait_until("iperf sends", || {
                    ground.table.totals().up.bytes > FAULT_AT as u64
                });
                iperf.0.kill().expect("it runs");
                wait_until("iperf ends", || {
                    client.0.try_wait().expect("our child").is_some()
                });
                let mut said = String::new();
                let mut errors = client.0.stderr.take().expect("a pipe");
                errors.read_to_string(&mut said).expect("text");
                println!("iperf said: {said}");
                assert!(!said.is_empty(), "iperf reports an error");
            });
            ground.wait_until_no_flow_is_left();
        },
    );
}

#[test]
#[ignore = "needs root and a TUN device: cargo xtask test"]
fn a_download_that_the_server_resets_does_not_end_as_if_complete() {
    in_network_namespace(
        "faults::a_download_that_the_server_resets_does_not_end_as_if_complete",
        || {
            let ground = Ground::prepare();
            // Linux closes a socket with unread bytes by a reset.
            serve(86, |mut client| {
                client.peek(&mut [0]).expect("a byte");
                let _ = send_payload(&mut client, FAULT_AT);
            });
            ground.as_client(|| {
                for address in [server(86), server6(86)] {
                    let mut stream = connect_to(address);
                    stream.write_all(b"x").expect("it is open");
                    let ended = std::io::copy(&mut stream, &mut std::io::sink());
                    let error = ended.expect_err("it is reset");
                    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{address}");
                }
            });
            ground.wait_until_no_flow_is_left();
        },
    );
}

#[test]
#[ignore = "needs root, a TUN device and curl: cargo xtask test"]
fn a_client_that_is_stopped_for_a_while_gets_the_whole_file() {
    in_network_namespace(
        "faults::a_client_that_is_stopped_for_a_while_gets_the_whole_file",
        || {
            let ground = Ground::prepare();
            // A body without a header is an answer of HTTP/0.9.
            serve(87, |mut client| {
                read_request(&mut client).expect("a request");
                send_payload(&mut client, LEN).expect("curl reads all");
            });
            ground.as_client(|| {
                // A small receive buffer, so that the file does not fit in the client's kernel.
                fs::write("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 1048576").expect("root may");
                let url = format!("http://{}/", server(87));
                let mut curl = Command::new("curl");
                curl.args(["-sS", "--http0.9", "--max-time", "500", "-o", "/dev/null"]);
                curl.args(["-w", "%{size_download}", "--limit-rate", "8M", &url]);
                let mut curl = Running::start(curl.stdout(Stdio::piped()));
                let bytes = || ground.table.totals().down.bytes;
                wait_until("curl reads", || bytes() > FAULT_AT as u64);
                signal(&curl, "STOP");
                let mut before = 0;
                wait_until("the forwarder reads for nobody", || {
                    println!("{} bytes forwarded", bytes());
                    let last = std::mem::replace(&mut before, bytes());
                    thread::sleep(PAUSE);
                    bytes() == last
                });
                assert!(bytes() < LEN as u64, "the file is in memory");
                signal(&curl, "CONT");
                let mut said = String::new();
                let mut out = curl.0.stdout.take().expect("a pipe");
                out.read_to_string(&mut said).expect("text");
                assert_eq!(said, LEN.to_string());
            });
            ground.wait_until_no_flow_is_left();
        },
    );
}

fn signal(program: &Running, name: &str) {
    let id = program.0.id().to_string();
    let status = Command::new("sh")
        .args(["-c", "kill -$1 $0", &id, name])
        .status();
    assert!(status.expect("a shell").success(), "kill -{name} {id}");
}

#[test]
#[ignore = "needs root and a TUN device: cargo xtask test"]
fn transfers_survive_a_device_that_is_down_for_a_while() {
    in_network_namespace(
        "faults::transfers_survive_a_device_that_is_down_for_a_while",
        || {
            let ground = Ground::prepare();
            serve_transfers();
            ground.as_client(|| {
                transfer_with(|| {
                    ip(&format!("link set {DEVICE} down"));
                    thread::sleep(PAUSE);
                    ip(&format!("link set {DEVICE} up"));
                    ip(&format!("route add default dev {DEVICE}"));
                });
            });
            ground.wait_until_no_flow_is_left();
        },
    );
}

#[test]
#[ignore = "needs root and a TUN device: cargo xtask test"]
fn transfers_survive_a_smaller_mtu_of_the_device() {
    in_network_namespace(
        "faults::transfers_survive_a_smaller_mtu_of_the_device",
        || {
            let ground = Ground::prepare();
            serve_transfers();
            ground.as_client(|| {
                transfer_to(server6, || ip(&format!("link set {DEVICE} mtu 1400")));
                transfer_to(server, || ip(&format!("link set {DEVICE} mtu 1280")));
            });
            ground.wait_until_no_flow_is_left();
        },
    );
}

/// The client is behind a router, which has the device. The router reports packets that are too
/// long for the link to the client.
#[test]
#[ignore = "needs root and a TUN device: cargo xtask test"]
fn transfers_survive_a_smaller_mtu_behind_the_device() {
    in_network_namespace(
        "faults::transfers_survive_a_smaller_mtu_behind_the_device",
        || {
            let ground = Ground::prepare();
            serve_transfers();
            let home = Namespace::new().expect("root may");
            // The file names the namespace of this thread, which waits meanwhile.
            let connect_to_router = || {
                let thread = fs::read_link("/proc/thread-self").expect("a thread");
                let file = format!("/proc/{}/ns/net", thread.display());
                ground.as_client(|| {
                    ip(&format!(
                        "link add hall type veth peer name hall netns {file}"
                    ));
                    ip("addr add 10.8.0.1/24 dev hall");
                    ip("link set hall up");
                    fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("root may");
                });
            };
            home.enter(connect_to_router).expect("root may enter");
            let use_it = || {
                ip("addr add 10.8.0.2/24 dev hall");
                ip("link set hall up");
                ip("route add default via 10.8.0.1");
                transfer_with(|| {
                    ip("link set hall mtu 1280");
                    ground.as_client(|| ip("link set hall mtu 1280"));
                });
            };
            home.enter(use_it).expect("root may enter");
            ground.wait_until_no_flow_is_left();
        },
    );
}
