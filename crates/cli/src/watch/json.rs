//! Sockets, accounts (time and bytes by limit), verdicts and events as JSON.
//!
//! Rule: `docs/json.md` describes names and units. A value that is unknown is absent.

use std::collections::BTreeMap;

use fullpipe_diagnose::{
    inferred::Confidence,
    socket::{
        FollowedSocket, HostSettings, KernelNote, SocketChange, SocketEvent, SocketStep,
        SocketTable, SsFields, socket_verdict,
    },
    vocabulary::{Limit, ReceiveLimit},
};
use fullpipe_lab::JSON_SCHEMA;
use serde::Serialize;

use super::source::Source;
use fullpipe_host::ProcessName;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    t_s: f64,
    unix_time_s: f64,
    sockets: Vec<SocketJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<EventJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<&'a HostSettings>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    counters: BTreeMap<&'a str, u64>,
}

/// A socket with its account and its verdict.
#[derive(Serialize)]
pub struct SocketJson<'a> {
    sk: String,
    local: String,
    peer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<&'a str>,
    uid: u32,
    ino: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<u64>,
    limit_now: &'static str,
    confidence: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<Observed>,
    verdict: VerdictJson,
    #[serde(flatten)]
    fields: SsFields<'a>,
}

/// Sums since the first observation, and rates of the latest interval.
#[derive(Serialize)]
struct Observed {
    elapsed_s: f64,
    out_bps: f64,
    in_bps: f64,
    acked_bytes: u64,
    received_bytes: u64,
    certain_share: f64,
    account: AccountJson,
}

#[derive(Serialize)]
struct AccountJson {
    sender: BTreeMap<&'static str, Charged>,
    receiver: BTreeMap<&'static str, f64>,
}

#[derive(Serialize)]
struct Charged {
    seconds: f64,
    bytes: u64,
}

#[derive(Serialize)]
struct VerdictJson {
    limit: &'static str,
    share: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_limit: Option<&'static str>,
    is_path: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    allows_bps: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<SocketStep>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<KernelNote>,
}

#[derive(Serialize)]
struct EventJson {
    t_s: f64,
    sk: String,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queued_bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sndbuf_bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
}

/// Everything in a document (the JSON of one round) except the sockets.
pub struct Surroundings<'a> {
    /// The host's settings, printed in the first document only; `None` in all others.
    pub settings: Option<&'a HostSettings>,
    /// The host's settings, on which the verdicts are based.
    pub judged_by: &'a HostSettings,
    /// Events since the previous document.
    pub events: &'a [SocketEvent],
    /// Counters of nstat, if `--nstat` was given.
    pub counters: &'a [(String, u64)],
    /// Time of the document, in seconds since 1970-01-01 UTC.
    pub unix_time_s: f64,
}

/// Returns one document as one line, without a line break.
pub fn document(
    sockets: &[&FollowedSocket],
    table: &SocketTable,
    source: &Source,
    around: &Surroundings<'_>,
) -> String {
    let document = Document {
        schema: JSON_SCHEMA,
        t_s: source.now_us() as f64 / 1e6,
        unix_time_s: around.unix_time_s,
        sockets: sockets
            .iter()
            .map(|socket| {
                let other = table.other_end(&socket.latest.id);
                let owner = source.owner(socket.latest.inode);
                SocketJson::of(socket, other, owner, around.judged_by)
            })
            .collect(),
        events: around.events.iter().map(EventJson::of).collect(),
        settings: around.settings,
        counters: around
            .counters
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect(),
    };
    serde_json::to_string(&document).expect("the keys are strings")
}

impl<'a> SocketJson<'a> {
    /// Returns the socket with its verdict. `other` is the other end of its connection, if it is on
    /// the same host.
    pub fn of(
        socket: &'a FollowedSocket,
        other: Option<&FollowedSocket>,
        owner: Option<&'a ProcessName>,
        settings: &HostSettings,
    ) -> Self {
        let (id, latest) = (&socket.latest.id, &socket.latest);
        let verdict = socket_verdict(socket, other, settings);
        Self {
            sk: format!("{:x}", id.cookie),
            local: id.local.to_string(),
            peer: id.peer.to_string(),
            pid: owner.map(|owner| owner.pid),
            process: owner.map(|owner| owner.name.as_str()),
            uid: latest.uid,
            ino: latest.inode,
            cgroup: latest.cgroup,
            limit_now: socket.account.now.name(),
            confidence: match socket.account.now.confidence {
                Confidence::High => "high",
                Confidence::Low => "low",
            },
            observed: (socket.observations > 1).then(|| Observed::of(socket)),
            verdict: VerdictJson {
                limit: verdict.limit.map_or("unknown", Limit::name),
                share: verdict.share,
                receive_limit: verdict.receive_limit.map(|(limit, _)| limit.name()),
                is_path: verdict.is_path,
                allows_bps: verdict.allows.map(|bytes| bytes * 8.0),
                steps: verdict.steps,
                notes: verdict.notes,
            },
            fields: SsFields::of(latest),
        }
    }
}

impl Observed {
    fn of(socket: &FollowedSocket) -> Self {
        let account = &socket.account;
        let charged = |(limit, micros): (Option<Limit>, u64)| {
            let charged = Charged {
                seconds: micros as f64 / 1e6,
                bytes: account.times.bytes(limit),
            };
            (limit.map_or("unknown", Limit::name), charged)
        };
        let receiver = ReceiveLimit::ALL
            .iter()
            .map(|limit| (limit.name(), account.receiver[*limit as usize] as f64 / 1e6));
        Self {
            elapsed_s: socket.observed_us() as f64 / 1e6,
            out_bps: account.rates[0] * 8.0,
            in_bps: account.rates[1] * 8.0,
            acked_bytes: account.moved[0],
            received_bytes: account.moved[1],
            certain_share: account.certain_share(),
            account: AccountJson {
                sender: account
                    .times
                    .iter()
                    .filter(|(_, micros)| *micros > 0)
                    .map(charged)
                    .collect(),
                receiver: receiver.filter(|(_, seconds)| *seconds > 0.0).collect(),
            },
        }
    }
}

impl EventJson {
    fn of(event: &SocketEvent) -> Self {
        let mut json = Self {
            t_s: event.at_us as f64 / 1e6,
            sk: format!("{:x}", event.id.cookie),
            event: event.change.name(),
            after_s: None,
            queued_bytes: None,
            sndbuf_bytes: None,
            count: None,
        };
        match event.change {
            SocketChange::WriterBlocked { queued, sndbuf } => {
                json.queued_bytes = Some(queued);
                json.sndbuf_bytes = Some(sndbuf);
            }
            SocketChange::WriterReleased { after_us } => {
                json.after_s = Some(after_us as f64 / 1e6);
            }
            SocketChange::PeerWindowOpened { after_us, probes } => {
                json.after_s = Some(after_us as f64 / 1e6);
                json.count = Some(probes.into());
            }
            SocketChange::Timeout { retransmits } => json.count = Some(retransmits.into()),
            SocketChange::Dropped { segments } => json.count = Some(segments),
            SocketChange::Opened | SocketChange::PeerWindowClosed | SocketChange::Closed => {}
        }
        json
    }
}
