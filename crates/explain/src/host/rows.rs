//! The table of the hosts' levers (things that could be changed). A row is a knob, the values to
//! try, the cause that the knob reveals, and the clues (signs in a run) that suggest to try it.

use crate::{
    cause::Cause,
    clue::{self, Clue},
    lever::LeverKind,
};

/// The end of the flow at which a knob has an effect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Sender,
    Receiver,
    Each,
    /// Both ends: one lever changes both hosts, because the option is used only if both hosts offer
    /// it.
    Both,
}

/// The values to try.
pub(super) enum Try {
    /// Twice the present number, and an ample number of bytes. A number is ample if a larger number
    /// gains nothing.
    Bytes,
    /// As [`Bytes`](Try::Bytes), for the size that a buffer may grow to. A buffer whose size the
    /// application has set does not grow. For this buffer, one value is tried instead: the size to
    /// which the system would let the buffer grow if the application had not set the size.
    Tuned,
    /// Twice the present number, and the ample number of entries.
    Entries,
    /// Twice the present number, and this value, with which the knob is no limit.
    Unbounded(&'static str),
    /// Half of the present number or time, and this value. The lever exists only if the present
    /// number or time is larger than this value.
    Less(&'static str),
    /// Half of the present number, and the bandwidth-delay product if it is smaller than the
    /// present number. Both are tried, because a smaller buffer can make the transfer faster.
    Half,
    /// Twice the present number, and this value.
    More(&'static str),
    /// The size of a segment that the smallest MTU of the path allows. The lever exists only if a
    /// link has a hop with a smaller MTU than the link.
    Fitting,
    /// Half of the present number or time, as a lever of its own.
    Halved,
    /// Twice the present number or time, as a lever of its own.
    Doubled,
    /// A little less than the rate of the path, in bytes per second. The lever exists only if the
    /// present rate is higher, or if there is no rate.
    OfPath,
    /// Each of these values, as a lever of its own.
    OneOf(&'static [&'static str]),
    /// Every other congestion control.
    Congestion,
}

pub(super) struct Row {
    pub knob: &'static str,
    pub end: End,
    pub kind: LeverKind,
    pub values: Try,
    /// Cause of the limit if this lever helps most.
    pub cause: Cause,
    /// Clues that suggest the lever.
    pub clues: &'static [Clue],
    /// True if the lever rarely helps: it runs after the others, while the budget lasts.
    pub is_rare: bool,
    /// Other knobs that must be set together with this knob, and their values.
    pub with: &'static [(&'static str, &'static str)],
}

const fn rule(
    knob: &'static str,
    end: End,
    values: Try,
    cause: Cause,
    clues: &'static [Clue],
) -> Row {
    Row {
        knob,
        end,
        kind: LeverKind::Rule,
        values,
        cause,
        clues,
        is_rare: false,
        with: &[],
    }
}

const fn resource(
    knob: &'static str,
    end: End,
    values: Try,
    cause: Cause,
    clues: &'static [Clue],
) -> Row {
    Row {
        kind: LeverKind::Resource,
        ..rule(knob, end, values, cause, clues)
    }
}

/// A field of the device that software cannot change.
const fn hardware(
    field: &'static str,
    end: End,
    values: Try,
    cause: Cause,
    clues: &'static [Clue],
) -> Row {
    Row {
        kind: LeverKind::Processor,
        ..rule(field, end, values, cause, clues)
    }
}

const fn rare(mut row: Row) -> Row {
    row.is_rare = true;
    row
}

const fn with(mut row: Row, with: &'static [(&'static str, &'static str)]) -> Row {
    row.with = with;
    row
}

use End::{Both, Each, Receiver, Sender};
use Try::{
    Bytes, Congestion, Doubled, Entries, Fitting, Half, Halved, Less, More, OfPath, OneOf, Tuned,
    Unbounded,
};

pub(super) const ROWS: &[Row] = &[
    // Buffers and their caps. A row that sets the size of a buffer also turns off its growth.
    with(
        resource(
            "tcp.send_buffer",
            Sender,
            Bytes,
            Cause::SEND_BUFFER,
            clue::SENDING,
        ),
        &[("tcp.send_buffer_max", "0")],
    ),
    resource(
        "tcp.send_buffer_max",
        Sender,
        Tuned,
        Cause::SEND_BUFFER,
        clue::SENDING,
    ),
    resource(
        "tcp.send_buffer_limit",
        Sender,
        Bytes,
        Cause::SEND_BUFFER_LIMIT,
        clue::SENDING,
    ),
    resource(
        "tcp.send_payload_share",
        Sender,
        Unbounded("100"),
        Cause::SEND_BUFFER,
        clue::SENDING,
    ),
    resource(
        "tcp.unacknowledged",
        Sender,
        Bytes,
        Cause::UNACKNOWLEDGED,
        clue::SENDING,
    ),
    with(
        resource(
            "tcp.receive_buffer",
            Receiver,
            Bytes,
            Cause::RECEIVE_WINDOW,
            clue::RECEIVING,
        ),
        &[("tcp.receive_buffer_max", "0")],
    ),
    with(
        resource(
            "tcp.receive_buffer_max",
            Receiver,
            Tuned,
            Cause::RECEIVE_WINDOW,
            clue::RECEIVING,
        ),
        &[("tcp.receive_tuning", "true")],
    ),
    resource(
        "tcp.receive_buffer_limit",
        Receiver,
        Bytes,
        Cause::RECEIVE_BUFFER_LIMIT,
        clue::RECEIVING,
    ),
    resource(
        "tcp.receive_payload_share",
        Receiver,
        Unbounded("100"),
        Cause::RECEIVE_WINDOW,
        clue::RECEIVING,
    ),
    resource(
        "tcp.out_of_order",
        Receiver,
        Bytes,
        Cause::OUT_OF_ORDER,
        clue::LOSSES,
    ),
    resource(
        "tcp.holes",
        Receiver,
        Entries,
        Cause::RANGE_TABLE,
        clue::TABLES,
    ),
    resource(
        "udp.receive_queue",
        Receiver,
        Entries,
        Cause::RECEIVE_QUEUE,
        clue::DATAGRAMS,
    ),
    resource(
        "udp.receive_buffer",
        Receiver,
        Bytes,
        Cause::RECEIVE_QUEUE,
        clue::DATAGRAMS,
    ),
    resource(
        "udp.send_queue",
        Sender,
        Entries,
        Cause::SEND_QUEUE,
        clue::DATAGRAMS,
    ),
    resource(
        "udp.send_buffer",
        Sender,
        Bytes,
        Cause::SEND_QUEUE,
        clue::DATAGRAMS,
    ),
    // Memory and tables.
    resource("pool.blocks", Each, Entries, Cause::MEMORY, clue::MEMORY),
    resource(
        "pool.ranges",
        Receiver,
        Entries,
        Cause::RANGE_TABLE,
        clue::TABLES,
    ),
    resource(
        "pool.send_floor",
        Each,
        Entries,
        Cause::MEMORY,
        clue::MEMORY,
    ),
    resource(
        "pool.receive_floor",
        Each,
        Entries,
        Cause::MEMORY,
        clue::MEMORY,
    ),
    with(
        resource(
            "pool.pressure",
            Each,
            Unbounded("100"),
            Cause::MEMORY,
            clue::MEMORY,
        ),
        &[("pool.pressure_high", "100")],
    ),
    resource(
        "tcp.window_share",
        Receiver,
        Unbounded("100"),
        Cause::PEER_MEMORY,
        clue::RECEIVING,
    ),
    resource(
        "tcp.idle_window_share",
        Receiver,
        Unbounded("100"),
        Cause::PEER_MEMORY,
        clue::RECEIVING,
    ),
    resource(
        "stack.sent_ranges",
        Sender,
        Entries,
        Cause::RANGE_TABLE,
        clue::TABLES,
    ),
    resource(
        "stack.sent_ranges_each",
        Sender,
        Entries,
        Cause::RANGE_TABLE,
        clue::TABLES,
    ),
    resource(
        "arp.queue_packets",
        Each,
        More("1024"),
        Cause::NEIGHBOUR,
        clue::NEIGHBOUR,
    ),
    resource(
        "ip.reassembly_datagrams",
        Receiver,
        More("1024"),
        Cause::REASSEMBLY,
        clue::DATAGRAMS,
    ),
    resource(
        "ip.reassembly_per_source",
        Receiver,
        More("1024"),
        Cause::REASSEMBLY,
        clue::DATAGRAMS,
    ),
    resource(
        "ip.reassembly_bytes",
        Receiver,
        Bytes,
        Cause::REASSEMBLY,
        clue::DATAGRAMS,
    ),
    resource(
        "ip.reassembly_pieces",
        Receiver,
        More("8192"),
        Cause::REASSEMBLY,
        clue::DATAGRAMS,
    ),
    resource("device_queue", Each, Entries, Cause::DEVICE, clue::DEVICE),
    resource(
        "device.rx_descriptors",
        Each,
        Entries,
        Cause::DESCRIPTORS,
        clue::RINGS,
    ),
    resource(
        "tcp.small_queue",
        Sender,
        Bytes,
        Cause::DEVICE,
        clue::DEVICE,
    ),
    resource(
        "tcp.initial_receive_window",
        Receiver,
        More("1000"),
        Cause::INITIAL_RECEIVE_WINDOW,
        clue::RECEIVING,
    ),
    rare(resource(
        "pool.overcommit_percent",
        Each,
        Unbounded("400"),
        Cause::MEMORY,
        clue::MEMORY,
    )),
    rare(resource(
        "stack.half_open",
        Each,
        More("1024"),
        Cause::BACKLOG,
        clue::OPENING_TABLES,
    )),
    rare(resource(
        "stack.half_open_share",
        Each,
        Unbounded("100"),
        Cause::BACKLOG,
        clue::OPENING_TABLES,
    )),
    rare(resource(
        "stack.backlog",
        Each,
        More("1024"),
        Cause::BACKLOG,
        clue::OPENING_TABLES,
    )),
    rare(resource(
        "stack.turn_budget",
        Each,
        More("1024"),
        Cause::CPU,
        clue::PROCESSOR,
    )),
    // Rules.
    with(
        rule(
            "tcp.send_buffer",
            Sender,
            Half,
            Cause::SEND_BUFFER,
            clue::LOSSES,
        ),
        &[("tcp.send_buffer_max", "0")],
    ),
    with(
        rule(
            "tcp.receive_buffer",
            Receiver,
            Half,
            Cause::RECEIVE_WINDOW,
            clue::LOSSES,
        ),
        &[("tcp.receive_buffer_max", "0")],
    ),
    rule(
        "tcp.congestion",
        Sender,
        Congestion,
        Cause::CONGESTION,
        clue::CONGESTION,
    ),
    rule(
        "tcp.initial_window",
        Sender,
        More("32"),
        Cause::SLOW_START,
        clue::SLOW_START,
    ),
    rule(
        "tcp.hystart",
        Sender,
        OneOf(&["false", "true"]),
        Cause::SLOW_START,
        clue::SLOW_START,
    ),
    rule(
        "tcp.bbr_loss_threshold",
        Sender,
        More("100"),
        Cause::CONGESTION,
        clue::LOSSES,
    ),
    rule(
        "tcp.pacing",
        Sender,
        OneOf(&["false", "true"]),
        Cause::PACING,
        clue::PACING,
    ),
    rule(
        "tcp.pacing_rate_max",
        Sender,
        Unbounded("0"),
        Cause::PACING,
        clue::PACING,
    ),
    rule(
        "tcp.ecn",
        Both,
        OneOf(&["on", "off"]),
        Cause::ECN,
        clue::MARKS,
    ),
    rule(
        "tcp.nagle",
        Sender,
        OneOf(&["false"]),
        Cause::NAGLE,
        clue::DELAYED,
    ),
    rule(
        "tcp.use_up_window",
        Sender,
        OneOf(&["true"]),
        Cause::SEGMENTATION,
        clue::SEGMENTATION,
    ),
    rule(
        "tcp.write_atomic",
        Sender,
        OneOf(&["false"]),
        Cause::SEGMENTATION,
        clue::SEGMENTATION,
    ),
    rule(
        "tcp.segment_sizing",
        Sender,
        OneOf(&["transmit"]),
        Cause::SEGMENTATION,
        clue::SEGMENTATION,
    ),
    rule(
        "tcp.fit_segments",
        Sender,
        OneOf(&["0", "2", "8"]),
        Cause::SEGMENTATION,
        clue::SEGMENTATION,
    ),
    rule(
        "tcp.sws_override",
        Sender,
        Less("100ms"),
        Cause::SEGMENTATION,
        clue::SEGMENTATION,
    ),
    rule(
        "tcp.cork_timeout",
        Sender,
        Less("1ms"),
        Cause::CORK,
        clue::DELAYED,
    ),
    rule(
        "tcp.delayed_ack",
        Receiver,
        Less("0s"),
        Cause::DELAYED_ACK,
        clue::ANSWERS,
    ),
    rule(
        "tcp.ack_every",
        Receiver,
        Less("1"),
        Cause::DELAYED_ACK,
        clue::ANSWERS,
    ),
    rule(
        "tcp.quick_acks",
        Receiver,
        More("1000"),
        Cause::DELAYED_ACK,
        clue::ANSWERS,
    ),
    rule(
        "tcp.sack",
        Both,
        OneOf(&["true"]),
        Cause::RECOVERY,
        clue::LOSSES,
    ),
    rule(
        "tcp.window_scaling",
        Both,
        OneOf(&["true"]),
        Cause::RECEIVE_WINDOW,
        clue::RECEIVING,
    ),
    rule(
        "tcp.timestamps",
        Both,
        OneOf(&["true", "false"]),
        Cause::SEGMENT_SIZE,
        clue::OPTIONS,
    ),
    rule(
        "tcp.mtu_probing",
        Sender,
        OneOf(&["always", "black_hole"]),
        Cause::SEGMENT_SIZE,
        clue::PROBING,
    ),
    rule(
        "tcp.mss_max",
        Both,
        More("65495"),
        Cause::SEGMENT_SIZE,
        clue::SMALL,
    ),
    rule(
        "tcp.mss_max",
        Sender,
        Fitting,
        Cause::SEGMENT_SIZE,
        clue::TOO_LONG,
    ),
    rule(
        "tcp.base_mss",
        Sender,
        Less("512"),
        Cause::SEGMENT_SIZE,
        clue::TOO_LONG,
    ),
    rule(
        "tcp.rto_min",
        Sender,
        Less("10ms"),
        Cause::RECOVERY,
        clue::TIMERS,
    ),
    rule(
        "tcp.rto_initial",
        Each,
        Less("200ms"),
        Cause::RECOVERY,
        clue::OPENING,
    ),
    rule(
        "tcp.rto_max",
        Each,
        Less("4s"),
        Cause::RECOVERY,
        clue::TIMERS,
    ),
    rule(
        "tcp.retries2",
        Sender,
        More("255"),
        Cause::GIVING_UP,
        clue::GIVING_UP,
    ),
    rule(
        "tcp.user_timeout",
        Each,
        Unbounded("0s"),
        Cause::GIVING_UP,
        clue::GIVING_UP,
    ),
    rule(
        "tcp.syn_retries",
        Each,
        More("255"),
        Cause::GIVING_UP,
        clue::OPENING,
    ),
    rule(
        "tcp.tail_loss_probe",
        Sender,
        OneOf(&["true"]),
        Cause::RECOVERY,
        clue::LOSSES,
    ),
    rare(rule(
        "tcp.unacknowledged",
        Sender,
        Half,
        Cause::UNACKNOWLEDGED,
        clue::LOSSES,
    )),
    rare(rule(
        "tcp.pacing_rate_max",
        Sender,
        OfPath,
        Cause::PACING,
        clue::LOSSES,
    )),
    rare(rule(
        "pool.send_floor",
        Each,
        OneOf(&["1"]),
        Cause::MEMORY,
        clue::MEMORY,
    )),
    rare(rule(
        "pool.receive_floor",
        Each,
        OneOf(&["1"]),
        Cause::MEMORY,
        clue::MEMORY,
    )),
    rare(rule(
        "pool.cells",
        Receiver,
        OneOf(&["1", "4"]),
        Cause::PEER_MEMORY,
        clue::CELLS,
    )),
    rule("device_queue", Sender, Halved, Cause::DEVICE, clue::DEVICE),
    rare(rule(
        "tcp.initial_window",
        Sender,
        Halved,
        Cause::SLOW_START,
        clue::LOSSES,
    )),
    rare(rule(
        "tcp.bbr_loss_threshold",
        Sender,
        OneOf(&["20"]),
        Cause::CONGESTION,
        clue::LOSSES,
    )),
    rare(rule(
        "tcp.nagle",
        Sender,
        OneOf(&["true"]),
        Cause::SEGMENTATION,
        clue::SMALL,
    )),
    rare(rule(
        "tcp.push",
        Sender,
        OneOf(&["write", "drained", "every"]),
        Cause::SEGMENTATION,
        clue::SEGMENTATION,
    )),
    rare(rule(
        "tcp.mss_max",
        Both,
        Halved,
        Cause::SEGMENT_SIZE,
        clue::LOSSES_OF_FEW,
    )),
    rare(rule(
        "tcp.base_mss",
        Sender,
        Fitting,
        Cause::SEGMENT_SIZE,
        clue::TOO_LONG,
    )),
    rare(rule(
        "tcp.base_mss",
        Sender,
        OneOf(&["1460"]),
        Cause::SEGMENT_SIZE,
        clue::PROBING,
    )),
    rare(rule(
        "ip.path_mtu_min",
        Sender,
        OneOf(&["68"]),
        Cause::SEGMENT_SIZE,
        clue::TOO_LONG,
    )),
    rule(
        "tcp.delayed_ack",
        Receiver,
        OneOf(&["200ms"]),
        Cause::ACK_FREQUENCY,
        clue::MANY_ACKS,
    ),
    rule(
        "tcp.ack_every",
        Receiver,
        OneOf(&["8", "64"]),
        Cause::ACK_FREQUENCY,
        clue::MANY_ACKS,
    ),
    rare(rule(
        "tcp.quick_acks",
        Receiver,
        OneOf(&["0"]),
        Cause::ACK_FREQUENCY,
        clue::MANY_ACKS,
    )),
    rare(rule(
        "tcp.rto_min",
        Sender,
        Doubled,
        Cause::RECOVERY,
        clue::TIMERS,
    )),
    rare(rule(
        "tcp.rto_initial",
        Each,
        OneOf(&["3s"]),
        Cause::RECOVERY,
        clue::FIRST_TIMERS,
    )),
    rare(rule(
        "tcp.synack_retries",
        Each,
        More("255"),
        Cause::GIVING_UP,
        clue::OPENING,
    )),
    rare(rule(
        "arp.request_interval",
        Each,
        Less("50ms"),
        Cause::NEIGHBOUR,
        clue::NEIGHBOUR,
    )),
    hardware(
        "device.super_segment",
        Sender,
        OneOf(&["64K", "0"]),
        Cause::OFFLOAD,
        clue::DEVICE,
    ),
    rule(
        "device.merge_quiet",
        Receiver,
        OneOf(&["0s"]),
        Cause::DELAYED_ACK,
        clue::ANSWERS,
    ),
    rare(rule(
        "tcp.tail_loss_probe",
        Sender,
        OneOf(&["false"]),
        Cause::RECOVERY,
        clue::LOSSES,
    )),
    rare(rule(
        "tcp.mtu_probing",
        Sender,
        OneOf(&["off"]),
        Cause::SEGMENT_SIZE,
        clue::PROBING,
    )),
];
