//! What was found, for people.
//!
//! Rule: nothing is computed here but shares and roundings.

use std::fmt::Write;

use super::{Point, Size, Sized};
use crate::units::{grouped, rate_text, three_digits};

/// Width of the bar of a curve.
const BAR: f64 = 40.0;

/// The whole text: the path, and each knob with its curve.
pub fn size_text(size: &Size) -> String {
    let mut text = format!(
        "{}, {} ms round trip{}: {} bytes are on their way; preset {}{}\n",
        rate_text(size.rate_bps as f64),
        three_digits(size.rtt_ms),
        match size.loss {
            0.0 => String::new(),
            loss => format!(", {} % lost", three_digits(loss * 100.0)),
        },
        grouped(size.bdp_bytes),
        size.preset,
        match size.memory {
            None => String::new(),
            Some(bytes) => format!(", {} bytes of packet memory", grouped(bytes)),
        },
    );
    for knob in &size.knobs {
        let _ = writeln!(text, "\n{}", of_knob(size, knob));
        for point in &knob.curve {
            let _ = writeln!(text, "{}", line(point, knob.smallest.as_ref()));
        }
    }
    text
}

fn of_knob(size: &Size, knob: &Sized) -> String {
    let enough = three_digits(size.share * 100.0);
    let best = format!(
        "{enough} % of the best, {} Mbit/s",
        three_digits(knob.best_mbps)
    );
    match &knob.smallest {
        Some(point) => format!(
            "{} = {} to {}: {} bytes, {} of what is on its way, give {best}",
            knob.knob,
            point.value,
            knob.direction,
            grouped(point.bytes),
            three_digits(point.bytes as f64 / size.bdp_bytes as f64),
        ),
        None => format!(
            "{} to {}: no setting gives {best}",
            knob.knob, knob.direction
        ),
    }
}

fn line(point: &Point, smallest: Option<&Point>) -> String {
    let is_found = smallest == Some(point);
    format!(
        "  {:>12} {:>12} bytes {:>8} Mbit/s {:>5.1} % {}{}",
        point.value,
        grouped(point.bytes),
        three_digits(point.goodput_mbps),
        point.share * 100.0,
        "#".repeat((point.share.clamp(0.0, 1.0) * BAR).round() as usize),
        if is_found { " <" } else { "" },
    )
}
