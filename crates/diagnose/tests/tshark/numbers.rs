//! Compares the numbers of whole connections with those of tshark and tcptrace.
//!
//! Rule: `docs/diagnosis.md` explains each difference that this test allows. The test prints the
//! table on that page.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

use flate2::read::GzDecoder;
use fullpipe_diagnose::{capture::End, observe::ObservedConnection};
use fullpipe_pool::Duration;
use fullpipe_sim::{app::ReadPlan, link::Reordering};

use super::{Capture, LIMIT, apart::apart_within, captured, link, observed, reader, tshark};

/// Numbers of the direction that carries the payload.
#[derive(Debug, Default)]
struct Numbers {
    bytes: u64,
    again: u64,
    /// Number of the receiver's segments with a zero window.
    zero: u64,
    /// Smallest and mean round trip, in milliseconds.
    rtt_ms: [f64; 2],
}

/// The capture `name` of `examples/captures`, unpacked.
pub fn unpacked(name: &str) -> Capture {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/captures");
    let packed = fs::File::open(folder.join(name)).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let path = free_name();
    fs::write(&path, bytes).unwrap();
    Capture(path)
}

/// A name that no other test of this process uses.
fn free_name() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let file = format!("fullpipe-unpacked-{}-{number}.pcap", std::process::id());
    std::env::temp_dir().join(file)
}

/// Number of segments of `from` with a zero window; segments with SYN or RST are not counted.
fn zero_windows(path: &Path, from: End) -> u64 {
    let all = reader(path).filter(|(_, segment)| {
        let ends = fullpipe_wire::TcpFlags::SYN | fullpipe_wire::TcpFlags::RST;
        segment.from == from && segment.window == 0 && !segment.flags.intersects(ends)
    });
    all.count() as u64
}

fn ours(path: &Path, connection: &ObservedConnection) -> Numbers {
    let sent = connection.data();
    let ms = |ns: Option<u64>| ns.map_or(0.0, |ns| ns as f64 / 1e6);
    let rtt = &sent.rtt_beyond_tap;
    Numbers {
        bytes: sent.payload_bytes,
        again: sent.retransmissions.total(),
        zero: zero_windows(path, connection.sender.other()),
        rtt_ms: [ms(rtt.min_ns), ms(rtt.mean_ns)],
    }
}

/// The numbers of tshark; `port` is the sender's port.
fn of_tshark(path: &Path, port: u16) -> Numbers {
    let numbers = |field: &str, filter: &str| -> Vec<f64> {
        let lines = tshark(path, &[field], filter);
        lines.iter().filter_map(|line| line.parse().ok()).collect()
    };
    let own = format!("tcp.srcport == {port}");
    let again = "(tcp.analysis.retransmission || tcp.analysis.out_of_order)";
    let lens = |filter: String| numbers("tcp.len", &filter);
    let rtts = numbers(
        "tcp.analysis.ack_rtt",
        &format!("tcp.dstport == {port} && tcp.analysis.ack_rtt && tcp.flags.syn == 0"),
    );
    let least = rtts.iter().copied().fold(f64::INFINITY, f64::min);
    let sum = |all: Vec<f64>| all.iter().sum::<f64>() as u64;
    Numbers {
        bytes: sum(lens(own.clone())) - sum(lens(format!("{own} && {again}"))),
        again: lens(format!("{own} && {again}")).len() as u64,
        zero: lens(format!("tcp.dstport == {port} && tcp.analysis.zero_window")).len() as u64,
        rtt_ms: [
            least * 1e3,
            rtts.iter().sum::<f64>() / rtts.len() as f64 * 1e3,
        ],
    }
}

/// Numbers of tcptrace.
fn of_tcptrace(path: &Path) -> Numbers {
    let output = Command::new("tcptrace")
        .args(["-l", "-r", "-W", "-n"])
        .arg(path)
        .output()
        .expect("tcptrace is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Take the direction with more payload. Each line has a value for both directions.
    let pair = |name: &str| -> [f64; 2] {
        let lines = text.lines().map(str::trim_start);
        let line = lines.clone().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name}: {text}"));
        let mut halves = line.split(name).skip(1).map(|half| {
            let value = half.split_whitespace().next().unwrap_or_default();
            value.parse().unwrap_or_else(|_| panic!("{line}"))
        });
        [(); 2].map(|()| halves.next().expect("two directions"))
    };
    let bytes = pair("unique bytes sent:");
    let way = usize::from(bytes[1] > bytes[0]);
    Numbers {
        bytes: bytes[way] as u64,
        again: pair("rexmt data pkts:")[way] as u64,
        zero: pair("zero win adv:")[1 - way] as u64,
        rtt_ms: [pair("RTT min:")[way], pair("RTT avg:")[way]],
    }
}

fn row(name: &str, of: &str, numbers: &Numbers) {
    let Numbers {
        bytes,
        again,
        zero,
        rtt_ms: [least, mean],
    } = numbers;
    println!("| {name} | {of} | {bytes} | {again} | {zero} | {least:.1} | {mean:.1} |");
}

/// Compares bytes, retransmissions, zero windows and round trips of five captures.
#[test]
#[ignore = "needs tshark and tcptrace: cargo xtask test"]
fn numbers_agree_with_tshark_and_tcptrace() {
    apart_within(
        LIMIT,
        "numbers::numbers_agree_with_tshark_and_tcptrace",
        &[],
        || {
            let pausing = ReadPlan::Rate {
                bytes: 300_000,
                every: Duration::from_millis(400),
            };
            let eager = ReadPlan::Eager;
            println!(
                "| capture | reader | payload bytes | retransmissions | windows of 0 | RTT min ms | mean ms |"
            );
            println!("|---|---|---|---|---|---|---|");
            let overtaken = link(|link| {
                link.reordering = Some(Reordering {
                    chance: 0.05,
                    late_us: 5_000,
                });
            });
            for (name, capture) in [
                ("clean", captured("n-clean", link(|_| {}), eager.clone())),
                (
                    "loss 2 %",
                    captured("n-loss", link(|link| link.loss = 0.02), eager.clone()),
                ),
                ("reordering 5 %", captured("n-order", overtaken, eager)),
                ("pausing reader", captured("n-pause", link(|_| {}), pausing)),
                ("kernels", unpacked("send-buffer.pcap.gz")),
            ] {
                let path = &capture.0;
                let [connection] = &observed(path)[..] else {
                    panic!("{name}: not one connection");
                };
                let (key, _) = reader(path).next().expect("a segment");
                let port = key.address(connection.sender).port();
                let own = ours(path, connection);
                row(name, "fullpipe", &own);
                for (of, theirs) in [
                    ("tshark", of_tshark(path, port)),
                    ("tcptrace", of_tcptrace(path)),
                ] {
                    row(name, of, &theirs);
                    assert_eq!(own.bytes, theirs.bytes, "{name}, {of}: payload");
                    assert_eq!(own.again, theirs.again, "{name}, {of}: retransmissions");
                    assert_eq!(own.zero, theirs.zero, "{name}, {of}: windows of 0");
                    let [[own_least, own_mean], [least, mean]] = [own.rtt_ms, theirs.rtt_ms];
                    assert!(
                        (own_least - least).abs() < 0.3,
                        "{name}, {of}: {own_least} ms, {least} ms"
                    );
                    assert!(
                        (own_mean / mean - 1.0).abs() < 0.1,
                        "{name}, {of}: {own_mean} ms, {mean} ms"
                    );
                }
            }
        },
    );
}
