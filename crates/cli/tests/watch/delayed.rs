//! Tests with two namespaces and an emulated link between them, for limits that need a round trip.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use fullpipe_host::Namespace;

use crate::{
    Buffers, PATIENCE,
    apart::in_network_namespace,
    connection,
    kernel::{drain, pump},
    listener, watched_until,
};

/// A child process that is killed when this value is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    assert!(status.unwrap().success(), "ip {arguments}");
}

/// Starts the other host: a process in its own network namespace.
fn other_host() -> (Process, Namespace) {
    let mut child = Command::new("unshare")
        .args(["--net", "sh", "-c", "echo ready; exec sleep 1000"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = child.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    let path = format!("/proc/{}/ns/net", child.id());
    let namespace = Namespace::open(Path::new(&path)).unwrap();
    (Process(child), namespace)
}

/// Connects this host, 10.9.0.1, with the other one, 10.9.0.2, by a link of 10 ms in each direction
/// and 100 Mbit/s, and runs `body` with the other host.
fn with_link(body: impl FnOnce(&Namespace)) {
    let link = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .args(["link", "--between", "tap:left,tap:right", "--delay", "10ms"])
        .args(["--rate", "100mbit", "--queue", "200 packets", "-q"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let _link = Process(link);
    let began = Instant::now();
    while !fs::exists("/sys/class/net/right").unwrap() && began.elapsed() < PATIENCE {
        // Also ask `ip`: `/sys` shows the namespace in which it was mounted, which may be another
        // one.
        let shown = Command::new("ip").args(["link", "show", "right"]).output();
        if shown.unwrap().status.success() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let (process, other) = other_host();
    ip(&format!("link set right netns {}", process.0.id()));
    ip("addr add 10.9.0.1/24 dev left");
    // Limit packets to one segment, because the kernel refills the last super-segment beyond the
    // size of the send buffer.
    ip("link set left gso_max_segs 1");
    ip("link set left up");
    other
        .enter(|| {
            ip("addr add 10.9.0.2/24 dev right");
            ip("link set right up");
            ip("link set lo up");
        })
        .unwrap();
    body(&other);
}

/// Starts a transfer over the link. The transfer lasts until the process ends. Returns the sender's
/// address.
fn transfer(other: &Namespace, buffers: &Buffers) -> SocketAddr {
    let listener = other
        .enter(|| listener("10.9.0.2:0", buffers.receive))
        .unwrap();
    let to = listener.local_addr().unwrap();
    let (sender, receiver) = connection(&listener, to, buffers);
    let local = sender.local_addr().unwrap();
    pump(sender);
    drain(receiver, 65_536, Duration::ZERO);
    local
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn a_small_send_buffer_is_named_although_the_kernel_does_not_count_it() {
    let name = "delayed::a_small_send_buffer_is_named_although_the_kernel_does_not_count_it";
    in_network_namespace(name, || {
        with_link(|other| {
            let local = transfer(
                other,
                &Buffers {
                    send: Some(16_384),
                    ..Buffers::default()
                },
            );
            let socket = watched_until(local, "send buffer", |socket| {
                let verdict = &socket["verdict"];
                verdict["limit"] == "send_buffer" && verdict["share"].as_f64() > Some(0.8)
            });
            println!("{socket:#}");
            let steps = socket["verdict"]["steps"].to_string();
            assert!(steps.contains("Remove setsockopt(SO_SNDBUF)"), "{steps}");
            assert!(steps.contains("32768 bytes"), "{steps}");
        });
    });
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn a_small_receive_buffer_of_the_peer_is_its_window() {
    let name = "delayed::a_small_receive_buffer_of_the_peer_is_its_window";
    in_network_namespace(name, || {
        with_link(|other| {
            let local = transfer(
                other,
                &Buffers {
                    receive: Some(16_384),
                    ..Buffers::default()
                },
            );
            let socket = watched_until(local, "receive window", |socket| {
                socket["verdict"]["limit"] == "receive_window"
            });
            let steps = socket["verdict"]["steps"].to_string();
            assert!(steps.contains("SO_RCVBUF"), "{steps}");
        });
    });
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn large_buffers_are_limited_by_the_congestion_window_and_the_path() {
    let name = "delayed::large_buffers_are_limited_by_the_congestion_window_and_the_path";
    in_network_namespace(name, || {
        with_link(|other| {
            let local = transfer(other, &Buffers::default());
            let socket = watched_until(local, "congestion window", |socket| {
                let limit = socket["verdict"]["limit"].as_str().unwrap();
                limit.starts_with("congestion_window")
            });
            println!("{socket:#}");
        });
    });
}
