//! Tests of `fullpipe why` with captures of one connection at both hosts of the simulator.

use std::{
    fs, io,
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

use fullpipe_lab::Experiment;
use fullpipe_scenario::{Scene, watch::Watch};
use serde_json::Value;

use super::{Folder, fullpipe, refused, stderr, stdout};

const EXPERIMENT: &str = r#"
title = "Losses"
hosts.near = { set.tcp.send_buffer = "1M", set.tcp.receive_buffer = "1M", set.pool.blocks = 4096 }
hosts.far = { set.tcp.send_buffer = "1M", set.tcp.receive_buffer = "1M", set.pool.blocks = 4096 }
links.path = { between = ["near", "far"], rate = "20mbit", delay = "10ms", forward.loss = "1%" }
workload = { from = "near", to = "far", bytes = 3000000 }
rows = [{ label = "case" }]
"#;
/// Nanoseconds by which the receiver's clock is ahead.
const AHEAD_NS: u64 = 2_500_000_000;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the pcapng file `file` with the packets of `interface` only, and with `ahead_ns` added
/// to their times.
fn of_interface(file: &[u8], interface: u32, ahead_ns: u64) -> Vec<u8> {
    let word = |block: &[u8], at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
    let mut rest = file;
    let mut out = Vec::new();
    while !rest.is_empty() {
        let (block, after) = rest.split_at(word(rest, 4) as usize);
        rest = after;
        let mut block = block.to_vec();
        if word(&block, 0) == 6 {
            if word(&block, 8) != interface {
                continue;
            }
            let at = u64::from(word(&block, 12)) << 32 | u64::from(word(&block, 16));
            let at = at + ahead_ns;
            block[12..16].copy_from_slice(&((at >> 32) as u32).to_le_bytes());
            block[16..20].copy_from_slice(&(at as u32).to_le_bytes());
        }
        out.extend(block);
    }
    out
}

/// Captures of one transfer at both hosts. The receiver's clock is ahead.
fn captures(folder: &Folder) -> [String; 2] {
    let experiment = Experiment::parse("losses", "losses.toml", EXPERIMENT).unwrap();
    let mut scene = Scene::new(&experiment.rows[0].setup, 1, false, Watch::NONE);
    let file = Shared::default();
    scene.capture_hosts(Box::new(file.clone())).unwrap();
    scene.play(&|_| ControlFlow::Continue(())).unwrap();
    scene.finish_capture().unwrap();
    let file = file.0.lock().unwrap();
    [("sender", 0, 0), ("receiver", 1, AHEAD_NS)].map(|(name, interface, ahead_ns)| {
        let path = folder.0.join(format!("{name}.pcapng"));
        fs::write(&path, of_interface(&file, interface, ahead_ns)).unwrap();
        path.to_str().unwrap().to_string()
    })
}

fn json(arguments: &[&str]) -> Value {
    let output = fullpipe(arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Two files with the same connection are recognised. The clocks' difference, and losses and
/// queues between the captures, are printed. The order of the files does not matter.
#[test]
fn captures_from_both_ends_are_merged() {
    let folder = Folder::new("why-merge");
    let [sender, receiver] = captures(&folder);
    let text = stdout(&fullpipe(&[
        "why", &receiver, &sender, "--quick", "--width", "200",
    ]));
    for part in [
        "Two captures of this connection, merged",
        "sender.pcapng was captured nearer to the sender",
        "receiver.pcapng is 2.5 s ahead of the other clock when the connection begins, and no drift was found",
        "segments lost between the captures",
        "sent at",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let answer = json(&["why", &sender, &receiver, "--quick", "--json"]);
    assert_eq!(answer["connections"].as_array().unwrap().len(), 1);
    let merge = &answer["merge"];
    let ahead = merge["clock_ahead_ns"].as_i64().unwrap();
    assert!(ahead.abs_diff(AHEAD_NS as i64) < 100_000, "{ahead}");
    let losses = merge["losses"].as_array().unwrap().len();
    assert!(losses > 10, "{merge}");
    assert!(
        merge["forward"]["lost"].as_u64().unwrap() >= losses as u64,
        "{merge}"
    );
    assert_eq!(merge["back"]["lost"], 0);
    assert_eq!(answer["observed"]["vantage"]["side"], "sender");
    let page = folder.0.join("page.html");
    let page = page.to_str().unwrap();
    let drawn = fullpipe(&["why", &sender, &receiver, "--quick", "--report", page]);
    assert!(drawn.status.success(), "{}", stderr(&drawn));
    refused(
        &folder.0,
        &[(
            &["why", &sender, &receiver, "--flow", "2"],
            "connection 1 of another capture is the same connection; --flow 1 merges both captures",
        )],
    );
}

/// Returns the pcapng file `file` without its first `count` packets, and with the address
/// 10.0.0.1 replaced by `address`.
fn changed(file: &[u8], count: usize, address: [u8; 4]) -> Vec<u8> {
    let word = |block: &[u8], at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
    let (mut rest, mut out, mut seen) = (file, Vec::new(), 0);
    while !rest.is_empty() {
        let (block, after) = rest.split_at(word(rest, 4) as usize);
        rest = after;
        let mut block = block.to_vec();
        if word(&block, 0) == 6 {
            seen += 1;
            if seen <= count {
                continue;
            }
            // Length of the block header, length of the Ethernet header, and offset in the IPv4
            // header: first of the source address, then of the destination address.
            for at in [28 + 14 + 12, 28 + 14 + 16] {
                if block[at..at + 4] == [10, 0, 0, 1] {
                    block[at..at + 4].copy_from_slice(&address);
                }
            }
        }
        out.extend(block);
    }
    out
}

/// A capture that begins late, and NAT between the captures, leave two rows of one connection. The
/// reason is printed.
#[test]
fn two_rows_of_one_connection_have_a_reason() {
    let folder = Folder::new("why-apart");
    let [sender, receiver] = captures(&folder);
    let file = fs::read(&receiver).unwrap();
    let path = folder.0.join("other.pcapng");
    let other = path.to_str().unwrap();
    for (count, address, part, reason) in [
        (
            10,
            [10, 0, 0, 1],
            "begins after the handshake",
            "late_capture",
        ),
        (0, [192, 0, 2, 7], "behind NAT", "address_translation"),
    ] {
        fs::write(&path, changed(&file, count, address)).unwrap();
        let text = stdout(&fullpipe(&["why", &sender, other, "--width", "400"]));
        assert!(text.contains(part), "{text}");
        let answer = json(&["why", &sender, other, "--json"]);
        assert_eq!(answer["connections"].as_array().unwrap().len(), 2);
        let apart = serde_json::json!([{"connection": 2, "earlier": 1, "reason": reason}]);
        assert_eq!(answer["apart"], apart);
        let flow = stdout(&fullpipe(&[
            "why", &sender, other, "--flow", "1", "--quick", "--width", "400",
        ]));
        assert!(flow.contains(part), "{flow}");
    }
}

/// The twin (a simulated copy) of a capture without its handshake gives no advice, so the account
/// (time by limit) is the answer.
#[test]
fn a_brief_answer_without_a_verdict_has_the_account() {
    let folder = Folder::new("why-brief");
    let [sender, _] = captures(&folder);
    let late = changed(&fs::read(&sender).unwrap(), 10, [10, 0, 0, 1]);
    fs::write(&sender, late).unwrap();
    let text = stdout(&fullpipe(&["why", &sender, "--brief"]));
    for part in ["no advice", "share", "congestion window after loss"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("windows  "), "{text}");
}
