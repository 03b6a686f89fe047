//! Random transfers that were explained wrongly.
//!
//! Rule: each file is a world of `cargo xtask soak --verdicts`, without its title.

use super::{best, position};
use crate::{cause::Cause, explain, explanation::Explanation};
use fullpipe_scenario::experiment::Experiment;

fn of_file(text: &str) -> Explanation {
    let text = format!("title = \"t\"\nrows = [{{ label = \"row\" }}]\n{text}");
    let experiment = Experiment::parse("t", "t.toml", &text).expect("no mistake");
    explain(&experiment.rows[0].setup, 1).expect("the stack is right")
}

/// World 510029: damaged frames are discarded by the receiver, but the receiver has room for a
/// higher rate.
#[test]
fn an_application_that_offers_too_little_is_named_although_frames_are_damaged() {
    let found = of_file(
        r#"
hosts.sender = { device_queue = 7, acquainted = true }
hosts.receiver = { preset = "linux" }
links.path = { between = ["sender", "receiver"], rate = "2477051bit", delay = "125us", mtu = 1500, forward.queue = "5110 bytes", forward.corruption = 0.023898, forward.jitter = "194us" }
flows.main = { from = "sender", to = "receiver", protocol = "udp", write = 1472, rate = "2139947bit", duration = "2338264us" }
"#,
    );
    assert_eq!(found.limit, Cause::APPLICATION, "{}", found.parts.line());
}

/// World 720007: the largest floor of the receiver's senders gains nothing, but one between does,
/// because it leaves less memory for the receive window.
#[test]
fn a_division_of_packet_memory_is_not_said_to_gain_nothing() {
    let found = of_file(
        r#"
hosts.sender = { preset = "unet3", device.super_segment = 4096, device.reports_sent = true }
hosts.receiver = { preset = "nuttx", set.tcp.receive_buffer_max = 1024 }
links.path = { between = ["sender", "receiver"], rate = "17732650bit", delay = "562us", mtu = 1500, forward.queue = "device", back.queue = "3 packets", forward.token_bucket.rate = "8766070bit", forward.token_bucket.burst = 84530, forward.token_bucket.latency = "1us" }
flows.main = { from = "sender", to = "receiver", bytes = 406528 }
"#,
    );
    let mut refuted = found.refuted.iter();
    assert!(
        refuted.all(|name| !name.ends_with("_floor")),
        "{:?}",
        found.refuted
    );
}

/// World 720002: a combination of 28 settings gained 331 % by chance.
#[test]
fn a_large_combination_that_gains_by_chance_is_not_named() {
    let found = of_file(
        r#"
hosts.sender = { set.tcp.congestion = "cubic" }
hosts.receiver = { set.tcp.receive_buffer = 1203, set.tcp.receive_buffer_max = 1822, set.tcp.holes = 2 }
links.path = { between = ["sender", "receiver"], rate = "5889413bit", delay = "1858us", mtu = 126, back.rate = "248296bit", forward.queue = "1338 bytes", back.ack_thinning.every = 24, back.ack_thinning.wait = "13207us" }
flows.main = { from = "sender", to = "receiver", write = 9443, bytes = 49506 }
"#,
    );
    assert!((1..=8).contains(&found.levers.len()), "{:?}", found.levers);
}

/// The direction of the ACKs carries a two-thousandth of the rate.
#[test]
fn fewer_acks_help_if_their_direction_is_full() {
    let ample = "near.tcp.send_buffer = 1M\nfar.tcp.receive_buffer = 1M\nnear.pool.blocks = 4096\nfar.pool.blocks = 4096";
    let path = "path.forward.rate = 20mbit\npath.back.rate = 10kbit";
    let (levers, _) = best(&format!("{ample}\n{path}"));
    position(&levers, "far.tcp.ack_every=8");
}

/// World 740002: a receive buffer of 1 MiB changes nothing, but one of 2 MiB gained 21 % by
/// coincidence, because other segments were lost.
#[test]
fn nothing_is_said_to_gain_nothing_if_segments_were_lost() {
    let found = of_file(
        r#"
hosts.sender = { preset = "linux", set.tcp.congestion = "newreno" }
hosts.receiver = {}
links.path = { between = ["sender", "receiver"], rate = "851439111bit", delay = "432us", mtu = 1500, forward.rate = "6330947bit", forward.ecn_threshold = "1514 bytes" }
flows.main = { from = "sender", to = "receiver", bytes = 1707192 }
flows.other = { from = "sender", to = "receiver", start = "1215477us", bytes = 898768 }
"#,
    );
    assert_eq!(found.refuted, [""; 0], "{}", found.parts.line());
}
