//! Prints everything that a capture shows about one connection.
//!
//! Rule: all values come from the analysis. A value that the analysis does not have is omitted
//! or called unknown.

use fullpipe_captures::{failure_words, limit_words};
use fullpipe_diagnose::{
    capture::{End, EndedFlow, FlowEnding},
    inferred::Confidence,
    observe::{
        ConnectionFailure, DirectionSeen, EpisodeKind, ObservedConnection, SeenEpisode, Side,
        WindowScale,
    },
};
use fullpipe_lab::{
    layout::{Layout, Tone, columns},
    units::{counted, grouped, rate_text, seconds_text},
};

/// Largest number of episodes that are printed.
const EPISODES: usize = 20;
/// Columns of the name of a limit.
const LIMIT_NAME: usize = 30;
/// Columns of the time, the share and the bytes of a limit.
const ACCOUNT_CELLS: [usize; 3] = [10, 7, 14];
/// Columns of a line of the table of limits.
const ACCOUNT: usize = 2 + LIMIT_NAME + 1 + 10 + 1 + 7 + 1 + 14;

/// Returns the connection's addresses, its transfer, and `verdict`, the verdict of the connection's
/// twin (a simulated copy of the connection). If the verdict does not name the limit, the account
/// (time by limit) is the answer.
pub fn brief(
    flow: &EndedFlow<ObservedConnection>,
    verdict: &str,
    names_limit: bool,
    layout: Layout,
) -> String {
    let mut out = title(flow, layout);
    if !was_established(&flow.outcome) {
        failure(&mut out, flow, layout);
        return out + verdict;
    }
    layout.field(&mut out, "transfer", &transfer(flow));
    failure(&mut out, flow, layout);
    out += verdict;
    if !names_limit {
        layout.field(&mut out, "limit", &limit(&flow.outcome, layout));
        out.push('\n');
        account(&mut out, &flow.outcome, layout);
    }
    out
}

/// Returns false if the connection was refused or never answered: it has no transfer, no windows and
/// no limit.
pub const fn was_established(seen: &ObservedConnection) -> bool {
    !matches!(
        seen.failure,
        Some(ConnectionFailure::Refused { .. } | ConnectionFailure::Unanswered { .. })
    )
}

fn title(flow: &EndedFlow<ObservedConnection>, layout: Layout) -> String {
    let sender = flow.key.address(flow.outcome.sender);
    let receiver = flow.key.address(flow.outcome.sender.other());
    let mut out = String::new();
    let title = format!("Connection {}: {sender} > {receiver}", flow.number);
    layout.paragraph(&mut out, "", 2, &layout.paint(Tone::Heading, &title));
    out
}

/// Returns everything about the connection in words and tables. The text begins with `verdict`,
/// the verdict of its twin.
pub fn text(flow: &EndedFlow<ObservedConnection>, verdict: &str, layout: Layout) -> String {
    let seen = &flow.outcome;
    let mut out = title(flow, layout);
    failure(&mut out, flow, layout);
    out += verdict;
    if !was_established(seen) {
        episodes(&mut out, seen, layout);
        return out;
    }
    layout.field(&mut out, "limit", &limit(seen, layout));
    layout.field(&mut out, "transfer", &transfer(flow));
    layout.field(&mut out, "capture", &vantage(seen));
    if let Some(path) = path(seen) {
        layout.field(&mut out, "path", &path);
    }
    layout.field(&mut out, "windows", &windows(seen));
    layout.field(&mut out, "losses", &losses(seen));
    if let Some(waits) = small_writes(seen) {
        layout.field(&mut out, "small writes", &waits);
    }
    out.push('\n');
    account(&mut out, seen, layout);
    episodes(&mut out, seen, layout);
    if !seen.cannot_tell.is_empty() {
        out += "\n";
        layout.paragraph(&mut out, "", 0, "This capture does not show everything:");
        for sentence in &seen.cannot_tell {
            layout.paragraph(&mut out, "  - ", 4, sentence);
        }
    }
    out
}

/// Appends the failure of the connection and what to check, if it failed.
fn failure(out: &mut String, flow: &EndedFlow<ObservedConnection>, layout: Layout) {
    if let Some(words) = failure_words(flow) {
        layout.field(out, "failed", &format!("{}.", words.what));
        layout.field(out, "Next", &words.check);
    }
}

fn limit(seen: &ObservedConnection, layout: Layout) -> String {
    let Some((limit, share, confidence)) = seen.main_limit() else {
        return "unknown".to_string();
    };
    let confidence = match confidence {
        Confidence::High => "high",
        _ => "low",
    };
    format!(
        "{} for {:.0} % of the time ({confidence} confidence)",
        layout.paint(Tone::Limit, &limit_words(limit.name())),
        share * 100.0
    )
}

fn ns_text(ns: u64) -> String {
    seconds_text(ns as f64 / 1e9)
}

fn transfer(flow: &EndedFlow<ObservedConnection>) -> String {
    let seen = &flow.outcome;
    let data = seen.data();
    let seconds = seen.lifetime_ns as f64 / 1e9;
    let back = &seen.directions[seen.sender.other().index()];
    let ending = match flow.ending {
        FlowEnding::Closed => "closed",
        FlowEnding::Reset => "reset",
        FlowEnding::Replaced => "followed by another connection between the same ports",
        FlowEnding::Idle | FlowEnding::Crowded => "idle for so long that its analysis ended",
        FlowEnding::CaptureEnd => "open when the capture ended",
    };
    // If the payload was not captured, the ACKs give the number of bytes.
    let bytes = match data.payload_bytes {
        0 => data.acknowledged_bytes,
        sent => sent,
    };
    let mut text = format!(
        "{} in {}; {}; {ending}",
        counted(bytes, "byte"),
        seconds_text(seconds),
        back_text(seen, back.payload_bytes)
    );
    if seconds > 0.0 && data.acknowledged_bytes > 0 {
        let goodput = data.acknowledged_bytes as f64 * 8.0 / seconds;
        text += &format!("; goodput {}", rate_text(goodput));
    }
    text
}

/// Describes the `bytes` of payload that the receiver sent. If the ends send payload in turns,
/// calls this payload requests or answers.
fn back_text(seen: &ObservedConnection, bytes: u64) -> String {
    let bytes = counted(bytes, "byte");
    match seen.exchange {
        Some(exchange) if exchange.asker == seen.sender => format!(
            "{}, with {bytes} of answers",
            counted(exchange.requests, "request")
        ),
        Some(exchange) => format!(
            "{} to {} of {bytes}",
            counted(exchange.responses, "answer"),
            counted(exchange.requests, "request")
        ),
        None => format!("{bytes} back"),
    }
}

fn vantage(seen: &ObservedConnection) -> String {
    if let Some(only) = seen.only {
        let end = match only == seen.sender {
            true => "sender",
            false => "receiver",
        };
        return format!("one direction: only the segments of the {end}");
    }
    let vantage = &seen.vantage;
    let side = match vantage.side {
        Side::Sender => "at the sender",
        Side::Middle => "on the path",
        Side::Receiver => "at the receiver",
        Side::Unknown => "position unknown",
    };
    let mut parts = vec![side.to_string()];
    if let (Some(near), Some(far)) = (vantage.to_sender_ns, vantage.to_receiver_ns) {
        parts.push(format!(
            "{} to the sender and back, {} to the receiver and back",
            ns_text(near),
            ns_text(far)
        ));
    }
    parts.push(match vantage.has_handshake {
        true => "with the handshake".to_string(),
        false => "not all options of the SYNs were captured".to_string(),
    });
    parts.join("; ")
}

fn path(seen: &ObservedConnection) -> Option<String> {
    let path = &seen.path;
    let mut parts = Vec::new();
    if let (Some(base), Some(mean), Some(most)) =
        (path.base_rtt_ns, path.mean_rtt_ns, path.largest_rtt_ns)
    {
        parts.push(format!(
            "round trip {} at least, {} on average, {} at most",
            ns_text(base),
            ns_text(mean),
            ns_text(most)
        ));
    }
    if let Some(rate) = path.delivery_bps {
        parts.push(format!("delivered at up to {}", rate_text(rate)));
    }
    if path.full_share >= 0.005 {
        parts.push(format!(
            "full for {:.0} % of the time",
            path.full_share * 100.0
        ));
    }
    // A rise of the round trip by less than a segment's time shows no queue.
    let segment = u64::from(seen.data().segment_bytes);
    if let Some(queue) = path.queue_bytes.filter(|bytes| *bytes > segment) {
        parts.push(format!("queue up to {} bytes", grouped(queue)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn windows(seen: &ObservedConnection) -> String {
    let data = seen.data();
    let receiver = &seen.directions[seen.sender.other().index()];
    let segments = format!("segments of {} bytes", grouped(data.segment_bytes.into()));
    let mut parts = vec![match seen.only {
        Some(only) if only == seen.sender => format!("bytes in flight unknown, {segments}"),
        Some(_) => "bytes in flight unknown".to_string(),
        None => format!(
            "up to {} bytes in flight, {segments}",
            grouped(data.largest_flight_bytes)
        ),
    }];
    match (
        receiver.smallest_window_bytes,
        receiver.largest_window_bytes,
    ) {
        (Some(least), Some(most)) => parts.push(format!(
            "receive window {} to {} bytes ({})",
            grouped(least),
            grouped(most),
            scale(receiver)
        )),
        _ if seen.only == Some(seen.sender) => parts.push("receive window unknown".to_string()),
        _ => parts.push("receive window unknown, because the window scale is unknown".to_string()),
    }
    let zero = &data.zero_windows;
    if zero.count > 0 {
        parts.push(format!(
            "receive window closed {} for {} in all; window probes: {} answered, {} lost, \
             at most {} lost in a row",
            counted(zero.count, "time"),
            ns_text(zero.closed_ns),
            zero.probes_answered,
            zero.probes_lost,
            zero.probes_lost_in_a_row
        ));
    }
    parts.join("; ")
}

fn scale(end: &DirectionSeen) -> String {
    match end.window_scale {
        WindowScale::Seen(shift) => format!("scale {shift}, seen"),
        WindowScale::Inferred(shift) => format!("scale {shift}, inferred"),
        WindowScale::Unknown => "scale unknown".to_string(),
    }
}

fn losses(seen: &ObservedConnection) -> String {
    let data = seen.data();
    if seen.only.is_some_and(|only| only != seen.sender) {
        return "unknown".to_string();
    }
    let sent = &data.retransmissions;
    if sent.total() + data.reordered + data.missing_bytes == 0 {
        return "none".to_string();
    }
    let mut parts = Vec::new();
    if sent.handshake > 0 {
        let name = handshake_segment(seen, seen.sender);
        parts.push(format!(
            "{name} retransmitted {}",
            counted(sent.handshake, "time")
        ));
    }
    if sent.fin > 0 {
        parts.push(format!("FIN retransmitted {}", counted(sent.fin, "time")));
    }
    if data.data_segments > 0 {
        parts.push(format!(
            "{} retransmitted of {}",
            grouped(sent.of_data()),
            counted(data.data_segments, "data segment")
        ));
    }
    // Without ACKs, call no retransmission fast, because duplicate ACKs would not be seen.
    let fast = if seen.only.is_some() { 0 } else { sent.fast };
    let tail_probes = match sent.tail_probe {
        1 => "tail loss probe",
        _ => "tail loss probes",
    };
    let kinds = [
        (fast, "fast"),
        (sent.timeout, "after timeouts"),
        (sent.tail_probe, tail_probes),
        (sent.spurious, "spurious"),
        (data.reordered, "reordered"),
    ];
    for (count, name) in kinds.into_iter().filter(|(count, _)| *count > 0) {
        parts.push(format!("{} {name}", grouped(count)));
    }
    if data.missing_bytes > 0 {
        parts.push(format!(
            "the capture lacks {} of the acknowledged payload",
            counted(data.missing_bytes, "byte")
        ));
    }
    parts.join("; ")
}

/// Name of the segment with which `end` took part in the handshake.
fn handshake_segment(seen: &ObservedConnection, end: End) -> &'static str {
    match seen.client == Some(end) {
        true => "SYN",
        false => "SYN-ACK",
    }
}

fn small_writes(seen: &ObservedConnection) -> Option<String> {
    let waits = &seen.small_writes;
    (waits.waits > 0).then(|| {
        format!(
            "{} for ACKs: {} because of Nagle's algorithm, {} more because of delayed ACKs",
            counted(waits.waits, "wait"),
            ns_text(waits.nagle_ns),
            ns_text(waits.delayed_ack_ns)
        )
    })
}

/// Appends time and bytes by limit, the longest time first.
fn account(out: &mut String, seen: &ObservedConnection, layout: Layout) {
    let shares = seen.shares();
    let rows = shares.largest_first().into_iter().map(|(limit, share)| {
        let mut parts = seen.account.parts();
        let part = parts.find(|(known, ..)| *known == limit);
        let (time, bytes) = part.map_or((0.0, 0), |(_, time, bytes)| (time.as_secs_f64(), bytes));
        [
            limit_words(limit.name()),
            seconds_text(time),
            format!("{:.1} %", share * 100.0),
            grouped(bytes),
        ]
    });
    let head = ["limit", "time", "share", "bytes"].map(str::to_string);
    let rows: Vec<_> = [head].into_iter().chain(rows).collect();
    let longest = |place: usize| rows.iter().map(|row| columns(&row[place])).max();
    // On a narrow terminal, each column is only as wide as its longest cell, and the names wrap.
    let [time, share, bytes] = match layout.width >= ACCOUNT {
        true => ACCOUNT_CELLS,
        false => [1, 2, 3].map(|place| longest(place).unwrap_or(0)),
    };
    let beside = 2 + 3 + time + share + bytes;
    let name = layout.width.saturating_sub(beside).min(LIMIT_NAME);
    for (place, [limit, spent, part, payload]) in rows.iter().enumerate() {
        let names = layout.lines(limit, name);
        for (line, words) in names.iter().enumerate() {
            let text = match line {
                0 => format!("{words:name$} {spent:>time$} {part:>share$} {payload:>bytes$}"),
                _ => words.clone(),
            };
            let is_head = place == 0;
            let text = if is_head {
                layout.paint(Tone::Heading, &text)
            } else {
                text
            };
            *out += &format!("  {text}\n");
        }
    }
}

fn episodes(out: &mut String, seen: &ObservedConnection, layout: Layout) {
    if seen.episodes.is_empty() {
        return;
    }
    let heading = format!("{:>12} {:>10}  episode", "at", "lasted");
    *out += &format!("\n  {}\n", layout.paint(Tone::Heading, &heading));
    for episode in seen.episodes.iter().take(EPISODES) {
        let lasted_ns = episode.end_ns.saturating_sub(episode.at_ns);
        let first = format!(
            "  {:>12} {:>10}  ",
            seconds_text(episode.at_ns as f64 / 1e9),
            seconds_text(lasted_ns as f64 / 1e9),
        );
        layout.paragraph(out, &first, columns(&first), &kind(episode, seen));
    }
    let kept = seen.episodes.len().min(EPISODES) as u64;
    let all = seen.episodes.len() as u64 + seen.episodes_omitted;
    if all > kept {
        let listed = seen.episodes.len();
        let where_else = match seen.episodes_omitted {
            0 => "--json has them".to_string(),
            _ => format!("--json has the first {}", grouped(listed as u64)),
        };
        let more = counted(all - kept, "more episode");
        layout.paragraph(out, "  ", 2, &format!("{more} ({where_else})"));
    }
}

/// Default of `net.ipv4.tcp_retries2`: the number of window probes in a row without an answer after
/// which Linux gives a connection up. For timeouts, the setting gives a time: [`GIVING_UP`].
const RETRIES2: u64 = 15;

/// End of a sentence about timeouts in a row. Fifteen timeouts that begin with 200 ms and double up to
/// 120 s take 924.6 s; Linux gives up at the first timeout after this time
/// (Documentation/networking/ip-sysctl.rst, `tcp_retries2`).
const GIVING_UP: &str =
    "; Linux gives up after about 15 minutes without an ACK (net.ipv4.tcp_retries2 = 15)";

/// The distance from `unanswered` window probes to the number at which Linux gives up; nothing for a
/// single one.
fn to_retries2(unanswered: u64) -> String {
    match (unanswered, RETRIES2.saturating_sub(unanswered)) {
        (0 | 1, _) => String::new(),
        (_, 0) => format!("; Linux gives up after {RETRIES2} (net.ipv4.tcp_retries2)"),
        (_, left) => {
            format!("; Linux gives up after {RETRIES2} (net.ipv4.tcp_retries2): {left} left")
        }
    }
}

/// The largest number of timeouts in a row without progress.
fn in_a_row(episode: &SeenEpisode) -> String {
    match episode.unanswered {
        0 | 1 => String::new(),
        most if most == episode.count => format!(" in a row{GIVING_UP}"),
        most => format!(", at most {most} in a row{GIVING_UP}"),
    }
}

/// The probes of a zero window that had no answer.
fn answered(episode: &SeenEpisode) -> String {
    match (episode.count, episode.unanswered) {
        (0, _) => String::new(),
        (1, 0) => ", answered".to_string(),
        (_, 0) => ", all answered".to_string(),
        (_, most) => format!(
            ", at most {most} in a row without an answer{}",
            to_retries2(most)
        ),
    }
}

fn kind(episode: &SeenEpisode, seen: &ObservedConnection) -> String {
    let count = grouped(episode.count);
    let several = |noun: &str| counted(episode.count, noun);
    match episode.kind {
        EpisodeKind::LostHandshake => {
            let sent = |end: End| seen.directions[end.index()].retransmissions.handshake;
            let ends = End::BOTH.into_iter().filter(|end| sent(*end) > 0);
            let parts = ends.map(|end| {
                let name = handshake_segment(seen, end);
                format!("{name} retransmitted {}", counted(sent(end), "time"))
            });
            parts.collect::<Vec<_>>().join("; ")
        }
        EpisodeKind::Timeout => format!("{}{}", several("timeout"), in_a_row(episode)),
        EpisodeKind::FastRecovery => format!("fast recovery of {}", several("segment")),
        EpisodeKind::TailProbe => "tail loss probe".to_string(),
        EpisodeKind::Spurious => "spurious retransmission".to_string(),
        EpisodeKind::ZeroWindow => {
            format!("zero window with {}{}", several("probe"), answered(episode))
        }
        EpisodeKind::ProbesLost => format!(
            "{} without an answer{}",
            several("window probe"),
            to_retries2(episode.unanswered)
        ),
        EpisodeKind::IdleRestart => {
            "idle longer than a retransmission timeout; cwnd may be smaller".to_string()
        }
        EpisodeKind::Reordering => {
            format!("{} reordered before the capture point", several("segment"))
        }
        EpisodeKind::MtuHole => format!("long segments are lost; segments of {count} bytes arrive"),
    }
}
