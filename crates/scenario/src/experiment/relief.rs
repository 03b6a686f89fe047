//! Values that reduce or remove each impairment of a link.
//!
//! Rule: [`RELIEFS`] has one entry for each property of a [`LinkModel`] that can slow a transfer. A
//! new impairment needs fields in `link` and an entry here. Explanations of transfers then try the
//! values of the entry.

use fullpipe_sim::link::{EcnThreshold, LinkModel, Queue, TokenBucket};

use crate::units::{rate_setting, rate_text, seconds_text, three_digits};

/// Fields and values that reduce one impairment of a link's direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReliefValues {
    /// The present state of the property: `10 Mbit/s`, `1 % of frames`.
    pub present: String,
    /// Values with about half of the impairment, or twice the resource; `None` if there is no value
    /// between the present value and the best value.
    pub twice: Option<Vec<(&'static str, String)>>,
    /// Ample values: without the impairment, or with far more of the resource than at present.
    pub ample: Vec<(&'static str, String)>,
}

/// One property of a link that can slow a transfer.
pub struct Relief {
    /// First part of the names of the property's fields.
    pub name: &'static str,
    /// The property as part of a sentence, followed by "of" and the link.
    pub words: &'static str,
    /// True if the property belongs to both directions together.
    pub is_of_both: bool,
    /// True if the ample values remove the impairment completely. False if some value of the
    /// property always remains, such as a rate or an MTU.
    pub is_removed: bool,
    /// True if the link draws random numbers for the property.
    pub is_random: bool,
    /// Returns the values that reduce the impairment; `None` if the link does not have the
    /// impairment.
    pub values: fn(&LinkModel) -> Option<ReliefValues>,
}

/// Factor by which the tried rate exceeds the present rate. At the tried rate, a run for a fixed
/// time carries up to `RATE` times the bytes of the unchanged run.
const RATE: u64 = 10;
/// Largest packet on an Ethernet.
const USUAL_MTU: usize = 1_500;
/// Longest latency of a token bucket that counts as a policer, in microseconds.
const POLICED_US: u64 = 10_000;
/// Largest burst of a token bucket, in bytes.
const MOST_BURST: u64 = u32::MAX as u64;
/// Time that no run reaches.
const NEVER: &str = "1000000s";

/// Every property of a link that can slow a transfer.
pub const RELIEFS: &[Relief] = &[
    relief("rate", "the rate", |link| {
        (link.rate_bps > 0).then(|| ReliefValues {
            present: rate_text(link.rate_bps as f64),
            twice: Some(vec![("rate", rate_setting(link.rate_bps * 2))]),
            ample: vec![("rate", rate_setting(link.rate_bps.saturating_mul(RATE)))],
        })
    }),
    relief("delay", "the delay", |link| {
        (link.delay_us > 0).then(|| ReliefValues {
            present: time(link.delay_us),
            twice: Some(vec![("delay", micros(link.delay_us / 2))]),
            ample: vec![("delay", micros(0))],
        })
    }),
    random("jitter", "the jitter", |link| {
        let present = format!("up to {}", time(link.jitter_us));
        (link.jitter_us > 0).then(|| without(present, &[("jitter", "0us")]))
    }),
    random("loss", "random losses", |link| {
        (link.loss > 0.0).then(|| ReliefValues {
            present: of_frames(link.loss),
            twice: Some(vec![("loss", (link.loss / 2.0).to_string())]),
            ample: vec![("loss", "0".into())],
        })
    }),
    random("burst_loss", "burst losses", |link| {
        let burst = link.burst_loss?;
        let present = format!("{} while the channel is bad", of_frames(burst.loss_bad));
        let none = [("burst_loss.loss_good", "0"), ("burst_loss.loss_bad", "0")];
        Some(without(present, &none))
    }),
    random("reordering", "reordering", |link| {
        let present = of_frames(link.reordering?.chance);
        Some(without(present, &[("reordering.chance", "0")]))
    }),
    random("duplication", "duplicated frames", |link| {
        let present = of_frames(link.duplication);
        (link.duplication > 0.0).then(|| without(present, &[("duplication", "0")]))
    }),
    random("corruption", "damaged frames", |link| {
        let present = of_frames(link.corruption);
        (link.corruption > 0.0).then(|| without(present, &[("corruption", "0")]))
    }),
    #[cfg(feature = "recipes")]
    random("truncation", "truncated frames", |link| {
        let present = of_frames(link.truncation);
        (link.truncation > 0.0).then(|| without(present, &[("truncation", "0")]))
    }),
    removed("ack_thinning", "thinned ACKs", |link| {
        let thinning = link.ack_thinning.filter(|thinning| thinning.every > 1)?;
        let present = format!("one of up to {} ACKs is sent", thinning.every);
        Some(without(present, &[("ack_thinning.every", "1")]))
    }),
    relief("queue", "the queue", |link| {
        let (present, twice) = match link.queue {
            Queue::Packets(packets) => (u64::from(packets), "packets"),
            Queue::Bytes(bytes) => (bytes, "bytes"),
            Queue::Unlimited | Queue::Device => return None,
        };
        let amount = |number: u64| format!("{number} {twice}");
        Some(ReliefValues {
            present: amount(present),
            twice: Some(vec![("queue", amount(present.saturating_mul(2)))]),
            ample: vec![("queue", "unlimited".into())],
        })
    }),
    removed("ecn_threshold", "ECN marks", |link| {
        let (present, most, unit) = match link.ecn_threshold? {
            EcnThreshold::Packets(packets) => (packets.into(), u32::MAX.into(), "packets"),
            EcnThreshold::Bytes(bytes) => (bytes, u64::from(u32::MAX), "bytes"),
        };
        let amount = |number: u64| format!("{number} {unit}");
        Some(ReliefValues {
            present: format!("from {} on", amount(present)),
            twice: Some(vec![(
                "ecn_threshold",
                amount(present.saturating_mul(2).min(most)),
            )]),
            ample: vec![("ecn_threshold", amount(most))],
        })
    }),
    removed("codel", "CoDel", |link| {
        let codel = link.codel?;
        Some(ReliefValues {
            present: format!("target {}", time(codel.target_us)),
            twice: Some(vec![("codel.target", micros(codel.target_us * 2))]),
            ample: vec![("codel.target", NEVER.into())],
        })
    }),
    relief("token_bucket", "the token bucket", |link| {
        let rate = link
            .token_bucket
            .filter(|bucket| !is_policer(bucket))?
            .rate_bps;
        Some(ReliefValues {
            present: rate_text(rate as f64),
            twice: Some(vec![("token_bucket.rate", rate_setting(rate * 2))]),
            ample: vec![("token_bucket.rate", rate_setting(rate.saturating_mul(RATE)))],
        })
    }),
    relief("policer", "the policer", |link| {
        let bucket = link.token_bucket.filter(is_policer)?;
        Some(ReliefValues {
            present: policer_text(&bucket),
            twice: Some(vec![(
                "token_bucket.rate",
                rate_setting(bucket.rate_bps * 2),
            )]),
            ample: vec![(
                "token_bucket.rate",
                rate_setting(bucket.rate_bps.saturating_mul(RATE)),
            )],
        })
    }),
    relief("policer_burst", "the burst of the policer", |link| {
        let bucket = link.token_bucket.filter(is_policer)?;
        let burst = bucket.burst_bytes;
        // Tokens of one second, so that no usual window exceeds the burst.
        let second = (bucket.rate_bps / 8).clamp(burst, MOST_BURST.max(burst));
        let field = |burst: u64| vec![("token_bucket.burst", burst.min(MOST_BURST).to_string())];
        Some(ReliefValues {
            present: policer_text(&bucket),
            twice: Some(field(burst.saturating_mul(2))),
            ample: field(second),
        })
    }),
    Relief {
        is_of_both: true,
        is_removed: false,
        ..random("radio", "the channel access", |link| {
            let present = format!("{} for each frame", time(link.radio?.access_us));
            let none = [("radio.access", "0us"), ("radio.backoff", "0us")];
            Some(without(present, &none))
        })
    },
    Relief {
        is_of_both: true,
        ..relief("mtu", "the MTU", |link| {
            let present = format!("{} bytes", link.mtu);
            (link.mtu < USUAL_MTU).then(|| without(present, &[("mtu", "1500")]))
        })
    },
    relief("hop", "the MTU of a hop", |link| {
        let present = format!("{} bytes", link.hop?.mtu);
        Some(without(present, &[("hop.mtu", "65535")]))
    }),
    removed("outage", "the outage", |link| {
        link.outage?;
        Some(without(
            "every frame is lost".into(),
            &[("outage.after", NEVER)],
        ))
    }),
];

/// Returns true if `link` has a policer.
pub fn is_policed(link: &LinkModel) -> bool {
    link.token_bucket.as_ref().is_some_and(is_policer)
}

/// Returns true if `bucket` polices: it drops a frame that would wait for tokens for more than
/// [`POLICED_US`]. A bucket with a longer queue shapes.
fn is_policer(bucket: &TokenBucket) -> bool {
    let shortest = TokenBucket::with_latency(bucket.rate_bps, bucket.burst_bytes, POLICED_US);
    bucket.limit_bytes <= shortest.limit_bytes
}

fn policer_text(bucket: &TokenBucket) -> String {
    let rate = rate_text(bucket.rate_bps as f64);
    format!("{rate} with a burst of {} bytes", bucket.burst_bytes)
}

const fn relief(
    name: &'static str,
    words: &'static str,
    values: fn(&LinkModel) -> Option<ReliefValues>,
) -> Relief {
    Relief {
        name,
        words,
        is_of_both: false,
        is_removed: false,
        is_random: false,
        values,
    }
}

/// As [`relief`], for a property for which the link draws random numbers.
const fn random(
    name: &'static str,
    words: &'static str,
    values: fn(&LinkModel) -> Option<ReliefValues>,
) -> Relief {
    Relief {
        is_random: true,
        ..removed(name, words, values)
    }
}

/// As [`relief`], for an impairment that the ample values remove completely.
const fn removed(
    name: &'static str,
    words: &'static str,
    values: fn(&LinkModel) -> Option<ReliefValues>,
) -> Relief {
    Relief {
        is_removed: true,
        ..relief(name, words, values)
    }
}

fn without(present: String, fields: &[(&'static str, &str)]) -> ReliefValues {
    let values = fields.iter().map(|(field, to)| (*field, (*to).to_string()));
    ReliefValues {
        present,
        twice: None,
        ample: values.collect(),
    }
}

fn micros(us: u64) -> String {
    format!("{us}us")
}

fn time(us: u64) -> String {
    seconds_text(us as f64 / 1e6)
}

fn of_frames(share: f64) -> String {
    format!("{} % of frames", three_digits(share * 100.0))
}
