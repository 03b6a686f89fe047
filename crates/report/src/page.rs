//! Writes one HTML file that contains everything it needs.
//!
//! Rule: the page loads no other file. The template `page/page.html` is filled with the style and
//! the scripts of `page/`, and with the data.

use std::fmt::Write;

use fullpipe_diagnose::facts::{
    Coordinate, Endpoint, Figure, Host, LinkUsage, Mark, PathFacts, Peer, PoolLevels, Row, Run,
    ShownBy,
};
use fullpipe_diagnose::{
    observe::SeenLimit,
    vocabulary::{DiscardReason, ReceiveLimit},
};
use serde_json::{Value, json};

use crate::encode::Blob;

const FRAME: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/page.css");
/// The scripts in the order of their dependencies: each uses only earlier ones.
const SCRIPTS: [&str; 24] = [
    include_str!("../page/decode.js"),
    include_str!("../page/extent.js"),
    include_str!("../page/bands.js"),
    include_str!("../page/usage.js"),
    include_str!("../page/format.js"),
    include_str!("../page/elements.js"),
    include_str!("../page/theme.js"),
    include_str!("../page/model.js"),
    include_str!("../page/plot.js"),
    include_str!("../page/envelope.js"),
    include_str!("../page/marks.js"),
    include_str!("../page/bounds.js"),
    include_str!("../page/sequence.js"),
    include_str!("../page/graphs.js"),
    include_str!("../page/lanes.js"),
    include_str!("../page/view.js"),
    include_str!("../page/values.js"),
    include_str!("../page/stack.js"),
    include_str!("../page/verdict.js"),
    include_str!("../page/details.js"),
    include_str!("../page/legend.js"),
    include_str!("../page/input.js"),
    include_str!("../page/rows.js"),
    include_str!("../page/curves.js"),
];
const START: &str = include_str!("../page/page.js");

/// Returns the page of `run`: a complete HTML file in UTF-8.
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
    // Escape each `<` in the facts, because it could end the script element that contains them.
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

/// Replaces each name in `frame` by its text. `places` contains the names in their order in the
/// frame.
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

/// Returns the names of limits (reasons that an end does not send), marks, discards and memory
/// holders (kinds of buffers). Elsewhere in the page's data, a number stands for each name.
fn vocabulary() -> Value {
    let limits: Vec<_> = SeenLimit::ALL.iter().map(|limit| limit.name()).collect();
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

/// The blobs of the page, each of which is in its own element.
#[derive(Default)]
struct Blobs {
    count: usize,
    text: String,
}

impl Blobs {
    /// Adds `blob` to the page. Returns the blob's element and tables.
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
        let links: Vec<_> = observed.links.iter().map(|link| self.link(link)).collect();
        json!({
            "label": row.label,
            "name": row.name,
            "point": point(&row.point),
            "published": figures(&row.published),
            "publishedOutcome": row.published_outcome,
            "isCompared": row.is_compared,
            "peers": peers(&row.peers),
            "measured": figures(&row.measured),
            "outcome": row.outcome,
            "verdict": row.verdict,
            "shownBy": shown_by(&row.shown_by),
            "path": row.path.as_ref().map(path),
            "fitted": row.fitted,
            "note": row.note,
            "seeds": row.seeds,
            "endNs": observed.end_ns,
            "forgotten": observed.forgotten,
            "hosts": hosts,
            "links": links,
            "connections": connections,
        })
    }

    fn host(&mut self, host: &Host) -> Value {
        json!({
            "name": host.name,
            "poolBlocks": host.pool_blocks,
            "blockSize": host.block_size,
            "usage": self.add(&Blob::of_host(&host.pool, &host.cpu)),
        })
    }

    fn link(&mut self, link: &LinkUsage) -> Value {
        json!({
            "name": link.name,
            "shared": link.is_shared,
            "usage": self.add(&Blob::of_link(link)),
        })
    }

    fn end(&mut self, end: &Endpoint) -> Value {
        let payload: u64 = end.sent.len.iter().map(|len| u64::from(*len)).sum();
        json!({
            "host": end.host,
            "openedNs": end.opened_ns,
            "payload": payload,
            "series": self.add(&Blob::of_series(end)),
            "bands": self.add(&Blob::of_bands(end)),
        })
    }
}

fn path(path: &PathFacts) -> Value {
    let bound = path.bound.as_ref().map(|bound| {
        json!({
            "setting": bound.setting,
            "host": bound.host,
            "bytes": bound.bytes,
            "bps": bound.at_most_bps,
        })
    });
    let links: Vec<_> = path
        .links
        .iter()
        .map(|(link, forward)| json!({ "link": link, "forward": forward }))
        .collect();
    json!({
        "sender": path.sender,
        "receiver": path.receiver,
        "links": links,
        "bps": path.payload_bps,
        "rttNs": path.rtt_ns,
        "bound": bound,
    })
}

fn shown_by(shown: &ShownBy) -> Value {
    match shown {
        ShownBy::Link(link) => json!({ "kind": "link", "name": link }),
        ShownBy::Processor(host) => json!({ "kind": "cpu", "name": host }),
        ShownBy::Limits(limits) => {
            let names: Vec<_> = limits.iter().map(|limit| limit.name()).collect();
            json!({ "kind": "limits", "limits": names })
        }
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
