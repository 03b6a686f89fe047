//! The observations of a run as flat columns: segments, series and episodes.
//!
//! Rule: times are nanoseconds from the start of the row (scenario), and sequence numbers count
//! from the initial sequence number. `row_number`, `connection` and `host` join the tables.

use fullpipe_diagnose::facts::{Endpoint, Run, Segments};

use super::{Records, tables::Table};

/// An end of a connection: number of the row, number of the connection, name of the host.
type End<'a> = (u64, u64, &'a str, &'a Endpoint);

/// Returns the ends of all connections of `run`.
fn ends(run: &Run) -> impl Iterator<Item = End<'_>> {
    let rows = (1..).zip(&run.rows);
    rows.flat_map(|(number, row)| {
        let observed = &row.observed;
        let connections = (1..).zip(&observed.connections);
        connections.flat_map(move |(place, connection)| {
            connection.ends().map(move |end| {
                let host = observed.hosts.get(end.host);
                let host = host.map_or("", |host| host.name.as_str());
                (number, place, host, end)
            })
        })
    })
}

/// Adds the columns that join the tables. The first part of each item is an end of a connection.
fn joined<'a, T>(items: impl IntoIterator<Item = (End<'a>, T)>) -> Table<(End<'a>, T)> {
    Table::of(items)
        .whole("row_number", |((number, ..), _)| *number)
        .whole("connection", |((_, place, ..), _)| *place)
        .text("host", |((_, _, host, _), _)| (*host).to_string())
}

impl Records {
    /// Returns the segments that each end sent and received.
    pub fn segments(run: &Run) -> Self {
        type Item<'a> = (End<'a>, (&'static str, &'a Segments, usize));
        let items = ends(run).flat_map(|end| {
            let (.., endpoint) = end;
            let directions = [("sent", &endpoint.sent), ("received", &endpoint.received)];
            directions.into_iter().flat_map(move |(name, table)| {
                (0..table.len()).map(move |place| (end, (name, table, place)))
            })
        });
        let value = |of: fn(&Segments, usize) -> u64| {
            move |(_, (_, table, place)): &Item<'_>| of(table, *place)
        };
        joined(items)
            .text("direction", |(_, (name, ..))| (*name).to_string())
            .whole("at_ns", value(|table, place| table.at_ns[place]))
            .whole("seq", value(|table, place| table.seq[place]))
            .whole(
                "payload_bytes",
                value(|table, place| table.len[place].into()),
            )
            .whole("ack", value(|table, place| table.ack[place]))
            .whole(
                "window_bytes",
                value(|table, place| table.window[place].into()),
            )
            .whole("flags", value(|table, place| table.flags[place].into()))
            .whole(
                "retransmitted",
                value(|table, place| table.is_retransmission(place).into()),
            )
            .whole("lost", value(|table, place| table.is_lost(place).into()))
            .whole(
                "unacknowledged_bytes",
                value(|table, place| table.outstanding[place].into()),
            )
            .records()
    }

    /// Returns the congestion window and the round-trip times of each end, one value per record.
    pub fn series(run: &Run) -> Self {
        let items = ends(run).flat_map(|end| {
            let (.., endpoint) = end;
            let (windows, rtts) = (&endpoint.windows, &endpoint.rtts);
            let named = [
                ("cwnd_bytes", &windows.at_ns, &windows.cwnd),
                ("ssthresh_bytes", &windows.at_ns, &windows.ssthresh),
                ("in_flight_bytes", &windows.at_ns, &windows.in_flight),
                ("rtt_us", &rtts.at_ns, &rtts.sample_us),
                ("srtt_us", &rtts.at_ns, &rtts.srtt_us),
                ("rto_us", &rtts.at_ns, &rtts.rto_us),
            ];
            named.into_iter().flat_map(move |(name, at_ns, values)| {
                let points = at_ns.iter().zip(values);
                points.map(move |(at_ns, value)| (end, (name, *at_ns, *value)))
            })
        });
        // Omit a threshold of u32::MAX, which means that there is none.
        let items = items.filter(|(_, (.., value))| *value != u32::MAX);
        joined(items)
            .text("series", |(_, (name, ..))| (*name).to_string())
            .whole("at_ns", |(_, (_, at_ns, _))| *at_ns)
            .whole("value", |(_, (.., value))| u64::from(*value))
            .records()
    }

    /// Returns the episodes of loss recovery and congestion control of each end.
    pub fn episodes(run: &Run) -> Self {
        let items = ends(run).flat_map(|end| {
            let (.., endpoint) = end;
            let episodes = &endpoint.episodes;
            (0..episodes.len()).map(move |place| (end, (episodes, place)))
        });
        joined(items)
            .whole("at_ns", |(_, (episodes, place))| episodes.at_ns[*place])
            .whole("until_ns", |(_, (episodes, place))| episodes.end_ns[*place])
            .text("episode", |(_, (episodes, place))| {
                episodes.kind(*place).name().to_string()
            })
            .whole("count", |(_, (episodes, place))| {
                episodes.count[*place].into()
            })
            .records()
    }
}
