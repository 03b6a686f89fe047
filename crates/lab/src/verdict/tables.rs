//! Tables of ranges: what is in flight, and what arrived out of order.
//!
//! Rule: a table is blamed for slow repairs only if it was too small at least half as
//! often as a segment was retransmitted. For the sender's tables the repairs must show
//! it too, because a range that is merged costs precision and often nothing else.

use fullpipe_tcp::Limit;

use super::{
    bounds,
    buffers::Buffer,
    evidence::Evidence,
    names::{self, NamedSetting},
    processor,
    remedy::{self, Remedy},
};
use crate::{experiment::HostPlan, units::grouped};

/// A cause is blamed if it explains one retransmission in this many.
const PART: u64 = 2;
/// A sender that spends this share of the time on repairs makes them badly.
const MOSTLY: f64 = 0.5;

/// A table that was too small.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// Its host.
    pub host: &'a HostPlan,
    /// The knob that sets its size.
    knob: &'static str,
    /// Times that it was too small.
    pub full: u64,
}

impl<'a> Table<'a> {
    /// True for a table of payload in flight.
    pub fn is_senders(&self) -> bool {
        self.knob.starts_with("stack.")
    }

    /// The knob with its present value, and `wanted`.
    pub fn setting(&self, wanted: &str) -> NamedSetting {
        names::setting(self.host, self.knob, wanted)
    }

    /// The larger of two tables of `host`, by the times that they were too small.
    fn worse(host: &'a HostPlan, tables: [(&'static str, u64); 2]) -> Self {
        let [one, other] = tables;
        let (knob, full) = if other.1 > one.1 { other } else { one };
        Self { host, knob, full }
    }
}

/// Returns the table of ranges that made repairs slow, if one did.
pub fn short<'a>(evidence: &Evidence<'a>) -> Option<Table<'a>> {
    let again = evidence.measured.retransmitted_segments;
    let is_much = |table: &Table<'_>| table.full > 0 && table.full * PART >= again;
    let at_receiver = processor::measured(evidence, evidence.receiver()).map(|host| {
        let full = &host.full_tables;
        let tables = [("tcp.holes", full.holes), ("pool.ranges", full.ranges)];
        Table::worse(evidence.receiver(), tables)
    });
    let at_sender = processor::measured(evidence, evidence.sender()).map(|host| {
        let full = &host.full_tables;
        let tables = [
            ("stack.sent_ranges", full.sent_ranges),
            ("stack.sent_ranges_each", full.sent_ranges_each),
        ];
        Table::worse(evidence.sender(), tables)
    });
    let at_sender = at_sender.filter(|table| is_much(table) && repairs_badly(evidence));
    at_receiver.filter(is_much).or(at_sender)
}

/// Returns true if half of the retransmissions were spurious, if half of the losses took a
/// timeout, or if repairs took most of the time.
fn repairs_badly(evidence: &Evidence<'_>) -> bool {
    let measured = evidence.measured;
    let again = measured.retransmitted_segments;
    let spurious = measured.needless_share * measured.data_segments as f64;
    let repair = evidence.limits.sender.share(Limit::Recovery.name());
    again > 0
        && (spurious * PART as f64 >= again as f64
            || measured.timeouts * PART >= again
            || repair >= MOSTLY)
}

/// Raises the table to its default, which follows from the memory that it describes, or
/// to one range for each segment of the largest flight.
pub fn larger(evidence: &Evidence<'_>) -> Option<Remedy> {
    let table = short(evidence)?;
    let config = &table.host.config;
    let flight = bounds::largest_flight(evidence.setup);
    let segments = flight.div_ceil(evidence.segment_bytes().max(1));
    let mut unset = config.clone();
    unset.set(table.knob, "0").ok()?;
    let (present, derived, source) = match table.knob {
        "stack.sent_ranges" => {
            let derived = u64::from(unset.sent_range_count());
            (config.stack.sent_ranges, derived, "packet memory")
        }
        "stack.sent_ranges_each" => {
            let derived = (flight >> 10).max(1 << 10);
            (
                config.stack.sent_ranges_each,
                derived,
                "the bytes in flight",
            )
        }
        "tcp.holes" => {
            let buffer = Buffer::receiving(table.host);
            let derived = (buffer.tuned_to.unwrap_or(buffer.set) >> 12).max(64);
            (config.tcp.holes, derived, "the receive buffer")
        }
        _ => {
            let derived = u64::from(unset.pool.range_count());
            (config.pool.ranges, derived, "packet memory")
        }
    };
    let (wanted, formula) = if present != 0 && derived > u64::from(present) {
        let count = grouped(derived);
        let formula = format!("0, the default, derives the size from {source}: {count} ranges");
        (0, formula)
    } else {
        let formula = format!(
            "{} bytes may be in flight, in {} segments",
            grouped(flight),
            grouped(segments)
        );
        (segments, formula)
    };
    let is_more = wanted == 0 || wanted > derived.max(u64::from(present));
    is_more.then(|| remedy::one(table.host, table.setting(&wanted.to_string()), formula))
}
