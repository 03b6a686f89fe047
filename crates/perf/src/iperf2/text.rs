//! Lines of output in the format of iperf 2.1.8.
//!
//! Rule: each function formats values as one line without a line break. `reporter`
//! decides the order and the time of the lines.

use std::{fmt::Write as _, time::Duration};

use super::tally::{DatagramLoss, Span};
use crate::sockets::{HandshakeInfo, LimitTime};

/// The line above and below a banner.
pub const RULE: &str = "------------------------------------------------------------";
/// Heading above results in bytes.
pub const HEADING: &str = "[ ID] Interval       Transfer     Bandwidth";
/// Heading above results of received datagrams.
pub const HEADING_LOSS: &str =
    "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams";

/// Smallest share of a limit that is printed, in percent; a smaller share would print as
/// 0.0%.
const SHARE_MIN_PERCENT: f64 = 0.05;

const BYTE_UNITS: [&str; 5] = ["Byte", "KByte", "MByte", "GByte", "TByte"];
const BIT_UNITS: [&str; 5] = ["bit", "Kbit", "Mbit", "Gbit", "Tbit"];

/// The stream that a line describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A stream by its number.
    Stream {
        /// The number, from 1.
        id: u32,
        /// True to mark the number with a star: the stream of a client's reversed test.
        reverse: bool,
    },
    /// Sum of all streams of a test.
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

/// Formats `value` with three digits in the largest unit in which it is at least
/// one.
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

/// Formats a number of bytes with its unit in the singular (` 128 KByte`).
pub fn bytes(count: u64) -> String {
    scaled(count as f64, 1024.0, &BYTE_UNITS)
}

/// Formats the rate of `bytes` in the time `over` in bits per second
/// (`10.5 Mbit`).
fn bits_per_second(bytes: u64, over: Duration) -> String {
    let seconds = over.as_secs_f64();
    let rate = if seconds > 0.0 {
        bytes as f64 * 8.0 / seconds
    } else {
        0.0
    };
    scaled(rate, 1000.0, &BIT_UNITS)
}

/// Formats a number with two significant digits, like `%.2g` in C.
fn two_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    // The exponent after rounding decides between decimal and scientific notation.
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

fn lost(loss: &DatagramLoss) -> String {
    let share = if loss.total == 0 {
        0.0
    } else {
        100.0 * loss.lost as f64 / loss.total as f64
    };
    format!("{}/{} ({}%)", loss.lost, loss.total, two_digits(share))
}

/// Formats a label and its interval: `[  1] 0.0000-1.0000 sec`.
fn interval(label: Label, span: &Span) -> String {
    format!(
        "{} {:.4}-{:.4} sec",
        label.text(),
        span.start.as_secs_f64(),
        span.end.as_secs_f64()
    )
}

/// Formats the bytes transferred during `span`.
pub fn transfer(label: Label, span: &Span) -> String {
    format!(
        "{}  {}s  {}s/sec",
        interval(label, span),
        bytes(span.bytes),
        bits_per_second(span.bytes, span.end.saturating_sub(span.start)),
    )
}

/// Formats the datagrams received during `span`.
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

/// Formats the number of out-of-order datagrams.
pub fn out_of_order(label: Label, span: &Span) -> String {
    format!(
        "{}  {} datagrams received out-of-order",
        interval(label, span),
        span.loss.out_of_order
    )
}

/// Formats the number of datagrams that a stream has sent, the last one included.
/// (Stock iperf prints one more than it has sent.)
pub fn sent(label: Label, datagrams: u64) -> String {
    format!("{} Sent {datagrams} datagrams", label.text())
}

/// Formats the sum of the datagrams that all `streams` have sent.
pub fn sent_in_all(streams: usize, datagrams: u64) -> String {
    format!("[SUM-{streams}] Sent {datagrams} datagrams")
}

/// Formats the line above a server's report.
pub fn server_report(label: Label) -> String {
    format!("{} Server Report:", label.text())
}

/// Formats the warning for a UDP test whose last datagram was not acknowledged.
pub fn no_acknowledgement(label: Label, tries: u32) -> String {
    format!(
        "{} WARNING: did not receive ack of last datagram after {tries} tries.",
        label.text()
    )
}

/// Formats the banner of a server that listens; `protocol` is `TCP` or `UDP`.
pub fn listening(protocol: &str, port: u16) -> String {
    format!("Server listening on {protocol} port {port}")
}

/// Formats the banner of a client that connects; `protocol` is `TCP` or `UDP`.
pub fn connecting(host: &str, protocol: &str, port: u16) -> String {
    format!("Client connecting to {host}, {protocol} port {port}")
}

/// Formats the size of a socket's buffer, with a warning if it is not the requested size;
/// `what` is `TCP window size` or `UDP buffer size`.
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

/// Formats the gap between datagrams of `length` bytes.
pub fn datagram_pacing(length: usize, gap: Duration) -> String {
    format!(
        "Sending {length} byte datagrams, IPG target: {:.2} us (kalman adjust)",
        gap.as_secs_f64() * 1e6
    )
}

/// Formats the addresses of a stream, notes, and values of its handshake.
pub fn connected(
    label: Label,
    local: std::net::SocketAddr,
    peer: std::net::SocketAddr,
    notes: &[&str],
    handshake: Option<&HandshakeInfo>,
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
    if let Some(handshake) = handshake {
        let _ = write!(
            line,
            " (icwnd/mss/irtt={}/{}/{})",
            handshake.initial_window / 1024,
            handshake.mss,
            handshake.rtt.as_micros()
        );
    }
    line
}

/// Formats the shares of time of each limit for `role` (`sender`, `receiver`), largest
/// first, without shares below `SHARE_MIN_PERCENT`.
pub fn limits(role: &str, limits: &[LimitTime]) -> String {
    let total: f64 = limits.iter().map(|limit| limit.time.as_secs_f64()).sum();
    let mut shares: Vec<_> = limits
        .iter()
        .map(|limit| (limit.name, 100.0 * limit.time.as_secs_f64() / total))
        .filter(|(_, percent)| *percent >= SHARE_MIN_PERCENT)
        .collect();
    shares.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let shares: Vec<_> = shares
        .iter()
        .map(|(name, percent)| format!("{name} {percent:.1}%"))
        .collect();
    if shares.is_empty() {
        return format!("limits ({role}): none yet");
    }
    format!("limits ({role}): {}", shares.join(", "))
}

#[cfg(test)]
mod tests;
