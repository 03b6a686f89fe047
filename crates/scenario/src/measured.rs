//! Quantities that are measured for each row (scenario of an experiment).
//!
//! Rule: each quantity is declared once, with its unit in its name. The file's `published` tables,
//! the printed table and the JSON use this declaration, so that published and measured values have
//! the same unit. Over several seeds, a quantity is summarised by its median and quartiles, or by
//! its largest value if its declaration says `Worst`.

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    experiment::{FlowPlan, Setup, Stop},
    path::most_mbps,
    units::{grouped, three_digits},
};

#[cfg(test)]
mod tests;

/// The outcome of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The flow's duration passed, or all bytes arrived.
    Complete,
    /// No connection was dropped, but the transfer is incomplete or no byte was read.
    #[default]
    Stalled,
    /// The connection was dropped.
    Dropped,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 3] = [Self::Complete, Self::Stalled, Self::Dropped];

    /// The word in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Stalled => "stalled",
            Self::Dropped => "dropped",
        }
    }
}

/// Summary of a quantity over several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    /// The median.
    Median,
    /// The largest.
    Worst,
}

/// Printed form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A whole number.
    Whole,
    /// Three significant digits.
    Decimal,
    /// A share of 1, in percent.
    Percent,
}

/// A number that is measured for each row.
pub struct Quantity {
    /// The quantity's name, which ends in its unit.
    pub name: &'static str,
    /// Heading in the table.
    pub heading: &'static str,
    /// Phrase for sentences, with `{}` in place of the value.
    pub phrase: &'static str,
    /// Printed form of the value.
    pub form: Form,
    /// Summary over several seeds.
    pub summary: Summary,
    /// Returns the value; `None` if the quantity does not exist for the row.
    pub of: fn(&Measured) -> Option<f64>,
    set: fn(&mut Measured, f64),
}

/// A field type of [`Measured`].
trait Figure {
    fn get(&self) -> Option<f64>;
    fn set(&mut self, value: f64);
}

impl Figure for u64 {
    fn get(&self) -> Option<f64> {
        Some(*self as f64)
    }

    fn set(&mut self, value: f64) {
        *self = value.round() as Self;
    }
}

impl Figure for f64 {
    fn get(&self) -> Option<f64> {
        Some(*self)
    }

    fn set(&mut self, value: f64) {
        *self = value;
    }
}

impl Figure for Option<f64> {
    fn get(&self) -> Option<f64> {
        *self
    }

    fn set(&mut self, value: f64) {
        *self = Some(value);
    }
}

/// Declares the fields of [`Measured`], and [`Quantity::ALL`] from them.
macro_rules! quantities {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $heading:literal, $phrase:literal, $form:ident, $summary:ident;)+) => {
        /// Results of a row.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Measured {
            /// The row's outcome; over several seeds, the worst outcome.
            pub outcome: Outcome,
            $($(#[doc = $doc])+ pub $name: $type,)+
            /// The quartiles of each quantity, if there were several seeds.
            pub spread: Vec<Spread>,
            /// Each host's results, in the order of the file; over several seeds, the results of
            /// the first seed.
            pub hosts: Vec<HostMeasured>,
            /// Each flow's results, if there is more than one connection.
            pub flows: Vec<FlowMeasured>,
        }

        impl Quantity {
            /// Every quantity, in the order of the JSON.
            pub const ALL: &'static [Self] = &[$(Self {
                name: stringify!($name),
                heading: $heading,
                phrase: $phrase,
                form: Form::$form,
                summary: Summary::$summary,
                of: |measured| measured.$name.get(),
                set: |measured, value| measured.$name.set(value),
            }),+];
        }
    };
}

quantities! {
    /// Bytes that the receiving applications read within `elapsed_s`, divided by `elapsed_s`, in
    /// Mbit/s.
    goodput_mbps: f64 = "Mbit/s", "{} Mbit/s", Decimal, Median;
    /// Time from the first call to connect (with `omit`: from the start of the measurement) until
    /// the last byte was read, or until the end of the flow's duration.
    elapsed_s: f64 = "seconds", "elapsed time {} s", Decimal, Median;
    /// Bytes that the receiving applications read; with `omit`, after the excluded beginning only.
    delivered_bytes: u64 = "bytes", "{} bytes read", Whole, Median;
    /// Segments with payload that the senders put on the wire.
    data_segments: u64 = "segments", "{} data segments", Whole, Median;
    /// Share of `data_segments` that were full-sized. Segments at the end of a stream are not
    /// counted.
    full_sized_share: f64 = "full-sized", "{} of segments full-sized", Percent, Median;
    /// Effective segment size of the first sender: the largest payload of a segment, in bytes.
    segment_bytes: u64 = "bytes/segment", "{} bytes a segment", Whole, Median;
    /// Largest amount of packet memory in use on the host under study.
    peak_pool_bytes: u64 = "peak pool", "`{host}` used at most {} bytes of packet memory", Whole, Median;
    /// Blocks of the pool of the host under study that were neither used nor reserved at the end
    /// (netburner's `GetFreeCount`).
    free_blocks: u64 = "free at the end", "{} blocks free on `{host}` at the end", Whole, Median;
    /// Segments that the senders retransmitted.
    retransmitted_segments: u64 = "retransmitted", "{} segments retransmitted", Whole, Median;
    /// Retransmission timeouts of the senders.
    timeouts: u64 = "timeouts", "{} timeouts", Whole, Median;
    /// Smoothed round-trip time as the first sender measured it, at the end.
    srtt_ms: f64 = "RTT ms", "RTT {} ms", Decimal, Median;
    /// Longest time between two segments with payload that arrived at a receiver.
    max_gap_ms: f64 = "longest gap ms", "longest gap between two arrivals {} ms", Decimal, Worst;
    /// Payload that arrived at a receiver again, as a share of all payload sent.
    needless_share: f64 = "needless", "{} of payload received twice", Percent, Median;
    /// Share of the active time for which the busiest link carried frames. Time is active while
    /// any connection is active.
    link_busy_share: f64 = "link busy", "link {} busy", Percent, Median;
    /// Share of the active time for which the busiest host's processor worked. Time is active while
    /// any connection is active. `None` if no processor has costs.
    cpu_busy_share: Option<f64> = "CPU busy", "CPU {} busy", Percent, Median;
    /// Frames that hosts lost because their receive rings were full.
    rx_ring_drops: u64 = "ring drops", "{} ring drops", Whole, Median;
    /// Datagrams that the senders' stacks accepted. `None` for TCP, as are `lost_share` and
    /// `udp_rcvbuf_errors`.
    datagrams_sent: Option<f64> = "datagrams", "{} datagrams sent", Whole, Median;
    /// Share of `datagrams_sent` that was never read.
    lost_share: Option<f64> = "lost", "{} of datagrams lost", Percent, Median;
    /// Datagrams that hosts dropped because a receive queue was full.
    udp_rcvbuf_errors: Option<f64> = "UdpRcvbufErrors", "UdpRcvbufErrors {}", Whole, Median;
    /// Packets that the senders' IP layers received, mostly ACKs.
    ip_in_receives: u64 = "IpInReceives", "IpInReceives {}", Whole, Median;
    /// Packets handed to the senders' IP layers; a super-segment counts as one packet.
    ip_out_requests: u64 = "IpOutRequests", "IpOutRequests {}", Whole, Median;
    /// Segments that the senders sent, as counted on the wire.
    tcp_out_segs: u64 = "TcpOutSegs", "TcpOutSegs {}", Whole, Median;
    /// Bytes of IP packets that the senders sent, IP headers included.
    ip_ext_out_octets: u64 = "IpExtOutOctets", "IpExtOutOctets {}", Whole, Median;
    /// Goodput, in Mbit/s, that the congestion control's response function allows at the path's
    /// loss rate, limited by the path's rate. `None` for several connections, if the algorithm has
    /// no response function, or if neither losses nor a rate limit the goodput.
    allowed_mbps: Option<f64> = "allowed Mbit/s", "{} Mbit/s expected from the path's rate and losses", Decimal, Median;
    /// Time from the call to connect until the receiver had read at nine tenths of the path's rate
    /// for two round trips. `None` for several connections.
    time_to_90_s: Option<f64> = "seconds to 90 %", "90 % of the path's rate after {} s", Decimal, Median;
    /// Jain's index of the goodputs of n connections: 1 if all are equal, 1/n if only one
    /// connection carries payload. `None` for one connection.
    jain: Option<f64> = "Jain's index", "Jain's index {}", Decimal, Median;
    /// Time from the read of the answer's first byte to the read of the answer's last byte. `None`
    /// if the receiver sends no request.
    transfer_s: Option<f64> = "transfer s", "first to last byte of the answer {} s", Decimal, Median;
    /// Bytes read in each smoothed round-trip time of the first sender.
    round_trip_bytes: u64 = "bytes/round trip", "{} bytes a round trip", Whole, Median;
    /// Longest time in which a sender sent no payload except window probes.
    pause_s: f64 = "longest pause s", "longest pause {} s", Decimal, Worst;
    /// Mean time from the write of a byte to its first transmission. Of several senders, the
    /// longest mean.
    unsent_ms: f64 = "ms unsent", "bytes wait {} ms before they are sent", Decimal, Median;
    /// Times that a receiver's window closed.
    zero_windows: u64 = "zero windows", "zero windows {}", Whole, Median;
    /// Probes of closed windows that the senders sent.
    window_probes: u64 = "window probes", "window probes {}", Whole, Median;
    /// Time from the first call to connect until a sender's connection was dropped.
    dropped_s: Option<f64> = "dropped after s", "dropped after {} s", Decimal, Median;
    /// Resets that the senders sent.
    resets: u64 = "resets", "resets {}", Whole, Median;
    /// Time from the first call to connect until the last reset left.
    reset_s: Option<f64> = "reset after s", "reset after {} s", Decimal, Median;
    /// Goodput divided by the goodput of the baseline row; `None` without a baseline row.
    goodput_of_baseline: Option<f64> = "of baseline", "{} of the goodput of row `{baseline}`", Percent, Median;
    /// Goodput divided by the highest goodput that the path and the packet memory of the host that
    /// has least allow. `None` if the experiment does not request this quantity.
    fraction: Option<f64> = "fraction", "{} of min(rate, memory/RTT)", Decimal, Median;
}

impl Quantity {
    /// Returns the quantity called `name`.
    ///
    /// # Panics
    /// Panics if there is no such quantity. Names are checked when the file is read.
    pub fn named(name: &str) -> &'static Self {
        let found = Self::ALL.iter().find(|quantity| quantity.name == name);
        found.expect("a checked experiment names only quantities that there are")
    }

    /// Returns the quantities that a table shows: those in `columns`. If `columns` is empty,
    /// returns the quantities for which `is_published` is true; if there are none, goodput.
    pub fn shown(
        columns: &[&'static str],
        is_published: &dyn Fn(&Self) -> bool,
    ) -> Vec<&'static Self> {
        if !columns.is_empty() {
            return columns.iter().map(|name| Self::named(name)).collect();
        }
        let published = Self::ALL.iter().filter(|known| is_published(known));
        let quantities: Vec<_> = published.collect();
        match quantities.is_empty() {
            true => Self::ALL[..1].iter().collect(),
            false => quantities,
        }
    }

    /// Returns the first and third quartile as text. Returns `None` if both have the same text, or
    /// if the quantity is summarised by its largest value.
    pub fn spread_text(&self, measured: &Measured) -> Option<String> {
        let spread = measured.spread(self.name)?;
        let [q1, q3] = [spread.q1, spread.q3].map(|bound| self.text(bound));
        let shown = self.summary == Summary::Median && q1 != q3;
        shown.then(|| format!("{q1} \u{2013} {q3}"))
    }

    /// Returns the value in the quantity's phrase: `4.98 Mbit/s`, `RTT 31 ms`. The phrase may also
    /// contain the name of the host under study, `subject`, or the label of the row to compare with,
    /// `baseline`.
    pub fn phrased(&self, value: &str, subject: &str, baseline: &str) -> String {
        let phrase = self.phrase.replace("{}", value);
        let phrase = phrase.replace("{host}", subject);
        phrase.replace("{baseline}", baseline)
    }

    /// Returns a value of this quantity in its printed form.
    pub fn text(&self, value: f64) -> String {
        match self.form {
            Form::Whole => grouped(value as u64),
            Form::Decimal => three_digits(value),
            Form::Percent if value >= 10.0 => format!("{} %", grouped((value * 100.0) as u64)),
            Form::Percent => format!("{} %", three_digits(value * 100.0)),
        }
    }
}

/// The quartiles of a quantity over the seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The quantity's name.
    pub quantity: &'static str,
    /// First quartile.
    pub q1: f64,
    /// Third quartile.
    pub q3: f64,
}

/// Results of one host's processor and device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostMeasured {
    /// The host's name.
    pub host: String,
    /// Share of the time for which the processor worked; `None` if work takes no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_busy_share: Option<f64>,
    /// Frames that the host lost because its receive ring was full.
    pub rx_ring_drops: u64,
    /// Times that the host's tables of ranges of sequence numbers were too small.
    #[serde(skip_serializing_if = "FullTables::is_empty")]
    pub full_tables: FullTables,
}

/// Times that a host's tables of ranges of sequence numbers were too small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FullTables {
    /// Segments merged and SACK blocks ignored because `stack.sent_ranges` was reached.
    pub sent_ranges: u64,
    /// Segments merged and SACK blocks ignored because `stack.sent_ranges_each` was reached.
    pub sent_ranges_each: u64,
    /// Segments discarded because `tcp.holes` was reached.
    pub holes: u64,
    /// Segments discarded because `pool.ranges` was reached.
    pub ranges: u64,
}

impl FullTables {
    /// Returns true if every table was large enough.
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Results of one flow, if there are several connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowMeasured {
    /// The flow's name.
    pub flow: String,
    /// Goodput of all connections of the flow together.
    pub goodput_mbps: f64,
    /// The flow's share of the goodput of all flows.
    pub share: f64,
    /// The flow's share of the payload that all flows delivered.
    pub payload_share: f64,
    /// Goodput of each connection of the flow.
    pub connections_mbps: Vec<f64>,
}

impl Measured {
    /// Returns the goodput of the first flow of `setup`, in Mbit/s. If there is only one flow and it
    /// carries a fixed number of bytes, goodput is the payload of all its connections, divided by
    /// the time until the last of them ended. Otherwise the goodputs of the connections are added,
    /// each measured while the connection was sending.
    ///
    /// Goodput is at most the payload that the links can carry: connections that send one after
    /// another, and datagrams that arrive after the sender has stopped, would otherwise add up to
    /// more.
    pub fn first_flow_mbps(&self, setup: &Setup) -> f64 {
        let goodput = match (&self.flows[..], &setup.flow().stop) {
            ([], _) | ([_], Stop::Bytes(_)) => self.goodput_mbps,
            ([first, ..], _) => first.goodput_mbps,
        };
        goodput.min(most_mbps(setup))
    }

    /// Returns true if the transfer, whose only flow is `plan`, reached its time limit (`at_most`)
    /// before all its bytes had arrived.
    pub fn is_cut_off(&self, plan: &FlowPlan) -> bool {
        match plan.stop {
            Stop::Bytes(bytes) => {
                plan.at_most.is_some() && self.delivered_bytes < bytes * u64::from(plan.count)
            }
            Stop::After(_) => false,
        }
    }

    /// Summarises runs that differ only in their seeds.
    ///
    /// # Panics
    /// Panics if `runs` is empty.
    pub fn of_seeds(runs: &[Self]) -> Self {
        let [first, others @ ..] = runs else {
            panic!("a row is run with at least one seed");
        };
        if others.is_empty() {
            return first.clone();
        }
        let mut all = Self {
            outcome: runs.iter().map(|run| run.outcome).max().unwrap_or_default(),
            ..Self::default()
        };
        for quantity in Quantity::ALL {
            let values: Vec<_> = runs.iter().filter_map(|run| (quantity.of)(run)).collect();
            if values.is_empty() {
                continue;
            }
            let [q1, median, q3] = quartiles(&values);
            let value = match quantity.summary {
                Summary::Median => median,
                Summary::Worst => values.iter().copied().fold(f64::MIN, f64::max),
            };
            (quantity.set)(&mut all, value);
            all.spread.push(Spread {
                quantity: quantity.name,
                q1,
                q3,
            });
        }
        all.hosts = first.hosts.clone();
        let flows = 0..first.flows.len();
        all.flows = flows
            .map(|place| FlowMeasured::of_seeds(runs, place))
            .collect();
        all
    }

    /// Returns the quartiles of the quantity called `name`; `None` for one seed.
    pub fn spread(&self, name: &str) -> Option<&Spread> {
        self.spread.iter().find(|spread| spread.quantity == name)
    }
}

impl HostMeasured {
    /// Returns the host's results, rounded for a file; `None` if there is nothing to report.
    fn worked(&self) -> Option<Self> {
        let says =
            self.cpu_busy_share.is_some() || self.rx_ring_drops > 0 || !self.full_tables.is_empty();
        says.then(|| Self {
            cpu_busy_share: self.cpu_busy_share.map(millionths),
            ..self.clone()
        })
    }
}

impl FlowMeasured {
    fn of_seeds(runs: &[Measured], place: usize) -> Self {
        let median = |value: &dyn Fn(&Self) -> f64| {
            let values: Vec<_> = runs.iter().map(|run| value(&run.flows[place])).collect();
            quartiles(&values)[1]
        };
        let first = &runs[0].flows[place];
        let connections = 0..first.connections_mbps.len();
        Self {
            flow: first.flow.clone(),
            goodput_mbps: median(&|flow| flow.goodput_mbps),
            share: median(&|flow| flow.share),
            payload_share: median(&|flow| flow.payload_share),
            connections_mbps: connections
                .map(|number| median(&|flow| flow.connections_mbps[number]))
                .collect(),
        }
    }
}

/// Returns the first quartile, the median and the third quartile of `values`, interpolated
/// linearly. `values` must not be empty.
fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|share| {
        let place = share * (sorted.len() - 1) as f64;
        let (below, rest) = (place.floor() as usize, place.fract());
        let above = (below + 1).min(sorted.len() - 1);
        sorted[below] + (sorted[above] - sorted[below]) * rest
    })
}

/// Returns Jain's index of `goodputs`; `None` for fewer than two goodputs, or if all are 0.
pub fn jain(goodputs: &[f64]) -> Option<f64> {
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|goodput| goodput * goodput).sum();
    (goodputs.len() > 1 && squares > 0.0).then(|| sum * sum / (goodputs.len() as f64 * squares))
}

impl Serialize for Measured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("outcome", self.outcome.name())?;
        for quantity in Quantity::ALL {
            let Some(value) = (quantity.of)(self) else {
                continue;
            };
            match quantity.form {
                Form::Whole => map.serialize_entry(quantity.name, &(value as u64))?,
                Form::Decimal | Form::Percent => {
                    map.serialize_entry(quantity.name, &millionths(value))?;
                }
            }
        }
        if !self.spread.is_empty() {
            map.serialize_entry("quartiles", &Quartiles(&self.spread))?;
        }
        let worked: Vec<_> = self.hosts.iter().filter_map(HostMeasured::worked).collect();
        if !worked.is_empty() {
            map.serialize_entry("hosts", &worked)?;
        }
        if !self.flows.is_empty() {
            let flows: Vec<_> = self.flows.iter().map(rounded).collect();
            map.serialize_entry("flows", &flows)?;
        }
        map.end()
    }
}

/// The quartiles as a JSON object of arrays `[q1, q3]`, with the quantities' names as keys.
struct Quartiles<'a>(&'a [Spread]);

impl Serialize for Quartiles<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs = self.0.iter();
        serializer.collect_map(
            pairs.map(|&Spread { quantity, q1, q3 }| (quantity, [millionths(q1), millionths(q3)])),
        )
    }
}

fn rounded(flow: &FlowMeasured) -> FlowMeasured {
    FlowMeasured {
        flow: flow.flow.clone(),
        goodput_mbps: millionths(flow.goodput_mbps),
        share: millionths(flow.share),
        payload_share: millionths(flow.payload_share),
        connections_mbps: flow
            .connections_mbps
            .iter()
            .copied()
            .map(millionths)
            .collect(),
    }
}

/// Rounds `value` to six decimals.
fn millionths(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
