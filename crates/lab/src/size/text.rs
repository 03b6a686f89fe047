//! The sufficient settings as text.
//!
//! Rule: the settings are printed first, their curves after them. Only rounding is computed here.

use std::fmt::Write;

use fullpipe_scenario::units::{grouped, rate_text, three_digits};

use super::{
    result::{AmpleResult, Divided, KnobSize, Size, Split},
    search::PRECISE,
};

use crate::{layout::Layout, verdict_text::verdict_text};

/// Largest and smallest number of columns of a curve's bar.
const BAR: (usize, usize) = (40, 8);
/// Columns of a curve's line besides its value, its bytes, its bar and its limit: rate and share.
const BESIDE_BAR: usize = 2 + 1 + 8 + 1 + 8 + 1 + 1;
/// Columns of the bytes in a curve's line, with a space before them.
const BYTES: usize = 14;
/// Columns of a limit's name; most names fit.
const LIMIT: usize = 24;
/// Mark of the smallest sufficient value.
const SMALLEST: &str = " < smallest";
/// Columns of a division's line besides its bar.
const BESIDE_DIVISION: usize = 62;
/// Columns of the bar of a division on a narrow terminal.
const BAR_OF_NARROW_DIVISION: usize = 4;

/// If the bandwidth-delay product is smaller than this number of bytes, the text warns that buffers
/// need whole segments.
const FEW: u64 = 10 * 1_460;

/// Returns the whole text: the path, the settings, each knob with its curve, and the division of
/// the given memory.
pub fn size_text(size: &Size, layout: Layout) -> String {
    let mut text = String::new();
    layout.paragraph(&mut text, "", 2, &head(size));
    // Omit the warning if the memory was given: the memory is then the limit, not the whole
    // segments.
    if size.bdp_bytes < FEW && size.memory.is_none() {
        let few = "The bandwidth-delay product is less than ten segments. Buffers hold whole \
                   segments, so they must be two or three segments larger than this product.";
        layout.paragraph(&mut text, "", 2, few);
    }
    for best in &size.best {
        of_best(&mut text, size, best, layout);
    }
    text += &answers(size, layout);
    for knob in &size.knobs {
        curve(&mut text, size, knob, layout);
    }
    if let Some(split) = &size.split {
        divisions(&mut text, split, layout);
    }
    text
}

fn head(size: &Size) -> String {
    format!(
        "{}, {} ms round trip{}: bandwidth-delay product {} bytes; preset {}{}",
        rate_text(size.rate_bps as f64),
        three_digits(size.rtt_ms),
        match size.loss {
            0.0 => String::new(),
            loss => format!(", {} % loss", percent(loss)),
        },
        grouped(size.bdp_bytes),
        size.preset,
        match size.memory {
            None => String::new(),
            Some(bytes) => format!(", {} bytes of packet memory", grouped(bytes)),
        },
    )
}

/// Appends the result with ample resources (so large that they do not limit), and the cause of the
/// limit if the result does not reach the path.
fn of_best(text: &mut String, size: &Size, best: &AmpleResult, layout: Layout) {
    let AmpleResult {
        direction,
        path_mbps,
        goodput_mbps,
        of_path,
        verdict,
        ..
    } = best;
    let ample = match (size.memory, size.settings.is_empty()) {
        (None, true) => "buffers and memory that do not limit",
        (None, false) => "no limit from other settings",
        (Some(_), _) => "no limit except memory",
    };
    let line = format!(
        "With {ample}, the host {direction}s {}. The path can carry {}: the host uses {} % of that rate.",
        rate_text(goodput_mbps * 1e6),
        rate_text(path_mbps * 1e6),
        percent(*of_path),
    );
    layout.paragraph(text, "", 2, &line);
    if !best.reaches_path {
        let less = format!(
            "This is less than the aim of {0} %. The tables below aim at {0} % of this goodput.",
            percent(size.share)
        );
        layout.paragraph(text, "  ", 2, &less);
        if let Some(verdict) = verdict {
            text.push_str(&verdict_text(&verdict.parts, layout));
        }
    }
}

/// Returns one line for each knob.
fn answers(size: &Size, layout: Layout) -> String {
    let mut text = String::new();
    if !size.knobs.is_empty() {
        text.push('\n');
        let heading = "Smallest sufficient value of each setting, while the others do not limit:";
        layout.paragraph(&mut text, "", 2, heading);
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
                "= {:>values$}  {:>10} bytes, {:>5} BDP, {}",
                point.value,
                grouped(point.bytes),
                three_digits(point.bytes as f64 / size.bdp_bytes as f64),
                rate_text(point.goodput_mbps * 1e6),
            ),
            None => "no value is sufficient".to_string(),
        };
        let line = format!("  {direction:<7} {name:<names$} {found}");
        match line.len() <= layout.width {
            true => text += &(line + "\n"),
            false => layout.paragraph(&mut text, "  ", 4, &line),
        }
    }
    text
}

fn curve(text: &mut String, size: &Size, knob: &KnobSize, layout: Layout) {
    let of = if knob.reaches_path { "path" } else { "best" };
    let whole = match knob.reaches_path {
        true => "goodput that the path carries",
        false => "best goodput",
    };
    let heading = format!(
        "{} to {}: the aim is {} Mbit/s, {} % of the {whole}",
        knob.knob,
        knob.direction,
        three_digits(knob.enough_mbps),
        percent(size.share),
    );
    text.push('\n');
    layout.paragraph(text, "", 2, &heading);
    if let Some(interval) = knob.interval {
        layout.paragraph(text, "  ", 2, &certainty(interval, knob.seeds));
    }
    let wide = knob.curve.iter().map(|point| point.value.len());
    let wide = wide.max().unwrap_or(0).max("value".len());
    let limits = knob.curve.iter().map(|point| {
        let is_smallest = knob.smallest.as_ref() == Some(point);
        point.limit.len() + if is_smallest { SMALLEST.len() } else { 0 }
    });
    let limits = limits.max().unwrap_or(0);
    // Omit the bytes if the line would be too long even with the shortest bar.
    let has_bytes = wide + BESIDE_BAR + BYTES + BAR.1 + limits <= layout.width;
    let columns = if has_bytes { BYTES } else { 0 };
    let beside = wide + BESIDE_BAR + columns;
    let bar = match bar_columns(layout, beside + LIMIT) {
        bar if beside + bar + limits <= layout.width => bar,
        _ => bar_columns(layout, beside + limits),
    };
    // On a narrow terminal, the bar is shorter than usual.
    let bar = bar.min(layout.width.saturating_sub(beside + limits)).max(1);
    let bytes = |text: &str| match has_bytes {
        true => format!(" {text:>13}"),
        false => String::new(),
    };
    let _ = writeln!(
        text,
        "  {:>wide$}{} {:>8} {:>8} {:<bar$} waits for",
        "value",
        bytes("bytes"),
        "Mbit/s",
        format!("of {of}"),
        "",
    );
    for point in &knob.curve {
        let share = match knob.reaches_path {
            true => point.of_path,
            false => point.share,
        };
        let is_smallest = knob.smallest.as_ref() == Some(point);
        let mark = if is_smallest { SMALLEST } else { "" };
        let line = format!(
            "  {:>wide$}{} {:>8} {:>6.1} % {:<bar$} {}{mark}",
            point.value,
            bytes(&grouped(point.bytes)),
            three_digits(point.goodput_mbps),
            share * 100.0,
            hashes(share, bar),
            point.limit.replace('_', " "),
        );
        let _ = writeln!(text, "{line}");
    }
}

/// Describes the precision of the smallest setting's goodput.
fn certainty(interval: f64, seeds: usize) -> String {
    let wide = percent(interval);
    match interval <= PRECISE {
        true => format!(
            "The goodput with the smallest sufficient value has a 95 % confidence interval {wide} % wide, from \
             {seeds} seeds."
        ),
        false => format!(
            "The goodput with the smallest sufficient value has a 95 % confidence \
             interval {wide} % wide, from {seeds} seeds. The search aims at an interval of at most \
             {} %, so a smaller value may be sufficient.",
            percent(PRECISE)
        ),
    }
}

fn divisions(text: &mut String, split: &Split, layout: Layout) {
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
    let line = format!(
        "To send and receive at the same time: {send_knob} = {send} and {receive_knob} = \
         {receive}; each direction keeps at least {} % of the goodput that it has alone.",
        percent(*kept)
    );
    text.push('\n');
    layout.paragraph(text, "", 2, &line);
    let is_narrow = layout.width < BESIDE_DIVISION + BAR.1 + " undivided".len();
    let (sent, received, bar) = if is_narrow {
        let _ = writeln!(
            text,
            "  {:>8} {:>8} {:>8} {:>8}",
            "", "", "sends", "receives"
        );
        let _ = writeln!(
            text,
            "  {:>8} {:>8} {:>8} {:>8} {:>6}",
            "send", "receive", "Mbit/s", "Mbit/s", "kept"
        );
        (8, 8, BAR_OF_NARROW_DIVISION)
    } else {
        let _ = writeln!(
            text,
            "  {:>8} {:>8} {:>14} {:>15} {:>6}",
            "send", "receive", "sends Mbit/s", "receives Mbit/s", "kept"
        );
        let bar = bar_columns(layout, BESIDE_DIVISION + " undivided".len());
        (14, 15, bar)
    };
    let mut row = |divided: &Divided, mark: &str| {
        let _ = writeln!(
            text,
            "  {:>8} {:>8} {:>sent$} {:>received$} {:>4.0} % {}{mark}",
            divided.send,
            divided.receive,
            three_digits(divided.sent_mbps),
            three_digits(divided.received_mbps),
            divided.kept * 100.0,
            hashes(divided.kept, bar),
        );
    };
    for (place, divided) in curve.iter().enumerate() {
        row(divided, if place == *best { " < best" } else { "" });
    }
    row(undivided, " undivided");
}

/// Returns the columns that remain for a bar if the other columns take `others`.
fn bar_columns(layout: Layout, others: usize) -> usize {
    let (most, least) = BAR;
    layout.width.saturating_sub(others).clamp(least, most)
}

fn hashes(share: f64, most: usize) -> String {
    "#".repeat((share.clamp(0.0, 1.0) * most as f64).round() as usize)
}

/// Returns a share in percent, without the percent sign.
fn percent(share: f64) -> String {
    three_digits(share * 100.0)
}
