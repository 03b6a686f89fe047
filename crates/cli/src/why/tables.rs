//! One connection as tables, for Parquet.
//!
//! Rule: times are nanoseconds from the connection's first segment. Sequence numbers count from the
//! initial sequence number. Each name ends in its unit.

use fullpipe_diagnose::{
    facts::{Segments, captured_end},
    observe::{ObservedConnection, SegmentLog},
};
use fullpipe_lab::{Column, Records, Values};

/// Returns the tables and their names.
pub fn of(log: &SegmentLog, seen: &ObservedConnection) -> [(&'static str, Records); 3] {
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

/// Returns the account over time.
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
        ],
        count: episodes.len(),
    }
}
