//! Words of levers (things that could be changed) for which the words of their cause do not fit.
//!
//! Rule: the words name what the lever changes. If the lever adds something that is missing, they
//! say so. A lever without a row here has the words of its [`Cause`](crate::Cause).

use crate::lever::{Lever, LeverKind};

/// The condition for which a row's words hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// For every value.
    Always,
    /// If the lever sets this value.
    Sets(&'static str),
    /// If the setting has this value at present.
    Had(&'static str),
    /// If the lever is a rule, not an amount to enlarge.
    IsRule,
}

use When::{Always, Had, IsRule, Sets};

/// The field of a lever, a condition, and the words.
const ROWS: &[(&str, When, &str)] = &[
    ("tcp.send_buffer", IsRule, "a send buffer that is too large"),
    (
        "tcp.receive_buffer",
        IsRule,
        "a receive buffer that is too large",
    ),
    (
        "tcp.send_payload_share",
        Always,
        "the share of the send buffer for payload",
    ),
    (
        "tcp.receive_payload_share",
        Always,
        "the share of the receive buffer for the window",
    ),
    (
        "tcp.window_share",
        Always,
        "the share of packet memory for one receive window",
    ),
    (
        "tcp.idle_window_share",
        Always,
        "the share of packet memory for the first receive window",
    ),
    (
        "pool.send_floor",
        Always,
        "the packet memory that only senders may use",
    ),
    (
        "pool.receive_floor",
        Always,
        "the packet memory that only receivers may use",
    ),
    ("pool.pressure", Always, "the threshold of memory pressure"),
    (
        "tcp.small_queue",
        Always,
        "the cap on one connection's bytes in the transmit queue of the network device",
    ),
    (
        "tcp.initial_window",
        Always,
        "the initial congestion window",
    ),
    (
        "tcp.hystart",
        Sets("false"),
        "HyStart, which ends slow start early",
    ),
    ("tcp.hystart", Sets("true"), "slow start without HyStart"),
    (
        "tcp.bbr_loss_threshold",
        Always,
        "the loss threshold of BBR",
    ),
    ("tcp.pacing", Sets("true"), "missing pacing"),
    (
        "tcp.pacing_rate_max",
        Had("0"),
        "a missing cap on the pacing rate",
    ),
    ("tcp.pacing_rate_max", Always, "the cap on the pacing rate"),
    (
        "tcp.unacknowledged",
        IsRule,
        "a cap on unacknowledged payload that is too large",
    ),
    ("tcp.ecn", Sets("on"), "missing ECN"),
    (
        "tcp.use_up_window",
        Always,
        "the rule that a partial segment is not sent, even if it would exactly fill the window",
    ),
    (
        "tcp.write_atomic",
        Always,
        "the rule that the send buffer accepts a write only as a whole",
    ),
    (
        "tcp.segment_sizing",
        Always,
        "the time at which the size of a super-segment is chosen",
    ),
    (
        "tcp.fit_segments",
        Always,
        "the number of segments into which the payload of a full buffer is divided",
    ),
    (
        "tcp.sws_override",
        Always,
        "the timeout that overrides silly window avoidance",
    ),
    ("tcp.sack", Always, "missing SACK"),
    (
        "tcp.tail_loss_probe",
        Sets("true"),
        "missing tail loss probes",
    ),
    ("tcp.tail_loss_probe", Sets("false"), "tail loss probes"),
    (
        "tcp.nagle",
        Sets("true"),
        "small segments, which Nagle's algorithm would join",
    ),
    (
        "tcp.push",
        Always,
        "the rule by which segments have the PSH flag",
    ),
    (
        "ip.path_mtu_min",
        Always,
        "the smallest path MTU that the host accepts",
    ),
    (
        "device_queue",
        IsRule,
        "a transmit queue of the network device that is too long",
    ),
    (
        "stack.turn_budget",
        Always,
        "the number of packets that a host handles in one turn",
    ),
    ("pool.cells", Always, "the division of blocks into cells"),
    ("tcp.rto_min", Always, "the smallest retransmission timeout"),
    (
        "tcp.rto_initial",
        Always,
        "the initial retransmission timeout",
    ),
    ("tcp.rto_max", Always, "the largest retransmission timeout"),
    ("tcp.window_scaling", Always, "missing window scaling"),
    ("tcp.timestamps", Sets("true"), "missing timestamps"),
    ("tcp.timestamps", Sets("false"), "the timestamps option"),
    ("tcp.mtu_probing", Always, "the probing for the path MTU"),
    (
        "tcp.base_mss",
        Always,
        "the segment size at which the probing for the path MTU starts",
    ),
    (
        "device.super_segment",
        Sets("64K"),
        "missing segmentation offload (TSO)",
    ),
    (
        "device.super_segment",
        Sets("0"),
        "segmentation offload (TSO)",
    ),
    (
        "device.merge_quiet",
        Always,
        "the merging of received segments",
    ),
];

/// Returns the words that follow "limited by" if `lever` helps most: what the lever changes.
pub fn words_of(lever: &Lever) -> &'static str {
    let mut rows = ROWS.iter().filter(|(field, ..)| *field == lever.field);
    let own = rows.find(|(_, when, _)| match when {
        Always => true,
        Sets(value) => lever.ample.iter().all(|change| change.to == *value),
        Had(value) => lever.present.as_deref() == Some(*value),
        IsRule => lever.kind == LeverKind::Rule,
    });
    own.map_or(lever.cause.words, |(.., words)| words)
}

#[cfg(test)]
mod tests;
