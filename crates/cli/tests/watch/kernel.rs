//! Tests with known limits on the loopback device, and comparisons with the numbers of `ss`.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::SocketAddr,
    process::Command,
    thread,
    time::Duration,
};

use crate::{
    Buffers, apart::in_network_namespace, last_document, loopback, socket_at, text, watch,
    watched_until,
};

/// Writes until the connection ends.
pub fn pump(mut to: impl Write + Send + 'static) {
    thread::spawn(move || while to.write_all(&[b'x'; 65_536]).is_ok() {});
}

/// Reads `bytes` bytes at a time with a `pause` after each read, until the connection ends.
pub fn drain(mut from: impl Read + Send + 'static, bytes: usize, pause: Duration) {
    thread::spawn(move || {
        let mut buffer = vec![0; bytes];
        while from.read(&mut buffer).is_ok_and(|read| read > 0) {
            thread::sleep(pause);
        }
    });
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn a_writer_that_writes_little_is_limited_by_its_program() {
    in_network_namespace(
        "kernel::a_writer_that_writes_little_is_limited_by_its_program",
        || {
            let (mut sender, receiver) = loopback(&Buffers::default());
            let local = sender.local_addr().unwrap();
            drain(receiver, 65_536, Duration::ZERO);
            thread::spawn(move || {
                while sender.write_all(&[b'x'; 10_000]).is_ok() {
                    thread::sleep(Duration::from_millis(20));
                }
            });
            let socket = watched_until(local, "application", |socket| {
                socket["verdict"]["limit"] == "application"
                    && socket["observed"]["acked_bytes"].as_u64() > Some(0)
            });
            assert_eq!(socket["confidence"], "high");
        },
    );
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn a_reader_that_stops_is_a_zero_window_and_blames_the_program_at_the_peer() {
    let name = "kernel::a_reader_that_stops_is_a_zero_window_and_blames_the_program_at_the_peer";
    in_network_namespace(name, || {
        let (sender, receiver) = loopback(&Buffers::default());
        let local = sender.local_addr().unwrap();
        pump(sender);
        let socket = watched_until(local, "zero window", |socket| {
            socket["verdict"]["limit"] == "zero_window"
        });
        let step = socket["verdict"]["steps"][0]["what"].as_str().unwrap();
        assert!(step.contains("program at the peer reads slowly"), "{step}");
        drop(receiver);
    });
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn a_slow_reader_is_named_at_both_ends() {
    in_network_namespace("kernel::a_slow_reader_is_named_at_both_ends", || {
        let buffers = Buffers {
            receive: Some(8_192),
            ..Buffers::default()
        };
        let (sender, receiver) = loopback(&buffers);
        let ends = [sender.local_addr().unwrap(), receiver.local_addr().unwrap()];
        pump(sender);
        drain(receiver, 4_096, Duration::from_millis(10));
        watched_until(ends[0], "the program at the peer", |socket| {
            let verdict = &socket["verdict"];
            let step = verdict["steps"][0]["what"].as_str().unwrap_or_default();
            (verdict["limit"] == "receive_window" || verdict["limit"] == "zero_window")
                && step.contains("program at the peer reads slowly")
        });
        watched_until(ends[1], "slow reader", |socket| {
            socket["verdict"]["receive_limit"] == "slow_reader"
        });
    });
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn the_sockets_of_a_namespace_are_found_from_outside_and_those_of_a_process() {
    let name = "kernel::the_sockets_of_a_namespace_are_found_from_outside_and_those_of_a_process";
    in_network_namespace(name, || {
        let (sender, _receiver) = loopback(&Buffers::default());
        let local = sender.local_addr().unwrap();
        let pid = std::process::id().to_string();
        let path = format!("/proc/{pid}/ns/net");
        for arguments in [["--pid", &pid], ["--netns", &path]] {
            let all = [&arguments[..], &["--once", "--json"]].concat();
            // Run the command in another namespace than the sockets.
            let output = Command::new("unshare")
                .args(["--net", env!("CARGO_BIN_EXE_fullpipe"), "watch"])
                .args(all)
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
            let document = serde_json::from_slice(&output.stdout).unwrap();
            let socket = socket_at(&document, local).expect("it is listed");
            assert_eq!(socket["pid"].to_string(), pid);
        }
    });
}

/// The words of a line of `ss`, by name. Words that change from moment to moment, or that an older
/// `ss` does not print, are left out.
fn words(line: &str) -> BTreeMap<String, String> {
    const LEFT_OUT: [&str; 8] = [
        "rcv_wnd",
        "rehash",
        "lastsnd",
        "lastrcv",
        "lastack",
        "busy",
        "rwnd_limited",
        "backoff",
    ];
    let mut words = BTreeMap::new();
    let mut pieces = line.split_whitespace();
    while let Some(word) = pieces.next() {
        let (name, value) = match word {
            // These words are followed by a space and their value.
            "send" | "pacing_rate" | "delivery_rate" => (word, pieces.next().unwrap_or("")),
            _ => word.split_once(':').unwrap_or((word, "")),
        };
        if !LEFT_OUT.contains(&name) {
            words.insert(name.to_string(), value.to_string());
        }
    }
    words
}

/// The words that `ss` prints about the socket with the address `local`, and its two queue lengths.
fn words_of_ss(local: SocketAddr) -> (BTreeMap<String, String>, [String; 2]) {
    let output = Command::new("ss")
        .args(["-tinmeO", "state", "established"])
        .output();
    let lines = text(&output.unwrap().stdout);
    let of_it = |line: &&str| line.split_whitespace().nth(2) == Some(&local.to_string());
    let line = lines.lines().find(of_it).expect("ss lists it");
    let mut fields = line.split_whitespace();
    let mut queue = || fields.next().unwrap_or_default().to_string();
    let queues = [queue(), queue()];
    let rest = line.split_once("skmem:").expect("it has memory").1;
    (words(&format!("skmem:{rest}")), queues)
}

/// The words that `fullpipe watch --once -v` prints about the socket with the address `local`, and
/// its two queue lengths.
fn words_of_watch(local: SocketAddr) -> (BTreeMap<String, String>, [String; 2]) {
    let address = local.to_string();
    let lines = text(&watch(&["--once", "-v", "--local", &address]).stdout);
    // Skip the headings and the line of the socket itself.
    let mut lines = lines.lines().skip(2);
    let line = lines.next().expect("a line of fields");
    let after = |name: &str| {
        let mut rest = line.split_whitespace().skip_while(|word| *word != name);
        rest.nth(1).unwrap_or_default().to_string()
    };
    let queues = [after("Recv-Q"), after("Send-Q")];
    let rest = line.split_once("skmem:").expect("it has memory").1;
    (words(&format!("skmem:{rest}")), queues)
}

#[test]
#[ignore = "needs root and iproute2; `cargo xtask test` runs it"]
fn the_numbers_are_those_of_ss() {
    in_network_namespace("kernel::the_numbers_are_those_of_ss", || {
        // Open three connections: one with unread payload, one with payload that cannot be sent,
        // and an idle one.
        let (mut unread, _unread_end) = loopback(&Buffers::default());
        unread.write_all(&[b'x'; 30_000]).unwrap();
        let (stuck, stuck_end) = loopback(&Buffers {
            send: Some(65_536),
            receive: Some(8_192),
        });
        stuck.set_nonblocking(true).unwrap();
        while (&stuck).write(&[b'x'; 4_096]).is_ok() {}
        let (mut near, mut far) = loopback(&Buffers::default());
        for _ in 0..20 {
            near.write_all(&[b'x'; 1_000]).unwrap();
            far.read_exact(&mut [0; 1_000]).unwrap();
            far.write_all(&[b'y'; 100]).unwrap();
            near.read_exact(&mut [0; 100]).unwrap();
        }
        thread::sleep(Duration::from_millis(500));
        let sockets = [&unread, &_unread_end, &stuck, &stuck_end, &near, &far];
        for socket in sockets {
            let local = socket.local_addr().unwrap();
            // Try several times, because a probe of the closed window may come between the two
            // commands.
            let is_same = (0..10).any(|_| {
                let (ours, theirs) = (words_of_watch(local), words_of_ss(local));
                if ours != theirs {
                    println!("{local}\n  watch {ours:?}\n  ss    {theirs:?}");
                }
                ours == theirs
            });
            assert!(is_same, "{local}");
        }
        let document = last_document(&["--once"]);
        assert_eq!(document["sockets"].as_array().unwrap().len(), sockets.len());
    });
}
