//! Recordings of `fullpipe watch --record`, alone and compared with the connections of captures.
//!
//! Rule: if a recording ends early, the answer is partial and says so. A socket is matched with a
//! connection by addresses and ports, and by the time in which both were observed.

use std::{io::BufRead, net::SocketAddr};

use fullpipe_captures::{Connections, Row, limit_words};
use fullpipe_diagnose::{
    observe::SeenLimit,
    socket::{
        AccountsBeside, BufferOrigin, FollowedSocket, HostSettings, Replay, ReplayedSocket,
        SocketRecording, buffer_origins,
    },
};
use fullpipe_fit::{RecordedSizes, SizedBy};
use fullpipe_lab::{
    layout::{Layout, Tone},
    units::{counted, seconds_text},
};
use fullpipe_perf::Stop;
use serde::Serialize;

use super::conditions::LINES_MAX;
use crate::arguments::ConnectionCondition;
use crate::watch::{json::SocketJson, verdict::verdict_text};

/// A limit is omitted if its share is below this one in both accounts (time by limit): the
/// capture's and the kernel's.
const LEAST_SHARE: f64 = 0.005;
/// Largest number of differences that are printed.
const DIFFERENCES: usize = 5;

/// A recording that was read.
pub struct Recording {
    /// Name of the recording on the command line.
    pub name: String,
    kernel: String,
    /// Time 0 of the recording, in nanoseconds since the Unix epoch.
    began_ns: i64,
    settings: HostSettings,
    replay: Replay,
    /// If the end of the recording could not be read, the reason.
    cut: Option<String>,
}

/// Reads a recording.
pub fn read(name: &str, input: impl BufRead, stop: &Stop) -> Result<Recording, String> {
    let opened = SocketRecording::open(input);
    let mut recording = opened.map_err(|error| error.to_string())?;
    let (replay, error) = Replay::of(&mut recording, &mut || !stop.is_raised());
    Ok(Recording {
        name: name.to_string(),
        kernel: recording.kernel().to_string(),
        began_ns: (recording.unix_time_s() * 1e9) as i64,
        settings: recording.settings().clone(),
        replay,
        cut: error.map(|error| error.to_string()),
    })
}

/// The recorded socket of a connection.
pub struct Matched<'a> {
    recording: &'a Recording,
    socket: &'a ReplayedSocket,
    /// True if the socket belongs to the end that sent more payload.
    is_sender: bool,
}

/// Returns the sender's socket of the connection `row`. If the sender's socket was not recorded,
/// returns the receiver's.
pub fn matched<'a>(recordings: &'a [Recording], row: &Row) -> Option<Matched<'a>> {
    let ends = [(row.sender, row.receiver), (row.receiver, row.sender)];
    ends.into_iter().find_map(|(local, peer)| {
        let sockets = recordings.iter().flat_map(|recording| {
            let all = recording.replay.sockets.iter();
            all.map(move |socket| (recording, socket))
        });
        let candidates = sockets.filter(|(_, socket)| {
            let id = &socket.socket.latest.id;
            is_same(id.local, local) && is_same(id.peer, peer)
        });
        let best = candidates.max_by_key(|(recording, socket)| recording.overlap_ns(socket, row));
        best.map(|(recording, socket)| Matched {
            recording,
            socket,
            is_sender: local == row.sender,
        })
    })
}

/// Returns, for each buffer of the connection `row`, the origin of its size: a program or
/// autotuning. An origin that no recorded socket shows is `None`.
pub fn sizes(recordings: &[Recording], row: &Row) -> RecordedSizes {
    let Some(found) = matched(recordings, row) else {
        return RecordedSizes::default();
    };
    let settings = &found.recording.settings;
    let [send, receive] = buffer_origins(&found.socket.socket, settings).map(sized);
    // If the receiver's socket is on the same host, it was recorded too.
    let other = found.recording.replay.other_end(&found.socket.socket);
    match found.is_sender {
        true => RecordedSizes {
            send,
            receive: other.and_then(|other| sized(buffer_origins(other, settings)[1])),
        },
        false => RecordedSizes {
            send: None,
            receive,
        },
    }
}

const fn sized(origin: BufferOrigin) -> Option<SizedBy> {
    match origin {
        BufferOrigin::Program => Some(SizedBy::Program),
        BufferOrigin::AutotunedFull => Some(SizedBy::Autotuning),
        BufferOrigin::Unclear => None,
    }
}

/// Returns true if the addresses are equal. IPv4 addresses in IPv6 form count as IPv4.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
}

impl Recording {
    /// Returns true if the recording has a socket.
    pub const fn has_socket(&self) -> bool {
        !self.replay.sockets.is_empty()
    }

    /// Time in which both the socket and the connection were observed, in nanoseconds; negative if
    /// there is none.
    fn overlap_ns(&self, socket: &ReplayedSocket, row: &Row) -> i64 {
        let at = |us: u64| self.began_ns.saturating_add(us as i64 * 1_000);
        let end = row.began_ns.saturating_add((row.seconds * 1e9) as i64);
        let until = at(socket.socket.at_us).min(end);
        until.saturating_sub(at(socket.socket.since_us).max(row.began_ns))
    }

    fn json<'a>(&'a self, socket: &'a ReplayedSocket) -> SocketJson<'a> {
        let other = self.replay.other_end(&socket.socket);
        SocketJson::of(&socket.socket, other, None, &self.settings)
    }
}

/// Returns the number of rounds and sockets of each recording, and the parts that are missing.
pub fn headings(recordings: &[Recording], layout: Layout) -> String {
    let mut out = String::new();
    for recording in recordings {
        let replay = &recording.replay;
        let name = layout.paint(Tone::Heading, &recording.name);
        let line = format!(
            "{name}: {} in {}, {}, Linux {}",
            counted(replay.rounds, "observation"),
            seconds_text(replay.last_us as f64 / 1e6),
            counted(replay.sockets.len() as u64 + replay.omitted, "socket"),
            recording.kernel
        );
        layout.paragraph(&mut out, "", 2, &line);
        if let Some(why) = &recording.cut {
            let first = format!("  {}  ", layout.paint(Tone::Doubtful, "!"));
            let text =
                format!("The recording is damaged: {why}. The part before the damage was read.");
            layout.paragraph(&mut out, &first, 5, &text);
        }
    }
    out.push('\n');
    out
}

/// Returns the verdict about each socket. At most `top` verdicts are returned, or all if `top` is
/// 0.
pub fn verdicts(recordings: &[Recording], top: usize, layout: Layout) -> String {
    let mut out = String::new();
    for recording in recordings {
        let sockets = &recording.replay.sockets;
        let shown = if top == 0 { sockets.len() } else { top };
        for one in sockets.iter().take(shown) {
            let other = recording.replay.other_end(&one.socket);
            out += &verdict_text(&one.socket, other, None, &recording.settings, layout);
            out.push('\n');
        }
        let more = sockets.len().saturating_sub(shown) as u64 + recording.replay.omitted;
        if more > 0 {
            let text = format!(
                "{} of {} carried fewer bytes (--top 0 prints all sockets that were kept in memory).",
                counted(more, "more socket"),
                recording.name
            );
            layout.paragraph(&mut out, "", 0, &text);
        }
    }
    out
}

/// For the connection that is printed in full, returns the capture's and the socket's account.
pub fn beside(recordings: &[Recording], connections: &Connections, layout: Layout) -> String {
    let Some((flow, row)) = connections.full().zip(connections.full_row()) else {
        return String::new();
    };
    let mut out = "\n".to_string();
    let Some(found) = matched(recordings, &row) else {
        let text = "No recorded socket has the addresses and ports of this connection.";
        layout.paragraph(&mut out, "", 0, text);
        return out;
    };
    let Matched {
        recording, socket, ..
    } = found;
    let accounts = AccountsBeside::of(&flow.outcome, socket, recording.began_ns);
    match accounts.filter(|_| found.is_sender) {
        Some(accounts) => out += &accounts_text(&accounts, layout),
        None if found.is_sender => layout.paragraph(
            &mut out,
            "",
            0,
            "The recorded socket of this connection and the capture have no time in common: the \
             clocks of the two hosts differ, or recording and capture ran at different times.",
        ),
        None => layout.paragraph(
            &mut out,
            "",
            0,
            "This recording is of the receiver's socket. It shows why the receiver read or acknowledged late, but not what limited the sender.",
        ),
    }
    let settings = &recording.settings;
    let other = recording.replay.other_end(&socket.socket);
    out.push('\n');
    out + &verdict_text(&socket.socket, other, None, settings, layout)
}

fn accounts_text(accounts: &AccountsBeside, layout: Layout) -> String {
    let mut out = String::new();
    let heading = format!("{:30} {:>10} {:>10}", "limit", "capture", "kernel");
    out += &format!("  {}\n", layout.paint(Tone::Heading, &heading));
    let least = LEAST_SHARE * accounts.seconds;
    for part in &accounts.limits {
        if part.capture_s.max(part.kernel_s) < least {
            continue;
        }
        let percent = |seconds: f64| format!("{:.1} %", seconds / accounts.seconds * 100.0);
        out += &format!(
            "  {:30} {:>10} {:>10}\n",
            limit_words(part.limit.name()),
            percent(part.capture_s),
            percent(part.kernel_s)
        );
    }
    let text = format!(
        "Capture and kernel name the same limit for {:.0} % of the {} that both saw.",
        accounts.agreed_share * 100.0,
        seconds_text(accounts.seconds)
    );
    layout.paragraph(&mut out, "", 0, &text);
    let mut longest: Vec<_> = accounts.differences.iter().collect();
    longest.sort_by_key(|one| std::cmp::Reverse(one.end_ns - one.at_ns));
    longest.truncate(DIFFERENCES);
    longest.sort_by_key(|one| one.at_ns);
    let time = |ns: u64| seconds_text(ns as f64 / 1e9);
    for one in longest {
        let text = format!(
            "{} to {}: {} according to the capture, {} according to the kernel",
            time(one.at_ns),
            time(one.end_ns),
            limit_words(one.capture.name()),
            limit_words(one.kernel.name())
        );
        layout.paragraph(&mut out, "  - ", 4, &text);
    }
    out
}

/// Returns the accounts of several connections, one line for each connection.
pub fn lines(recordings: &[Recording], rows: &[Row], layout: Layout) -> String {
    let mut out = String::new();
    for row in rows {
        let Some(found) = matched(recordings, row).filter(|found| found.is_sender) else {
            continue;
        };
        let (limit, share) = found.socket.socket.account.times.main();
        let limit = limit.map_or(SeenLimit::Unknown, SeenLimit::Known);
        let own = row
            .limit
            .map_or("unknown".to_string(), |(limit, share, _)| {
                format!("{} {:.0} %", limit_words(limit.name()), share * 100.0)
            });
        let text = format!(
            "{}: {own} according to the capture, {} {:.0} % according to the kernel",
            row.number,
            limit_words(limit.name()),
            share * 100.0
        );
        layout.paragraph(&mut out, "  ", 4, &text);
    }
    match out.is_empty() {
        true => "\nNo recorded socket has the addresses and ports of a sender in this capture.\n"
            .to_string(),
        false => {
            let heading = "Connections whose sender's socket was recorded";
            format!("\n{}\n{out}", layout.paint(Tone::Heading, heading))
        }
    }
}

/// Returns a line for each recording or recorded socket that meets `condition`. No socket meets
/// [`ConnectionCondition::Reset`] or a failure, because a recording does not show them.
pub fn meeting(recordings: &[Recording], condition: &ConnectionCondition) -> Vec<String> {
    let of_recording = |recording: &Recording| -> Vec<String> {
        if let (ConnectionCondition::Partial, Some(_)) = (condition, &recording.cut) {
            return vec![format!(
                "{}: partial: the recording was not read to its end",
                recording.name
            )];
        }
        let met = recording.replay.sockets.iter().filter_map(|one| {
            let why = met_by(&one.socket, condition)?;
            let id = &one.socket.latest.id;
            Some(format!("socket {} to {}: {why}", id.local, id.peer))
        });
        met.collect()
    };
    let all = recordings.iter().flat_map(of_recording);
    all.take(LINES_MAX).collect()
}

/// Returns how `socket` meets `condition`; `None` if it does not.
fn met_by(socket: &FollowedSocket, condition: &ConnectionCondition) -> Option<String> {
    match condition {
        ConnectionCondition::Limit(wanted) => {
            let (limit, share) = socket.account.times.main();
            let limit = limit.map_or(SeenLimit::Unknown, SeenLimit::Known);
            let percent = share * 100.0;
            (limit == *wanted)
                .then(|| format!("limited by {} for {percent:.0} % of the time", limit.name()))
        }
        ConnectionCondition::Retransmitted(most) => {
            let info = socket.latest.info.as_ref()?;
            let sent = f64::from(info.data_segs_out?.max(1));
            let share = f64::from(info.total_retrans) / sent;
            (share > *most)
                .then(|| format!("{:.2} % of the data segments retransmitted", share * 100.0))
        }
        ConnectionCondition::Reset
        | ConnectionCondition::Unreachable
        | ConnectionCondition::Failure(_)
        | ConnectionCondition::Partial
        | ConnectionCondition::Empty => None,
    }
}

/// A recording in the output of `--json`.
#[derive(Serialize)]
pub struct JsonRecording<'a> {
    file: &'a str,
    kernel: &'a str,
    began_ns: i64,
    elapsed_s: f64,
    rounds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<&'a str>,
    settings: &'a HostSettings,
    sockets: Vec<SocketJson<'a>>,
    sockets_left_out: u64,
}

/// Returns the recordings for `--json`.
pub fn json(recordings: &[Recording]) -> Vec<JsonRecording<'_>> {
    let all = recordings.iter().map(|recording| {
        let replay = &recording.replay;
        let sockets = replay.sockets.iter();
        JsonRecording {
            file: &recording.name,
            kernel: &recording.kernel,
            began_ns: recording.began_ns,
            elapsed_s: replay.last_us as f64 / 1e6,
            rounds: replay.rounds,
            damaged: recording.cut.as_deref(),
            settings: &recording.settings,
            sockets: sockets.map(|socket| recording.json(socket)).collect(),
            sockets_left_out: replay.omitted,
        }
    });
    all.collect()
}

/// The recorded socket of a connection in the output of `--json`.
#[derive(Serialize)]
pub struct JsonMatched<'a> {
    file: &'a str,
    sk: String,
    end: &'static str,
    limit: &'static str,
    limit_share: f64,
}

/// Returns the recorded socket of `row` for `--json`.
pub fn json_matched<'a>(recordings: &'a [Recording], row: &Row) -> Option<JsonMatched<'a>> {
    let found = matched(recordings, row)?;
    let (limit, limit_share) = found.socket.socket.account.times.main();
    Some(JsonMatched {
        file: &found.recording.name,
        sk: format!("{:x}", found.socket.socket.latest.id.cookie),
        end: if found.is_sender {
            "sender"
        } else {
            "receiver"
        },
        limit: limit.map_or(SeenLimit::Unknown, SeenLimit::Known).name(),
        limit_share,
    })
}

/// For `--json`, returns the capture's and the socket's account of the connection that is printed
/// in full.
pub fn json_beside(recordings: &[Recording], connections: &Connections) -> Option<AccountsBeside> {
    let (flow, row) = connections.full().zip(connections.full_row())?;
    let found = matched(recordings, &row).filter(|found| found.is_sender)?;
    AccountsBeside::of(&flow.outcome, found.socket, found.recording.began_ns)
}
