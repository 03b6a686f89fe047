//! Tests of stock iperf on the kernel's stack against fullpipe's iperf over a TAP or TUN device:
//! client and server, TCP, UDP, fragments and reversed tests, over IPv4 and over IPv6.
//!
//! Rule: every test runs in its own network namespace, which ends with its process. Tests compare
//! bytes, not rates. Datagrams are sent at a rate that even a slow machine can carry. Each lost
//! datagram must appear in a drop counter of this machine's kernel or of the stack.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;
mod routers;
#[path = "../stock_iperf/stock.rs"]
mod stock;
mod v6;

use std::{
    fs::File, io::BufWriter, net::SocketAddr, path::Path, process::Command, thread, time::Duration,
};

use fullpipe_host::{DeviceOptions, Runtime};
use fullpipe_perf::{
    FullpipeSockets, Stop,
    fullpipe_sockets::configure_udp_for_iperf,
    iperf2::{Amount, ClientOptions, Rate, Screen, ServerOptions, Summary, run_client, run_server},
};
use stock::Stock;

/// The two ends of the device, in one version of IP.
#[derive(Clone, Copy)]
struct Ends {
    kernel: &'static str,
    ours: &'static str,
    prefix_len: u8,
    /// Flags with which stock iperf uses this version.
    flags: &'static [&'static str],
}

const V4: Ends = Ends {
    kernel: "10.77.0.1",
    ours: "10.77.0.2",
    prefix_len: 24,
    flags: &[],
};
const V6: Ends = Ends {
    kernel: "fd77::1",
    ours: "fd77::2",
    prefix_len: 64,
    flags: &["-V"],
};

impl Ends {
    fn kernel(self) -> SocketAddr {
        at(self.kernel)
    }

    fn ours(self) -> SocketAddr {
        at(self.ours)
    }

    /// Bytes of a datagram with which `fragments` frames are full. A fragment header of IPv6 has 8
    /// bytes, and each fragment but the last carries a multiple of 8 bytes.
    fn datagram_of(self, fragments: u64) -> usize {
        let header = if self.ours().is_ipv4() { 20 } else { 40 };
        match fragments {
            1 => 1_500 - header - 8,
            _ if self.ours().is_ipv4() => fragments as usize * 1_480 - 8,
            _ => fragments as usize * 1_448 - 8,
        }
    }

    /// Returns the flags of stock iperf for this version, followed by `flags`.
    fn stock(self, flags: &str) -> String {
        [&self.flags.concat(), flags].join(" ").trim().to_owned()
    }

    /// Starts a server of the kernel with `flags`.
    fn start_stock(self, flags: &[&str]) -> Stock {
        Stock::start(&[self.flags, flags].concat())
    }
}

fn at(ip: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().expect("an address"), 5001)
}

/// Rate at which datagrams are sent, in bit/s.
const DATAGRAM_RATE: u64 = 10_000_000;

fn in_namespace(test: &str, body: fn()) {
    assert!(stock::is_installed(), "iperf 2 is installed");
    apart::in_network_namespace(test, body);
}

/// Starts a stack on a TAP or TUN device whose other end is the kernel. With a capture, or without
/// `offload`, every checksum is computed.
fn start(ends: Ends, device: &str, offload: bool, capture: Option<&Path>) -> Runtime {
    let prefix = |ip| {
        format!("{ip}/{}", ends.prefix_len)
            .parse()
            .expect("a prefix")
    };
    let mut options = DeviceOptions::new(device.parse().expect("a device"));
    options.host_address = Some(prefix(ends.kernel));
    options.checksum_offload = offload && capture.is_none();
    let device = options.open().expect("the device opens");
    let mut config = fullpipe::Config::default();
    configure_udp_for_iperf(&mut config, None);
    let mut builder = Runtime::builder(prefix(ends.ours)).config(config);
    if let Some(path) = capture {
        let file = File::create(path).expect("the file is made");
        builder = builder.capture(BufWriter::new(file));
    }
    builder.start(device).expect("the stack starts")
}

fn client(runtime: &Runtime, options: &ClientOptions) -> (Summary, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen {
        out: &mut out,
        err: &mut err,
    };
    let summary = run_client(
        &FullpipeSockets(runtime),
        options,
        &Stop::new(),
        &mut screen,
    )
    .expect("the test runs");
    finish(summary, [out, err].concat())
}

/// Starts fullpipe's server, and runs `peer` once the server listens.
fn server<T>(
    runtime: &Runtime,
    options: &ServerOptions,
    peer: impl FnOnce() -> T,
) -> (Summary, String, T) {
    let stop = Stop::new();
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut screen = Screen {
                out: &mut out,
                err: &mut err,
            };
            let summary = run_server(&FullpipeSockets(runtime), options, &stop, &mut screen)
                .expect("the server runs");
            finish(summary, [out, err].concat())
        });
        let listens = || {
            runtime.with_stack(|stack, now| {
                if options.udp {
                    stack
                        .udp_bind(options.local)
                        .map(|id| stack.udp_close(id).is_err())
                        .is_err()
                } else {
                    let asked = stack.tcp_listen(options.local, fullpipe::ListenOptions::default());
                    asked
                        .map(|id| stack.tcp_close_listener(id, now).is_err())
                        .is_err()
                }
            })
        };
        while !listens() {
            thread::sleep(Duration::from_millis(5));
        }
        let peer = peer();
        let (summary, text) = server.join().expect("the server does not panic");
        (summary, text, peer)
    })
}

fn finish(summary: Summary, text: Vec<u8>) -> (Summary, String) {
    let text = String::from_utf8(text).expect("lines are text");
    assert_eq!(summary.errors, 0, "{text}");
    assert!(!text.contains("WARN") && !text.contains("failed"), "{text}");
    (summary, text)
}

fn bytes(summary: &Summary) -> u64 {
    summary.streams.iter().map(|stream| stream.span.bytes).sum()
}

fn count_bytes_of_a_stock_client(ends: Ends) {
    for (device, offload, flags, streams, wanted) in [
        ("tap", true, "-n 30000001", 1, Some(30_000_001)),
        ("tap", false, "-n 10000001", 1, Some(10_000_001)),
        ("tun", true, "-n 30000001", 1, Some(30_000_001)),
        ("tap", true, "-n 5M -P 3", 3, Some(15 << 20)),
        ("tap", true, "-n 30000001 -R", 1, Some(30_000_001)),
        ("tap", false, "-n 10000001 -R", 1, Some(10_000_001)),
        ("tun", true, "-n 30000001 -R", 1, Some(30_000_001)),
        ("tap", true, "-t 1 -R", 1, None),
        ("tap", true, "-n 1M -l 500 -w 64000", 1, Some(1 << 20)),
    ] {
        let runtime = start(ends, &format!("{device}:fpinterop"), offload, None);
        let options = ServerOptions {
            connections: Some(streams),
            ..ServerOptions::new(ends.ours())
        };
        let flags = ends.stock(flags);
        let (summary, text, peer) = server(&runtime, &options, || {
            Stock::run_client(ends.ours(), &flags)
        });
        let what = format!("{device}, {offload}, {flags}: {text}\n{}", peer.text);
        let ours = bytes(&summary);
        assert!(ours > 0, "{what}");
        assert_eq!(ours, peer.bytes(), "{what}");
        assert_eq!(ours, wanted.unwrap_or(ours), "{what}");
        assert!(text.contains("limits ("), "{what}");
    }
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_stock_tcp_client_and_our_server_count_the_same_bytes() {
    in_namespace(
        "a_stock_tcp_client_and_our_server_count_the_same_bytes",
        || [V4, V6].into_iter().for_each(count_bytes_of_a_stock_client),
    );
}

fn count_bytes_of_a_stock_server(ends: Ends) {
    let runtime = start(ends, "tap:fpinterop", true, None);
    let base = || ClientOptions {
        amount: Amount::Bytes(30_000_001),
        ..ClientOptions::new(ends.kernel())
    };
    let three = ClientOptions {
        parallel: 3,
        ..base()
    };
    let reversed = ClientOptions {
        reverse: true,
        ..base()
    };
    let small = ClientOptions {
        window: Some(8_192),
        amount: Amount::Bytes(2_000_000),
        ..base()
    };
    let timed = ClientOptions {
        amount: Amount::Time(Duration::from_secs(1)),
        ..base()
    };
    for (name, options) in [
        ("plain", base()),
        ("three streams", three),
        ("reversed", reversed),
        ("a small window", small),
        ("for a second", timed),
    ] {
        let stock = ends.start_stock(&["-s", "-y", "C"]);
        stock.wait_for_tcp(ends.kernel());
        let (summary, text) = client(&runtime, &options);
        let rows = stock.stop_and_read_rows(options.parallel as usize);
        let theirs: u64 = rows.iter().map(|row| row.bytes).sum();
        let what = format!("{name} to {}: {text}", ends.kernel);
        assert!(theirs > 0, "{what}");
        assert_eq!(bytes(&summary), theirs, "{what}");
        assert!(text.contains("limits ("), "{what}");
    }
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn our_tcp_client_and_a_stock_server_count_the_same_bytes() {
    in_namespace(
        "our_tcp_client_and_a_stock_server_count_the_same_bytes",
        || [V4, V6].into_iter().for_each(count_bytes_of_a_stock_server),
    );
}

fn udp_client(ends: Ends, length: usize, bits: u64, reverse: bool) -> ClientOptions {
    ClientOptions {
        udp: true,
        reverse,
        length: Some(length),
        rate: Some(Rate::Bits(bits)),
        amount: Amount::Time(Duration::from_secs(1)),
        ..ClientOptions::new(ends.kernel())
    }
}

/// Runs a UDP test in one direction. Returns the numbers of datagrams sent and lost.
fn udp_loss((ends, runtime): (Ends, &Runtime), direction: &str, length: usize) -> (u64, u64) {
    let bits = DATAGRAM_RATE;
    let options = ServerOptions {
        udp: true,
        connections: Some(1),
        ..ServerOptions::new(ends.ours())
    };
    let flags = ends.stock(&format!("-u -t 1 -l {length} -b {bits}"));
    let length_flag = length.to_string();
    let stock_server = || {
        let stock = ends.start_stock(&["-s", "-u", "-l", &length_flag, "-y", "C"]);
        stock.wait_for_udp(ends.kernel());
        stock
    };
    let loss = match direction {
        "to us" => {
            let (summary, text, peer) =
                server(runtime, &options, || Stock::run_client(ends.ours(), &flags));
            let loss = summary.streams[0].span.loss;
            assert_eq!(
                loss.total * length as u64,
                peer.bytes(),
                "{direction}: {text}"
            );
            loss
        }
        "to stock iperf" => {
            let stock = stock_server();
            let (summary, text) = client(runtime, &udp_client(ends, length, bits, false));
            let report = summary.streams[0].server_report.expect("the report");
            assert_eq!(
                report.loss.total, summary.streams[0].datagrams_sent,
                "{direction}: {text}"
            );
            let received = (report.loss.total - report.loss.lost) * length as u64;
            assert_eq!(report.bytes, received, "{direction}: {text}");
            drop(stock);
            report.loss
        }
        "to us, reversed" => {
            let stock = stock_server();
            let (summary, _) = client(runtime, &udp_client(ends, length, bits, true));
            drop(stock);
            summary.streams[0].span.loss
        }
        "to stock iperf, reversed" => {
            let flags = format!("{flags} -R");
            let (summary, text, peer) =
                server(runtime, &options, || Stock::run_client(ends.ours(), &flags));
            let sent = &summary.streams[0];
            assert_eq!(
                sent.span.bytes,
                sent.datagrams_sent * length as u64,
                "{direction}: {text}"
            );
            let missing = sent.span.bytes - peer.bytes();
            fullpipe_perf::iperf2::tally::DatagramLoss {
                lost: missing / length as u64,
                total: sent.datagrams_sent,
                ..Default::default()
            }
        }
        _ => unreachable!("no other direction"),
    };
    assert!(loss.total > 100, "{direction}: {loss:?}");
    (loss.total, loss.lost)
}

/// Returns counters of dropped packets with their names: frames that the two queues of the TAP
/// device refused, and packets and datagrams that the kernel and the stack dropped.
fn drops(runtime: &Runtime) -> Vec<(String, u64)> {
    let read = |file| std::fs::read_to_string(file).expect("the kernel counts");
    let devices = read("/proc/net/dev");
    let row = devices.lines().find(|line| line.contains("fpinterop:"));
    let row: Vec<_> = row.expect("the device").split_whitespace().collect();
    let number = |text: &str| text.parse().expect("a count");
    let mut drops = vec![
        ("TAP rx_dropped".to_owned(), number(row[4])),
        ("TAP tx_dropped".to_owned(), number(row[12])),
    ];
    // An ICMP message without a socket counts as an ICMP error, although no datagram is lost, so
    // ICMP counters are excluded.
    let is_drop = |name: &str| {
        !name.starts_with("Icmp")
            && ["InErrors", "ReasmFails", "InDiscards", "OutDiscards"]
                .iter()
                .any(|end| name.ends_with(end))
    };
    let tables = read("/proc/net/snmp");
    let lines: Vec<_> = tables.lines().collect();
    for pair in lines.chunks_exact(2) {
        let group = pair[0].split(':').next().unwrap_or_default();
        let columns = pair[0].split(' ').zip(pair[1].split(' ')).skip(1);
        let columns = columns.map(|(name, count)| (format!("{group}{name}"), count));
        let columns = columns.filter(|(name, _)| is_drop(name));
        drops.extend(columns.map(|(name, count)| (format!("kernel {name}"), number(count))));
    }
    let table_6 = read("/proc/net/snmp6");
    let rows = table_6
        .lines()
        .filter_map(|line| line.split_once(char::is_whitespace));
    let rows = rows.filter(|(name, _)| is_drop(name));
    drops.extend(rows.map(|(name, count)| (format!("kernel {name}"), number(count.trim()))));
    runtime.with_stack(|stack, _| {
        let counters = stack.counters();
        let ours = counters.iter().filter(|(name, _)| is_drop(name));
        drops.extend(ours.map(|(name, count)| (format!("fullpipe {name}"), count)));
    });
    drops
}

/// Sends datagrams of `fragments` full frames each in every direction. Checks that each lost
/// datagram was dropped for a counted reason.
fn assert_each_datagram_is_accounted_for(ends: Ends, fragments: u64) {
    let length = ends.datagram_of(fragments);
    let runtime = start(ends, "tap:fpinterop", true, None);
    for direction in [
        "to us",
        "to stock iperf",
        "to us, reversed",
        "to stock iperf, reversed",
    ] {
        let before = drops(&runtime);
        let (total, lost) = udp_loss((ends, &runtime), direction, length);
        let mut dropped = drops(&runtime);
        for (now, then) in dropped.iter_mut().zip(before) {
            assert_eq!(now.0, then.0);
            now.1 -= then.1;
        }
        dropped.retain(|(_, count)| *count > 0);
        let what = format!(
            "{length} bytes {direction} ({}): {lost} of {total} lost, {dropped:?}",
            ends.ours
        );
        println!("{what}");
        let dropped: u64 = dropped.iter().map(|(_, count)| count).sum();
        assert!(lost <= dropped && dropped <= lost * fragments, "{what}");
    }
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn datagrams_of_one_frame_arrive_in_every_direction() {
    in_namespace("datagrams_of_one_frame_arrive_in_every_direction", || {
        for ends in [V4, V6] {
            assert_each_datagram_is_accounted_for(ends, 1);
        }
    });
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn datagrams_of_five_fragments_arrive_in_every_direction() {
    in_namespace(
        "datagrams_of_five_fragments_arrive_in_every_direction",
        || {
            for ends in [V4, V6] {
                assert_each_datagram_is_accounted_for(ends, 5);
            }
        },
    );
}

/// A display filter of frames that no stack should send.
const WRONG: &str = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 \
    || udp.checksum.status == 0 || icmp.checksum.status == 0 || icmpv6.checksum.status == 0";

fn assert_a_capture_is_right(ends: Ends) {
    let path = std::env::temp_dir().join(format!("fullpipe-interop-{}.pcapng", std::process::id()));
    let runtime = start(ends, "tap:fpinterop", true, Some(&path));
    let options = ServerOptions {
        connections: Some(1),
        ..ServerOptions::new(ends.ours())
    };
    for flags in ["-n 1M", "-n 1M -R"] {
        let flags = ends.stock(flags);
        server(&runtime, &options, || {
            Stock::run_client(ends.ours(), &flags)
        });
    }
    let length = ends.datagram_of(5);
    udp_loss((ends, &runtime), "to us", length);
    udp_loss((ends, &runtime), "to stock iperf", length);
    drop(runtime); // completes the file
    assert_eq!(tshark(&path, &["-Y", WRONG]), "", "wrong frames");
    let version = if ends.ours().is_ipv4() { "ip" } else { "ipv6" };
    let all = tshark(&path, &["-Y", &format!("{version} && (tcp || udp)")]);
    std::fs::remove_file(&path).expect("the file is there");
    assert!(all.lines().count() > 1_000, "the capture holds the traffic");
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_capture_has_no_malformed_frame_and_no_bad_checksum() {
    in_namespace(
        "a_capture_has_no_malformed_frame_and_no_bad_checksum",
        || {
            let version = Command::new("tshark").arg("-v").output();
            assert!(version.is_ok(), "tshark is installed");
            [V4, V6].into_iter().for_each(assert_a_capture_is_right);
        },
    );
}

fn tshark(path: &Path, more: &[&str]) -> String {
    let output = Command::new("tshark")
        .args([
            "-r",
            &path.to_string_lossy(),
            "-o",
            "ip.check_checksum:TRUE",
            "-o",
            "tcp.check_checksum:TRUE",
        ])
        .args(["-o", "udp.check_checksum:TRUE"])
        .args(more)
        .output()
        .expect("tshark runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
