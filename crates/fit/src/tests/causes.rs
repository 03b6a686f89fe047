//! Tests of the causes that are named for twins (experiments fitted to captures). A capture may not
//! show which of two settings applies, or the path may cost more time than a setting of a host can
//! save.

use std::ops::ControlFlow;

use fullpipe_diagnose::{
    capture::{End, Segment},
    observe::{ObservedConnection, SegmentLog},
};
use fullpipe_explain::Explanation;
use fullpipe_wire::TcpFlags;

use super::{SMALL_BUFFER, fitted, parsed, play, segments};
use crate::{
    CaptureTwin, FitOptions, RecordedSizes, SizedBy, fit, frames::TapPlace, run::followed,
};

const LINUX: &str = "hosts.far = { preset = \"linux\" }";
/// A receiver whose program set a buffer of 24 KB.
const SMALL_WINDOW: &str = "hosts.far = { preset = \"linux\", set.SO_RCVBUF = \"24K\" }";
/// Two Linux hosts; their path has 20 Mbit/s and an RTT of 20 ms.
const LOSSY: &str = r#"
title = "Losses"
hosts.near = { preset = "linux" }
hosts.far = { preset = "linux" }
links.path = { between = ["near", "far"], rate = "20mbit", delay = "10ms" }
workload = { from = "near", to = "far", bytes = 6000000 }
rows = [{ label = "case" }]
"#;

fn explained(twin: &CaptureTwin) -> Explanation {
    let explained = twin.explain(&|_| ControlFlow::Continue(())).unwrap();
    explained.unwrap_or_else(|why| panic!("{why}\n{}", twin.file()))
}

fn fitted_with(segments: &[Segment], recorded: RecordedSizes) -> CaptureTwin {
    let (observed, log): (ObservedConnection, SegmentLog) = followed(segments);
    let options = FitOptions {
        preset: fullpipe::presets::find("linux").unwrap(),
        title: "Twin".to_string(),
        seed: 1,
        recorded,
    };
    fit(&observed, &log, &options, &|_| ControlFlow::Continue(())).unwrap()
}

/// Returns the capture of a transfer to `receiver`, as if the receiver's shift were `shift`.
fn with_shift(receiver: &str, shift: u8) -> Vec<Segment> {
    let text = SMALL_BUFFER.replace("set.SO_SNDBUF = \"16K\", ", "");
    let mut all = segments(&text.replace(LINUX, receiver), TapPlace::SENDER);
    let mut old = 0;
    for segment in all.iter_mut().filter(|segment| segment.from == End::B) {
        match segment.flags.contains(TcpFlags::SYN) {
            true => old = segment.options.window_scale.replace(shift).unwrap(),
            false => segment.window = ((u32::from(segment.window) << old) >> shift) as u16,
        }
    }
    all
}

/// Returns the goodput of a transfer over the path of [`SMALL_BUFFER`] after `change`. Caps of
/// autotuning limit the buffers of the hosts `near` and `far`, and no program sets a buffer.
fn with_caps(change: &[(String, String)]) -> f64 {
    let text = SMALL_BUFFER
        .replace(
            "set.SO_SNDBUF = \"16K\"",
            "set.tcp_wmem = \"4096 16384 32768\"",
        )
        .replace(
            LINUX,
            "hosts.far = { preset = \"linux\", set.tcp_rmem = \"4096 16384 49152\" }",
        );
    let mut setup = parsed(&text);
    for (name, value) in change {
        setup.set(name, value).unwrap();
    }
    play(&setup).goodput_mbps
}

/// The changes of an advice, for the hosts `near` and `far`.
fn advised(verdict: &Explanation) -> Vec<(String, String)> {
    let named = |set: &str| set.replace("sender.", "near.").replace("receiver.", "far.");
    let all = verdict.advice.iter();
    all.map(|change| (named(&change.set), change.to.clone()))
        .collect()
}

/// A Linux host whose program sets SO_RCVBUF takes its shift from that buffer. With a shift of 7
/// the host may advertise windows of 4 MB. Small windows then show a cap of autotuning, and leaving
/// SO_RCVBUF unset does not help.
#[test]
fn a_shift_for_larger_windows_shows_a_cap_of_autotuning() {
    let twin = fitted_with(&with_shift(SMALL_WINDOW, 7), RecordedSizes::default());
    assert!(twin.plan.get("receiver.SO_RCVBUF").is_none());
    let verdict = explained(&twin);
    let limit = &verdict.parts.limited_by;
    assert!(limit.contains("tcp_rmem = "), "{limit}");
    let ample = (
        "near.tcp_wmem".to_string(),
        "4096 16384 4194304".to_string(),
    );
    let mut change = advised(&verdict);
    change.push(ample.clone());
    let [before, after] = [vec![ample], change].map(|change| with_caps(&change));
    assert!(after > 2.0 * before, "{before}, then {after}: {verdict:?}");
    let twin = fitted_with(&with_shift(SMALL_WINDOW, 0), RecordedSizes::default());
    let limit = explained(&twin).parts.limited_by;
    assert!(limit.contains("SO_RCVBUF = 24576"), "{limit}");
}

/// A capture does not show which setting limits a send buffer, so the advice has both settings, and
/// the command that shows which of them applies. The second setting helps if a cap of autotuning is
/// the limit.
#[test]
fn an_advice_for_a_send_buffer_has_both_settings() {
    let verdict = explained(&fitted(SMALL_BUFFER, "linux", TapPlace::SENDER));
    assert_eq!(verdict.knob.as_deref(), Some("SO_SNDBUF"));
    let notes = verdict.parts.change[0].notes.join(" ");
    let tell = "`sysctl net.ipv4.tcp_wmem` on `sender` prints that value";
    assert!(notes.contains(tell), "{notes}");
    let (_, raised) = notes
        .split_once("`sysctl -w net.ipv4.tcp_wmem=\"")
        .expect("a command");
    let (raised, _) = raised.split_once("\"`").expect("the end of the command");
    let ample = (
        "far.tcp_rmem".to_string(),
        "4096 131072 6291456".to_string(),
    );
    let change = ("near.tcp_wmem".to_string(), raised.to_string());
    let before = with_caps(std::slice::from_ref(&ample));
    let after = with_caps(&[ample, change]);
    assert!(after > 2.0 * before, "{before}, then {after}: {notes}");
}

/// A recorded socket shows which of the two settings applies.
#[test]
fn a_recorded_socket_decides_which_setting_limits_a_buffer() {
    let all = segments(SMALL_BUFFER, TapPlace::SENDER);
    for (origin, setting) in [
        (SizedBy::Program, "SO_SNDBUF = "),
        (SizedBy::Autotuning, "tcp_wmem = "),
    ] {
        let recorded = RecordedSizes {
            send: Some(origin),
            receive: None,
        };
        let parts = explained(&fitted_with(&all, recorded)).parts;
        assert!(parts.limited_by.contains(setting), "{parts:?}");
        let notes = parts.change[0].notes.join(" ");
        assert!(!notes.contains("tells"), "{notes}");
    }
}

/// Random losses are the cause. A host can change only its congestion control, and the capture
/// shows only the response of that algorithm.
#[test]
fn random_losses_are_named_with_what_a_host_can_do() {
    for algorithm in ["cubic", "newreno"] {
        let mut setup = parsed(LOSSY);
        let lossy = LOSSY
            .replace("\"10ms\"", "\"10ms\", forward.loss = \"1%\"")
            .replace(
                "hosts.near = { preset = \"linux\"",
                &format!(
                    "hosts.near = {{ preset = \"linux\", set.tcp.congestion = \"{algorithm}\""
                ),
            );
        let verdict = explained(&fitted(&lossy, "linux", TapPlace::SENDER));
        let limit = &verdict.parts.limited_by;
        assert!(limit.starts_with("random losses"), "{limit}");
        assert!(limit.contains("tcp_congestion_control"), "{limit}");
        let predicted = verdict.predicted.expect("bbr helps").goodput_mbps;
        setup.set("path.forward.loss", "1%").unwrap();
        setup.set("near.tcp.congestion", "bbr").unwrap();
        let then = play(&setup).goodput_mbps;
        assert!(
            (predicted / then - 1.0).abs() < 0.15,
            "{algorithm}: predicted {predicted}, then {then}"
        );
    }
}

/// An outage that takes a fourth of the time is the cause, and not a timer that waits for its end.
#[test]
fn an_outage_is_named_before_the_timers_of_a_host() {
    let outage = ", outage.after = \"1s\", outage.length = \"1500ms\"";
    let text = LOSSY.replace("\"10ms\"", &format!("\"10ms\"{outage}"));
    let verdict = explained(&fitted(&text, "linux", TapPlace::SENDER));
    let limit = &verdict.parts.limited_by;
    assert!(limit.starts_with("the outage of link"), "{verdict:?}");
}
