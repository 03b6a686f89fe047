//! The judge's levers (things to change) of the path: each link in each direction.
//!
//! Rule: a lever reduces an impairment to half and then removes it, or gives twice as much of a
//! rate or a queue, and then more than enough. ACK thinning and CoDel are also added where a link
//! has none.

use fullpipe_explain::{Change, LeverKind};
use fullpipe_scenario::{Setup, experiment::LinkPlan, units::rate_setting};
use fullpipe_sim::link::{Direction, EcnThreshold, LinkModel, Queue};

use super::lever::{Lever, change};

/// Factor by which the ample rate exceeds the present rate. A run for a fixed time carries up to
/// this many times the bytes, so it is not larger.
const RATE: u64 = 10;
/// Time that no run reaches.
const NEVER: &str = "1000000s";

/// Settings of one direction of a link.
type Settings = Vec<(&'static str, String)>;
/// The name of a lever, and its values.
type Property = (&'static str, Vec<Settings>);

const DIRECTIONS: [(&str, Direction); 2] =
    [("forward", Direction::Forward), ("back", Direction::Back)];

/// Returns the levers of the links between the two ends of the first flow.
pub fn levers(setup: &Setup) -> Vec<Lever> {
    let flow = setup.flow();
    let mut levers = Vec::new();
    for (number, _) in setup.route(flow.from, flow.to) {
        let link = &setup.links[number];
        for (word, way) in DIRECTIONS {
            let model = link.link(way);
            let all = [amounts(&model), impairments(&model), disciplines(&model)].concat();
            for (name, values) in all {
                levers.push(lever(link, name, &[word], &values, word));
            }
        }
        for (name, values) in of_both(&link.link(Direction::Forward)) {
            levers.push(lever(link, name, &["forward", "back"], &values, ""));
        }
    }
    levers
}

fn lever(link: &LinkPlan, name: &str, words: &[&str], values: &[Settings], shown: &str) -> Lever {
    let changes = |settings: &Settings| -> Vec<Change> {
        let of = |word: &&str| {
            let each = settings.iter();
            each.map(|(field, to)| change(format!("{}.{word}.{field}", link.name), to))
                .collect::<Vec<_>>()
        };
        words.iter().flat_map(of).collect()
    };
    let dot = if shown.is_empty() { "" } else { "." };
    Lever {
        name: format!("{}.{shown}{dot}{name}", link.name),
        kind: LeverKind::Path,
        values: values.iter().map(changes).collect(),
    }
}

fn micros(us: u64) -> String {
    format!("{us}us")
}

fn one(field: &'static str, to: impl ToString) -> Settings {
    vec![(field, to.to_string())]
}

/// Rate, delay, queue, token bucket and hop of one direction.
fn amounts(link: &LinkModel) -> Vec<Property> {
    let mut all = Vec::new();
    let rates = |field, bps: u64| {
        let more = [2, RATE].map(|times| one(field, rate_setting(bps.saturating_mul(times))));
        more.to_vec()
    };
    if link.rate_bps > 0 {
        all.push(("rate", rates("rate", link.rate_bps)));
    }
    if link.delay_us > 0 {
        let shorter = [link.delay_us / 2, 0].map(|us| one("delay", micros(us)));
        all.push(("delay", shorter.to_vec()));
    }
    let amount = match link.queue {
        Queue::Packets(packets) => Some((u64::from(packets), "packets")),
        Queue::Bytes(bytes) => Some((bytes, "bytes")),
        Queue::Unlimited | Queue::Device => None,
    };
    if let Some((amount, unit)) = amount {
        let of = |amount: u64| one("queue", format!("{} {unit}", amount.max(1)));
        let more = vec![
            of(amount / 2),
            of(amount.saturating_mul(2)),
            one("queue", "unlimited"),
        ];
        all.push(("queue", more));
    }
    if let Some(bucket) = link.token_bucket {
        all.push(("token_bucket", rates("token_bucket.rate", bucket.rate_bps)));
    }
    if link.hop.is_some() {
        all.push(("hop", vec![one("hop.mtu", 65_535)]));
        let silent = one("hop.silent", false);
        all.push(("hop.silent", vec![silent]));
    }
    all
}

/// The impairments of one direction.
fn impairments(link: &LinkModel) -> Vec<Property> {
    let mut all = Vec::new();
    let shares = [
        ("loss", link.loss),
        ("duplication", link.duplication),
        ("corruption", link.corruption),
    ];
    for (field, share) in shares {
        if share > 0.0 {
            all.push((field, vec![one(field, share / 2.0), one(field, 0)]));
        }
    }
    if link.jitter_us > 0 {
        let less = [link.jitter_us / 2, 0].map(|us| one("jitter", micros(us)));
        all.push(("jitter", less.to_vec()));
    }
    if let Some(burst) = link.burst_loss {
        let less = one("burst_loss.loss_bad", burst.loss_bad / 2.0);
        let none = ["burst_loss.loss_good", "burst_loss.loss_bad"];
        let none = none.map(|field| (field, "0".to_string())).to_vec();
        all.push(("burst_loss", vec![less, none]));
    }
    if let Some(reordering) = link.reordering {
        let field = "reordering.chance";
        let less = vec![one(field, reordering.chance / 2.0), one(field, 0)];
        all.push(("reordering", less));
    }
    if let Some(outage) = link.outage {
        let shorter = one("outage.length", micros(outage.length_us / 2));
        all.push(("outage", vec![shorter, one("outage.after", NEVER)]));
    }
    all
}

/// Disciplines of the queue, and ACK thinning.
fn disciplines(link: &LinkModel) -> Vec<Property> {
    let mut all = Vec::new();
    if let Some(threshold) = link.ecn_threshold {
        let (amount, most, unit) = match threshold {
            EcnThreshold::Packets(packets) => (packets.into(), u32::MAX.into(), "packets"),
            EcnThreshold::Bytes(bytes) => (bytes, u64::from(u32::MAX), "bytes"),
        };
        let more = [amount.saturating_mul(2).min(most), most];
        let more = more.map(|amount| one("ecn_threshold", format!("{amount} {unit}")));
        all.push(("ecn_threshold", more.to_vec()));
    }
    match link.codel {
        Some(codel) => {
            let twice = one("codel.target", micros(codel.target_us * 2));
            all.push(("codel", vec![twice, one("codel.target", NEVER)]));
        }
        None if link.rate_bps > 0 && link.queue != Queue::Device => {
            let usual = vec![
                ("codel.target", micros(5_000)),
                ("codel.interval", micros(100_000)),
            ];
            all.push(("codel", vec![usual]));
        }
        None => {}
    }
    let thinned = match link.ack_thinning {
        Some(thinning) => one("ack_thinning.every", thinning.every / 2),
        None => one("ack_thinning.every", 8),
    };
    let mut values = vec![thinned];
    if link.ack_thinning.is_some() {
        values.push(one("ack_thinning.every", 1));
    }
    all.push(("ack_thinning", values));
    all
}

/// Properties that both directions share.
fn of_both(link: &LinkModel) -> Vec<Property> {
    let mut all = Vec::new();
    if let Some(radio) = link.radio {
        let of = |access: u64, backoff: u64| {
            vec![
                ("radio.access", micros(access)),
                ("radio.backoff", micros(backoff)),
            ]
        };
        let less = of(radio.access_us / 2, radio.backoff_us / 2);
        all.push(("radio", vec![less, of(0, 0)]));
    }
    const USUAL_MTU: usize = 1_500;
    if link.mtu < USUAL_MTU {
        let larger = [link.mtu * 2, USUAL_MTU].map(|mtu| one("mtu", mtu.min(USUAL_MTU)));
        all.push(("mtu", larger.to_vec()));
    }
    all
}
