//! Every series in one table of comma-separated values.
//!
//! Rule: each line has one value. The other columns are the row (scenario of the experiment), the
//! connection, the host, the series, and the time in nanoseconds. In lines about a link, the column
//! `host` has the link's name. In lines about a host or a link, the column `connection` is empty.
//! The header names the columns. If the values of a series have a unit, the name of the series ends
//! in that unit.

use std::fmt::Write;

use fullpipe_diagnose::facts::{
    Bands, BusyPeriods, DirectionUsage, Endpoint, Episode, Mark, PoolLevels, Run, Segments,
};
use fullpipe_diagnose::{observe::SeenLimit, vocabulary::ReceiveLimit};

/// Returns the table of `run`, with its header first. The lines of a series are sorted by time.
pub fn csv(run: &Run) -> String {
    let mut out = String::from("row,connection,host,series,at_ns,value\n");
    for row in &run.rows {
        for (connection, number) in row.observed.connections.iter().zip(1..) {
            for end in connection.ends() {
                let host = &row.observed.hosts[end.host].name;
                let start = format!("{},{number},{}", quoted(&row.label), quoted(host));
                end_series(
                    &mut Lines {
                        out: &mut out,
                        start,
                    },
                    end,
                );
            }
        }
        for host in &row.observed.hosts {
            let start = format!("{},,{}", quoted(&row.label), quoted(&host.name));
            pool_series(
                &mut Lines {
                    out: &mut out,
                    start,
                },
                &host.pool,
                host.block_size,
            );
            let start = format!("{},,{}", quoted(&row.label), quoted(&host.name));
            let out = &mut out;
            busy_series(&mut Lines { out, start }, "cpu", &host.cpu);
        }
        for link in &row.observed.links {
            let start = format!("{},,{}", quoted(&row.label), quoted(&link.name));
            let out = &mut out;
            let lines = &mut Lines { out, start };
            link_series(lines, "link_forward", &link.forward);
            link_series(lines, "link_back", &link.back);
        }
    }
    out
}

/// Writes lines that all begin with the fields `start`.
struct Lines<'a> {
    out: &'a mut String,
    start: String,
}

impl Lines<'_> {
    fn series<T: std::fmt::Display>(
        &mut self,
        name: &str,
        at_ns: &[u64],
        values: impl IntoIterator<Item = T>,
    ) {
        for (at_ns, value) in at_ns.iter().zip(values) {
            writeln!(self.out, "{},{name},{at_ns},{value}", self.start)
                .expect("writing into a string");
        }
    }
}

fn end_series(lines: &mut Lines<'_>, end: &Endpoint) {
    for (name, table) in [("sent", &end.sent), ("received", &end.received)] {
        segment_series(lines, name, table);
    }
    for (name, sacks) in [
        ("sack_received", &end.sacks_received),
        ("sack_sent", &end.sacks_sent),
    ] {
        lines.series(&format!("{name}_left"), &sacks.at_ns, &sacks.left);
        lines.series(&format!("{name}_right"), &sacks.at_ns, &sacks.right);
    }
    let windows = &end.windows;
    lines.series("cwnd_bytes", &windows.at_ns, &windows.cwnd);
    lines.series("ssthresh_bytes", &windows.at_ns, &windows.ssthresh);
    lines.series("in_flight_bytes", &windows.at_ns, &windows.in_flight);
    lines.series("rtt_us", &end.rtts.at_ns, &end.rtts.sample_us);
    lines.series("srtt_us", &end.rtts.at_ns, &end.rtts.srtt_us);
    lines.series("rto_us", &end.rtts.at_ns, &end.rtts.rto_us);
    let name = |reason: &u8| SeenLimit::ALL[usize::from(*reason)].name();
    band_series(lines, "limit", &end.limits, &name);
    let name = |reason: &u8| ReceiveLimit::ALL[usize::from(*reason)].name();
    band_series(lines, "receive_limit", &end.receive_limits, &name);
    let kind = |kind: &u8| Mark::ALL[usize::from(*kind)].name();
    lines.series("mark", &end.marks.at_ns, end.marks.kind.iter().map(kind));
    lines.series("mark_value", &end.marks.at_ns, &end.marks.value);
    let episodes = &end.episodes;
    let kind = |kind: &u8| Episode::ALL[usize::from(*kind)].name();
    let kinds = episodes.kind.iter().map(kind);
    lines.series("episode", &episodes.at_ns, kinds);
    lines.series("episode_until_ns", &episodes.at_ns, &episodes.end_ns);
    lines.series("episode_count", &episodes.at_ns, &episodes.count);
}

fn segment_series(lines: &mut Lines<'_>, name: &str, table: &Segments) {
    let at_ns = &table.at_ns;
    let mut column = |column: &str, values: &mut dyn Iterator<Item = u64>| {
        lines.series(&format!("{name}_{column}"), at_ns, values);
    };
    column("seq", &mut table.seq.iter().copied());
    column("len_bytes", &mut table.len.iter().map(|len| (*len).into()));
    column("ack", &mut table.ack.iter().copied());
    column(
        "window_bytes",
        &mut table.window.iter().map(|at| (*at).into()),
    );
    column("flags", &mut table.flags.iter().map(|bits| (*bits).into()));
    let places = 0..table.len();
    column(
        "again",
        &mut places.clone().map(|at| table.is_retransmission(at).into()),
    );
    column("lost", &mut places.map(|at| table.is_lost(at).into()));
    column(
        "outstanding_bytes",
        &mut table.outstanding.iter().map(|bytes| (*bytes).into()),
    );
}

fn band_series(
    lines: &mut Lines<'_>,
    series: &str,
    bands: &Bands,
    name: &dyn Fn(&u8) -> &'static str,
) {
    lines.series(series, &bands.at_ns, bands.reason.iter().map(name));
    lines.series(&format!("{series}_until_ns"), &bands.at_ns, &bands.end_ns);
    lines.series(&format!("{series}_bytes"), &bands.at_ns, &bands.bytes);
}

fn pool_series(lines: &mut Lines<'_>, pool: &PoolLevels, block_size: u32) {
    for (holder, name) in PoolLevels::HOLDERS.iter().enumerate() {
        let places: Vec<_> = (0..pool.len())
            .filter(|place| usize::from(pool.holder[*place]) == holder)
            .collect();
        let at_ns: Vec<_> = places.iter().map(|place| pool.at_ns[*place]).collect();
        for (what, blocks) in [("held", &pool.held), ("promised", &pool.reserved)] {
            let bytes = places
                .iter()
                .map(|place| u64::from(blocks[*place]) * u64::from(block_size));
            lines.series(&format!("pool_{name}_{what}_bytes"), &at_ns, bytes);
        }
    }
}

fn link_series(lines: &mut Lines<'_>, name: &str, usage: &DirectionUsage) {
    busy_series(lines, name, &usage.busy);
    let queue = &usage.queue;
    lines.series(&format!("{name}_queue_frames"), &queue.at_ns, &queue.frames);
}

fn busy_series(lines: &mut Lines<'_>, name: &str, busy: &BusyPeriods) {
    lines.series(&format!("{name}_busy_until_ns"), &busy.at_ns, &busy.end_ns);
}

/// Returns a field, in quotes if necessary. RFC 4180 §2.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_string()
    }
}
