//! Tests of `fullpipe why` with captures that the simulator writes.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use parquet::{file::reader::SerializedFileReader, record::RowAccessor};
use serde_json::{Value, json};

use super::{Folder, fullpipe, fullpipe_in, refused, stderr, stdout};

/// An experiment with two rows (scenarios), each with one transfer over the same path. In row
/// `small`, the sender has a small send buffer.
const EXPERIMENT: &str = r#"
title = "Captures"
hosts.near = {}
hosts.far = {}
[links.path]
between = ["near", "far"]
rate = "100mbit"
delay = "10ms"
[workload]
from = "near"
to = "far"
bytes = 300000
[[rows]]
label = "small"
set.tcp.send_buffer = "8K"
[[rows]]
label = "large"
"#;

/// Captures of both rows of [`EXPERIMENT`].
fn captures(folder: &Folder) -> [String; 2] {
    fs::write(folder.0.join("both.toml"), EXPERIMENT).unwrap();
    let run = fullpipe_in(
        &folder.0,
        &["lab", "run", "./both.toml", "--quick", "--pcap", "."],
    );
    assert!(run.status.success(), "{}", stderr(&run));
    let path = |row: u32| folder.0.join(format!("both-{row}.pcapng"));
    [1, 2].map(|row| path(row).to_str().unwrap().to_string())
}

fn answer_of(arguments: &[&str]) -> Value {
    let output = fullpipe(arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn changed(path: &str, name: &str, change: impl Fn(&mut Vec<u8>)) -> String {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    let path = PathBuf::from(path).with_file_name(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn one_connection_is_printed_in_full_and_several_in_a_table() {
    let folder = Folder::new("why");
    let [small, large] = captures(&folder);
    let one = fullpipe(&["why", &small]);
    assert!(one.status.success(), "{}", stderr(&one));
    let text = stdout(&one);
    assert!(
        text.contains("300,000 bytes") && text.contains("share"),
        "{text}"
    );
    let both = fullpipe(&["diagnose", &small, &large, "--width", "200"]);
    let table = stdout(&both);
    assert!(
        table.contains("limited by") && table.contains("retrans"),
        "{table}"
    );
    let first = table.lines().find(|line| line.starts_with("1 ")).unwrap();
    assert!(first.contains("10.0.0.1:"), "{table}");
    let flow = fullpipe(&["why", &small, &large, "--flow", "2"]);
    assert!(stdout(&flow).contains("Connection 2"), "{}", stdout(&flow));
    let narrow = stdout(&fullpipe(&["why", &small, &large, "--width", "70"]));
    let rows = narrow
        .lines()
        .filter(|line| line.starts_with(['#', '1', '2']));
    assert!(rows.clone().all(|line| line.len() <= 100), "{narrow}");
    assert_eq!(rows.count(), 3, "{narrow}");
}

#[test]
fn json_and_csv_have_every_connection() {
    let folder = Folder::new("why-json");
    let [small, large] = captures(&folder);
    let answer = answer_of(&["why", &small, &large, "--json"]);
    assert_eq!(answer["schema"], 2);
    assert_eq!(answer["connections"].as_array().unwrap().len(), 2);
    assert_eq!(answer["connections"][0]["payload_bytes"], 300_000);
    assert_eq!(answer["captures"][1]["is_partial"], false);
    assert!(answer.get("observed").is_none());
    let shares = answer["connections"][1]["shares"].as_object().unwrap();
    let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    let answer = answer_of(&["why", &small, "--json"]);
    assert!(answer["observed"]["bands"].is_array());
    let csv = stdout(&fullpipe(&["why", &small, &large, "--csv"]));
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.starts_with("number,file,sender,receiver,"), "{csv}");
}

#[test]
fn a_filter_chooses_connections() {
    let folder = Folder::new("why-filter");
    let [small, _] = captures(&folder);
    for (filter, count) in [
        ("host 10.0.0.1", 1),
        ("host 10.0.0.9", 0),
        ("tcp and not net 10.0.0.0/24", 0),
        ("src 10.0.0.2", 1),
    ] {
        let answer = answer_of(&["why", &small, "--json", "--filter", filter]);
        let found = answer["connections"].as_array().unwrap().len();
        assert_eq!(found, count, "{filter}");
    }
}

#[test]
fn a_partial_capture_gives_a_partial_answer_that_says_so() {
    let folder = Folder::new("why-partial");
    let [small, _] = captures(&folder);
    let cut = changed(&small, "cut.pcapng", |bytes| {
        bytes.truncate(bytes.len() / 2 + 1)
    });
    let damaged = changed(&small, "damaged.pcapng", |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle..middle + 4_000].fill(0xff);
    });
    for (path, wanted) in [
        (&cut, "ends inside a packet"),
        (&damaged, "damaged at byte"),
    ] {
        let output = fullpipe(&["why", path, "--width", "400"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stdout(&output);
        assert!(
            text.contains(wanted) && text.contains("Connection 1"),
            "{text}"
        );
        let output = fullpipe(&["why", path, "--fail-on", "partial"]);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    }
    assert_eq!(
        answer_of(&["why", &cut, "--json"])["captures"][0]["warnings"][0]["name"],
        "cut"
    );
}

#[test]
fn files_that_are_no_captures_and_wrong_requests_are_refused() {
    let folder = Folder::new("why-refused");
    let [small, large] = captures(&folder);
    for (arguments, wanted) in [
        (
            &["why", "both.toml"][..],
            "both.toml: not a capture that fullpipe can read: a text file",
        ),
        (&["why", "missing.pcap"], "missing.pcap: No such file"),
        (&["why", "."], "this is a folder"),
    ] {
        let output = fullpipe_in(&folder.0, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
    }
    // A file that cannot be read changes the exit code; the other files are still printed.
    let output = fullpipe_in(&folder.0, &["why", &small, "missing.pcap"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("Connection 1"),
        "{}",
        stdout(&output)
    );
    refused(
        &folder.0,
        &[
            (&["why"], "required arguments"),
            (
                &["why", &small, "--flow", "7"],
                "the last connection is number 1",
            ),
            (
                &["why", &small, "--filter", "host example.org"],
                "host names are not looked up",
            ),
            (
                &["why", &small, "--fail-on", "limit=cwnd"],
                "no limit is called `cwnd`",
            ),
            (&["why", &small, "--json", "--csv"], "cannot be used with"),
            (&["why", "-", "-"], "standard input was given twice"),
            (
                &["why", &small, &large, "--brief"],
                "--brief needs one connection: name it with --flow N",
            ),
        ],
    );
}

/// A capture of a transfer between two kernels. The server has SO_SNDBUF = 16384, the path 100
/// Mbit/s and a round trip of 20 ms.
fn kernel_capture() -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("examples/captures/send-buffer.pcap.gz");
    path.to_str().unwrap().to_string()
}

/// The answer names the buffer, the setting to change, and the transfer's duration with a
/// larger buffer.
#[test]
fn a_capture_of_a_kernel_gives_the_setting_and_the_time() {
    let text = stdout(&fullpipe(&["why", &kernel_capture(), "--width", "400"]));
    for part in [
        "Limited by  the send buffer: SO_SNDBUF",
        "SO_SNDBUF = 13897 (estimated from the capture)",
        "Change      leave SO_SNDBUF unset",
        "The present value is about 13897, estimated from the capture.",
        "Gives       a transfer time of 0.4",
        "Twin        a simulation fitted",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let answer = answer_of(&["why", &kernel_capture(), "--json"]);
    let twin = &answer["twin"];
    assert_eq!(twin["reproduces"], true);
    assert_eq!(twin["verdict"]["limit"], "send_buffer");
    let error = twin["compared"]["goodput_error"].as_f64().unwrap();
    assert!(error.abs() < 0.05, "{error}");
    let quick = answer_of(&["why", &kernel_capture(), "--json", "--quick"]);
    assert!(quick.get("twin").is_none());
}

/// In the lab, the written experiment gives the results of the twin (the simulated copy of the
/// connection).
#[test]
fn the_experiment_of_a_twin_runs_in_the_laboratory() {
    let folder = Folder::new("why-scenario");
    let capture = kernel_capture();
    let answer = json_in(
        &folder,
        &["why", &capture, "--json", "--scenario", "slow.toml"],
    );
    let check = fullpipe_in(&folder.0, &["lab", "check", "slow.toml"]);
    assert!(check.status.success(), "{}", stderr(&check));
    let run = json_in(&folder, &["lab", "run", "./slow.toml", "--quick", "--json"]);
    let measured = &run["rows"][0]["measured"];
    let seconds = measured["elapsed_s"].as_f64().unwrap();
    let twin = answer["twin"]["run"]["seconds"].as_f64().unwrap();
    // Allow a small difference, because the twin's time runs from the end of the handshake to
    // the last ACK.
    assert!((seconds - twin).abs() < 0.05, "{seconds} s, {twin} s");
    let again = fullpipe_in(&folder.0, &["why", &capture, "--scenario", "slow.toml"]);
    assert!(
        stderr(&again).contains("the file exists"),
        "{}",
        stderr(&again)
    );
    let refusal = ["--scenario needs one connection"];
    let [small, large] = captures(&folder);
    let several = fullpipe_in(
        &folder.0,
        &["why", &small, &large, "--scenario", "two.toml"],
    );
    assert!(refusal.iter().all(|part| stderr(&several).contains(part)));
}

/// Every subcommand of the lab accepts the experiment that `why` wrote.
#[test]
fn a_captured_transfer_is_tried_explained_and_sized() {
    let folder = Folder::new("why-tried");
    let written = [
        "why",
        &kernel_capture(),
        "--brief",
        "--scenario",
        "slow.toml",
    ];
    let written = fullpipe_in(&folder.0, &written);
    assert!(written.status.success(), "{}", stderr(&written));
    let run = |more: &[&str]| json_in(&folder, &[more, &["--json"]].concat());
    let goodput = |trial: &Value| {
        trial["result"]["measured"]["goodput_mbps"]
            .as_f64()
            .unwrap()
    };
    let slow = run(&["try", "./slow.toml"]);
    let unset = ["try", "./slow.toml", "--set", "sender.SO_SNDBUF=unset"];
    let fast = run(&unset);
    assert!(goodput(&fast) > 5.0 * goodput(&slow), "{fast}");
    assert_eq!(fast["settings"][0], "sender.SO_SNDBUF=unset");
    assert_eq!(fast["direction"], "send");
    let explained = run(&["lab", "explain", "./slow.toml"]);
    assert_eq!(explained["rows"][0]["verdict"]["limit"], "send_buffer");
    let both = fullpipe_in(&folder.0, &["try", "./slow.toml", "--rate", "5mbit"]);
    assert!(stderr(&both).contains("cannot be used with '--rate"));
    let path = ["try", "--rate", "1mbit", "--rtt", "10ms", "--bytes", "10K"];
    run(&[&path[..], &["--save", "small.toml"]].concat());
    let size = run(&["size", "./small.toml"]);
    assert_eq!(size["preset"], "default");
    assert_eq!(size["rate_bps"], 1_000_000);
    assert_eq!(size["rtt_ms"], 10.0);
}

fn json_in(folder: &Folder, arguments: &[&str]) -> Value {
    let output = fullpipe_in(&folder.0, arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Page, graphs and tables of one connection are written to the named files.
#[test]
fn one_connection_is_drawn_and_written_to_tables() {
    let folder = Folder::new("why-files");
    let [small, large] = captures(&folder);
    let path = |name: &str| folder.0.join(name);
    let text = |name: &str| path(name).to_str().unwrap().to_string();
    let [page, graphs, tables] = ["page.html", "graphs", "tables"].map(text);
    let written = fullpipe(&[
        "why",
        &small,
        &large,
        "--flow",
        "2",
        "--quick",
        "--report",
        &page,
        "--xplot",
        &graphs,
        "--parquet",
        &tables,
    ]);
    assert!(written.status.success(), "{}", stderr(&written));
    let page = fs::read_to_string(path("page.html")).unwrap();
    assert!(page.contains("\"both-2-2\"") && page.contains("a connection in"));
    let files: Vec<_> = fs::read_dir(path("graphs")).unwrap().collect();
    assert_eq!(files.len(), 1, "only one end sent payload");
    let name = files[0].as_ref().unwrap().file_name();
    let name = name.to_str().unwrap();
    assert!(
        name.starts_with("both-2-2-1-1-10.0.0.1_") && name.ends_with(".xpl"),
        "{name}"
    );
    let graph = fs::read_to_string(path("graphs").join(name)).unwrap();
    assert!(graph.starts_with("timeval unsigned\ntitle\n"), "{graph}");
    let rows = |name: &str| {
        let file = fs::File::open(path("tables").join(name)).unwrap();
        let rows = SerializedFileReader::new(file).unwrap().into_iter();
        rows.map(|row| row.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(rows("connections.parquet").len(), 2);
    let sum: u64 = rows("segments.parquet")
        .iter()
        .map(|row| row.get_ulong(3).unwrap())
        .sum();
    assert_eq!(sum, 300_000, "nothing was lost");
    assert!(!rows("limits.parquet").is_empty());
    let both = ["why", &small, &large, "--quick"];
    let page = text("page.html");
    let several = [&both[..], &["--report", &page]].concat();
    let missing = [&both[..], &["--report", "nowhere/page.html"]].concat();
    refused(
        &folder.0,
        &[
            (&several, "--report and --xplot need one connection"),
            (&missing, "there is no folder nowhere"),
        ],
    );
}

/// A recording of one socket that is idle for the lifetime of `connection`.
fn idle_socket(connection: &Value) -> String {
    let columns =
        "sk_state family bytes_acked notsent_bytes busy_time snd_wnd snd_cwnd rtt snd_mss";
    let columns: Vec<_> = columns.split(' ').collect();
    let header = json!({
        "kind": "fullpipe-sockets", "version": 1, "kernel": "6.18", "settings": {},
        "unix_time_s": connection["began_ns"].as_f64().unwrap() / 1e9, "columns": columns,
    });
    let socket = json!({
        "sk": 7, "local": connection["sender"], "peer": connection["receiver"], "congestion": "cubic",
    });
    let row = [
        7, 0, 1, 1, 2, 2, 0, 3, 0, 4, 0, 5, 65_535, 6, 10, 7, 20_000, 8, 1_448,
    ];
    let mut text = format!("{header}\n");
    text += &format!("{}\n", json!({ "t_us": 0, "new": [socket], "rows": [row] }));
    let end_us = connection["elapsed_s"].as_f64().unwrap() * 1e6;
    for round in 1..=50 {
        let t_us = (end_us / 50.0 * f64::from(round)) as u64;
        text += &format!("{}\n", json!({ "t_us": t_us }));
    }
    text
}

/// A recording without a capture gives verdicts. With a capture, two accounts (time by limit) of
/// the connection are printed, one from the socket and one from the capture, with their
/// differences.
#[test]
fn recorded_sockets_stand_beside_the_connections_of_a_capture() {
    let folder = Folder::new("why-sockets");
    let [small, large] = captures(&folder);
    let connection = &answer_of(&["why", &small, "--json", "--quick"])["connections"][0];
    let path = folder.0.join("host.sockets");
    fs::write(&path, idle_socket(connection)).unwrap();
    let sockets = path.to_str().unwrap();
    let alone = stdout(&fullpipe(&["why", sockets]));
    assert!(
        alone.contains("51 observations") && alone.contains("Limited by"),
        "{alone}"
    );
    assert!(alone.contains("application for 100 %"), "{alone}");
    let both = fullpipe(&["why", &small, sockets, "--quick", "--width", "200"]);
    let text = stdout(&both);
    assert!(
        text.contains("send buffer according to the capture, application according to the kernel"),
        "{text}"
    );
    let table = stdout(&fullpipe(&[
        "why", &small, &large, sockets, "--width", "200",
    ]));
    assert!(
        table.contains("according to the capture, application 100 % according to the kernel"),
        "{table}"
    );
    let answer = answer_of(&["why", &small, sockets, "--quick", "--json"]);
    assert_eq!(answer["connections"][0]["socket"]["end"], "sender");
    assert_eq!(answer["recordings"][0]["sockets"][0]["sk"], "7");
    let agreed = answer["accounts"]["agreed_share"].as_f64().unwrap();
    // The capture shows the send buffer nearly all the time, as the row's own clock does.
    assert!((0.001..0.1).contains(&agreed), "{agreed}");
    let differences = answer["accounts"]["differences"].as_array().unwrap();
    assert_eq!(differences[0]["kernel"], "application");
    let mut damaged = fs::read_to_string(&path).unwrap();
    damaged += "{\"t_us\":5,\"rows\":[[77,0,1]]}\n";
    fs::write(&path, damaged).unwrap();
    let alone = stdout(&fullpipe(&["why", sockets, "--width", "200"]));
    assert!(alone.contains("damaged: line 53"), "{alone}");
}

#[test]
fn no_line_of_a_table_is_wider_than_the_terminal() {
    let folder = Folder::new("why-narrow");
    let [small, large] = captures(&folder);
    for width in ["40", "60", "80"] {
        let text = stdout(&fullpipe(&["why", &small, &large, "--width", width]));
        let most: usize = width.parse().unwrap();
        let longest = text.lines().max_by_key(|line| line.chars().count());
        assert!(longest.unwrap().chars().count() <= most, "{text}");
        assert!(text.contains("send buffer 92 %"), "{text}");
        assert!(text.contains("10.0.0.2:"), "{text}");
    }
    let size = [
        "size", "--rate", "100mbit", "--rtt", "20ms", "--width", "80",
    ];
    let text = stdout(&fullpipe(&size));
    let longest = text.lines().max_by_key(|line| line.chars().count());
    assert!(longest.unwrap().chars().count() <= 80, "{text}");
}

/// Returns a pcap file of raw IPv4 packets, one microsecond apart.
fn pcap(packets: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    // Magic number, version 2.4, two unused words, snap length, link type (raw IP).
    let head: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101];
    let mut file = head.map(u32::to_le_bytes).concat();
    for (packet, at_us) in packets.into_iter().zip(0_u32..) {
        let len = packet.len() as u32;
        let seconds = 1_700_000_000 + at_us / 1_000_000;
        let record = [seconds, at_us % 1_000_000, len, len];
        file.extend(record.map(u32::to_le_bytes).concat());
        file.extend(packet);
    }
    file
}

/// Returns a packet from 10.0.0.1 to 10.0.0.2 with the payload `rest`.
fn ipv4(protocol: u8, rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((20 + rest.len() as u16).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(rest);
    packet
}

/// Returns a TCP segment without payload from port `port` to port 443.
fn segment(port: u16, flags: u8) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    let [to_high, to_low] = 443_u16.to_be_bytes();
    let ports = [high, low, to_high, to_low];
    let numbers = [0, 0, 0, 1, 0, 0, 0, 0];
    let rest = [0x50, flags, 0xff, 0xff, 0, 0, 0, 0];
    ipv4(6, &[&ports[..], &numbers, &rest].concat())
}

const SYN: u8 = 2;
const RST: u8 = 4;

/// Writes a capture of 10,001 connections, one more than the rows that are kept. The last connection
/// lost no time, so it has no row; only this connection was reset. Returns the name of the file.
fn many_connections(folder: &Folder) -> String {
    let path = folder.0.join("many.pcap");
    let opened = (1..=10_000).map(|port| segment(port, SYN));
    fs::write(&path, pcap(opened.chain([segment(10_001, RST)]))).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn a_table_of_ten_thousand_rows_is_printed() {
    let folder = Folder::new("why-many");
    let many = many_connections(&folder);
    let output = fullpipe(&["why", &many, "--top", "0", "--width", "200"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let rows = text.lines().filter(|line| line.contains(" > 10.0.0.2:443"));
    assert_eq!(rows.count(), 10_000);
}

/// `--fail-on` judges connections without a row, too. CSV and Parquet say that rows are missing.
#[test]
fn connections_without_a_row_are_judged_and_noted() {
    let folder = Folder::new("why-left-out");
    let many = many_connections(&folder);
    let left_out = "the rows lack 1 connection: only the 10,000 connections";
    let judged = fullpipe(&["why", &many, "--fail-on", "reset", "--width", "400"]);
    let notes = stderr(&judged);
    assert_eq!(judged.status.code(), Some(3), "{notes}");
    assert!(notes.contains("connection 10001 (10.0.0.1:10001 to 10.0.0.2:443): reset"));
    assert!(!notes.contains(left_out), "{notes}");
    assert!(stdout(&judged).contains("--top 0 shows all except 1 connection"));
    let tables = folder.0.join("tables");
    let tables = ["--json", "--parquet", tables.to_str().unwrap()];
    for more in [&["--csv"][..], &["--top", "0"], &tables] {
        let output = fullpipe(&[&["why", &many][..], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains(left_out), "{}", stderr(&output));
    }
    let answer = answer_of(&["why", &many, "--json"]);
    assert_eq!(answer["connections_left_out"], 1);
}

/// The first Ctrl-C ends an endless stream, even if no packet is a segment of a chosen connection.
#[test]
fn an_interrupt_ends_a_stream_without_chosen_segments() {
    for (packet, more) in [
        (ipv4(17, &[0; 30]), &["--quick"][..]),
        (segment(5, SYN), &["--filter", "port 1"]),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
            .args(["why", "-"])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // More than a pipe holds. When it is written, the program reads and handles the signal.
        let file = pcap(vec![packet; 20_000]);
        let packets = &file[24..];
        input.write_all(&file).unwrap();
        input.write_all(packets).unwrap();
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.unwrap().success());
        let has_ended = (0..200).any(|_| input.write_all(packets).is_err());
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert!(has_ended, "{more:?}");
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    }
}

#[test]
fn an_output_does_not_replace_an_input() {
    let folder = Folder::new("why-inputs");
    let [small, _] = captures(&folder);
    fs::copy(&small, folder.0.join("one.xpl")).unwrap();
    std::os::unix::fs::symlink(&small, folder.0.join("link.html")).unwrap();
    let name = "both-1.pcapng";
    refused(
        &folder.0,
        &[
            (
                &["why", name, "--report", name],
                "--report both-1.pcapng: this file is one of the input files",
            ),
            (
                &["why", &small, "--report", "link.html"],
                "--report link.html: this file is one of the input files",
            ),
            (
                &["why", name, "--scenario", name],
                "--scenario both-1.pcapng: this file is one",
            ),
            (
                &["why", name, "--parquet", name],
                "--parquet both-1.pcapng: this file is one",
            ),
            (
                &["why", "one.xpl", "--xplot", "."],
                "--xplot ./one.xpl: this file is one",
            ),
        ],
    );
    let before = fs::read(&small).unwrap();
    let appended = fs::OpenOptions::new().append(true).open(&small).unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .args(["why", &small, "--csv"])
        .stdout(appended)
        .stderr(Stdio::null())
        .status();
    assert_eq!(status.unwrap().code(), Some(2));
    assert_eq!(fs::read(&small).unwrap(), before);
}

#[test]
fn options_that_need_a_capture_are_refused_with_recordings_alone() {
    let folder = Folder::new("why-recordings");
    let connection = json!({
        "began_ns": 0, "elapsed_s": 1.0, "sender": "10.0.0.1:5", "receiver": "10.0.0.2:443",
    });
    fs::write(folder.0.join("host.sockets"), idle_socket(&connection)).unwrap();
    for option in [
        &["--filter", "port 1"][..],
        &["--flow", "1"],
        &["--brief"],
        &["--scenario", "slow.toml"],
        &["--report", "page.html"],
        &["--xplot", "graphs"],
        &["--csv"],
        &["--parquet", "tables"],
    ] {
        let arguments = [&["why", "host.sockets"][..], option].concat();
        let expected = format!("{} needs a capture", option[0]);
        refused(&folder.0, &[(&arguments, &expected)]);
    }
}

#[test]
fn one_packet_is_singular_and_no_connection_names_the_filter() {
    let folder = Folder::new("why-one");
    let path = folder.0.join("one.pcap");
    fs::write(&path, pcap([segment(5, SYN)])).unwrap();
    let why = ["why", path.to_str().unwrap(), "--quick", "--width", "400"];
    let text = stdout(&fullpipe(&why));
    assert!(text.contains("1 packet in 0 s, 1 of them a TCP segment"));
    let filtered = stdout(&fullpipe(&[&why[..], &["--filter", "port 1"]].concat()));
    assert!(
        filtered.contains("No connection was found that the filter chooses."),
        "{filtered}"
    );
}

/// Captured between two kernels: `examples/captures/endings.sh` says what each connection does.
fn endings() -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("examples/captures/endings.pcap.gz");
    path.to_str().unwrap().to_string()
}

/// Returns what `--quick` prints about the connection of `endings` with this port.
fn quick(port: &str) -> String {
    let (capture, filter) = (endings(), format!("port {port}"));
    let all = ["why", &capture, "--quick", "--width", "400", "--filter"];
    stdout(&fullpipe(&[&all[..], &[filter.as_str()]].concat()))
}

#[test]
fn failed_connections_are_named_with_what_to_check() {
    let capture = endings();
    let table = stdout(&fullpipe(&["why", &capture, "--width", "200"]));
    for words in [
        "refused",
        "unreachable",
        "unanswered",
        "; reset",
        "; vanished",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    for (port, words, check) in [
        ("5004", "reset by 10.78.0.2:5004 with", "unread payload"),
        ("5009", "10.78.0.2:5009 sent nothing for", "firewall or NAT"),
        ("81", "refused: 10.78.0.2:81 answered the SYN", "`ss -ltn`"),
        ("82", "says that the last router", "is up and has"),
        ("83", "answered none of 7 SYNs", "the route back"),
    ] {
        let text = quick(port);
        assert!(text.contains(words) && text.contains(check), "{text}");
    }
    let answer = answer_of(&["why", &capture, "--json", "--filter", "port 82"]);
    let connection = &answer["connections"][0];
    assert_eq!(connection["failure"], "unanswered");
    assert_eq!(connection["unreachable"], "host");
    assert_eq!(connection["unreachable_from"], "sender");
    let began_ns = connection["began_ns"].as_i64().unwrap();
    let after_ns = connection["unreachable_ns"].as_i64().unwrap() - began_ns;
    assert!((0..10_000_000_000).contains(&after_ns), "{after_ns} ns");
    // The client sent nothing for 64 s after its last SYN, so at most 127 s are lost.
    let silent = answer_of(&["why", &capture, "--json", "--filter", "port 83"]);
    let lost_s = silent["connections"][0]["lost_s"].as_f64().unwrap();
    assert!(lost_s < 128.0, "{lost_s} s");
    let closed = answer_of(&[
        "why",
        &capture,
        "--json",
        "--quick",
        "--filter",
        "port 5001",
    ]);
    assert!(closed["connections"][0].get("failure").is_none());
    assert_eq!(
        closed["observed"]["directions"][0]["acknowledged_bytes"],
        3_000
    );
}

#[test]
fn failures_and_an_empty_capture_are_conditions() {
    let capture = endings();
    for (condition, filter, code) in [
        ("refused", "port 81", 3),
        ("refused", "port 5004", 0),
        ("unanswered", "port 83", 3),
        ("unreachable", "port 82", 3),
        ("unreachable", "port 83", 0),
        ("vanished", "port 5009", 3),
        ("reset", "port 5004", 3),
        ("failed", "portrange 81-83", 3),
        ("failed", "port 5001", 0),
        ("failed", "port 4", 0),
        ("empty", "port 4", 3),
        ("empty", "port 81", 0),
    ] {
        let output = fullpipe(&[
            "why",
            &capture,
            "--quick",
            "--filter",
            filter,
            "--fail-on",
            condition,
        ]);
        let found = output.status.code();
        assert_eq!(
            found,
            Some(code),
            "{condition}, {filter}: {}",
            stderr(&output)
        );
    }
    let wrong = fullpipe(&["why", &capture, "--fail-on", "broken"]);
    assert!(stderr(&wrong).contains("vanished"), "{}", stderr(&wrong));
}

/// The FIN is retransmitted four times, and no segment with payload is.
#[test]
fn the_share_of_retransmissions_leaves_out_a_fin() {
    let words = "FIN retransmitted 4 times; 0 retransmitted of 3 data segments";
    let found = quick("5008");
    assert!(found.contains(words), "{found}");
}

/// Without the columns that do not fit, the sentences about them are left out.
#[test]
fn a_narrow_table_explains_only_the_columns_that_it_has() {
    let text = |width: &str| stdout(&fullpipe(&["why", &endings(), "--width", width]));
    assert!(text("200").contains("`lost` is time"));
    let narrow = text("60");
    assert!(!narrow.contains("`lost`"), "{narrow}");
}

/// Three of four probes of the closed window are answered; four timeouts of the connection whose
/// server vanished are not.
#[test]
fn episodes_have_the_distance_to_the_end_of_the_connection() {
    let vanished = quick("5009");
    assert!(
        vanished.contains("timeouts in a row; Linux gives up after about 15 minutes"),
        "{vanished}"
    );
    let closed = quick("5007");
    let probes = "zero window with 4 probes, at most 1 in a row without an answer";
    assert!(closed.contains(probes), "{closed}");
}
