//! Tests with captures of the simulator that both tshark and this crate read.
//!
//! Rule: every TCP segment is compared field by field, in the order of the file. Retransmissions
//! are compared in captures at the sender, because no frame has been reordered there yet.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;
mod endings;
mod numbers;

use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
    process::Command,
    time,
};

use apart::apart_within;
use fullpipe::Config;
use fullpipe_diagnose::{
    capture::{BytesRead, CaptureReader, FlowKey, FlowLimits, FlowTable, Segment},
    observe::{ConnectionObserver, ObservedConnection},
};
use fullpipe_pool::Duration;
use fullpipe_sim::{
    Deadline, LinkModel, MIB, Seed, World,
    app::{ReadPlan, WritePlan},
    link::Reordering,
};

/// Fields of a segment, in the order in which tshark and this test print them.
const FIELDS: [&str; 10] = [
    "frame.time_epoch",
    "tcp.srcport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.window_size_value",
    "tcp.flags",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
];

/// Longest run of one try. Each test simulates several transfers and reads their captures, which
/// takes minutes on a busy machine.
const LIMIT: time::Duration = time::Duration::from_secs(900);

/// A capture file that is deleted after the test.
struct Capture(PathBuf);

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Runs a transfer and captures it at the sender.
fn captured(name: &str, link: LinkModel, read: ReadPlan) -> Capture {
    let file = format!("fullpipe-tshark-{name}-{}.pcapng", std::process::id());
    let path = std::env::temp_dir().join(file);
    let mut world = World::new(Seed(3));
    let link = world.link(link);
    let (client, server) = world.pair(&link, Config::default());
    let file = BufWriter::new(File::create(&path).expect("the file is made"));
    world.capture(Box::new(file)).expect("a head");
    world.tap_host(client, "client").expect("a tap");
    let plan = WritePlan::bulk(2 * MIB, 16_384);
    let flow = world.send_planned(client, server, plan, read);
    world.run_until(flow.done(), Deadline::secs(120));
    world.finish_capture().expect("the file is whole");
    Capture(path)
}

fn link(change: impl Fn(&mut LinkModel)) -> LinkModel {
    let mut link = LinkModel::ideal();
    (link.rate_bps, link.delay_us) = (50_000_000, 10_000);
    change(&mut link);
    link
}

fn tshark(path: &Path, fields: &[&str], filter: &str) -> Vec<String> {
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(path)
        .args(["-Y", filter, "-T", "fields", "-E", "separator=,"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).expect("fields are text");
    text.lines().map(str::to_string).collect()
}

fn reader(path: &Path) -> CaptureReader {
    let file = File::open(path).expect("the file is there");
    CaptureReader::open(file, BytesRead::default()).expect("a capture")
}

/// A segment in the format in which tshark prints [`FIELDS`].
fn line(key: &FlowKey, segment: &Segment) -> String {
    let (seconds, ns) = (segment.at_ns / 1_000_000_000, segment.at_ns % 1_000_000_000);
    let options = &segment.options;
    let shown = |value: Option<u32>| value.map_or(String::new(), |value| value.to_string());
    let port = key.address(segment.from).port();
    format!(
        "{seconds}.{ns:09},{port},{},{},{},{},{:#06x},{},{},{}",
        segment.seq,
        segment.ack,
        segment.payload,
        segment.window,
        segment.flags.bits(),
        shown(options.mss.map(u32::from)),
        shown(options.window_scale.map(u32::from)),
        shown(options.timestamps.map(|timestamps| timestamps.value)),
    )
}

fn observed(path: &Path) -> Vec<ObservedConnection> {
    let mut reader = reader(path);
    let mut table = FlowTable::new(FlowLimits::DEFAULT, |_: &FlowKey| ConnectionObserver::new());
    let mut all = Vec::new();
    for (key, segment) in reader.by_ref() {
        table.on_segment(key, &segment, |flow| all.push(flow.outcome));
    }
    table.finish(reader.now_ns(), |flow| all.push(flow.outcome));
    all
}

#[test]
#[ignore = "needs tshark: cargo xtask test"]
fn segments_bytes_and_retransmissions_agree_with_tshark() {
    apart_within(
        LIMIT,
        "segments_bytes_and_retransmissions_agree_with_tshark",
        &[],
        || {
            let slow = ReadPlan::Rate {
                bytes: 20_000,
                every: Duration::from_millis(20),
            };
            for (name, link, read) in [
                ("clean", link(|_| {}), ReadPlan::Eager),
                ("loss", link(|link| link.loss = 0.02), ReadPlan::Eager),
                (
                    "copies",
                    link(|link| link.duplication = 0.02),
                    ReadPlan::Eager,
                ),
                ("slow", link(|_| {}), slow),
                (
                    "reordering",
                    link(|link| {
                        link.reordering = Some(Reordering {
                            chance: 0.05,
                            late_us: 5_000,
                        });
                    }),
                    ReadPlan::Eager,
                ),
            ] {
                let Capture(path) = &captured(name, link, read);
                let theirs = tshark(path, &FIELDS, "tcp && !icmp");
                let ours: Vec<_> = reader(path)
                    .map(|(key, segment)| line(&key, &segment))
                    .collect();
                assert!(ours.len() > 1_000, "{name}: {} segments", ours.len());
                for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                    assert_eq!(ours, theirs, "{name}, segment {number}");
                }
                assert_eq!(ours.len(), theirs.len(), "{name}");

                let [connection] = &observed(path)[..] else {
                    panic!("{name}: not one connection");
                };
                let sent = connection.data();
                assert_eq!(sent.payload_bytes, 2 * MIB, "{name}");
                let ports = reader(path).map(|(key, segment)| key.address(segment.from).port());
                let server = ports.min().expect("a segment");
                let count = |flag: &str| {
                    let filter = format!("tcp.analysis.{flag} && tcp.dstport == {server}");
                    tshark(path, &["frame.number"], &filter).len() as u64
                };
                let theirs = count("retransmission") + count("out_of_order");
                let ours = sent.retransmissions.total();
                println!(
                    "{name}: {} data segments, {ours} retransmitted",
                    sent.data_segments
                );
                assert_eq!(ours, theirs, "{name}: retransmissions");
            }
        },
    );
}
