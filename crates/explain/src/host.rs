//! Levers (things that somebody could change) of the two hosts of the flow.
//!
//! Rule: every lever derives from a row of [`ROWS`]. A row makes no lever, one lever, or one lever
//! for each host, value or congestion control. The values derive from the knob's present value, its
//! legal range and the ample amount (above which more does not help), or are listed in the row.

use fullpipe::{config::Config, presets::alias};
use fullpipe_pool::{
    Duration,
    knobs::{KnobInfo, parse_count},
};
use fullpipe_tcp::CongestionAlgorithm;

use self::{
    row::{
        End::{Both, Each, Receiver, Sender},
        Row,
        Try::{
            Bytes, Congestion, Doubled, Entries, Fitting, Half, Halved, Less, More, OfPath, OneOf,
            Tuned, Unbounded,
        },
    },
    rows::ROWS,
};
use crate::{
    cause::Cause,
    lever::{Ample, Change, Lever, Place},
};
use fullpipe_scenario::{
    experiment::{HostPlan, Setup},
    path::largest_mss,
};

mod row;
mod rows;

/// The receive ring; 0 descriptors mean an unlimited ring.
const RING: &str = "device.rx_descriptors";
/// Share of the path's rate at which a sender is paced that must not fill a queue.
const OF_RATE: f64 = 0.95;

/// Returns the levers of both hosts.
pub fn levers(setup: &Setup, ample: Ample) -> Vec<Lever> {
    let flow = setup.flow();
    let rows = Config::rows();
    let mut levers = Vec::new();
    for row in ROWS.iter().filter(|row| row.is_of(flow.is_udp())) {
        let info = rows.iter().find(|info| info.name == row.knob);
        let groups: &[&[usize]] = match row.end {
            Sender => &[&[flow.from]],
            Receiver => &[&[flow.to]],
            Each => &[&[flow.from], &[flow.to]],
            Both => &[&[flow.from, flow.to]],
        };
        for places in groups {
            levers.extend(AtHosts::of(row, setup, places, info, ample).levers());
        }
    }
    levers
}

/// The knobs and fields that have a lever.
#[cfg(test)]
pub fn knobs() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.knob)
}

impl Row {
    /// Returns false for a TCP knob if `udp` is true, and for a UDP knob if `udp` is false.
    fn is_of(&self, udp: bool) -> bool {
        let other = if udp { "tcp" } else { "udp" };
        self.knob
            .split_once('.')
            .is_none_or(|(group, _)| group != other)
    }

    /// Returns the setting of `host`'s system that has the same effect as this row with `value`,
    /// together with the system's own value: `SO_SNDBUF=65536`.
    fn called(&self, host: &HostPlan, value: &str) -> Option<String> {
        let mut wanted = host.clone();
        wanted.set(self.knob, value).ok()?;
        for (knob, to) in self.with {
            wanted.set(knob, to).ok()?;
        }
        let names = alias::of_knob(host.preset.name, self.knob).into_iter();
        let mut same = names.filter_map(|name| {
            let own = alias::find(name)?.value_for(&wanted.config, value)?;
            let mut set = host.clone();
            set.set(name, &own).ok()?;
            (set == wanted).then(|| format!("{name}={own}"))
        });
        same.next()
    }

    /// Returns the row's cause; for packet memory, the cause depends on whether `places` contains
    /// the sender or the receiver.
    fn cause_at(&self, setup: &Setup, places: &[usize]) -> Cause {
        match self.cause {
            Cause::MEMORY if places == [setup.flow().to] => Cause::PEER_MEMORY,
            cause => cause,
        }
    }

    /// Returns the size of a buffer of `host` that has room for one bandwidth-delay product of
    /// payload.
    fn product(&self, host: &HostPlan, ample: Ample) -> Option<u64> {
        let tcp = &host.config.tcp;
        let share = match self.knob {
            "tcp.send_buffer" => tcp.send_payload_share,
            _ => tcp.receive_payload_share,
        };
        ample
            .product
            .map(|bytes| bytes * 100 / u64::from(share.max(1)))
    }

    /// Largest amount of this row's resource that the memory of `host` allows; `None` without a
    /// bound.
    fn most_of(&self, host: &HostPlan, ample: Ample) -> Option<u64> {
        let block = u64::from(host.config.pool.block_size).max(1);
        match (self.knob, &self.values) {
            ("pool.blocks", _) => ample.memory.map(|bytes| bytes / block),
            (_, Bytes | Tuned) => ample.memory,
            _ => None,
        }
    }

    fn name(&self, hosts: &[&HostPlan]) -> String {
        let names: Vec<_> = hosts.iter().map(|host| host.name.as_str()).collect();
        format!("{}.{}", names.join("+"), self.knob)
    }

    fn changes(&self, hosts: &[&HostPlan], value: &str) -> Vec<Change> {
        let of_host = |host: &&HostPlan| {
            let path = |knob: &str| format!("{}.{knob}", host.name);
            let own = [(path(self.knob), value.to_string())];
            let with = self
                .with
                .iter()
                .map(move |(knob, to)| (path(knob), (*to).to_string()));
            own.into_iter().chain(with.collect::<Vec<_>>())
        };
        let changes = hosts.iter().flat_map(of_host);
        changes.map(|(set, to)| Change { set, to }).collect()
    }
}

/// A row applied to the hosts in `places`, which are changed together.
struct AtHosts<'a> {
    row: &'a Row,
    setup: &'a Setup,
    places: &'a [usize],
    hosts: Vec<&'a HostPlan>,
    ample: Ample,
    /// The present value at each host that has one.
    presents: Vec<String>,
    /// The smallest present value among the hosts, because this value limits the flow.
    number: Option<u64>,
    /// The largest value that the knob and the host's memory allow.
    most: Option<u64>,
}

impl<'a> AtHosts<'a> {
    fn of(
        row: &'a Row,
        setup: &'a Setup,
        places: &'a [usize],
        info: Option<&KnobInfo>,
        ample: Ample,
    ) -> Self {
        let hosts: Vec<_> = places.iter().map(|place| &setup.hosts[*place]).collect();
        let presents = hosts.iter().filter_map(|host| present(host, row.knob));
        let presents: Vec<_> = presents.collect();
        let number = presents.iter().filter_map(|text| parse_count(text)).min();
        let legal = info.and_then(|info| parse_count(&info.legal.1));
        let most = match (row.most_of(hosts[0], ample), legal) {
            (Some(memory), Some(legal)) => Some(memory.max(number.unwrap_or(0)).min(legal)),
            (memory, legal) => memory.or(legal),
        };
        Self {
            row,
            setup,
            places,
            hosts,
            ample,
            presents,
            number,
            most,
        }
    }

    fn levers(&self) -> Vec<Lever> {
        let twice = self.number.map(|number| number.saturating_mul(2));
        let twice = twice.map(|value| self.within(value));
        let half = self.presents.first().and_then(|text| half(text));
        let is_raised_by = |amount: u64| self.number.is_none_or(|number| number < amount);
        let list = |lever: Option<Lever>| lever.into_iter().collect();
        if self.row.knob == RING && self.number == Some(0) {
            return Vec::new();
        }
        match self.row.values {
            Tuned if self.number == Some(0) => {
                let usual = self.hosts[0].preset.config().get(self.row.knob);
                let usual = usual.filter(|usual| parse_count(usual) > Some(0));
                list(usual.map(|usual| self.choice(&usual)))
            }
            Bytes | Tuned | Entries => {
                let amount = self.amount();
                let ample = is_raised_by(amount).then(|| self.within(amount));
                let ample = ample.or_else(|| twice.clone());
                list(ample.map(|ample| self.lever(twice, ample)))
            }
            Unbounded(value) => vec![self.lever(twice, value.to_string())],
            More(value) => {
                let is_more = parse_count(value).is_none_or(is_raised_by);
                list(is_more.then(|| self.lever(twice, value.to_string())))
            }
            Less(value) => {
                let is_less = self.presents.iter().any(|text| is_more(text, value));
                list(is_less.then(|| self.lever(half, value.to_string())))
            }
            Half => {
                let product = self.row.product(self.hosts[0], self.ample);
                let product = product.filter(|most| self.number > Some(*most));
                let product = product.map(|bytes| bytes.to_string());
                let all = half.into_iter().chain(product);
                all.map(|value| self.choice(&value)).collect()
            }
            Fitting => {
                let size = fitting(self.setup).filter(|size| self.number > Some(*size));
                let size = size.map(|size| self.choice(&size.to_string()));
                list(size)
            }
            Halved => list(half.map(|value| self.choice(&value))),
            Doubled => {
                let doubled = self.presents.first().and_then(|text| doubled(text));
                list(doubled.map(|value| self.choice(&value)))
            }
            OfPath => {
                let is_lower = |rate: &u64| self.number.is_none_or(|now| now == 0 || now > *rate);
                let rate = of_path(self.setup).filter(is_lower);
                list(rate.map(|rate| self.choice(&rate.to_string())))
            }
            OneOf(values) => values.iter().map(|value| self.choice(value)).collect(),
            Congestion => {
                let all = CongestionAlgorithm::ALL.iter();
                all.map(|algorithm| self.choice(&algorithm.to_string()))
                    .collect()
            }
        }
    }

    /// The ample amount of the row's resource.
    fn amount(&self) -> u64 {
        match (&self.row.values, self.row.knob) {
            (_, "pool.blocks") => blocks(self.hosts[0], self.ample),
            (Bytes | Tuned, _) => self.ample.bytes,
            _ => self.ample.entries,
        }
    }

    fn within(&self, value: u64) -> String {
        self.most.map_or(value, |most| value.min(most)).to_string()
    }

    fn lever(&self, twice: Option<String>, ample: String) -> Lever {
        let row = self.row;
        Lever {
            name: row.name(&self.hosts),
            called: row.called(self.hosts[0], &ample),
            kind: row.kind,
            cause: row.cause_at(self.setup, self.places),
            clues: row.clues,
            is_rare: row.is_rare,
            place: Place::Hosts(self.places.to_vec()),
            field: row.knob,
            present: self.presents.first().cloned(),
            range: self
                .number
                .zip(parse_count(&ample))
                .map(|(from, to)| [from, to]),
            twice: twice.map(|value| row.changes(&self.hosts, &value)),
            ample: row.changes(&self.hosts, &ample),
        }
    }

    /// Returns a lever that sets one of several named values.
    fn choice(&self, value: &str) -> Lever {
        Lever {
            name: format!("{}={value}", self.row.name(&self.hosts)),
            range: None,
            ..self.lever(None, value.to_string())
        }
    }
}

/// Returns the largest MSS that the hops of the path allow; `None` if no hop has a smaller MTU than
/// its link.
fn fitting(setup: &Setup) -> Option<u64> {
    let flow = setup.flow();
    let mut route = setup.route(flow.from, flow.to).into_iter();
    let is_small = route.any(|(number, way)| {
        let link = setup.links[number].link(way);
        link.hop.is_some_and(|hop| usize::from(hop.mtu) < link.mtu)
    });
    is_small.then(|| largest_mss(setup))
}

/// The present value of a knob or of a field of the device, as text.
fn present(host: &HostPlan, knob: &str) -> Option<String> {
    match knob {
        "device_queue" => Some(host.device_queue.to_string()),
        "device.rx_descriptors" => Some(host.device.rx_descriptors.to_string()),
        _ => host.get(knob),
    }
}

/// Half of `text`, which is a number or a time.
fn half(text: &str) -> Option<String> {
    let time = || {
        text.parse::<Duration>()
            .ok()
            .map(|time| (time / 2).to_string())
    };
    parse_count(text)
        .map(|number| (number / 2).to_string())
        .or_else(time)
}

/// Twice `text`, which is a number or a time.
fn doubled(text: &str) -> Option<String> {
    let time = || {
        text.parse::<Duration>()
            .ok()
            .map(|time| (time * 2).to_string())
    };
    parse_count(text)
        .map(|number| number.saturating_mul(2).to_string())
        .or_else(time)
}

/// Returns [`OF_RATE`] of the path's rate, in bytes per second; `None` if no link has a rate.
fn of_path(setup: &Setup) -> Option<u64> {
    let (rate_bps, _) = setup.bare_path();
    rate_bps
        .is_finite()
        .then(|| (rate_bps / 8.0 * OF_RATE) as u64)
}

/// Returns true if the number or time `text` is larger than `other`.
fn is_more(text: &str, other: &str) -> bool {
    let numbers = parse_count(text).zip(parse_count(other));
    let times = || {
        text.parse::<Duration>()
            .ok()
            .zip(other.parse::<Duration>().ok())
    };
    numbers
        .map(|(number, other)| number > other)
        .or_else(|| times().map(|(time, other)| time > other))
        .unwrap_or(false)
}

/// Number of blocks that hold ample buffers of both directions and as many bytes of overhead.
fn blocks(host: &HostPlan, ample: Ample) -> u64 {
    ample.bytes * 4 / u64::from(host.config.pool.block_size).max(1)
}
