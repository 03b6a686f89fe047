//! Events, sockets and counters as text, and events as lines of JSON.
//!
//! Rule: each line is one event or one counter, for `grep` and `jq`; a socket has two lines, as in
//! `ss`. Every record is printed.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use fullpipe_scenario::units::three_digits;
use serde::Serialize;

pub use fullpipe_scenario::watch::{Watch, Watched, counters, events, sockets, udp};
use fullpipe_scenario::watch::{events::WatchEvent, sockets::Socket};

use crate::report::{Report, RowReport};

/// Returns every record of `report`, row (scenario) by row. Returns an empty text if there are no
/// records.
pub fn watched_text(report: &Report) -> String {
    let mut text = String::new();
    for row in &report.rows {
        let watched = &row.watched;
        let title = row.title();
        add_events(&mut text, row);
        if !watched.sockets.is_empty() {
            let _ = writeln!(text, "\nsockets of row `{title}`\n{}", Socket::HEADING);
            for socket in &watched.sockets {
                let _ = writeln!(text, "{socket}");
            }
        }
        if !watched.udp_sockets.is_empty() {
            let _ = writeln!(text, "\nUDP sockets of row `{title}`\n{}", Socket::HEADING);
            for socket in &watched.udp_sockets {
                let _ = writeln!(text, "{socket}");
            }
        }
        if !watched.counters.is_empty() {
            let length = three_digits(watched.counters[0].elapsed_s);
            let _ = writeln!(
                text,
                "\ncounters of row `{title}`, and their mean rates per second over the row's \
                 {length} s"
            );
            for host in &watched.counters {
                let _ = write!(text, "{host}");
            }
        }
    }
    text
}

/// Returns the events of `report`, row by row.
pub fn events_text(report: &Report) -> String {
    let mut text = String::new();
    for row in &report.rows {
        add_events(&mut text, row);
    }
    text
}

fn add_events(text: &mut String, row: &RowReport) {
    let events = &row.watched.events;
    if !events.is_empty() {
        let _ = writeln!(text, "\nevents of row `{}`, times in seconds", row.title());
        for event in events {
            let _ = writeln!(text, "{event}");
        }
    }
}

/// Returns the events as JSON, one line each.
pub fn events_json_lines(report: &Report) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        experiment: &'a str,
        row: String,
        #[serde(flatten)]
        event: &'a WatchEvent,
    }
    let lines = |row: &RowReport| {
        let line = |event| {
            let line = Line {
                experiment: &report.experiment,
                row: row.title(),
                event,
            };
            serde_json::to_string(&line).expect("string keys and finite numbers") + "\n"
        };
        row.watched.events.iter().map(line).collect::<String>()
    };
    report.rows.iter().map(lines).collect()
}
