//! The result of one transfer, on one screen.
//!
//! Rule: the order is scenario, result, verdict. Only rounding is computed here.

use fullpipe_scenario::{
    experiment::with_bytes,
    measured::Outcome,
    units::{grouped, rate_text, seconds_text, three_digits},
};

use super::Trial;

use crate::{
    layout::{Layout, Tone},
    verdict_text::verdict_text,
};

/// Returns the scenario, its result and the verdict, within the width of `layout`.
pub fn trial_text(trial: &Trial, layout: Layout) -> String {
    let mut text = String::new();
    layout.paragraph(
        &mut text,
        "",
        2,
        &layout.paint(Tone::Heading, &scenario(trial)),
    );
    if !trial.settings.is_empty() {
        let settings = trial.settings.iter().map(|setting| {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            format!("{name}={}", with_bytes(name, value))
        });
        let settings: Vec<_> = settings.collect();
        layout.field(&mut text, "With", &settings.join(", "));
    }
    layout.field(&mut text, "Result", &result(trial));
    layout.field(&mut text, "Memory", &memory(trial));
    let measured = &trial.result.measured;
    if measured.retransmitted_segments > 0 {
        let timeouts = match measured.timeouts {
            0 => "without a timeout".to_string(),
            1 => "after 1 timeout".to_string(),
            timeouts => format!("after {} timeouts", grouped(timeouts)),
        };
        let lost = format!(
            "{} of {} segments retransmitted, {timeouts}",
            grouped(measured.retransmitted_segments),
            grouped(measured.data_segments),
        );
        layout.field(&mut text, "Losses", &lost);
    }
    text + &verdict_text(&trial.result.verdict_parts(), layout)
}

fn scenario(trial: &Trial) -> String {
    let amount = match (trial.bytes, trial.duration_s) {
        (Some(bytes), _) => format!("{} bytes", grouped(bytes)),
        (None, Some(seconds)) => format!("for {}", seconds_text(seconds)),
        (None, None) => String::new(),
    };
    let verb = match trial.direction {
        "send" => "sends",
        _ => "receives",
    };
    let loss = match trial.loss {
        0.0 => String::new(),
        loss => format!(", {} % loss", three_digits(loss * 100.0)),
    };
    let seed = match trial.seed {
        1 => String::new(),
        seed => format!(", seed {seed}"),
    };
    format!(
        "A host with preset {} {verb} {amount} over {}, {} ms round trip{loss}{seed}",
        trial.preset,
        rate_text(trial.rate_bps as f64),
        three_digits(trial.rtt_ms),
    )
}

fn result(trial: &Trial) -> String {
    let measured = &trial.result.measured;
    let rate = rate_text(measured.goodput_mbps * 1e6);
    let share = format!(
        "{} % of the {} that the path carries",
        three_digits(trial.of_path * 100.0),
        rate_text(trial.path_mbps * 1e6)
    );
    match (measured.outcome, trial.bytes) {
        (Outcome::Stalled | Outcome::Dropped, _) => format!(
            "{} after {} bytes",
            measured.outcome.name(),
            grouped(measured.delivered_bytes)
        ),
        (Outcome::Complete, Some(_)) => {
            format!("{}: {rate}, {share}", seconds_text(measured.elapsed_s))
        }
        (Outcome::Complete, None) => format!("{rate}, {share}"),
    }
}

fn memory(trial: &Trial) -> String {
    format!(
        "at most {} of {} bytes of packet memory in use",
        grouped(trial.result.measured.peak_pool_bytes),
        grouped(trial.pool_bytes)
    )
}
