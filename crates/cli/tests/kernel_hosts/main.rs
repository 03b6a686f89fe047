//! Tests of `fullpipe lab run` with kernel hosts, whose TCP/IP stack is this machine's kernel.
//!
//! Rule: tests that need root are ignored; `cargo xtask test` runs them. They check which result
//! is larger, and compare no result with a fixed time.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use fullpipe_host::Namespace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longest wait for a state that must come. An orphaned socket of another program may take a minute
/// to end.
const PATIENCE: Duration = Duration::from_secs(300);

/// A file with an experiment, deleted after the test.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("fullpipe-{name}-{}.toml", std::process::id());
        let path = env::temp_dir().join(name);
        fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A transfer that the send buffer limits: the experiment `linux-buffers-a`, shortened, with
/// super-segments of one segment.
const SEND_BUFFERS: &str = r#"
title = "An answer of 1 MB over 100 Mbit/s and 20 ms"
[hosts.server]
preset = "linux"
stack = "kernel"
acquainted = true
gso_max_segs = 1
set.tcp.nagle = false
set.wmem_max = "4M"
[hosts.client]
preset = "linux"
stack = "kernel"
[links.line]
between = ["server", "client"]
rate = "100mbit"
delay = "10ms"
[workload]
from = "server"
to = "client"
ask = 300
write = 16384
bytes = 2_000_000
[[rows]]
label = "16K"
set.SO_SNDBUF = "16K"
[[rows]]
label = "256K"
set.SO_SNDBUF = "256K"
set.server.pool.blocks = 65536
[[rows]]
label = "a radio"
set.line.radio.access = "50us"
"#;

fn lab_run(file: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    command.args(["lab", "run"]).arg(file).args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[ignore = "needs root; `cargo xtask test` runs it"]
fn a_kernel_with_16_kb_of_send_buffer_is_slower_than_with_256_kb_and_both_accounts_say_why() {
    let name =
        "a_kernel_with_16_kb_of_send_buffer_is_slower_than_with_256_kb_and_both_accounts_say_why";
    apart::apart(name, &[], sixteen_kilobytes_are_slower);
}

fn sixteen_kilobytes_are_slower() {
    let file = File::new("send-buffers", SEND_BUFFERS);
    let output = lab_run(&file.0, &["--quick", "--json"]).output().unwrap();
    let report = json(&output);
    let kernel = |row: usize| &report["rows"][row]["kernel"];
    let goodput = |row: usize| kernel(row)["goodput_mbps"].as_f64().unwrap();
    println!("{} {}", goodput(0), goodput(1));
    assert!(2.0 * goodput(0) < goodput(1));
    for account in ["by_socket", "by_capture"] {
        assert_eq!(
            kernel(0)[account]["main"]["limit"],
            "send_buffer",
            "{account}"
        );
    }
    for row in 0..2 {
        assert_eq!(kernel(row)["outcome"], "complete");
        assert_eq!(kernel(row)["delivered_bytes"], 2_000_000);
        assert_eq!(kernel(row)["congestion_control"], "cubic");
    }
    assert_eq!(kernel(1)["not_applied"][0], "server.pool.blocks = 65536");
    let skipped = kernel(2)["skipped"].as_str().unwrap();
    assert!(skipped.contains("line.radio"), "{skipped}");
}

#[test]
#[ignore = "needs root; `cargo xtask test` runs it"]
fn a_row_longer_than_its_bound_is_cut_and_says_so() {
    let file = File::new("cut", SEND_BUFFERS);
    let arguments = ["--quick", "--json", "--time", "500ms"];
    let report = json(&lab_run(&file.0, &arguments).output().unwrap());
    let cut = &report["rows"][0]["kernel"];
    assert_eq!(cut["outcome"], "cut");
    assert!(cut["delivered_bytes"].as_u64().unwrap() < 2_000_000);
    assert!(cut["notes"].to_string().contains("cut off after"));
}

#[test]
#[ignore = "needs root; `cargo xtask test` runs it"]
fn hosts_and_devices_are_gone_after_a_run_that_was_interrupted_or_killed() {
    let file = File::new("killed", SEND_BUFFERS);
    for (signal, code) in [
        (Signal::INT, Some(130)),
        (Signal::TERM, Some(130)),
        (Signal::KILL, None),
    ] {
        // Let the row take a minute of real time, with little work in virtual time.
        let arguments = ["line.rate=1mbit", "workload.duration=60s"];
        let arguments = arguments.map(|setting| ["--set", setting]).concat();
        let mut command = lab_run(&file.0, &arguments);
        command.arg("--quick");
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let hosts = hosts_of(&mut child);
        let orphans_before = orphans();
        assert_eq!(devices(&hosts[0]), 1, "a running host has a device");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), code, "{signal:?}");
        // Check that the devices are gone, although the handles in `hosts` keep the namespaces
        // alive.
        for host in &hosts {
            let ended = within(PATIENCE, || devices(host) == 0);
            assert!(ended, "{signal:?}: a device is left");
        }
        let ended = within(PATIENCE, || orphans() <= orphans_before);
        assert!(ended, "{signal:?}: a socket holds its namespace");
    }
}

/// Number of sockets on this machine that no process owns; each keeps its namespace alive.
fn orphans() -> u64 {
    let text = fs::read_to_string("/proc/net/sockstat").unwrap();
    let mut words = text.split_whitespace().skip_while(|word| *word != "orphan");
    words.nth(1).unwrap().parse().unwrap()
}

/// Waits until `child` has two network namespaces open, each with a device. Returns the
/// namespaces.
fn hosts_of(child: &mut Child) -> Vec<Namespace> {
    let folder = format!("/proc/{}/fd", child.id());
    let mut hosts = Vec::new();
    let found = within(PATIENCE, || {
        hosts.clear();
        let entries = fs::read_dir(&folder).unwrap().flatten();
        for path in entries.map(|entry| entry.path()) {
            let link = fs::read_link(&path).unwrap_or_default();
            if link.to_string_lossy().starts_with("net:[") {
                hosts.extend(Namespace::open(&path));
            }
        }
        hosts.len() == 2 && hosts.iter().all(|host| devices(host) == 1)
    });
    assert!(found, "kernel hosts did not start: {:?}", child.try_wait());
    hosts
}

/// Number of interfaces of `host` besides the loopback device.
fn devices(host: &Namespace) -> usize {
    let read = host.enter(|| fs::read_to_string("/proc/thread-self/net/dev"));
    let text = read.unwrap().unwrap();
    let names = text.lines().filter_map(|line| line.split_once(':'));
    names.filter(|(name, _)| name.trim() != "lo").count()
}

fn within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + time;
    while Instant::now() < until {
        if is_so() {
            return true;
        }
        thread::sleep(Duration::from_millis(50));
    }
    false
}

#[test]
#[ignore = "needs root to give up; `cargo xtask test` runs it"]
fn without_root_one_line_says_what_to_do() {
    let file = File::new("without-root", SEND_BUFFERS);
    let program = env!("CARGO_BIN_EXE_fullpipe");
    // Remove the capabilities but stay root, because the program may be in a folder that only root
    // may read.
    let output = Command::new("setpriv")
        .args([
            "--bounding-set",
            "-all",
            "--inh-caps",
            "-all",
            program,
            "lab",
            "run",
        ])
        .arg(&file.0)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.contains("run as root (sudo), or leave out --hosts kernel"),
        "{said}"
    );
    assert_eq!(text(&output.stdout), "", "nothing ran");
}
