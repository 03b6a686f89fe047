//! Values that ease each impairment of a link, and that take it away.
//!
//! Rule: one row for each property of a [`LinkModel`] that can slow a transfer. A new
//! impairment adds its fields to `link` and a row here; whoever asks what slows a transfer
//! then tries it.

use fullpipe_sim::link::{EcnThreshold, LinkModel, Queue};

/// Fields and values that ease one property of a link's direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReliefValues {
    /// About half of the impairment, or twice the resource; absent if there is nothing
    /// between present and best value.
    pub twice: Option<Vec<(&'static str, String)>>,
    /// None of the impairment, or as much of the resource as can be used.
    pub ample: Vec<(&'static str, String)>,
}

/// One property of a link that can slow a transfer.
pub struct Relief {
    /// The first part of its fields' names.
    pub name: &'static str,
    /// True if both directions have it together.
    pub is_of_both: bool,
    /// True if the link draws it at random.
    pub is_random: bool,
    /// The values that ease it; `None` if the link does not have it.
    pub values: fn(&LinkModel) -> Option<ReliefValues>,
}

/// Times the present rate. A run for a time carries this many times the bytes.
const RATE: u64 = 10;
/// A time that no run reaches.
const NEVER: &str = "1000000s";

/// Every property of a link that can slow a transfer.
pub const RELIEFS: &[Relief] = &[
    relief("rate", |link| {
        some(link.rate_bps > 0, || ReliefValues {
            twice: Some(vec![("rate", bits(link.rate_bps * 2))]),
            ample: vec![("rate", bits(link.rate_bps.saturating_mul(RATE)))],
        })
    }),
    relief("delay", |link| {
        some(link.delay_us > 0, || ReliefValues {
            twice: Some(vec![("delay", micros(link.delay_us / 2))]),
            ample: vec![("delay", micros(0))],
        })
    }),
    random("jitter", |link| {
        some(link.jitter_us > 0, || without(&[("jitter", "0us")]))
    }),
    random("loss", |link| {
        some(link.loss > 0.0, || ReliefValues {
            twice: Some(vec![("loss", (link.loss / 2.0).to_string())]),
            ample: vec![("loss", "0".into())],
        })
    }),
    random("burst_loss", |link| {
        some(link.burst_loss.is_some(), || {
            without(&[("burst_loss.loss_good", "0"), ("burst_loss.loss_bad", "0")])
        })
    }),
    random("reordering", |link| {
        some(link.reordering.is_some(), || {
            without(&[("reordering.chance", "0")])
        })
    }),
    random("duplication", |link| {
        some(link.duplication > 0.0, || without(&[("duplication", "0")]))
    }),
    random("corruption", |link| {
        some(link.corruption > 0.0, || without(&[("corruption", "0")]))
    }),
    relief("queue", |link| {
        let twice = match link.queue {
            Queue::Packets(packets) => format!("{} packets", packets.saturating_mul(2)),
            Queue::Bytes(bytes) => format!("{} bytes", bytes.saturating_mul(2)),
            Queue::Unlimited | Queue::Device => return None,
        };
        Some(ReliefValues {
            twice: Some(vec![("queue", twice)]),
            ample: vec![("queue", "unlimited".into())],
        })
    }),
    relief("ecn_threshold", |link| {
        let (twice, most) = match link.ecn_threshold? {
            EcnThreshold::Packets(packets) => (
                format!("{} packets", packets.saturating_mul(2)),
                format!("{} packets", u32::MAX),
            ),
            EcnThreshold::Bytes(bytes) => (
                format!("{} bytes", bytes.saturating_mul(2)),
                format!("{} bytes", u64::from(u32::MAX)),
            ),
        };
        Some(ReliefValues {
            twice: Some(vec![("ecn_threshold", twice)]),
            ample: vec![("ecn_threshold", most)],
        })
    }),
    relief("codel", |link| {
        let codel = link.codel?;
        Some(ReliefValues {
            twice: Some(vec![("codel.target", micros(codel.target_us * 2))]),
            ample: vec![("codel.target", NEVER.into())],
        })
    }),
    relief("token_bucket", |link| {
        let bucket = link.token_bucket?;
        Some(ReliefValues {
            twice: Some(vec![("token_bucket.rate", bits(bucket.rate_bps * 2))]),
            ample: vec![(
                "token_bucket.rate",
                bits(bucket.rate_bps.saturating_mul(RATE)),
            )],
        })
    }),
    Relief {
        is_of_both: true,
        ..random("radio", |link| {
            some(link.radio.is_some(), || {
                without(&[("radio.access", "0us"), ("radio.backoff", "0us")])
            })
        })
    },
    Relief {
        is_of_both: true,
        ..relief("mtu", |link| {
            some(link.mtu < 9_000, || without(&[("mtu", "9000")]))
        })
    },
    relief("hop", |link| {
        some(link.hop.is_some(), || without(&[("hop.mtu", "65535")]))
    }),
    relief("outage", |link| {
        some(link.outage.is_some(), || {
            without(&[("outage.after", NEVER)])
        })
    }),
];

const fn relief(name: &'static str, values: fn(&LinkModel) -> Option<ReliefValues>) -> Relief {
    Relief {
        name,
        is_of_both: false,
        is_random: false,
        values,
    }
}

/// As [`relief`], for a property that the link draws at random.
const fn random(name: &'static str, values: fn(&LinkModel) -> Option<ReliefValues>) -> Relief {
    Relief {
        is_random: true,
        ..relief(name, values)
    }
}

fn some(has: bool, values: impl FnOnce() -> ReliefValues) -> Option<ReliefValues> {
    has.then(values)
}

fn without(fields: &[(&'static str, &str)]) -> ReliefValues {
    let values = fields.iter().map(|(field, to)| (*field, (*to).to_string()));
    ReliefValues {
        twice: None,
        ample: values.collect(),
    }
}

fn bits(bps: u64) -> String {
    format!("{bps}bit")
}

fn micros(us: u64) -> String {
    format!("{us}us")
}
