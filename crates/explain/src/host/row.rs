//! A row of the table of the hosts' levers (things that could be changed): its type, and functions
//! that make a row of each kind.

use crate::{cause::Cause, clue::Clue, lever::LeverKind};

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

/// A knob, the values to try, the cause that the knob reveals, and the clues that suggest to try it.
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

/// A lever that sets a rule of a host.
pub(super) const fn rule(
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

/// A lever that enlarges an amount of a host.
pub(super) const fn resource(
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
pub(super) const fn hardware(
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

/// The row `row` as a lever that rarely helps.
pub(super) const fn rare(mut row: Row) -> Row {
    row.is_rare = true;
    row
}

/// The row `row` with other knobs that must be set together with its knob.
pub(super) const fn with(mut row: Row, with: &'static [(&'static str, &'static str)]) -> Row {
    row.with = with;
    row
}
