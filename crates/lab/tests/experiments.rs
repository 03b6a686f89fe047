//! Tests that run the checkout's experiments and compare the results with the documentation.
//!
//! Rule: readers of the documentation rely on the committed reports. A change of behaviour
//! therefore fails here with the changed report, printed for 80 columns. To accept a change, run
//! `UPDATE_SNAPSHOTS=1 cargo test -p fullpipe-lab` and examine the difference.

mod widths;

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
};

use fullpipe_lab::{
    Experiment, JSON_SCHEMA, Outcome, Report, RunError, RunOptions,
    catalogue::{self, BUILT_IN},
    experiment::Setup,
    layout::Layout,
    report_text, run,
};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn experiment(name: &str) -> Experiment {
    catalogue::find(name, &root()).unwrap().parse().unwrap()
}

/// Runs without explanations, which take most of the time.
fn run_with_seed(experiment: &Experiment, seed: u64) -> Report {
    run(experiment, &RunOptions::quick(seed)).unwrap()
}

/// Returns the report of the unchanged experiment `name`, which is run once for all tests. Only
/// the reports of seed 1 have explanations.
fn report(name: &str, seed: u64) -> Arc<Report> {
    type Reports = BTreeMap<(String, u64), Arc<OnceLock<Arc<Report>>>>;
    static REPORTS: Mutex<Reports> = Mutex::new(BTreeMap::new());
    let mut reports = REPORTS.lock().unwrap();
    let place = Arc::clone(reports.entry((name.to_owned(), seed)).or_default());
    // Release the lock, so that other tests can run other experiments meanwhile.
    drop(reports);
    let options = RunOptions {
        explain: seed == 1,
        ..RunOptions::quick(seed)
    };
    let report = place.get_or_init(|| Arc::new(run(&experiment(name), &options).unwrap()));
    Arc::clone(report)
}

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("fullpipe-lab-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Experiments with many seeds or connections, which `tables.rs` runs.
const LARGE: &[&str] = &["autotune", "fairness", "loss", "shallow"];

#[test]
fn reports_fit_every_width_and_at_80_columns_are_as_committed() {
    let all = catalogue::all(&root()).unwrap();
    for found in all
        .into_iter()
        .filter(|found| !LARGE.contains(&found.name.as_str()))
    {
        let report = report(&found.name, 1);
        widths::assert_fits(&report);
        let text = report_text(&report, Layout::plain(80));
        let file = format!("tests/snapshots/{}.txt", found.name);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
        if env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "crates/lab/{file} is out of date; this came out:\n{text}"
        );
    }
}

/// Reference system 1: a pool of 7,056 bytes gives as much goodput as any larger one.
#[test]
fn nuttx_is_as_fast_in_a_pool_of_7_056_bytes_as_with_all_the_memory_there_is() {
    for seed in 1..=3 {
        let report = report("nuttx", seed);
        let row = |label: &str| report.rows.iter().find(|row| row.label == label).unwrap();
        let small = &row("36 x 196, chunked").measured;
        let large = &row("128 x 196, chunked").measured;
        let unlimited = &row("unlimited buffers").measured;
        assert!(
            small.goodput_mbps >= 0.97 * large.goodput_mbps,
            "seed {seed}"
        );
        assert!(
            small.goodput_mbps >= 0.95 * unlimited.goodput_mbps,
            "seed {seed}"
        );
        for row in report
            .rows
            .iter()
            .filter(|row| row.measured.data_segments > 0)
        {
            let share = row.measured.full_sized_share;
            assert!(
                share >= 0.98,
                "seed {seed}, {}: {share} full-sized",
                row.label
            );
        }
        assert!(
            small.peak_pool_bytes <= 7_056,
            "seed {seed}: {}",
            small.peak_pool_bytes
        );
        let stalled = row("36 x 196, whole writes");
        assert_eq!(stalled.measured.delivered_bytes, 0);
        // The verdict must advise more than 96 blocks: 96 blocks have room for only one write of
        // 16,384 bytes with its headers, so each write must wait for the previous one.
        let Some(verdict) = &stalled.verdict else {
            continue;
        };
        assert_eq!(verdict.knob.as_deref(), Some("CONFIG_IOB_NBUFFERS"));
        // Goodput rises from 1.4 Mbit/s with 110 blocks to 5.0 Mbit/s with 115 blocks, and never
        // exceeds 5.1 Mbit/s.
        let needed = verdict.needed.as_deref().and_then(|text| text.parse().ok());
        assert!(
            needed.is_some_and(|blocks: u32| (111..=128).contains(&blocks)),
            "{needed:?}"
        );
    }
}

/// Reference system 3: with segmentation offload, the same bytes take the same time, with 2.6
/// times fewer packets through the stack.
#[test]
fn tso_sends_as_much_with_a_third_of_the_packets_through_the_stack() {
    let report = report("tso", 1);
    let row = |label: &str| {
        &report
            .rows
            .iter()
            .find(|row| row.label == label)
            .unwrap()
            .measured
    };
    let (transmit, write) = (row("sizing=transmit"), row("sizing=write"));
    for measured in [transmit, write] {
        assert_eq!(measured.delivered_bytes, 2_000_000);
        let elapsed = measured.elapsed_s;
        assert!((0.342..=0.378).contains(&elapsed), "{elapsed} s");
        let segments = measured.tcp_out_segs;
        assert!((1_383..=1_411).contains(&segments), "{segments} segments");
    }
    assert!(
        transmit.ip_out_requests <= 240,
        "{}",
        transmit.ip_out_requests
    );
    assert!(
        transmit.ip_in_receives <= 240,
        "{}",
        transmit.ip_in_receives
    );
    assert!(write.ip_out_requests >= 560, "{}", write.ip_out_requests);
    assert!(write.ip_in_receives >= 560, "{}", write.ip_in_receives);
    // A super-segment has one IP header instead of one for each segment.
    assert!(transmit.ip_ext_out_octets < write.ip_ext_out_octets);
}

/// Returns the measured value of `quantity` divided by the published one, for each row (scenario)
/// with a published figure.
fn of_published(report: &Report, quantity: &str) -> Vec<(String, f64)> {
    let json: Value = serde_json::from_str(&report.json()).unwrap();
    let rows = json["rows"].as_array().unwrap().iter();
    rows.filter_map(|row| {
        let published = row["published"][quantity].as_f64()?;
        let ours = row["measured"][quantity].as_f64()?;
        Some((row["label"].as_str()?.to_string(), ours / published))
    })
    .collect()
}

/// Reference system 2: with a send buffer of less than two segments, goodput follows the peer's
/// delayed-ACK timer, and is four orders of magnitude below the rate of the wire.
#[test]
fn unet3_waits_for_delayed_acks_as_delivered_and_is_as_fast_as_published_when_tuned() {
    for seed in 1..=2 {
        let report = report("unet3", seed);
        let shares = of_published(&report, "goodput_mbps");
        assert_eq!(shares.len(), 10);
        for (label, share) in shares {
            let (least, most) = match label.as_str() {
                "TCP send, default" => (0.7, 0.1 / 0.055),
                "UDP send, fragments" => (1.0, 1.6),
                _ => (0.95, 1.1),
            };
            assert!((least..most).contains(&share), "{seed}, {label}: {share}");
        }
        let row = |label: &str| report.rows.iter().find(|row| row.label == label).unwrap();
        let overflown = &row("UDP receive, default").measured;
        assert!(overflown.lost_share.unwrap() > 0.3 && overflown.udp_rcvbuf_errors.unwrap() > 0.0);
        assert_eq!(row("UDP receive, tuned").measured.lost_share, Some(0.0));
        let [few, enough] = ["4", "18"].map(|count| {
            &row(&format!(
                "UDP receive, application first, {count} descriptors"
            ))
            .measured
        });
        assert!(few.rx_ring_drops > 0 && few.udp_rcvbuf_errors == Some(0.0));
        assert_eq!((enough.rx_ring_drops, enough.lost_share), (0, Some(0.0)));
    }
}

/// Reference system 4: larger buffers raise goodput only until the processor or the path is the
/// limit.
#[test]
fn netburner_gains_by_buffers_until_its_processor_or_the_path_is_used_up() {
    let report = report("netburner", 1);
    let shares = of_published(&report, "elapsed_s");
    for (label, share) in &shares {
        assert!((0.8..=1.2).contains(share), "{label}: {share}");
    }
    let elapsed = |label: &str| {
        let row = report.rows.iter().find(|row| row.label == label).unwrap();
        row.measured.elapsed_s
    };
    assert!(elapsed("LAN, 5 buffers") > 1.3 * elapsed("LAN, 20 buffers"));
    let more = elapsed("LAN, 40 buffers") / elapsed("LAN, 20 buffers");
    assert!((0.99..=1.01).contains(&more), "{more}");
}

/// A larger buffer for out-of-order payload avoids retransmissions.
#[test]
fn netburner_repairs_losses_sooner_the_more_it_keeps_out_of_order() {
    let report = report("netburner", 1);
    let row = |label: &str| {
        let row = report.rows.iter().find(|row| row.label == label);
        &row.unwrap().measured
    };
    let kept = [0, 5, 19].map(|count| row(&format!("1 % lost, {count} out of order")));
    for pair in kept.windows(2) {
        assert!(pair[0].elapsed_s > 1.2 * pair[1].elapsed_s);
        assert!(pair[0].retransmitted_segments > pair[1].retransmitted_segments);
    }
}

#[test]
fn clients_that_vanish_hold_the_pool_until_they_are_given_up() {
    let report = report("netburner-vanish", 1);
    let next = |label: &str| {
        let row = report.rows.iter().find(|row| row.label == label).unwrap();
        (row.measured.flows[1].goodput_mbps, row.measured.free_blocks)
    };
    let (usual, all) = next("nobody vanishes");
    assert_eq!(next("clients vanish"), (0.0, 0));
    for recovered in [
        "clients vanish, the next comes after 20 minutes",
        "clients vanish, user timeout 5 s",
    ] {
        let (goodput, free) = next(recovered);
        assert_eq!(free, all);
        assert!(goodput > 0.95 * usual, "{recovered}: {goodput}");
    }
}

/// Reference system 5: the send buffer, the receive buffer and the path each allow a goodput; the
/// smallest of these is the result.
#[test]
fn the_times_of_the_linux_buffers_are_within_a_fifth_of_the_published() {
    for (name, count) in [
        ("linux-buffers-a", 6),
        ("linux-buffers-b", 3),
        ("linux-buffers-e", 3),
    ] {
        let report = report(name, 1);
        let quantities = ["elapsed_s", "transfer_s", "round_trip_bytes"].into_iter();
        let shares: Vec<_> = quantities
            .flat_map(|quantity| of_published(&report, quantity))
            .collect();
        assert_eq!(shares.len(), count, "{name}");
        for (label, share) in shares {
            assert!((0.8..=1.2).contains(&share), "{name}, {label}: {share}");
        }
    }
}

/// A reader that pauses costs only time. A sender waits for a stopped reader as long as the peer
/// answers the sender's window probes.
#[test]
fn a_closed_window_is_probed_as_long_as_the_peer_answers() {
    let stalled = report("linux-buffers-c", 1);
    let measured = &stalled.rows[1].measured;
    let pause = measured.pause_s;
    assert!((5.9..=6.1).contains(&pause), "{pause} s");
    assert_eq!(measured.delivered_bytes, 2_000_000);
    assert_eq!((measured.zero_windows, measured.timeouts), (1, 0));

    let stopped = report("linux-buffers-d", 1);
    let [answered, lost] = stopped.rows.as_slice() else {
        panic!("two rows");
    };
    let (answered, lost) = (&answered.measured, &lost.measured);
    assert_eq!(answered.outcome, Outcome::Complete);
    assert_eq!((answered.delivered_bytes, answered.resets), (4_000_000, 0));
    assert!((1_902.0..=1_904.0).contains(&answered.pause_s));
    assert!(
        answered.window_probes > 15,
        "window probes that are answered do not count towards the limit"
    );

    assert_eq!(lost.outcome, Outcome::Dropped);
    assert_eq!((lost.window_probes, lost.resets), (15, 1));
    let (dropped, reset) = (lost.dropped_s.unwrap(), lost.reset_s.unwrap());
    // The sender drops the connection after sixteen timeouts. The first lasts 202 ms: 200 ms plus a
    // round trip of 2 ms. Each of the next nine lasts twice as long as the previous one, and each
    // of the last six lasts 120 s.
    assert!((924.6..=928.0).contains(&dropped), "{dropped} s");
    assert!((1_800.0..=1_801.0).contains(&reset), "{reset} s");
}

/// Returns the goodput that is possible with a memory of `bytes`, as a share of
/// [`Setup::allowed_bps`]. The share is less than 1, because a segment is acknowledged only after
/// it has arrived completely, and because headers use part of the rate.
fn possible(setup: &Setup, bytes: f64) -> f64 {
    let (rate, rtt) = setup.bare_path();
    let (frame, ack, payload) = (1_514.0, 66.0, 1_448.0);
    let cycle = rtt + (frame + ack) * 8.0 / rate;
    (rate * payload / frame).min((bytes - 512.0) * 8.0 / cycle) / setup.allowed_bps().unwrap()
}

/// In both directions, goodput is as high as the memory allows.
#[test]
fn seven_kilobytes_and_more_give_what_is_possible_in_both_directions() {
    let experiment = experiment("memory");
    let report = report("memory", 1);
    assert_eq!(report.rows.len(), 16);
    for (row, plan) in report.rows.iter().zip(&experiment.rows) {
        let fraction = row.measured.fraction.unwrap();
        let bytes = ["7K ", "16K ", "64K ", "256K "]
            .iter()
            .zip([7_056.0, 16_384.0, 65_536.0, 262_144.0])
            .find_map(|(name, bytes)| row.label.starts_with(name).then_some(bytes))
            .unwrap();
        let wanted = match row.label.as_str() {
            "7K tx 10M/10ms" | "7K rx 10M/10ms" => 0.86,
            "7K tx 100M/20ms" | "7K rx 100M/20ms" => 0.97,
            _ => 0.97 * possible(&plan.setup, bytes),
        };
        assert!(fraction >= wanted, "{}: {fraction} < {wanted}", row.label);
        let small_peer = row.label.contains(" rx ") && row.label.contains("100M");
        if small_peer {
            let memory = row
                .limits
                .receiver
                .share(fullpipe_tcp::ReceiveLimit::Memory);
            assert!(memory > 0.9, "{}: {memory} charged to memory", row.label);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_json_and_another_seed_another() {
    let mut experiment = experiment("nuttx");
    experiment.set("workload.duration", "2s").unwrap();
    let json = |seed| run_with_seed(&experiment, seed).json();
    assert_eq!(json(7), json(7));
    assert_ne!(json(7), json(8));
}

#[test]
fn the_json_has_the_promised_shape_and_its_shares_add_up_to_one() {
    let mut experiment = experiment("nuttx");
    experiment.set("workload.duration", "1s").unwrap();
    let report = run(&experiment, &RunOptions::plain(1)).unwrap();
    let json: Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(
        (json["experiment"].as_str(), json["seed"].as_u64()),
        (Some("nuttx"), Some(1))
    );
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 5);
    for row in rows {
        let label = row["label"].as_str().unwrap();
        assert!(
            row["published"].is_object() && row["verdict"]["parts"]["limited_by"].is_string(),
            "{label}"
        );
        for quantity in [
            "goodput_mbps",
            "elapsed_s",
            "full_sized_share",
            "peak_pool_bytes",
            "retransmitted_segments",
        ] {
            assert!(row["measured"][quantity].is_number(), "{label}: {quantity}");
        }
        for end in ["sender", "receiver"] {
            let shares = row["limits"][end].as_object().unwrap();
            let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{label}, {end}: {sum}");
        }
    }
    assert_eq!(rows[2]["published"]["goodput_mbps"].as_f64(), Some(5.35));
    assert_eq!(rows[0]["published"]["outcome"].as_str(), Some("stalled"));
}

#[test]
fn the_page_about_json_has_the_version_that_is_printed_and_its_changes() {
    let page = fs::read_to_string(root().join("docs/json.md")).unwrap();
    let present = format!("[version](#versions) of this page: `{JSON_SCHEMA}`");
    assert!(page.contains(&present), "{present}");
    for (before, version) in (1..JSON_SCHEMA).zip(2..) {
        let changes = format!("Version `{version}`, compared with `{before}`:");
        assert!(page.contains(&changes), "{changes}");
    }
    assert_eq!(report("nuttx", 1).schema, JSON_SCHEMA);
}

#[test]
fn each_row_leaves_one_capture_and_nothing_else() {
    let mut experiment = experiment("nuttx");
    experiment.set("workload.duration", "200ms").unwrap();
    let folder = Folder::new("captures");
    let options = RunOptions {
        captures: Some(&folder.0),
        ..RunOptions::quick(1)
    };
    run(&experiment, &options).unwrap();
    let expected: Vec<_> = (1..=5).map(|row| format!("nuttx-{row}.pcapng")).collect();
    assert_eq!(folder.names(), expected);
    for name in expected {
        let bytes = fs::read(folder.0.join(&name)).unwrap();
        assert_eq!(
            bytes[..4],
            [0x0a, 0x0d, 0x0d, 0x0a],
            "{name} is a pcapng file"
        );
    }
}

#[test]
fn a_capture_that_cannot_be_written_is_an_error_that_names_it() {
    let mut experiment = experiment("nuttx");
    experiment.set("workload.duration", "200ms").unwrap();
    let folder = Folder::new("no-captures");
    let missing = folder.0.join("missing");
    let options = RunOptions {
        captures: Some(&missing),
        ..RunOptions::quick(1)
    };
    let error = run(&experiment, &options).unwrap_err();
    assert!(matches!(error, RunError::Capture { .. }));
    assert!(error.to_string().contains("nuttx-1.pcapng"), "{error}");
    assert!(folder.names().is_empty());
}

#[test]
fn a_transfer_of_an_amount_ends_with_its_last_byte_or_a_lost_peer() {
    let mut experiment = experiment("nuttx");
    experiment.rows.truncate(3);
    experiment.rows.drain(..2);
    experiment.set("workload.bytes", "100K").unwrap();
    let measured = &run_with_seed(&experiment, 1).rows[0].measured;
    assert_eq!(measured.delivered_bytes, 100 << 10);
    assert!(measured.elapsed_s > 0.0 && measured.elapsed_s < 10.0);
    experiment.set("link.loss", "100%").unwrap();
    experiment.set("workload.give_up", "20s").unwrap();
    let row = &run(&experiment, &RunOptions::plain(1)).unwrap().rows[0];
    assert_eq!(
        (row.measured.delivered_bytes, row.measured.goodput_mbps),
        (0, 0.0)
    );
    let verdict = row.verdict.as_ref().unwrap();
    assert_eq!(verdict.limit.name, "loss", "{}", verdict.parts.line());
}

#[test]
fn every_file_of_the_checkout_is_built_in_and_nothing_else_is() {
    let mut files: Vec<_> = fs::read_dir(root().join("experiments"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (
                path.file_stem().unwrap().to_str().unwrap().to_string(),
                path,
            )
        })
        .collect();
    files.sort();
    assert_eq!(files.len(), BUILT_IN.len());
    for (name, path) in files {
        let (_, text) = BUILT_IN
            .iter()
            .find(|(built_in, _)| *built_in == name)
            .unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), *text, "{name}");
    }
}

#[test]
fn experiments_are_found_from_any_folder_of_the_checkout_and_outside_it() {
    let folder = Folder::new("elsewhere");
    for (from, origin) in [
        (root(), "experiments/nuttx.toml".to_string()),
        (
            root().join("crates/lab/src"),
            root().join("experiments/nuttx.toml").display().to_string(),
        ),
        (folder.0.clone(), "built-in nuttx.toml".to_string()),
    ] {
        let all = catalogue::all(&from).unwrap();
        let found = all.iter().find(|found| found.name == "nuttx").unwrap();
        assert_eq!(found.file, origin, "{}", from.display());
        assert_eq!(catalogue::find("nuttx", &from).unwrap(), *found);
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest_one() {
    let names: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let all = format!(
        "no experiment is called `xyzzyplugh` (name a file as ./xyzzyplugh.toml); experiments are {}",
        names.join(", ")
    );
    for (name, expected) in [
        (
            "nuttxx",
            "no experiment is called `nuttxx` (name a file as ./nuttxx.toml); did you mean `nuttx`?",
        ),
        ("xyzzyplugh", all.as_str()),
        (
            "./none.toml",
            "none.toml: No such file or directory (os error 2)",
        ),
    ] {
        let error = catalogue::find(name, &root()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn connections_through_one_queue_are_measured_each_and_together() {
    let text = r#"
title = "Two senders, one queue"
switches = ["left", "right"]
hosts.near = {}
hosts.far = {}
hosts.sink = {}
links.a = { between = ["near", "left"] }
links.b = { between = ["far", "left"] }
links.trunk = { between = ["left", "right"], rate = "10mbit", delay = "5ms", queue = "20 packets", forward.loss = "0.1%" }
links.c = { between = ["right", "sink"] }
workload = { to = "sink", duration = "5s" }
flows.one = { from = "near", count = 2 }
flows.two = { from = "far", start = "1s" }
rows = [{ label = "shared", seeds = 3 }, { label = "alone", set.two.start = "0s" }]
"#;
    let experiment = Experiment::parse("shared", "shared.toml", text).unwrap();
    let report = run_with_seed(&experiment, 1);
    let [shared, alone] = report.rows.as_slice() else {
        panic!("two rows");
    };
    let measured = &shared.measured;
    // A frame of 1,514 bytes carries 1,448 bytes of payload.
    assert!(
        (8.5..9.57).contains(&measured.goodput_mbps),
        "{}",
        measured.goodput_mbps
    );
    assert!(
        (6.0..7.0).contains(&measured.elapsed_s),
        "{}",
        measured.elapsed_s
    );
    assert!(measured.jain.is_some_and(|jain| jain > 0.5 && jain < 1.0));
    assert!(measured.spread("goodput_mbps").is_some());
    let flows: Vec<_> = measured
        .flows
        .iter()
        .map(|flow| flow.flow.as_str())
        .collect();
    assert_eq!(flows, ["one", "two"]);
    assert_eq!(measured.flows[0].connections_mbps.len(), 2);
    let shares: f64 = alone.measured.flows.iter().map(|flow| flow.share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    assert!(
        alone.measured.spread.is_empty(),
        "one seed has no quartiles"
    );
    assert_eq!(measured.allowed_mbps, None);
    let json: Value = serde_json::from_str(&report.json()).unwrap();
    let row = &json["rows"][0];
    assert_eq!(row["seeds"].as_u64(), Some(3));
    assert_eq!(
        row["measured"]["quartiles"]["goodput_mbps"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(row["measured"]["flows"][1]["flow"].as_str(), Some("two"));
    assert!(json["rows"][1].get("seeds").is_none());
}
