//! One HTML file with everything in it.
//!
//! Rule: the page loads nothing. Style, scripts and data stand in it as they
//! are in `page/`; the only thing done to them is to be put in their places.

use std::fmt::Write;

use fullpipe_diagnose::facts::{Coordinate, End, Figure, Host, Mark, Peer, PoolLevels, Row, Run};
use fullpipe_diagnose::vocabulary::{DiscardReason, Limit, ReceiveLimit};
use serde_json::{Value, json};

use crate::encode::Blob;

const FRAME: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/page.css");
/// The scripts in the order in which they stand: each uses those before it.
const SCRIPTS: [&str; 14] = [
    include_str!("../page/decode.js"),
    include_str!("../page/extent.js"),
    include_str!("../page/bands.js"),
    include_str!("../page/format.js"),
    include_str!("../page/theme.js"),
    include_str!("../page/model.js"),
    include_str!("../page/plot.js"),
    include_str!("../page/graphs.js"),
    include_str!("../page/view.js"),
    include_str!("../page/stack.js"),
    include_str!("../page/details.js"),
    include_str!("../page/input.js"),
    include_str!("../page/overview.js"),
    include_str!("../page/curves.js"),
];
const START: &str = include_str!("../page/page.js");

/// The page of `run`: UTF-8, complete, to be opened from anywhere.
pub fn page(run: &Run) -> String {
    let mut blobs = Blobs::default();
    let rows: Vec<Value> = run.rows.iter().map(|row| blobs.row(row)).collect();
    let facts = json!({
        "experiment": run.experiment,
        "title": run.title,
        "source": run.source,
        "seed": run.seed,
        "overrides": run.overrides,
        "vocabulary": vocabulary(),
        "rows": rows,
    });
    // Inside a script element only this could end it.
    let facts = facts.to_string().replace('<', "\\u003c");
    let scripts = SCRIPTS.join("\n") + "\n" + START;
    fill(
        FRAME,
        &[
            ("{{style}}", STYLE),
            ("{{facts}}", &facts),
            ("{{blobs}}", &blobs.text),
            ("{{scripts}}", &scripts),
        ],
    )
}

/// `frame` with each name, which stand in this order, replaced by its text.
fn fill(frame: &str, places: &[(&str, &str)]) -> String {
    let length = places.iter().map(|(_, text)| text.len()).sum::<usize>();
    let mut filled = String::with_capacity(frame.len() + length);
    let mut rest = frame;
    for (name, text) in places {
        let (before, after) = rest.split_once(name).expect("the frame has this place");
        filled.push_str(before);
        filled.push_str(text);
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// The names of everything that is a number in the data.
fn vocabulary() -> Value {
    let limits: Vec<_> = Limit::ALL.iter().map(|limit| limit.name()).collect();
    let receive: Vec<_> = ReceiveLimit::ALL.iter().map(|limit| limit.name()).collect();
    let discards: Vec<_> = DiscardReason::ALL
        .iter()
        .map(|reason| reason.name())
        .collect();
    json!({
        "limits": limits,
        "receiveLimits": receive,
        "marks": Mark::ALL.map(Mark::name),
        "discards": discards,
        "holders": PoolLevels::HOLDERS,
    })
}

/// The data of the page, each blob in an element of its own.
#[derive(Default)]
struct Blobs {
    count: usize,
    text: String,
}

impl Blobs {
    /// Puts `blob` into the page; what says where it is and what is in it.
    fn add(&mut self, blob: &Blob) -> Value {
        let id = format!("blob-{}", self.count);
        self.count += 1;
        writeln!(
            self.text,
            "<script type=\"application/octet-stream\" id=\"{id}\">{}</script>",
            blob.text()
        )
        .expect("writing into a string");
        json!({ "blob": id, "tables": blob.tables })
    }

    fn row(&mut self, row: &Row) -> Value {
        let observed = &row.observed;
        let hosts: Vec<_> = observed.hosts.iter().map(|host| self.host(host)).collect();
        let connections: Vec<_> = observed
            .connections
            .iter()
            .map(|connection| {
                let ends: Vec<_> = connection.ends().map(|end| self.end(end)).collect();
                json!({ "ends": ends })
            })
            .collect();
        json!({
            "label": row.label,
            "name": row.name,
            "point": point(&row.point),
            "published": figures(&row.published),
            "publishedOutcome": row.published_outcome,
            "peers": peers(&row.peers),
            "measured": figures(&row.measured),
            "outcome": row.outcome,
            "verdict": row.verdict.line(),
            "verdictParts": row.verdict,
            "fitted": row.fitted,
            "note": row.note,
            "seeds": row.seeds,
            "endNs": observed.end_ns,
            "forgotten": observed.forgotten,
            "hosts": hosts,
            "connections": connections,
        })
    }

    fn host(&mut self, host: &Host) -> Value {
        json!({
            "name": host.name,
            "poolBlocks": host.pool_blocks,
            "blockSize": host.block_size,
            "pool": self.add(&Blob::of_pool(&host.pool)),
        })
    }

    fn end(&mut self, end: &End) -> Value {
        let text: u64 = end.sent.len.iter().map(|len| u64::from(*len)).sum();
        json!({
            "host": end.host,
            "openedNs": end.opened_ns,
            "text": text,
            "series": self.add(&Blob::of_series(end)),
            "bands": self.add(&Blob::of_bands(end)),
        })
    }
}

fn point(point: &[Coordinate]) -> Vec<Value> {
    point
        .iter()
        .map(|at| json!({ "path": at.path, "value": at.value, "number": at.number }))
        .collect()
}

fn peers(peers: &[Peer]) -> Vec<Value> {
    peers
        .iter()
        .map(|peer| json!({ "name": peer.name, "figures": figures(&peer.figures) }))
        .collect()
}

fn figures(figures: &[Figure]) -> Vec<Value> {
    figures
        .iter()
        .map(|figure| {
            json!({ "name": figure.name, "heading": figure.heading, "value": figure.value })
        })
        .collect()
}
