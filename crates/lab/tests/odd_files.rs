//! Tests with experiment files that contain extreme values.
//!
//! Rule: every file that the check accepts can be run; the check refuses the others. Files are
//! drawn from legal and absurd values of every field; long runs are cut short.

use std::sync::atomic::{AtomicU32, Ordering};

use fullpipe_lab::{Experiment, RunError, RunOptions, run};
use fullpipe_pool::Rng;

/// A run is cut short after this many progress reports.
const REPORTS: u32 = 1;

/// Lines of a host's table.
const HOST: &[&str] = &[
    "preset = \"linux\"",
    "preset = \"nuttx\"",
    "device_queue = 1",
    "acquainted = true",
    "device.super_segment = \"64K\"",
    "device.super_segment = 1",
    "device.rx_descriptors = 1",
    "device.merge_quiet = \"1000000s\"",
    "cpu.send_packet = \"3s\"",
    "cpu.call = \"2s\"",
    "cpu.receive_packet = \"18446744073s\"",
    "cpu.send_byte = \"18446744073000ns\"",
    "cpu.receive_packet = \"8us\"",
    "set.udp.sockets = 400",
    "set.ip.path_mtu_min = 68",
    "set.tcp.mtu_probing = \"always\"",
    "set.pool = { blocks = 16, block_size = 128 }",
];

/// Lines of a link's table.
const LINK: &[&str] = &[
    "rate = \"1bit\"",
    "rate = \"1gbit\"",
    "rate = \"10mbit\"",
    "rate = \"10000gbit\"",
    "delay = \"0s\"",
    "delay = \"20ms\"",
    "delay = \"600s\"",
    "delay = \"18446744073s\"",
    "queue = \"0 packets\"",
    "queue = \"1 packets\"",
    "queue = \"1 bytes\"",
    "queue = \"device\"",
    "mtu = 68",
    "mtu = 79",
    "mtu = 65535",
    "forward.mtu = 68",
    "hop.mtu = 68",
    "loss = \"5%\"",
    "loss = \"100%\"",
    "duplication = \"100%\"",
    "corruption = \"100%\"",
    "back.ack_thinning = { every = 4294967295, wait = \"18446744073s\" }",
    "ack_thinning.every = 2",
    "jitter = \"1000000s\"",
    "reordering = { chance = \"50%\", late = \"18446744073s\" }",
    "token_bucket = { rate = \"1bit\", burst = \"64K\", latency = \"1s\" }",
    "token_bucket = { rate = \"900000gbit\", burst = \"16000000000G\", latency = \"18446744073s\" }",
    "radio = { access = \"1s\", backoff = \"1s\" }",
    "outage = { after = \"0s\", length = \"18446744073s\" }",
    "ecn_threshold = \"0 packets\"",
    "codel = { target = \"0s\", interval = \"1us\" }",
];

/// Lines of the workload's table.
const WORKLOAD: &[&str] = &[
    "write = 1",
    "write = 100",
    "write = 1000",
    "write = 65507",
    "write = 4294967295",
    "count = 3",
    "count = 300",
    "start = \"10s\"",
    "start = \"18446744073s\"",
    "give_up = \"18446744073s\"",
    "at_least = \"18446744073s\"",
    "at_most = \"20ms\"",
    "rate = \"1bit\"",
    "rate = \"813mbit\"",
    "rate = \"900000gbit\"",
    "tick = \"10ms\"",
    "pause = \"1ms\"",
    "read = { bytes = 1, every = \"10us\" }",
    "read = { stall_after = \"0s\", stall_for = \"18446744073s\" }",
    "ask = 1",
    "ask = \"16000000000G\"",
    "vanish_after = 1",
    "low_water = \"50%\"",
    "no_push = true",
    "reverse = true",
];

/// Lines that set the end of the workload: a duration or an amount.
const ENDS: &[&str] = &[
    "duration = \"50ms\"",
    "duration = \"3s\"",
    "duration = \"18446744073s\"",
    "bytes = 1",
    "bytes = \"100K\"",
    "bytes = \"16000000000G\"",
];

/// Draws up to `most` lines, each of which sets a different key.
fn lines(rng: &mut Rng, from: &[&str], most: u64) -> String {
    let key = |line: &str| {
        line.split(['.', ' '])
            .next()
            .unwrap_or_default()
            .to_string()
    };
    let mut drawn: Vec<&str> = Vec::new();
    for _ in 0..rng.between(0, most) {
        let line = from[rng.below(from.len() as u64) as usize];
        if drawn.iter().all(|other| key(other) != key(line)) {
            drawn.push(line);
        }
    }
    drawn.join("\n")
}

fn file(number: u64) -> String {
    let mut rng = Rng::seeded(number);
    let [client, server] = [(); 2].map(|()| lines(&mut rng, HOST, 2));
    let link = lines(&mut rng, LINK, 4);
    let workload = lines(&mut rng, WORKLOAD, 3);
    let protocol = ["tcp", "udp"][rng.below(2) as usize];
    let end = ENDS[rng.below(ENDS.len() as u64) as usize];
    format!(
        "title = \"odd\"\n[hosts.client]\n{client}\n[hosts.server]\n{server}\n[links.wire]\n\
         between = [\"client\", \"server\"]\n{link}\n[workload]\nfrom = \"client\"\nto = \"server\"\n\
         protocol = \"{protocol}\"\n{workload}\n{end}\n[[rows]]\nlabel = \"row\"\n"
    )
}

/// Runs `experiment` until its end, or until it has reported progress `REPORTS` times.
fn run_cut_short(experiment: &Experiment) -> Result<(), RunError> {
    let reports = AtomicU32::new(0);
    let progress = |_row: usize, _share: f64| {
        reports.fetch_add(1, Ordering::Relaxed);
    };
    let cancel = || reports.load(Ordering::Relaxed) > REPORTS;
    let options = RunOptions {
        progress: &progress,
        cancel: Some(&cancel),
        ..RunOptions::quick(1)
    };
    match run(experiment, &options) {
        Ok(_) | Err(RunError::Interrupted) => Ok(()),
        Err(error) => Err(error),
    }
}

#[test]
fn a_file_that_the_check_accepts_is_run() {
    let (mut accepted, mut wrong) = (0, Vec::new());
    for number in 0..600 {
        let text = file(number);
        let Ok(experiment) = Experiment::check("odd", "f", &text) else {
            continue;
        };
        accepted += 1;
        match std::panic::catch_unwind(|| run_cut_short(&experiment)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => wrong.push(format!("{error}\n{text}")),
            Err(_) => wrong.push(format!("file {number}: a panic\n{text}")),
        }
    }
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n"));
    assert!(accepted > 150, "only {accepted} accepted");
}

/// Returns an experiment whose link has the fields `link` and whose workload has the fields
/// `workload`. If the fields are refused, returns the mistakes.
fn checked(link: &str, workload: &str) -> Result<Experiment, String> {
    let text = format!(
        "title = \"odd\"\nhosts.client = {{}}\nhosts.server = {{}}\n[links.wire]\nbetween = [\"client\", \
         \"server\"]\n{link}\n[workload]\nfrom = \"client\"\nto = \"server\"\n{workload}\n[[rows]]\n\
         label = \"row\"\n"
    );
    Experiment::check("odd", "f", &text).map_err(|mistakes| {
        mistakes
            .iter()
            .map(|mistake| mistake.what.clone())
            .collect()
    })
}

/// At these MTUs, timestamps and SACK blocks leave little or no space for payload in a packet.
#[test]
fn packets_too_short_for_all_options_carry_a_transfer_with_losses() {
    for mtu in 68..=80 {
        let link = format!("mtu = {mtu}\nrate = \"1mbit\"\ndelay = \"5ms\"\nloss = \"5%\"");
        let experiment = checked(&link, "bytes = 3000").expect("it is legal");
        let report = run(&experiment, &RunOptions::quick(1)).expect("it runs");
        let measured = &report.rows[0].measured;
        assert_eq!(measured.delivered_bytes, 3_000, "{mtu}");
    }
}

#[test]
fn datagrams_need_a_rate_or_something_slow_and_fast_ones_run_for_seconds() {
    let udp = "protocol = \"udp\"\nduration = \"2s\"";
    let why = checked("rate = \"1gbit\"", udp).expect_err("it would never end");
    assert!(why.contains("has no rate"), "{why}");
    let fast = format!("{udp}\nwrite = 8972\nrate = \"813mbit\"");
    let experiment = checked("rate = \"1gbit\"\nmtu = 9000", &fast).expect("it is legal");
    let report = run(&experiment, &RunOptions::quick(1)).expect("it runs");
    assert!(report.rows[0].measured.goodput_mbps > 700.0);
}
