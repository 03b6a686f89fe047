//! Tests of events, recordings and metrics, and tests with very many sockets.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    Buffers, PATIENCE, apart::in_network_namespace, command, connection, kernel::drain,
    last_document, listener, loopback, text,
};

/// Sends `child` the signal of Ctrl-C, and asserts that its exit code is 0.
fn interrupt(mut child: Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn a_blocked_writer_and_its_release_are_events() {
    in_network_namespace(
        "outputs::a_blocked_writer_and_its_release_are_events",
        || {
            let listener = listener("127.0.0.1:0", None);
            let to = listener.local_addr().unwrap();
            let connect = || connection(&listener, to, &Buffers::default());
            let (mut sender, receiver) = connect();
            let port = to.port().to_string();
            sender.write_all(b"first").unwrap();
            let mut child = command(&["--events", "-i", "20ms", "--port", &port])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let (told, events) = mpsc::channel();
            thread::spawn(move || {
                lines
                    .map_while(Result::ok)
                    .for_each(|line| drop(told.send(line)))
            });
            let wait_for = |name: &str| loop {
                let line = events
                    .recv_timeout(PATIENCE)
                    .unwrap_or_else(|_| panic!("no {name}"));
                if line.contains(name) {
                    return line;
                }
            };
            // Only a connection that is opened after the first round is an event. After that event,
            // the program also handles Ctrl-C.
            let mut more = Vec::new();
            while !events.try_iter().any(|line| line.contains("opened")) {
                assert!(more.len() < 400, "no connection is opened");
                more.push(connect());
                thread::sleep(Duration::from_millis(250));
            }
            let writer = thread::spawn(move || {
                sender.write_all(&vec![b'x'; 16 << 20]).unwrap();
                sender
            });
            let blocked = wait_for("writer-blocked");
            assert!(blocked.contains("send buffer"), "{blocked}");
            drain(receiver, 1 << 20, Duration::ZERO);
            let released = wait_for("writer-released");
            assert!(released.contains(" after "), "{released}");
            drop(writer.join().unwrap());
            interrupt(child);
        },
    );
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn a_recording_has_a_header_and_a_line_a_round() {
    in_network_namespace(
        "outputs::a_recording_has_a_header_and_a_line_a_round",
        || {
            let (mut sender, receiver) = loopback(&Buffers::default());
            sender.write_all(&[b'x'; 1_000]).unwrap();
            let file = env::temp_dir().join(format!("fullpipe-{}.sockets", std::process::id()));
            let path = file.to_str().unwrap();
            let output = command(&["--record", path, "-i", "50ms", "-t", "1", "-q"]).output();
            let recorded = fs::read_to_string(&file);
            let judged = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
                .args(["why", path, "--json"])
                .output();
            let _ = fs::remove_file(&file);
            let judged: Value = serde_json::from_slice(&judged.unwrap().stdout).unwrap();
            let sockets = judged["recordings"][0]["sockets"].as_array().unwrap();
            assert_eq!(sockets.len(), 2, "both ends: {judged}");
            assert_eq!(sockets[0]["verdict"]["limit"], "application", "{judged}");
            let output = output.unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert!(output.stdout.is_empty(), "quiet");
            let lines: Vec<Value> = recorded
                .unwrap()
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            assert_eq!(lines[0]["kind"], "fullpipe-sockets");
            assert!(lines[0]["settings"]["tcp_wmem"].is_array());
            assert_eq!(lines[1]["new"].as_array().unwrap().len(), 2);
            assert!(lines.len() > 3, "{} lines", lines.len());
            drop((sender, receiver));
        },
    );
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn metrics_are_served_on_the_loopback_address() {
    in_network_namespace(
        "outputs::metrics_are_served_on_the_loopback_address",
        || {
            let (_sender, _receiver) = loopback(&Buffers::default());
            let mut child = command(&["--prometheus", "0", "-i", "50ms"])
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut line = String::new();
            let mut errors = BufReader::new(child.stderr.take().unwrap());
            errors.read_line(&mut line).unwrap();
            let address = line.trim().split('/').nth(2).unwrap().to_string();
            assert!(address.starts_with("127.0.0.1:"), "{line}");
            let get = |path: &str| {
                let mut client = TcpStream::connect(&address).unwrap();
                write!(client, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
                let mut answer = String::new();
                client.read_to_string(&mut answer).unwrap();
                answer
            };
            // Ask until the answer has a limit, because the first interval must have
            // passed.
            let began = Instant::now();
            let answer = loop {
                let answer = get("/metrics");
                if answer.contains("limit=\"application\"") || began.elapsed() > PATIENCE {
                    break answer;
                }
                thread::sleep(Duration::from_millis(50));
            };
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.ends_with("# EOF\n"), "{answer}");
            assert!(answer.contains("limit=\"application\""), "{answer}");
            assert!(get("/").starts_with("HTTP/1.1 404"));
            interrupt(child);
        },
    );
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn ten_thousand_sockets_are_followed_and_none_is_lost() {
    in_network_namespace(
        "outputs::ten_thousand_sockets_are_followed_and_none_is_lost",
        || {
            const PAIRS: usize = 5_000;
            let enough = rustix::process::Rlimit {
                current: Some(12_000),
                maximum: rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum,
            };
            rustix::process::setrlimit(rustix::process::Resource::Nofile, enough).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let to = listener.local_addr().unwrap();
            let pairs: Vec<_> = (0..PAIRS)
                .map(|_| {
                    let mut near = TcpStream::connect(to).unwrap();
                    let (far, _) = listener.accept().unwrap();
                    near.write_all(b"payload").unwrap();
                    (near, far)
                })
                .collect();
            // On a slow machine, the first round may take most of two seconds.
            let is_each_followed = ["2", "20", "60"].iter().any(|seconds| {
                let document = last_document(&["-i", "200ms", "-t", seconds, "--idle"]);
                let sockets = document["sockets"].as_array().unwrap();
                assert_eq!(sockets.len(), 2 * pairs.len());
                let elapsed = |socket: &Value| socket["observed"]["elapsed_s"].as_f64();
                sockets.iter().all(|socket| elapsed(socket) > Some(1.0))
            });
            assert!(is_each_followed);
        },
    );
}
