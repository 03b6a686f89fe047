//! Tests against stock iperf 2.1.8 over the kernel's loopback: client and server, TCP, UDP and
//! reversed tests. Both sides must count the same bytes, and neither may print a warning.
//!
//! Rule: there are no assertions about time or rate. Each test runs in its own process with a time
//! limit, because stock iperf sometimes deadlocks. Datagrams are sent at 5 Mbit/s. A reader that
//! pauses for less than a fifth of a second then loses no datagram, because the receive buffer is
//! not full yet.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;
mod ours;
mod stock;

use std::time::Duration;

use fullpipe_perf::iperf2::{Amount, ClientOptions, Rate, ServerOptions};
use stock::Stock;

/// Returns a UDP port that was free a moment ago.
fn free_port() -> u16 {
    std::net::UdpSocket::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .expect("a port")
        .port()
}

fn address(port: u16) -> std::net::SocketAddr {
    ([127, 0, 0, 1], port).into()
}

fn in_own_process(test: &str, body: fn()) {
    assert!(stock::is_installed(), "iperf 2 is installed");
    apart::apart(test, &[], body);
}

/// Returns the TCP tests of fullpipe's client against the stock server.
fn client_cases() -> Vec<(&'static str, ClientOptions)> {
    let base = |port| ClientOptions {
        amount: Amount::Bytes(3_000_001),
        ..ClientOptions::new(address(port))
    };
    let port = free_port;
    vec![
        ("plain", base(port())),
        (
            "three streams",
            ClientOptions {
                parallel: 3,
                ..base(port())
            },
        ),
        (
            "reversed",
            ClientOptions {
                reverse: true,
                ..base(port())
            },
        ),
        (
            "reversed, three streams",
            ClientOptions {
                reverse: true,
                parallel: 3,
                ..base(port())
            },
        ),
        (
            "small writes",
            ClientOptions {
                length: Some(100),
                amount: Amount::Bytes(100_000),
                ..base(port())
            },
        ),
        (
            "writes smaller than a header",
            ClientOptions {
                length: Some(10),
                amount: Amount::Bytes(1_000),
                ..base(port())
            },
        ),
        (
            "paced for half a second",
            ClientOptions {
                amount: Amount::Time(Duration::from_millis(500)),
                interval: Some(Duration::from_millis(100)),
                rate: Some(Rate::Bits(5_000_000)),
                length: Some(8_192),
                ..base(port())
            },
        ),
    ]
}

#[test]
#[ignore = "needs stock iperf 2: cargo xtask test"]
fn our_client_and_the_stock_server_count_the_same_bytes() {
    in_own_process(
        "our_client_and_the_stock_server_count_the_same_bytes",
        || {
            for (name, options) in client_cases() {
                let port = options.remote.port().to_string();
                let server = Stock::start(&["-s", "-p", &port, "-y", "C"]);
                server.wait_for_tcp(options.remote);
                let (summary, text) = ours::client(&options);
                let rows = server.stop_and_read_rows(options.parallel as usize);
                assert_eq!(
                    summary.streams.len(),
                    options.parallel as usize,
                    "{name}: {text}"
                );
                let ours: u64 = summary.streams.iter().map(|stream| stream.span.bytes).sum();
                assert_eq!(
                    ours,
                    rows.iter().map(|row| row.bytes).sum::<u64>(),
                    "{name}: {text}"
                );
                if let Amount::Bytes(bytes) = options.amount {
                    assert_eq!(ours, bytes * u64::from(options.parallel), "{name}: {text}");
                }
                ours::assert_clean(name, &summary, &text);
            }
        },
    );
}

#[test]
#[ignore = "needs stock iperf 2: cargo xtask test"]
fn our_server_and_the_stock_client_count_the_same_bytes() {
    in_own_process(
        "our_server_and_the_stock_client_count_the_same_bytes",
        || {
            for (name, flags, streams, bytes) in [
                ("plain", "-n 3000001", 1, Some(3_000_001)),
                ("three streams", "-n 1M -P 3", 3, Some(3 << 20)),
                ("reversed", "-n 3000001 -R", 1, Some(3_000_001)),
                (
                    "reversed, two streams, paced",
                    "-t 0.5 -R -P 2 -b 5m -l 8K",
                    2,
                    None,
                ),
                ("asks for the version", "-n 1M -X", 1, Some(1 << 20)),
                (
                    "small writes without Nagle",
                    "-n 100000 -l 500 -N",
                    1,
                    Some(100_000),
                ),
                ("for half a second", "-t 0.5", 1, None),
            ] {
                let options = ServerOptions {
                    connections: Some(streams),
                    ..ServerOptions::new(address(free_port()))
                };
                let server = ours::Server::start(&options);
                let client = Stock::run_client(options.local, flags);
                let (summary, text) = server.finish();
                assert_eq!(summary.streams.len(), streams as usize, "{name}: {text}");
                let ours: u64 = summary.streams.iter().map(|stream| stream.span.bytes).sum();
                assert_eq!(ours, client.bytes(), "{name}: {text}");
                if let Some(bytes) = bytes {
                    assert_eq!(ours, bytes, "{name}: {text}");
                }
                ours::assert_clean(name, &summary, &text);
            }
        },
    );
}

/// Returns the number of datagrams that this namespace's kernel dropped because no socket was
/// bound to their port or because a socket's buffer was full.
fn dropped_datagrams() -> u64 {
    let table = std::fs::read_to_string("/proc/net/snmp").expect("the kernel counts");
    let mut lines = table.lines().filter(|line| line.starts_with("Udp: "));
    let [names, values] = [lines.next(), lines.next()].map(|line| line.expect("two lines"));
    let columns = names.split(' ').zip(values.split(' '));
    let dropped = columns.filter(|(name, _)| ["NoPorts", "InErrors"].contains(name));
    dropped
        .map(|(_, value)| value.parse::<u64>().expect("a count"))
        .sum()
}

#[test]
#[ignore = "needs root and stock iperf 2: cargo xtask test"]
fn our_client_s_datagrams_are_counted_and_reported_by_the_stock_server() {
    assert!(stock::is_installed(), "iperf 2 is installed");
    apart::in_network_namespace(
        "our_client_s_datagrams_are_counted_and_reported_by_the_stock_server",
        || {
            for (name, length, streams) in [
                ("default length", None, 1),
                ("fragments", Some(5_888), 1),
                ("two streams", Some(1_472), 2),
            ] {
                let port = free_port();
                let options = ClientOptions {
                    udp: true,
                    length,
                    parallel: streams,
                    amount: Amount::Bytes(589_000),
                    rate: Some(Rate::Bits(5_000_000)),
                    ..ClientOptions::new(address(port))
                };
                let server =
                    Stock::start(&["-s", "-u", "-p", &port.to_string(), "-l", "8K", "-y", "C"]);
                server.wait_for_udp(options.remote);
                let dropped_before = dropped_datagrams();
                let (summary, text) = ours::client(&options);
                let rows = server.stop_and_read_rows(streams as usize);
                assert_eq!(summary.streams.len(), streams as usize, "{name}: {text}");
                for stream in &summary.streams {
                    let report = stream.server_report.expect("the server reports");
                    // With several clients, the stock server sometimes counts a client's first
                    // datagram for another client; the sum of bytes below is still right.
                    if streams == 1 {
                        assert_eq!(report.loss.total, stream.datagrams_sent, "{name}: {text}");
                        assert_eq!(report.loss.lost, 0, "{name}: {text}");
                    }
                    assert_eq!(stream.span.bytes, 589_000, "{name}: {text}");
                }
                let (sent, received) = (
                    589_000 * u64::from(streams),
                    rows.iter().map(|row| row.bytes).sum::<u64>(),
                );
                if streams == 1 {
                    assert_eq!(received, sent, "{name}: {text}");
                } else {
                    // The stock server connects the socket that received a client's first datagram,
                    // and opens a new socket for the next client. Datagrams that arrive between
                    // these two steps find no socket, and the kernel counts them. No other datagram
                    // may be missing.
                    let dropped = dropped_datagrams() - dropped_before;
                    assert_eq!(received + dropped * 1_472, sent, "{name}: {text}");
                    // Datagrams that the stock server read for the wrong client are reported as
                    // lost too.
                    let reports = summary
                        .streams
                        .iter()
                        .flat_map(|stream| stream.server_report);
                    let lost: u64 = reports.map(|report| report.loss.lost).sum();
                    assert!(lost >= dropped, "{name}: {text}");
                }
                ours::assert_clean(name, &summary, &text);
            }
        },
    );
}

#[test]
#[ignore = "needs stock iperf 2: cargo xtask test"]
fn the_stock_client_s_datagrams_are_counted_and_reported_by_our_server() {
    in_own_process(
        "the_stock_client_s_datagrams_are_counted_and_reported_by_our_server",
        || {
            for (name, flags, streams) in [
                ("default length", "-n 300000 -b 5m", 1),
                ("fragments", "-n 589000 -b 5m -l 5888", 1),
                ("two streams", "-n 300000 -b 5m -l 1472 -P 2", 2),
            ] {
                let options = ServerOptions {
                    udp: true,
                    connections: Some(streams),
                    ..ServerOptions::new(address(free_port()))
                };
                let server = ours::Server::start(&options);
                let client = Stock::run_client(options.local, &format!("-u {flags}"));
                let (summary, text) = server.finish();
                assert_eq!(summary.streams.len(), streams as usize, "{name}: {text}");
                for stream in &summary.streams {
                    assert_eq!(stream.span.loss.lost, 0, "{name}: {text}");
                }
                let ours: u64 = summary.streams.iter().map(|stream| stream.span.bytes).sum();
                assert_eq!(ours, client.bytes(), "{name}: {text}\n{}", client.text);
                ours::assert_clean(name, &summary, &text);
            }
        },
    );
}

#[test]
#[ignore = "needs stock iperf 2: cargo xtask test"]
fn datagrams_flow_backwards_from_and_to_stock_iperf() {
    in_own_process("datagrams_flow_backwards_from_and_to_stock_iperf", || {
        let options = ServerOptions {
            udp: true,
            connections: Some(1),
            ..ServerOptions::new(address(free_port()))
        };
        let server = ours::Server::start(&options);
        let client = Stock::run_client(options.local, "-u -R -t 0.5 -b 5m -l 1000");
        let (summary, text) = server.finish();
        assert_eq!(
            summary.streams[0].span.bytes,
            client.bytes(),
            "{text}\n{}",
            client.text
        );
        assert!(summary.streams[0].span.bytes > 0);
        ours::assert_clean("stock client", &summary, &text);

        let options = ClientOptions {
            udp: true,
            reverse: true,
            amount: Amount::Time(Duration::from_millis(500)),
            rate: Some(Rate::Bits(5_000_000)),
            ..ClientOptions::new(address(free_port()))
        };
        let server = Stock::start(&["-s", "-u", "-p", &options.remote.port().to_string()]);
        server.wait_for_udp(options.remote);
        let (summary, text) = ours::client(&options);
        drop(server);
        assert_eq!(summary.streams[0].span.loss.lost, 0, "{text}");
        assert!(summary.streams[0].span.loss.total > 10, "{text}");
        ours::assert_clean("stock server", &summary, &text);
    });
}

#[test]
#[ignore = "needs stock iperf 2: cargo xtask test"]
fn our_client_and_our_server_agree() {
    in_own_process("our_client_and_our_server_agree", || {
        for (name, udp, reverse) in [
            ("tcp", false, false),
            ("tcp -R", false, true),
            ("udp", true, false),
            ("udp -R", true, true),
        ] {
            let local = address(free_port());
            let server = ours::Server::start(&ServerOptions {
                udp,
                connections: Some(2),
                ..ServerOptions::new(local)
            });
            let options = ClientOptions {
                udp,
                reverse,
                parallel: 2,
                amount: Amount::Bytes(500_000),
                rate: Some(Rate::Bits(5_000_000)),
                ..ClientOptions::new(local)
            };
            let (client, client_text) = ours::client(&options);
            let (server, server_text) = server.finish();
            let bytes = |summary: &fullpipe_perf::iperf2::Summary| {
                let mut bytes: Vec<_> = summary
                    .streams
                    .iter()
                    .map(|stream| stream.span.bytes)
                    .collect();
                bytes.sort_unstable();
                bytes
            };
            assert_eq!(bytes(&client), [500_000, 500_000], "{name}: {client_text}");
            assert_eq!(bytes(&client), bytes(&server), "{name}: {server_text}");
            ours::assert_clean(name, &client, &client_text);
            ours::assert_clean(name, &server, &server_text);
        }
    });
}

#[test]
#[ignore = "needs stock iperf 2: cargo xtask test"]
fn peers_without_a_header_are_served() {
    in_own_process("peers_without_a_header_are_served", || {
        use std::io::Write;
        let options = ServerOptions {
            connections: Some(2),
            ..ServerOptions::new(address(free_port()))
        };
        let server = ours::Server::start(&options);
        for bytes in [vec![0; 100_000], b"ab".to_vec()] {
            let mut stream =
                std::net::TcpStream::connect(options.local).expect("the server listens");
            stream.write_all(&bytes).expect("the server reads");
        }
        let (summary, text) = server.finish();
        let mut bytes: Vec<_> = summary
            .streams
            .iter()
            .map(|stream| stream.span.bytes)
            .collect();
        bytes.sort_unstable();
        assert_eq!(bytes, [2, 100_000], "{text}");

        let options = ServerOptions {
            udp: true,
            connections: Some(1),
            time: Some(Duration::from_secs(4)),
            ..ServerOptions::new(address(free_port()))
        };
        let server = ours::Server::start(&options);
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for id in 1..=10u32 {
            let mut datagram = vec![0xff; 1472];
            datagram[..4].copy_from_slice(&id.to_be_bytes());
            socket
                .send_to(&datagram, options.local)
                .expect("loopback sends");
        }
        let (summary, text) = server.finish();
        assert_eq!(summary.streams[0].span.bytes, 14_720, "{text}");
        assert_eq!(summary.streams[0].span.loss.total, 10, "{text}");
    });
}

#[test]
#[ignore = "needs stock iperf 2: cargo xtask test"]
fn a_refused_connection_and_an_address_in_use_are_errors_of_one_line() {
    in_own_process(
        "a_refused_connection_and_an_address_in_use_are_errors_of_one_line",
        || {
            let refused = ours::try_client(&ClientOptions::new(address(free_port())))
                .expect_err("the port is closed");
            assert_eq!(
                refused.to_string(),
                "tcp connect failed: Connection refused (os error 111)"
            );

            let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
            let local = taken.local_addr().expect("it is bound");
            let refused =
                ours::try_server(&ServerOptions::new(local)).expect_err("the port is taken");
            assert_eq!(
                refused.to_string(),
                format!("listener bind failed on {local}: Address already in use (os error 98)")
            );
        },
    );
}
