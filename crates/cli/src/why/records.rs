//! Connections for programs, as JSON.
//!
//! Rule: the name of a value with a unit ends in this unit, as `docs/json.md` describes.

use fullpipe_captures::{Apart, Capture, Connections, Row, TwinAnswer, ending_name};
use fullpipe_diagnose::{
    capture::CaptureWarning,
    inferred::Confidence,
    observe::{ConnectionFailure, ObservedConnection},
    socket::AccountsBeside,
};
use fullpipe_lab::JSON_SCHEMA;
use serde::Serialize;

use super::{
    merged::{self, JsonMerge},
    recordings::{self, JsonMatched, JsonRecording, Recording},
    twin::{self, JsonTwin},
};
use crate::failure::Failure;

#[derive(Serialize)]
struct Answer<'a> {
    schema: u32,
    captures: Vec<JsonCapture<'a>>,
    connections: Vec<JsonConnection<'a>>,
    connections_left_out: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    apart: Vec<JsonApart>,
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
struct JsonApart {
    connection: u64,
    earlier: u64,
    reason: &'static str,
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
    failure: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreachable: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreachable_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreachable_from: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    socket: Option<JsonMatched<'a>>,
    shares: &'a fullpipe_diagnose::account::Shares<fullpipe_diagnose::observe::SeenLimit>,
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
        connections_left_out: connections.left_out(),
        apart: connections.apart().iter().map(apart).collect(),
        observed: connections.full().map(|flow| &flow.outcome),
        twin: twin.map(twin::json),
        recordings: recordings::json(recordings),
        accounts: recordings::json_beside(recordings, connections),
        merge: merged::json(captures, connections),
    };
    serde_json::to_string_pretty(&answer).map_err(Failure::failed)
}

const fn apart(pair: &Apart) -> JsonApart {
    JsonApart {
        connection: pair.connection,
        earlier: pair.earlier,
        reason: pair.reason.name(),
    }
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
        ending: ending_name(row.ending),
        failure: row.failure.map(ConnectionFailure::name),
        unreachable: row.returned.map(|returned| returned.reason.name()),
        unreachable_ns: row.returned.map(|returned| returned.at_ns),
        unreachable_from: row.returned_from(),
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
