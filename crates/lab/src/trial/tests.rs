//! Tests of one transfer from flags: vendors' names, a saved file, refusals.

use fullpipe::presets;

use super::*;
use crate::layout::Layout;

fn plan(preset: &str) -> TrialPlan {
    TrialPlan {
        preset: presets::find(preset).unwrap(),
        role: HostRole::Send,
        settings: Vec::new(),
        rate_bps: 5_000_000,
        rtt: Duration::from_millis(30),
        loss: 0.01,
        queue: None,
        congestion: None,
        end: Some(TrialEnd::Time(Duration::from_secs(2))),
        seed: 1,
    }
}

fn with(preset: &str, settings: &[(&str, &str)]) -> TrialPlan {
    let settings = settings.iter();
    TrialPlan {
        settings: settings
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        ..plan(preset)
    }
}

#[test]
fn a_vendors_name_sets_the_host_and_the_peer_has_its_own() {
    let plan = with(
        "nuttx",
        &[
            ("CONFIG_IOB_NBUFFERS", "24"),
            ("peer.tcp.ack_every", "1"),
            ("link.queue", "20 packets"),
        ],
    );
    let trial = plan.run(&|_| {}).unwrap();
    assert_eq!(trial.pool_bytes, 24 * 196);
    assert!(trial.result.measured.peak_pool_bytes <= trial.pool_bytes);
    assert!(
        trial.of_path > 0.1 && trial.of_path < 1.0,
        "{}",
        trial.of_path
    );
    assert!((trial.path_mbps - 4.7).abs() < 0.1, "{}", trial.path_mbps);
}

#[test]
fn the_saved_file_gives_the_same_result() {
    for (role, seed) in [(HostRole::Send, 1), (HostRole::Receive, 7)] {
        let plan = TrialPlan {
            role,
            seed,
            congestion: Some("reno".to_string()),
            queue: Some("30 packets".to_string()),
            ..with(
                "linux",
                &[("tcp_rmem", "4096 65536 131072"), ("TCP_NODELAY", "1")],
            )
        };
        let trial = plan.run(&|_| {}).unwrap();
        let saved = Experiment::parse("saved", "saved.toml", &plan.file().unwrap()).unwrap();
        let report = run(&saved, &RunOptions::plain(seed)).unwrap();
        assert_eq!(report.rows[0], trial.result);
    }
}

#[test]
fn a_wrong_setting_is_refused_under_the_flag_that_made_it() {
    let wrong_congestion = TrialPlan {
        congestion: Some("vegas".to_string()),
        ..plan("linux")
    };
    let wrong_queue = TrialPlan {
        queue: Some("many".to_string()),
        ..plan("linux")
    };
    for (plan, expected) in [
        (
            with("nuttx", &[("CONFIG_IOB_NBUFFER", "24")]),
            "CONFIG_IOB_NBUFFER",
        ),
        (
            with("linux", &[("tcp_slow_start_after_idle", "0")]),
            "no knob corresponds to this setting",
        ),
        (wrong_congestion, "--congestion: tcp.congestion = vegas"),
        (wrong_queue, "--queue: path.queue = many"),
    ] {
        let error = plan.run(&|_| {}).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_answer_fits_a_screen_of_eighty_columns() {
    let plan = with("nuttx", &[("CONFIG_IOB_NBUFFERS", "24")]);
    let text = trial_text(&plan.run(&|_| {}).unwrap(), Layout::plain(80));
    assert!(text.lines().count() <= 24, "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for part in ["nuttx sends", "Result", "Memory", "Limited by", "Because"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_transfer_without_an_end_lasts_no_longer_than_it_takes_to_see_it() {
    for (rate_bps, rtt_ms, expected_ms) in [
        (5_000_000, 30, 10_000),
        (10_000_000_000, 1, 800),
        (10_000_000_000, 40, 2_000),
    ] {
        let plan = TrialPlan {
            rate_bps,
            rtt: Duration::from_millis(rtt_ms),
            ..plan("linux")
        };
        let TrialEnd::Time(length) = plan.usual_end() else {
            panic!("no bytes were given");
        };
        assert_eq!(length.as_millis(), expected_ms);
    }
}
