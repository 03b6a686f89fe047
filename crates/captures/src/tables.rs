//! The connections of captures as tables, for CSV, Parquet and Arrow.
//!
//! Rule: if the values of a column have a unit, the name of the column ends in that unit. In the
//! tables of one connection, times are nanoseconds from the connection's first segment, and
//! sequence numbers count from the initial sequence number.

use fullpipe_diagnose::{
    capture::FlowEnding,
    facts::{Segments, captured_end},
    inferred::Confidence,
    observe::{ConnectionFailure, ObservedConnection, SegmentLog},
};
use fullpipe_lab::{Column, Records, Values};

use crate::{connections::Row, reading::Capture};

/// Returns the name of an ending in tables and JSON.
pub const fn ending_name(ending: FlowEnding) -> &'static str {
    match ending {
        FlowEnding::Closed => "closed",
        FlowEnding::Reset => "reset",
        FlowEnding::Replaced => "replaced",
        FlowEnding::Idle => "idle",
        FlowEnding::Crowded => "crowded",
        FlowEnding::CaptureEnd => "capture_end",
    }
}

/// Returns the name of the connection's capture. The capture exists, because only captures
/// that could be read have rows.
fn file<'a>(captures: &'a [Capture], row: &Row) -> &'a str {
    captures
        .get(row.capture)
        .map_or("", |capture| &capture.name)
}

/// Returns a record for each connection.
pub fn connections(captures: &[Capture], rows: &[Row]) -> Records {
    let columns = vec![
        whole("number", rows, |row| row.number),
        words("file", rows, |row| file(captures, row).to_string()),
        words("sender", rows, |row| row.sender.to_string()),
        words("receiver", rows, |row| row.receiver.to_string()),
        decimal("began_s", rows, |row| Some(row.began_ns as f64 / 1e9)),
        decimal("elapsed_s", rows, |row| Some(row.seconds)),
        whole("segments", rows, |row| row.segments),
        whole("data_segments", rows, |row| row.data_segments),
        whole("payload_bytes", rows, |row| row.bytes),
        decimal("goodput_mbps", rows, |row| Some(row.goodput_bps / 1e6)),
        decimal("base_rtt_ms", rows, |row| {
            row.rtt_s.map(|seconds| seconds * 1e3)
        }),
        whole("retransmitted_segments", rows, |row| row.retransmitted),
        words("limit", rows, |row| {
            row.limit.map_or("", |(limit, ..)| limit.name()).to_string()
        }),
        decimal("limit_share", rows, |row| {
            row.limit.map(|(_, share, _)| share)
        }),
        words("confidence", rows, |row| match row.limit {
            Some((.., Confidence::High)) => "high".to_string(),
            Some(_) => "low".to_string(),
            None => String::new(),
        }),
        decimal("lost_s", rows, |row| Some(row.lost_s)),
        words("ending", rows, |row| ending_name(row.ending).to_string()),
        words("failure", rows, |row| {
            row.failure.map_or("", ConnectionFailure::name).to_string()
        }),
        words("unreachable", rows, |row| {
            row.returned
                .map_or("", |returned| returned.reason.name())
                .to_string()
        }),
        decimal("unreachable_s", rows, |row| {
            row.returned.map(|returned| returned.at_ns as f64 / 1e9)
        }),
        words("unreachable_from", rows, |row| {
            row.returned_from().unwrap_or_default().to_string()
        }),
    ];
    Records {
        columns,
        count: rows.len(),
    }
}

/// Returns a record for each connection and each of its limits that has time or payload.
pub fn accounts(captures: &[Capture], rows: &[Row]) -> Records {
    let parts = rows.iter().flat_map(|row| {
        let held = row.account.parts();
        let held = held.filter(|(_, time, bytes)| !time.is_zero() || *bytes > 0);
        held.map(move |part| (row, part))
    });
    let parts: Vec<_> = parts.collect();
    Records {
        columns: vec![
            whole("number", &parts, |(row, _)| row.number),
            words("file", &parts, |(row, _)| file(captures, row).to_string()),
            words("limit", &parts, |(_, (limit, ..))| limit.name().to_string()),
            decimal("seconds", &parts, |(_, (_, time, _))| {
                Some(time.as_secs_f64())
            }),
            decimal("share", &parts, |(row, (limit, ..))| {
                Some(row.shares.share(*limit))
            }),
            whole("payload_bytes", &parts, |(_, (.., bytes))| *bytes),
        ],
        count: parts.len(),
    }
}

/// Returns the tables of one connection and their names.
pub fn connection_tables(
    log: &SegmentLog,
    seen: &ObservedConnection,
) -> [(&'static str, Records); 3] {
    [
        ("segments", segments(log, seen)),
        ("limits", limits(seen)),
        ("episodes", episodes(seen)),
    ]
}

fn words<T>(name: &str, all: &[T], of: impl Fn(&T) -> String) -> Column {
    Column {
        name: name.to_string(),
        values: Values::Text(all.iter().map(of).collect()),
    }
}

fn whole<T>(name: &str, all: &[T], of: impl Fn(&T) -> u64) -> Column {
    Column {
        name: name.to_string(),
        values: Values::Whole(all.iter().map(|one| Some(of(one))).collect()),
    }
}

fn decimal<T>(name: &str, all: &[T], of: impl Fn(&T) -> Option<f64>) -> Column {
    Column {
        name: name.to_string(),
        values: Values::Decimal(all.iter().map(of).collect()),
    }
}

/// Returns the segments of both ends in the order of time.
fn segments(log: &SegmentLog, seen: &ObservedConnection) -> Records {
    let end = captured_end(log, seen, seen.sender, 0);
    let places = |from: &'static str, table: &'_ Segments| -> Vec<(u64, &'static str, usize)> {
        let at = table.at_ns.iter().enumerate();
        at.map(|(place, at_ns)| (*at_ns, from, place)).collect()
    };
    let mut all = places("sender", &end.sent);
    all.extend(places("receiver", &end.received));
    all.sort_by_key(|(at_ns, ..)| *at_ns);
    let table = |from: &str| match from {
        "sender" => &end.sent,
        _ => &end.received,
    };
    let value = |name: &str, of: fn(&Segments, usize) -> u64| {
        whole(name, &all, |(_, from, place)| of(table(from), *place))
    };
    let columns = vec![
        value("at_ns", |table, place| table.at_ns[place]),
        words("from", &all, |(_, from, _)| (*from).to_string()),
        value("seq", |table, place| table.seq[place]),
        value("payload_bytes", |table, place| table.len[place].into()),
        value("ack", |table, place| table.ack[place]),
        value("window_bytes", |table, place| table.window[place].into()),
        value("flags", |table, place| table.flags[place].into()),
        value("retransmitted", |table, place| {
            table.is_retransmission(place).into()
        }),
        value("unacknowledged_bytes", |table, place| {
            table.outstanding[place].into()
        }),
    ];
    Records {
        columns,
        count: all.len(),
    }
}

/// Returns the periods in which the limit did not change, each with its payload.
fn limits(seen: &ObservedConnection) -> Records {
    let bands = &seen.bands;
    Records {
        columns: vec![
            whole("at_ns", bands, |band| band.at_ns),
            whole("until_ns", bands, |band| band.end_ns),
            words("limit", bands, |band| band.limit.name().to_string()),
            words("confidence", bands, |band| {
                if band.is_sure { "high" } else { "low" }.to_string()
            }),
            whole("payload_bytes", bands, |band| band.bytes),
        ],
        count: bands.len(),
    }
}

fn episodes(seen: &ObservedConnection) -> Records {
    let episodes = &seen.episodes;
    Records {
        columns: vec![
            whole("at_ns", episodes, |one| one.at_ns),
            whole("until_ns", episodes, |one| one.end_ns),
            words("episode", episodes, |one| one.kind.name().to_string()),
            whole("count", episodes, |one| one.count),
            whole("unanswered", episodes, |one| one.unanswered),
        ],
        count: episodes.len(),
    }
}
