//! Families of levers (things that somebody could change), for the table that compares the best
//! levers with the levers that explanations name.
//!
//! Rule: the rows list knobs (settings of a host's stack) and fields of hosts. Levers of
//! applications, processors and the path get a family from their kind; a lever of the path also
//! from its field.

use fullpipe_explain::LeverKind;

/// Each row is a family and the beginnings of the names of its knobs and fields.
const ROWS: &[(&str, &[&str])] = &[
    (
        "send buffer",
        &[
            "tcp.send_",
            "tcp.unacknowledged",
            "tcp.small_queue",
            "udp.send_",
        ],
    ),
    (
        "receive window",
        &[
            "tcp.receive_",
            "tcp.window_",
            "tcp.idle_window_share",
            "tcp.initial_receive_window",
            "tcp.out_of_order",
            "tcp.holes",
            "udp.receive_",
        ],
    ),
    ("memory", &["pool.", "stack.", "ip."]),
    ("device", &["device", "arp."]),
    (
        "congestion",
        &[
            "tcp.congestion",
            "tcp.initial_window",
            "tcp.hystart",
            "tcp.bbr",
            "tcp.pacing",
            "tcp.ecn",
        ],
    ),
    (
        "ACKs",
        &[
            "tcp.delayed_ack",
            "tcp.ack_every",
            "tcp.quick_acks",
            "tcp.sack",
        ],
    ),
    (
        "timers",
        &[
            "tcp.rto",
            "tcp.retries",
            "tcp.syn_retries",
            "tcp.tail_loss_probe",
            "tcp.user_timeout",
        ],
    ),
    ("segments", &["tcp."]),
];

/// Family for worlds (random transfers) in which no lever helps.
pub const NOTHING: &str = "nothing";
/// Family of an answer that names the other flows on a full link.
pub const OTHERS: &str = "other flows";
/// Family of levers that help only in combination.
pub const SEVERAL: &str = "several";
/// Family of the best levers if the engine lacks one of them, and its other levers have clearly less
/// gain.
pub const MISSING: &str = "missing lever";
/// Family of a name that is not the name of a lever.
pub const UNKNOWN: &str = "unknown";

/// Returns the family of the lever with this name and kind.
pub fn family(name: &str, kind: LeverKind) -> String {
    let (_, rest) = name.split_once('.').unwrap_or(("", name));
    let setting = rest.split('=').next().unwrap_or(rest);
    match kind {
        LeverKind::Resource | LeverKind::Rule => {
            let of = |row: &&(&str, &[&str])| row.1.iter().any(|first| setting.starts_with(first));
            let row = ROWS.iter().find(of);
            row.map_or("other knobs", |row| row.0).to_string()
        }
        LeverKind::Application => "application".into(),
        LeverKind::Processor => "processor".into(),
        LeverKind::Path => {
            let field = setting.rsplit('.').next().unwrap_or(setting);
            format!("path {field}")
        }
    }
}
