//! Connections for programs: JSON, CSV and Parquet.
//!
//! Rule: each name ends in its unit, as `docs/json.md` describes.

use fullpipe_diagnose::{
    capture::{CaptureWarning, FlowEnding},
    inferred::Confidence,
    observe::ObservedConnection,
    socket::AccountsBeside,
};
use fullpipe_lab::{Column, JSON_SCHEMA, Records, Values};
use serde::Serialize;

use super::{
    captures::Capture,
    connections::{Connections, Row},
    merged::{self, JsonMerge},
    recordings::{self, JsonMatched, JsonRecording, Recording},
    twin::{JsonTwin, TwinAnswer},
};
use crate::failure::Failure;

#[derive(Serialize)]
struct Answer<'a> {
    schema: u32,
    captures: Vec<JsonCapture<'a>>,
    connections: Vec<JsonConnection<'a>>,
    connections_left_out: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<&'a ObservedConnection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    twin: Option<JsonTwin<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recordings: Vec<JsonRecording<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accounts: Option<AccountsBeside>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merge: Option<JsonMerge<'a>>,
}

#[derive(Serialize)]
struct JsonCapture<'a> {
    file: &'a str,
    packets: u64,
    bytes: u64,
    captured_bytes: u64,
    tcp_segments: u64,
    not_tcp: u64,
    began_ns: i64,
    ended_ns: i64,
    is_partial: bool,
    warnings: Vec<JsonWarning>,
}

#[derive(Serialize)]
struct JsonWarning {
    name: &'static str,
    text: String,
}

#[derive(Serialize)]
struct JsonConnection<'a> {
    number: u64,
    file: &'a str,
    sender: String,
    receiver: String,
    began_ns: i64,
    elapsed_s: f64,
    segments: u64,
    data_segments: u64,
    payload_bytes: u64,
    goodput_mbps: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_rtt_ms: Option<f64>,
    retransmitted_segments: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_sure: Option<bool>,
    lost_s: f64,
    ending: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    socket: Option<JsonMatched<'a>>,
    shares: &'a fullpipe_diagnose::account::Shares<fullpipe_diagnose::observe::SeenLimit>,
}

const fn ending(ending: FlowEnding) -> &'static str {
    match ending {
        FlowEnding::Closed => "closed",
        FlowEnding::Reset => "reset",
        FlowEnding::Replaced => "replaced",
        FlowEnding::Idle => "idle",
        FlowEnding::Crowded => "crowded",
        FlowEnding::CaptureEnd => "capture_end",
    }
}

/// Returns one JSON object: captures, connections, and the whole result of one connection.
pub fn json(
    captures: &[Capture],
    recordings: &[Recording],
    connections: &Connections,
    rows: &[Row],
    twin: Option<&TwinAnswer>,
) -> Result<String, Failure> {
    let row = |row| connection(captures, recordings, row);
    let answer = Answer {
        schema: JSON_SCHEMA,
        captures: captures.iter().map(capture).collect(),
        connections: rows.iter().map(row).collect(),
        connections_left_out: connections.distinct() - rows.len() as u64,
        observed: connections.full().map(|flow| &flow.outcome),
        twin: twin.map(TwinAnswer::json),
        recordings: recordings::json(recordings),
        accounts: recordings::json_beside(recordings, connections),
        merge: merged::json(captures, connections),
    };
    serde_json::to_string_pretty(&answer).map_err(Failure::failed)
}

fn capture(capture: &Capture) -> JsonCapture<'_> {
    let Capture {
        name,
        counters,
        warnings,
    } = capture;
    let warning = |warning: &CaptureWarning| JsonWarning {
        name: warning.name(),
        text: warning.to_string(),
    };
    JsonCapture {
        file: name,
        packets: counters.frames,
        bytes: counters.bytes,
        captured_bytes: counters.captured_bytes,
        tcp_segments: counters.segments,
        not_tcp: counters.not_tcp,
        began_ns: counters.began_ns,
        ended_ns: counters.ended_ns,
        is_partial: warnings.iter().any(CaptureWarning::is_partial),
        warnings: warnings.iter().map(warning).collect(),
    }
}

fn connection<'a>(
    captures: &'a [Capture],
    recordings: &'a [Recording],
    row: &'a Row,
) -> JsonConnection<'a> {
    JsonConnection {
        number: row.number,
        file: file(captures, row),
        sender: row.sender.to_string(),
        receiver: row.receiver.to_string(),
        began_ns: row.began_ns,
        elapsed_s: row.seconds,
        segments: row.segments,
        data_segments: row.data_segments,
        payload_bytes: row.bytes,
        goodput_mbps: row.goodput_bps / 1e6,
        base_rtt_ms: row.rtt_s.map(|seconds| seconds * 1e3),
        retransmitted_segments: row.retransmitted,
        limit: row.limit.map(|(limit, ..)| limit.name()),
        limit_share: row.limit.map(|(_, share, _)| share),
        is_sure: row
            .limit
            .map(|(.., confidence)| confidence == Confidence::High),
        lost_s: row.lost_s,
        ending: ending(row.ending),
        socket: recordings::json_matched(recordings, row),
        shares: &row.shares,
    }
}

/// Returns the name of the connection's capture. The capture exists, because only captures
/// that could be read have rows.
fn file<'a>(captures: &'a [Capture], row: &Row) -> &'a str {
    captures
        .get(row.capture)
        .map_or("", |capture| &capture.name)
}

/// Returns a record for each connection, for CSV and Parquet.
pub fn table(captures: &[Capture], rows: &[Row]) -> Records {
    let words = |name: &str, of: &dyn Fn(&Row) -> String| Column {
        name: name.to_string(),
        values: Values::Text(rows.iter().map(of).collect()),
    };
    let whole = |name: &str, of: &dyn Fn(&Row) -> u64| Column {
        name: name.to_string(),
        values: Values::Whole(rows.iter().map(|row| Some(of(row))).collect()),
    };
    let decimal = |name: &str, of: &dyn Fn(&Row) -> Option<f64>| Column {
        name: name.to_string(),
        values: Values::Decimal(rows.iter().map(of).collect()),
    };
    let columns = vec![
        whole("number", &|row| row.number),
        words("file", &|row| file(captures, row).to_string()),
        words("sender", &|row| row.sender.to_string()),
        words("receiver", &|row| row.receiver.to_string()),
        decimal("began_s", &|row| Some(row.began_ns as f64 / 1e9)),
        decimal("elapsed_s", &|row| Some(row.seconds)),
        whole("segments", &|row| row.segments),
        whole("data_segments", &|row| row.data_segments),
        whole("payload_bytes", &|row| row.bytes),
        decimal("goodput_mbps", &|row| Some(row.goodput_bps / 1e6)),
        decimal("base_rtt_ms", &|row| row.rtt_s.map(|seconds| seconds * 1e3)),
        whole("retransmitted_segments", &|row| row.retransmitted),
        words("limit", &|row| {
            row.limit.map_or("", |(limit, ..)| limit.name()).to_string()
        }),
        decimal("limit_share", &|row| row.limit.map(|(_, share, _)| share)),
        words("confidence", &|row| match row.limit {
            Some((.., Confidence::High)) => "high".to_string(),
            Some(_) => "low".to_string(),
            None => String::new(),
        }),
        decimal("lost_s", &|row| Some(row.lost_s)),
        words("ending", &|row| ending(row.ending).to_string()),
    ];
    Records {
        columns,
        count: rows.len(),
    }
}
