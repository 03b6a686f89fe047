//! Lines as iperf 2.1.8 prints them.
//!
//! Rule: every function turns values into text, without the line's end; which
//! line is due when is decided in `reporter`.

use std::{fmt::Write as _, time::Duration};

use super::tally::{Loss, Span};
use crate::sockets::{LimitTime, Opening};

/// The line above and below a banner.
pub const RULE: &str = "------------------------------------------------------------";
/// The heading of lines about bytes.
pub const HEADING: &str = "[ ID] Interval       Transfer     Bandwidth";
/// The heading of lines about datagrams received.
pub const HEADING_LOSS: &str =
    "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams";

/// Limits with a smaller share, in percent, would be printed as nothing.
const SHARE_MIN: f64 = 0.05;

const BYTE_UNITS: [&str; 5] = ["Byte", "KByte", "MByte", "GByte", "TByte"];
const BIT_UNITS: [&str; 5] = ["bit", "Kbit", "Mbit", "Gbit", "Tbit"];

/// Which stream a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A stream by its number.
    Stream {
        /// The number, from 1.
        id: u32,
        /// A client's stream whose data flows towards it; marked with a star.
        reverse: bool,
    },
    /// All streams of a test together.
    Sum,
}

impl Label {
    fn text(self) -> String {
        match self {
            Self::Stream { id, reverse: false } => format!("[{id:>3}]"),
            Self::Stream { id, reverse: true } => format!("[{:>3}]", format!("*{id}")),
            Self::Sum => "[SUM]".into(),
        }
    }
}

/// `value` in the largest unit in which it is at least one, with three digits.
fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let number = if value < 0.9995 {
        format!("{value:4.3}")
    } else if value < 9.995 {
        format!("{value:4.2}")
    } else if value < 99.95 {
        format!("{value:4.1}")
    } else {
        format!("{value:4.0}")
    };
    format!("{number} {}", units[unit])
}

/// A number of bytes with its unit, singular (` 128 KByte`).
pub fn bytes(count: u64) -> String {
    scaled(count as f64, 1024.0, &BYTE_UNITS)
}

/// `bytes` in `over`, as bits a second (`10.5 Mbit`).
fn bits_per_second(bytes: u64, over: Duration) -> String {
    let seconds = over.as_secs_f64();
    let rate = if seconds > 0.0 {
        bytes as f64 * 8.0 / seconds
    } else {
        0.0
    };
    scaled(rate, 1000.0, &BIT_UNITS)
}

/// A number with two significant digits, as C's `%.2g` writes it.
fn two_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    // The exponent after rounding to two digits decides the form.
    let scientific = format!("{value:.1e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..2).contains(&exponent) {
        let decimals = usize::try_from(1 - exponent).unwrap_or(0);
        let fixed = format!("{value:.decimals$}");
        if fixed.contains('.') {
            fixed.trim_end_matches('0').trim_end_matches('.').into()
        } else {
            fixed
        }
    } else {
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.abs())
    }
}

fn lost(loss: &Loss) -> String {
    let share = if loss.total == 0 {
        0.0
    } else {
        100.0 * loss.lost as f64 / loss.total as f64
    };
    format!("{}/{} ({}%)", loss.lost, loss.total, two_digits(share))
}

/// `[  1] 0.0000-1.0000 sec`.
fn interval(label: Label, span: &Span) -> String {
    format!(
        "{} {:.4}-{:.4} sec",
        label.text(),
        span.start.as_secs_f64(),
        span.end.as_secs_f64()
    )
}

/// A line about bytes moved during `span`.
pub fn transfer(label: Label, span: &Span) -> String {
    format!(
        "{}  {}s  {}s/sec",
        interval(label, span),
        bytes(span.bytes),
        bits_per_second(span.bytes, span.end.saturating_sub(span.start)),
    )
}

/// A line about datagrams received during `span`.
pub fn transfer_with_loss(label: Label, span: &Span) -> String {
    let mut line = transfer(label, span);
    match label {
        Label::Stream { .. } => {
            let jitter_ms = span.loss.jitter.as_secs_f64() * 1e3;
            let _ = write!(line, "  {jitter_ms:6.3} ms {}", lost(&span.loss));
        }
        Label::Sum => {
            let _ = write!(line, "   {}", lost(&span.loss));
        }
    }
    line
}

/// The line that follows when datagrams came late.
pub fn out_of_order(label: Label, span: &Span) -> String {
    format!(
        "{}  {} datagrams received out-of-order",
        interval(label, span),
        span.loss.out_of_order
    )
}

/// How many datagrams a sender sent, the last one included. (Stock iperf prints
/// one more than it sent.)
pub fn sent(label: Label, datagrams: u64) -> String {
    format!("{} Sent {datagrams} datagrams", label.text())
}

/// How many datagrams `streams` senders sent together.
pub fn sent_in_all(streams: usize, datagrams: u64) -> String {
    format!("[SUM-{streams}] Sent {datagrams} datagrams")
}

/// What precedes a line that the server measured.
pub fn server_report(label: Label) -> String {
    format!("{} Server Report:", label.text())
}

/// A UDP test whose end the server did not acknowledge.
pub fn no_acknowledgement(label: Label, tries: u32) -> String {
    format!(
        "{} WARNING: did not receive ack of last datagram after {tries} tries.",
        label.text()
    )
}

/// The size of a socket's buffer; `what` is `TCP window size` or `UDP buffer size`.
pub fn buffer_size(what: &str, size: u64, requested: Option<u32>) -> String {
    let line = format!("{what}: {}", bytes(size));
    match requested {
        None => format!("{line} (default)"),
        Some(requested) if u64::from(requested) == size => line,
        Some(requested) => format!(
            "{line} (WARNING: requested {})",
            bytes(u64::from(requested))
        ),
    }
}

/// How datagrams of `length` bytes are spaced.
pub fn datagram_pacing(length: usize, gap: Duration) -> String {
    format!(
        "Sending {length} byte datagrams, IPG target: {:.2} us (kalman adjust)",
        gap.as_secs_f64() * 1e6
    )
}

/// Who is connected with whom.
pub fn connected(
    label: Label,
    local: std::net::SocketAddr,
    peer: std::net::SocketAddr,
    notes: &[&str],
    opening: Option<&Opening>,
) -> String {
    let mut line = format!(
        "{} local {} port {} connected with {} port {}",
        label.text(),
        local.ip(),
        local.port(),
        peer.ip(),
        peer.port()
    );
    for note in notes {
        let _ = write!(line, " ({note})");
    }
    if let Some(opening) = opening {
        let _ = write!(
            line,
            " (icwnd/mss/irtt={}/{}/{})",
            opening.initial_window / 1024,
            opening.mss,
            opening.rtt.as_micros()
        );
    }
    line
}

/// What held the connections back as `role` (`sender`, `receiver`), the longest
/// first; limits with less than a twentieth of a percent are left out.
pub fn limits(role: &str, limits: &[LimitTime]) -> String {
    let total: f64 = limits.iter().map(|limit| limit.time.as_secs_f64()).sum();
    let mut shares: Vec<_> = limits
        .iter()
        .map(|limit| (limit.name, 100.0 * limit.time.as_secs_f64() / total))
        .filter(|(_, percent)| *percent >= SHARE_MIN)
        .collect();
    shares.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let shares: Vec<_> = shares
        .iter()
        .map(|(name, percent)| format!("{name} {percent:.1}%"))
        .collect();
    if shares.is_empty() {
        return format!("limits ({role}): not yet");
    }
    format!("limits ({role}): {}", shares.join(", "))
}

#[cfg(test)]
mod tests;
