//! Tests that the observations of a row (scenario) agree with its measurements, and that observing
//! a row does not change its results.

use std::path::Path;

use fullpipe_diagnose::facts::{Episode, Mark, Observed};
use fullpipe_lab::{Report, RunOptions, catalogue, facts, run};

/// Runs `nuttx` for a short time, with `settings` applied to every row.
fn report(settings: &[(&str, &str)], observe: bool) -> Report {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = catalogue::find("nuttx", &root).unwrap();
    let mut experiment = found.parse().unwrap();
    for (name, value) in settings {
        experiment.set(name, value).unwrap();
    }
    let options = RunOptions {
        observe,
        ..RunOptions::quick(1)
    };
    run(&experiment, &options).unwrap()
}

#[test]
fn observing_a_row_does_not_change_its_results() {
    let settings = [("workload.duration", "3s"), ("link.loss", "1%")];
    let (watched, not) = (report(&settings, true), report(&settings, false));
    assert_eq!(watched.json(), not.json());
    assert!(not.rows.iter().all(|row| row.observed.is_none()));
}

#[test]
fn observed_segments_match_the_counters() {
    let mut report = report(&[("workload.duration", "3s"), ("link.loss", "1%")], true);
    let run = facts(&mut report);
    assert_eq!(run.rows.len(), report.rows.len());
    for (row, measured) in run.rows.iter().zip(&report.rows) {
        let measured = &measured.measured;
        let observed = &row.observed;
        assert_eq!(observed.forgotten, 0);
        if measured.delivered_bytes == 0 {
            continue;
        }
        let connection = &observed.connections[0];
        let sent = &connection.first.sent;
        let with_payload = sent.len.iter().filter(|len| **len > 0).count();
        assert_eq!(with_payload as u64, measured.data_segments, "{}", row.label);
        let places = 0..sent.len();
        let again = places
            .clone()
            .filter(|place| sent.is_retransmission(*place))
            .count();
        assert_eq!(again as u64, measured.retransmitted_segments);
        let lost = places.filter(|place| sent.is_lost(*place)).count();
        assert!(lost > 0 && lost <= again + 1, "{lost} lost, {again} again");
        let timeouts = connection.first.marks.places(Mark::Timeout).count();
        assert_eq!(timeouts as u64, measured.timeouts);
        let episodes = &connection.first.episodes;
        let of = |kinds: &[Episode]| {
            let places = (0..episodes.len()).filter(|place| kinds.contains(&episodes.kind(*place)));
            places.collect::<Vec<_>>()
        };
        let counted = |kinds: &[Episode]| -> u64 {
            let places = of(kinds).into_iter();
            places.map(|place| u64::from(episodes.count[place])).sum()
        };
        let of_timer = [Episode::Timeout, Episode::LostHandshake];
        assert_eq!(counted(&of_timer), measured.timeouts, "{}", row.label);
        let fast = [Episode::FastRecovery];
        assert!(!of(&fast).is_empty() && counted(&fast) <= again as u64);
        for place in of(&fast) {
            let lasted = episodes.end_ns[place] - episodes.at_ns[place];
            assert!(lasted > 0 && episodes.end_ns[place] <= observed.end_ns);
        }
    }
}

#[test]
fn the_bands_add_up_to_the_shares_of_the_limits() {
    let report = report(&[("workload.duration", "3s")], true);
    for row in &report.rows {
        let Observed { connections, .. } = row.observed.as_ref().unwrap();
        let Some(connection) = connections.first() else {
            continue;
        };
        let bands = &connection.first.limits;
        let closing = fullpipe_tcp::Limit::Closing as u8;
        // Compare only the limits before closing: the account (time by limit) ends when the
        // connection closes, the observation when the run ends.
        let limited_ns = |reason: u8| -> u64 {
            let places = (0..bands.len()).filter(|place| bands.reason[*place] == reason);
            places
                .map(|place| bands.end_ns[place] - bands.at_ns[place])
                .sum()
        };
        let all: u64 = (0..closing).map(limited_ns).sum();
        let of_account = 1.0 - row.limits.sender.share(fullpipe_tcp::Limit::Closing);
        for limit in &fullpipe_tcp::Limit::ALL[..usize::from(closing)] {
            let expected = row.limits.sender.share(*limit) / of_account;
            let seen = limited_ns(*limit as u8) as f64 / all as f64;
            assert!(
                (seen - expected).abs() < 1e-4,
                "{}: {} {seen} {expected}",
                row.label,
                limit.name()
            );
        }
        let payload: u64 = bands.bytes.iter().sum();
        let sent = &connection.first.sent;
        let with_payload = (0..sent.len()).filter(|at| sent.len[*at] > 0);
        let last = with_payload.map(|at| sent.seq[at] + u64::from(sent.len[at]));
        assert_eq!(payload + 1, last.max().unwrap_or(1), "{}", row.label);
    }
}
