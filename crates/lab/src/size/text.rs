//! What was found, for people.
//!
//! Rule: what is to be set comes first and why it is so behind it. Nothing is computed
//! here but roundings.

use std::fmt::Write;

use super::{AmpleResult, CurvePoint, Divided, KnobSize, Size, Split};
use crate::units::{grouped, rate_text, three_digits};

/// Width of the bar of a curve.
const BAR: usize = 40;

/// With fewer bytes on their way, whole segments are what counts.
const FEW: u64 = 10 * 1_460;

/// The whole text: the path, what to set, each knob with its curve, and how given
/// memory is divided.
pub fn size_text(size: &Size) -> String {
    let mut text = head(size);
    for best in &size.best {
        text += &of_best(size, best);
    }
    text += &answers(size);
    for knob in &size.knobs {
        text += &curve(size, knob);
    }
    if let Some(split) = &size.split {
        text += &divisions(split);
    }
    text
}

fn head(size: &Size) -> String {
    let mut text = format!(
        "{}, {} ms round trip{}: {} bytes are on their way; preset {}{}\n",
        rate_text(size.rate_bps as f64),
        three_digits(size.rtt_ms),
        match size.loss {
            0.0 => String::new(),
            loss => format!(", {} % lost", percent(loss)),
        },
        grouped(size.bdp_bytes),
        size.preset,
        match size.memory {
            None => String::new(),
            Some(bytes) => format!(", {} bytes of packet memory", grouped(bytes)),
        },
    );
    if size.bdp_bytes < FEW {
        text += "That is less than ten segments: what a buffer needs is then two or three whole segments more.\n";
    }
    text
}

/// What ample of everything gives, and why it is less than the path where it is.
fn of_best(size: &Size, best: &AmpleResult) -> String {
    let AmpleResult {
        direction,
        path_mbps,
        goodput_mbps,
        of_path,
        verdict,
        ..
    } = best;
    let ample = match (size.memory, size.settings.is_empty()) {
        (None, true) => "ample of everything",
        (None, false) => "ample of everything else",
        (Some(_), _) => "ample of everything but memory",
    };
    let mut text = format!(
        "With {ample} it can {direction} {} of the {} of text that the path carries, {} %.\n",
        rate_text(goodput_mbps * 1e6),
        rate_text(path_mbps * 1e6),
        percent(*of_path),
    );
    if !best.reaches_path {
        let _ = writeln!(
            text,
            "  That is less than {} %. {}",
            percent(size.share),
            verdict.parts.line()
        );
    }
    text
}

/// One line a knob.
fn answers(size: &Size) -> String {
    let mut text = String::new();
    if !size.knobs.is_empty() {
        text += "\nThe smallest that are enough, one at a time:\n";
    }
    let wide = |of: &dyn Fn(&KnobSize) -> usize| size.knobs.iter().map(of).max().unwrap_or(0);
    let names = wide(&|knob| knob.knob.len());
    let values = wide(&|knob| knob.smallest.as_ref().map_or(0, |point| point.value.len()));
    for knob in &size.knobs {
        let KnobSize {
            knob: name,
            direction,
            ..
        } = knob;
        let found = match &knob.smallest {
            Some(point) => format!(
                "= {:>values$}  {:>10} bytes, {:>5} of what is on its way, {}",
                point.value,
                grouped(point.bytes),
                three_digits(point.bytes as f64 / size.bdp_bytes as f64),
                rate_text(point.goodput_mbps * 1e6),
            ),
            None => "no setting is enough".to_string(),
        };
        let _ = writeln!(text, "  {direction:<7} {name:<names$} {found}");
    }
    text
}

fn curve(size: &Size, knob: &KnobSize) -> String {
    let of = if knob.reaches_path { "path" } else { "best" };
    let mut text = format!(
        "\n{} to {}: enough is {} Mbit/s, {} % of the {of}\n",
        knob.knob,
        knob.direction,
        three_digits(knob.enough_mbps),
        percent(size.share),
    );
    if let Some(advised) = &knob.advised {
        let formula = match advised.formula.as_str() {
            "" => String::new(),
            formula => format!(": {formula}"),
        };
        let _ = writeln!(text, "  a verdict would advise {}{formula}", advised.value);
    }
    let wide = knob.curve.iter().map(|point| point.value.len());
    let wide = wide.max().unwrap_or(0).max("value".len());
    let _ = writeln!(
        text,
        "  {:>wide$} {:>13} {:>8} {:>8}",
        "value",
        "bytes",
        "Mbit/s",
        format!("of {of}"),
    );
    for point in &knob.curve {
        let share = match knob.reaches_path {
            true => point.of_path,
            false => point.share,
        };
        let mark = if knob.smallest.as_ref() == Some(point) {
            " < smallest"
        } else {
            ""
        };
        let _ = writeln!(text, "  {}{mark}", line(point, share, wide));
    }
    text
}

fn line(point: &CurvePoint, share: f64, wide: usize) -> String {
    let (bar, wide_bar) = (bar(share), BAR);
    format!(
        "{:>wide$} {:>13} {:>8} {:>6.1} % {bar:<wide_bar$} {}",
        point.value,
        grouped(point.bytes),
        three_digits(point.goodput_mbps),
        share * 100.0,
        point.limit.words(),
    )
}

fn divisions(split: &Split) -> String {
    let Split {
        send_knob,
        receive_knob,
        best,
        curve,
        undivided,
    } = split;
    let Divided {
        send,
        receive,
        kept,
        ..
    } = &curve[*best];
    let mut text = format!(
        "\nTo send and receive at once: {send_knob} = {send} and {receive_knob} = {receive}; the \
         direction that fares worse keeps {} % of what it gives alone.\n  {:>8} {:>8} {:>14} {:>15} {:>6}\n",
        percent(*kept),
        "send",
        "receive",
        "sends Mbit/s",
        "receives Mbit/s",
        "kept"
    );
    let row = |divided: &Divided, mark: &str| {
        format!(
            "  {:>8} {:>8} {:>14} {:>15} {:>4.0} % {}{mark}\n",
            divided.send,
            divided.receive,
            three_digits(divided.sent_mbps),
            three_digits(divided.received_mbps),
            divided.kept * 100.0,
            bar(divided.kept),
        )
    };
    for (place, divided) in curve.iter().enumerate() {
        text += &row(divided, if place == *best { " < best" } else { "" });
    }
    text + &row(undivided, " undivided")
}

fn bar(share: f64) -> String {
    "#".repeat((share.clamp(0.0, 1.0) * BAR as f64).round() as usize)
}

/// A share in percent, without the sign.
fn percent(share: f64) -> String {
    three_digits(share * 100.0)
}
