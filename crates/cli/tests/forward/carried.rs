//! Transfers through the program: directly, through proxies, and while the program is paused.
//!
//! Rule: every byte that arrives is compared with what was sent, in both directions.

use std::{
    env, fs,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    process::Command,
    sync::atomic::Ordering::Relaxed,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    apart::in_network_namespace,
    ground::{Forwarder, PATIENCE, TARGETS, add_targets, connect, payload, serve, target},
    proxy::{self, DATAGRAMS, STREAMS},
};

/// Payload of a transfer of curl, in each direction.
const FILE: usize = 4 << 20;
/// Payload of the transfer during which the program is paused.
const LONG: usize = 24 << 20;
/// Payload after which the program is paused.
const PAUSE_AT: usize = 4 << 20;

/// Answers a request of HTTP with the body of the request.
fn echo_the_body(client: TcpStream) {
    let mut client = BufReader::new(client);
    let (mut len, mut line) = (0, String::new());
    while line != "\r\n" {
        line.clear();
        client.read_line(&mut line).expect("a request");
        if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
            len = number.trim().parse().expect("a number");
        }
    }
    let mut body = vec![0; len];
    client.read_exact(&mut body).expect("a body");
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n");
    let client = client.get_mut();
    client.write_all(head.as_bytes()).expect("the client reads");
    client.write_all(&body).expect("the client reads");
}

/// Sends a file to a target with curl, and compares the answer with the file.
fn exchange_with_curl(address: SocketAddr) {
    let [sent, received] = ["sent", "received"].map(|name| {
        env::temp_dir().join(format!("fullpipe-forward-{name}-{}", std::process::id()))
    });
    fs::write(&sent, payload(FILE)).expect("the folder for temporary files is writable");
    let output = Command::new("curl")
        .args([
            "-sS",
            "-g",
            "--fail",
            "--max-time",
            "120",
            "-H",
            "Expect:",
            "-o",
        ])
        .arg(&received)
        .arg("--data-binary")
        .arg(format!("@{}", sent.display()))
        .arg(format!("http://{address}/"))
        .output()
        .expect("curl is installed");
    assert!(output.status.success(), "{address}: {output:?}");
    let answer = fs::read(&received).expect("curl wrote it");
    assert!(answer == payload(FILE), "{address}: the file is another");
    for file in [sent, received] {
        fs::remove_file(file).expect("it exists");
    }
}

/// Sends datagrams of several lengths to a target and compares the answers.
fn exchange_datagrams(address: SocketAddr) {
    let any = if address.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let socket = UdpSocket::bind(any).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut answer = [0; 2_000];
    for len in [1, 100, 1_200] {
        let sent = payload(len);
        socket.send_to(&sent, address).expect("it is routed");
        let (answered, from) = socket.recv_from(&mut answer).expect("an answer");
        let expected = [b"re: ", sent.as_slice()].concat();
        assert!(
            from == address && answer[..answered] == expected,
            "{from}: {len} bytes"
        );
    }
}

/// Answers each datagram to `address`.
fn answer_datagrams(address: SocketAddr) {
    let socket = UdpSocket::bind(address).expect("a free port");
    thread::spawn(move || {
        let mut question = [0; 2_000];
        while let Ok((len, from)) = socket.recv_from(&mut question) {
            let answer = [b"re: ", &question[..len]].concat();
            socket.send_to(&answer, from).expect("it is routed");
        }
    });
}

#[test]
#[ignore = "needs root, a TUN device and curl: cargo xtask test"]
fn both_families_are_carried_directly_and_through_each_kind_of_proxy() {
    in_network_namespace(
        "carried::both_families_are_carried_directly_and_through_each_kind_of_proxy",
        || {
            add_targets();
            serve(target("127.0.0.1", 1080), proxy::socks5);
            serve(target("::1", 1080), proxy::socks5);
            serve(target("127.0.0.1", 3128), proxy::http);
            serve(target("::1", 3128), proxy::http);
            for address in TARGETS {
                serve(target(address, 80), echo_the_body);
                answer_datagrams(target(address, 53));
            }
            // The proxy's streams and datagrams for each way.
            for (via, streams, datagrams) in [
                ("direct", 0, 0),
                ("socks5://127.0.0.1:1080", 2, 12),
                ("socks5://[::1]:1080", 2, 12),
                ("http://127.0.0.1:3128", 2, 0),
                ("http://[::1]:3128", 2, 0),
            ] {
                println!("via {via}");
                let before = (STREAMS.load(Relaxed), DATAGRAMS.load(Relaxed));
                let forwarder = Forwarder::start(&format!("--via {via}"));
                for address in TARGETS {
                    forwarder.as_client(|| {
                        // Nothing listens at this port.
                        let refused = TcpStream::connect_timeout(&target(address, 81), PATIENCE);
                        assert_eq!(
                            refused.expect_err("it is refused").kind(),
                            ErrorKind::ConnectionRefused,
                            "{via}: {address}"
                        );
                        exchange_with_curl(target(address, 80));
                        if !via.starts_with("http") {
                            exchange_datagrams(target(address, 53));
                        }
                    });
                }
                assert_eq!(
                    (STREAMS.load(Relaxed), DATAGRAMS.load(Relaxed)),
                    (before.0 + streams, before.1 + datagrams),
                    "{via}"
                );
            }
        },
    );
}

#[test]
#[ignore = "needs root and a TUN device: cargo xtask test"]
fn transfers_survive_a_pause_of_the_program() {
    in_network_namespace("carried::transfers_survive_a_pause_of_the_program", || {
        add_targets();
        for address in TARGETS {
            // Receives while it sends, so both directions are busy during the pause.
            serve(target(address, 90), |client| {
                thread::scope(|scope| {
                    scope.spawn(|| (&client).write_all(&payload(LONG)).expect("it is read"));
                    let mut received = vec![0; LONG];
                    (&client).read_exact(&mut received).expect("every byte");
                    assert!(received == payload(LONG), "a wrong upload");
                });
            });
        }
        let forwarder = Forwarder::start("");
        let id = Pid::from_child(&forwarder.0);
        for address in TARGETS {
            forwarder.as_client(|| {
                let client = connect(target(address, 90));
                thread::scope(|scope| {
                    scope.spawn(|| (&client).write_all(&payload(LONG)).expect("it is read"));
                    let mut received = vec![0; LONG];
                    let (first, rest) = received.split_at_mut(PAUSE_AT);
                    (&client).read_exact(first).expect("it goes on");
                    kill_process(id, Signal::STOP).expect("our child");
                    thread::sleep(Duration::from_secs(2));
                    kill_process(id, Signal::CONT).expect("our child");
                    (&client).read_exact(rest).expect("it goes on");
                    assert!(received == payload(LONG), "{address}: a wrong download");
                });
                // The target closes after it has received and compared every byte.
                assert_eq!((&client).read(&mut [0]).expect("the end"), 0, "{address}");
            });
        }
    });
}
