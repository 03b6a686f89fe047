//! The table of sockets: one line for each, the busiest socket first.
//!
//! Rule: no line exceeds the width. Columns that do not fit are omitted, the least important first;
//! the socket's number, its peer and its current limit are always printed.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use fullpipe_diagnose::{
    inferred::Confidence,
    socket::{FollowedSocket, SocketTable},
    vocabulary::Limit,
};
use fullpipe_lab::{
    layout::{Layout, Tone, columns},
    units::{seconds_text, three_digits},
};

use super::source::Source;

/// Spaces between columns.
const GAP: usize = 2;

/// A column.
struct TableColumn {
    heading: &'static str,
    /// True for numbers, which are aligned to the right.
    is_number: bool,
    /// Columns with the largest rank are omitted first; columns with rank 0 are never omitted.
    rank: u8,
    cell: fn(&FollowedSocket, &Source) -> String,
}

const fn number(
    heading: &'static str,
    rank: u8,
    cell: fn(&FollowedSocket, &Source) -> String,
) -> TableColumn {
    TableColumn {
        heading,
        is_number: true,
        rank,
        cell,
    }
}

const fn text(
    heading: &'static str,
    rank: u8,
    cell: fn(&FollowedSocket, &Source) -> String,
) -> TableColumn {
    TableColumn {
        heading,
        is_number: false,
        rank,
        cell,
    }
}

const RTT: &str = "rtt";
const LIMIT_NOW: &str = "limit now";
const SINCE_START: &str = "since start";

const COLUMNS: [TableColumn; 14] = [
    number("sk", 0, |socket, _| {
        format!("{:x}", socket.latest.id.cookie)
    }),
    text("process", 3, process),
    text("local", 9, |socket, _| socket.latest.id.local.to_string()),
    text("peer", 0, |socket, _| socket.latest.id.peer.to_string()),
    number("out Mbit/s", 1, |socket, _| rate(socket, 0)),
    number("in Mbit/s", 2, |socket, _| rate(socket, 1)),
    number(RTT, 4, rtt),
    number("cwnd", 6, |socket, _| {
        with_info(socket, |info| info.snd_cwnd.to_string())
    }),
    number("flight", 7, |socket, _| bytes(socket.latest.in_flight())),
    number("peer wnd", 8, |socket, _| {
        with_info(socket, |info| info.snd_wnd.map_or_else(unknown, bytes))
    }),
    number("sndbuf", 10, |socket, _| {
        let memory = socket.latest.memory;
        memory.map_or_else(unknown, |memory| {
            format!("{}/{}", bytes(memory.queued), bytes(memory.sndbuf))
        })
    }),
    number("unread", 11, |socket, _| bytes(socket.latest.receive_queue)),
    text(LIMIT_NOW, 0, |socket, _| {
        let now = socket.account.now;
        let doubt = match now.confidence {
            Confidence::Low => "?",
            Confidence::High => "",
        };
        format!("{}{doubt}", short(now.limit))
    }),
    text(SINCE_START, 5, |socket, _| {
        let (limit, share) = socket.account.times.main();
        match socket.account.times.total_micros() {
            0 => unknown(),
            _ => format!("{} {:.0} %", short(limit), share * 100.0),
        }
    }),
];

/// Width of the column with this heading that suffices for the cells of later rounds; 0 if the
/// heading is as wide as these cells. In the first round, limit and share are still unknown.
fn later_width(heading: &str) -> usize {
    let limits = || Limit::ALL.iter().map(|limit| columns(&short(Some(*limit))));
    let longest = || limits().max().unwrap_or_default();
    match heading {
        RTT => columns("12.3 ms"),
        LIMIT_NOW => longest() + columns("?"),
        SINCE_START => longest() + columns(" 100 %"),
        _ => 0,
    }
}

fn unknown() -> String {
    "-".to_string()
}

/// Returns the limit's name, with `congestion_window` shortened to `cwnd`.
pub fn short(limit: Option<Limit>) -> String {
    limit
        .map_or("unknown", Limit::name)
        .replace("congestion_window", "cwnd")
}

fn process(socket: &FollowedSocket, source: &Source) -> String {
    source
        .owner(socket.latest.inode)
        .map_or_else(unknown, |owner| format!("{}[{}]", owner.name, owner.pid))
}

fn rate(socket: &FollowedSocket, direction: usize) -> String {
    match socket.observations {
        1 => unknown(),
        _ => three_digits(socket.account.rates[direction] * 8.0 / 1e6),
    }
}

fn rtt(socket: &FollowedSocket, _: &Source) -> String {
    with_info(socket, |info| match info.rtt {
        0 => unknown(),
        micros => seconds_text(f64::from(micros) / 1e6),
    })
}

fn with_info(
    socket: &FollowedSocket,
    cell: impl FnOnce(&fullpipe_diagnose::socket::TcpInfo) -> String,
) -> String {
    socket.latest.info.as_ref().map_or_else(unknown, cell)
}

/// Formats bytes with a binary prefix and about three digits.
fn bytes(bytes: u32) -> String {
    match bytes {
        0..10_240 => bytes.to_string(),
        10_240..10_485_760 => format!("{}K", three_digits(f64::from(bytes) / 1024.0)),
        _ => format!("{}M", three_digits(f64::from(bytes) / 1_048_576.0)),
    }
}

/// Returns the sockets to print, the busiest first. Idle sockets are included only if `with_idle`
/// is true.
pub fn chosen(table: &SocketTable, with_idle: bool) -> Vec<&FollowedSocket> {
    let is_shown = |socket: &&FollowedSocket| with_idle || is_busy(socket);
    let mut sockets: Vec<_> = table.sockets().iter().filter(is_shown).collect();
    sockets.sort_by_key(|socket| {
        let rate: f64 = socket.account.rates.iter().sum();
        (Reverse(rate as u64), socket.latest.id.cookie)
    });
    sockets
}

/// Returns true if the socket moved payload in the latest interval, has payload in a queue, or was
/// observed only once.
fn is_busy(socket: &FollowedSocket) -> bool {
    let has_moved = socket.account.rates.iter().any(|rate| *rate > 0.0);
    let waits = socket.latest.send_queue > 0 || socket.latest.receive_queue > 0;
    has_moved || waits || socket.observations == 1
}

/// The printed columns and their widths.
pub struct TableLayout {
    shown: Vec<(usize, usize)>,
    layout: Layout,
    /// Heading and width of an additional first column.
    first: Option<(&'static str, usize)>,
}

impl TableLayout {
    /// Chooses the columns for `sockets` that fit `layout`. `first` is the heading and the width of
    /// an additional first column, of a table to which later rounds are appended.
    pub fn of(
        sockets: &[&FollowedSocket],
        source: &Source,
        layout: Layout,
        first: Option<(&'static str, usize)>,
    ) -> Self {
        let width = |place: usize| {
            let column = &COLUMNS[place];
            let cells = sockets
                .iter()
                .map(|socket| columns(&(column.cell)(socket, source)));
            let later = first.map_or(0, |_| later_width(column.heading));
            cells
                .chain([columns(column.heading), later])
                .max()
                .unwrap_or_default()
        };
        let mut shown: Vec<_> = (0..COLUMNS.len())
            .map(|place| (place, width(place)))
            .collect();
        let before = first.map_or(0, |(_, width)| width + GAP);
        let total = |shown: &[(usize, usize)]| {
            before + shown.iter().map(|(_, width)| width + GAP).sum::<usize>() - GAP
        };
        while total(&shown) > layout.width {
            let last = shown
                .iter()
                .enumerate()
                .max_by_key(|(_, (place, _))| COLUMNS[*place].rank);
            match last {
                Some((at, (place, _))) if COLUMNS[*place].rank > 0 => drop(shown.remove(at)),
                Some(_) | None => break,
            }
        }
        Self {
            shown,
            layout,
            first,
        }
    }

    /// Returns the line with the headings.
    pub fn heading(&self) -> String {
        let first = self.first.map_or("", |(heading, _)| heading);
        let line = self.line(first, |column| column.heading.to_string());
        self.layout.paint(Tone::Heading, &line)
    }

    /// Returns the line for `socket`; `first` is the text of the additional first column.
    pub fn row(&self, first: &str, socket: &FollowedSocket, source: &Source) -> String {
        self.line(first, |column| (column.cell)(socket, source))
    }

    fn line(&self, first: &str, cell: impl Fn(&TableColumn) -> String) -> String {
        let mut line = String::new();
        if let Some((_, width)) = self.first {
            line += &format!("{first:>width$}{:GAP$}", "");
        }
        for (place, width) in &self.shown {
            let column = &COLUMNS[*place];
            let cell = cell(column);
            let space = width.saturating_sub(columns(&cell));
            match column.is_number {
                true => line += &format!("{:space$}{cell}", ""),
                false => line += &format!("{cell}{:space$}", ""),
            }
            line += &" ".repeat(GAP);
        }
        cut(line.trim_end(), self.layout.width)
    }
}

/// Returns the first `width` columns of `line`, which must not contain colours.
fn cut(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}
