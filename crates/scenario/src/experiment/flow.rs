//! Flows of an experiment: streams or datagrams between two hosts.
//!
//! Rule: a flow ends after a time or after an amount (a number of bytes), never both. The
//! experiment file, `--set` and the error messages take every field from one table,
//! [`FLOW_FIELDS`]. Nothing is simulated here.

use fullpipe_pool::{Duration, knobs::parse_count};
use fullpipe_sim::app::{Amount, Ending, ReadPlan, WritePlan, WriteSize};
use fullpipe_sim::{DatagramPlan, Family};

use super::{
    datagrams::{self, DatagramFields},
    setting::SettingError,
};
use crate::units::parse_rate;

/// Condition at which the sender stops writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The sender stops this long after the connection is established.
    After(Duration),
    /// The sender stops after this many bytes; the transfer ends when the receiver has read all.
    Bytes(u64),
}

/// Pace, pauses and end of the receiving application. By default the application reads everything
/// at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reading {
    bytes: Option<u64>,
    every: Option<Duration>,
    stall_after: Option<Duration>,
    stall_for: Option<Duration>,
    vanish_after: Option<u64>,
}

/// A flow, or `count` equal flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPlan {
    /// The flow's name in the file.
    pub name: String,
    /// Index of the host that writes.
    pub from: usize,
    /// Index of the host that reads.
    pub to: usize,
    /// Number of equal flows, each with its own connection.
    pub count: u32,
    /// IP version.
    pub family: Family,
    /// Start time.
    pub start: Duration,
    /// Size of each write of the sender, in bytes.
    pub write: u32,
    /// Condition at which the sender stops writing.
    pub stop: Stop,
    /// Time after the start at which an incomplete flow is given up.
    pub give_up: Duration,
    /// Time after the start at which the flow is measured and ended, complete or not.
    pub at_most: Option<Duration>,
    /// Length of the flow's beginning that the results exclude. The measurement of all flows
    /// starts at one time, the latest end of an excluded beginning. No flow may end before the
    /// measurement starts.
    pub omit: Duration,
    reverse: bool,
    /// Shortest duration of the run after the start, even if the flow ends earlier.
    pub at_least: Duration,
    pause: Duration,
    low_water: LowWater,
    no_push: bool,
    datagrams: DatagramFields,
    reading: Reading,
    vanish_after: Option<u64>,
    ask: Option<u64>,
    think: Option<Duration>,
}

/// Free space in the send buffer that a blocked writer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowWater {
    /// A number of bytes; 0 for the stack's default.
    Bytes(u32),
    /// A percentage of the send buffer.
    Percent(u32),
}

impl LowWater {
    /// Returns the free space in bytes, for a send buffer of `capacity` bytes.
    pub fn of(self, capacity: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.into(),
            Self::Percent(percent) => capacity * u64::from(percent) / 100,
        }
    }
}

fn parse_low_water(text: &str) -> Option<LowWater> {
    match text.trim().strip_suffix('%') {
        Some(percent) => {
            let percent = percent.trim().parse().ok()?;
            (percent < 100).then_some(LowWater::Percent(percent))
        }
        None => Some(LowWater::Bytes(parse_count(text)?.try_into().ok()?)),
    }
}

/// One field of a flow.
pub struct FlowField {
    /// The field's name after the flow's name.
    pub name: &'static str,
    /// The field's effect, in a sentence.
    pub doc: &'static str,
    /// Description of the values that the field takes.
    pub expected: &'static str,
    set: fn(&mut FlowPlan, &str) -> Option<()>,
}

const TIME: &str = "a time such as 200ms";
const LENGTH: &str = "a time such as 30s, above 0";
const BYTES: &str = "a number of bytes such as 2000000 or 4M, at least 1";

/// Declares an entry of [`FLOW_FIELDS`].
macro_rules! field {
    ($name:literal, $doc:literal, $expected:expr, |$plan:ident, $text:ident| $set:expr) => {
        FlowField {
            name: $name,
            doc: $doc,
            expected: $expected,
            set: |$plan, $text| {
                $set;
                Some(())
            },
        }
    };
}

/// Every field of a flow except `from` and `to`.
pub const FLOW_FIELDS: &[FlowField] = &[
    field!(
        "write",
        "Bytes of each write of the sender.",
        "a number of bytes such as 16384 or 16K, at least 1",
        |plan, text| plan.write = amount(text)?.try_into().ok()?
    ),
    field!(
        "duration",
        "Time for which the sender writes; of `duration` and `bytes` the one set last counts.",
        LENGTH,
        |plan, text| plan.stop = Stop::After(length(text)?)
    ),
    field!(
        "bytes",
        "Bytes that the sender writes.",
        BYTES,
        |plan, text| plan.stop = Stop::Bytes(amount(text)?)
    ),
    field!(
        "give_up",
        "Time after the start at which the row ends as stalled if bytes are still missing.",
        "a time such as 600s, above 0",
        |plan, text| plan.give_up = length(text)?
    ),
    field!(
        "at_most",
        "Time after the start at which the measurement ends, even if not all bytes have arrived.",
        LENGTH,
        |plan, text| plan.at_most = Some(length(text)?)
    ),
    field!(
        "omit",
        "Time after the start that the measurement of a `duration` excludes, for example slow start. If flows have an `omit`, the measurement of all flows starts when the last `omit` ends.",
        LENGTH,
        |plan, text| plan.omit = length(text)?
    ),
    field!(
        "at_least",
        "Shortest time after the start for which the run continues, even if the connection has ended.",
        LENGTH,
        |plan, text| plan.at_least = length(text)?
    ),
    field!(
        "ask",
        "Bytes of a request: the receiver opens the connection and sends the request, and the sender's payload is the answer.",
        BYTES,
        |plan, text| plan.ask = Some(amount(text)?)
    ),
    field!(
        "think",
        "Think time between the end of the request and the answer.",
        LENGTH,
        |plan, text| plan.think = Some(length(text)?)
    ),
    field!(
        "count",
        "Number of connections with these settings.",
        "a number of flows, 1 to 10000",
        |plan, text| plan.count = count(text)?
    ),
    field!(
        "reverse",
        "The two hosts change places: `to` writes and `from` reads.",
        "true or false",
        |plan, text| plan.set_reverse(text.trim().parse().ok()?)
    ),
    field!(
        "family",
        "IP version. IPv6 needs an MTU of at least 1280 bytes on the whole path.",
        "4 or 6",
        |plan, text| plan.family = text.trim().parse::<u8>().ok()?.try_into().ok()?
    ),
    field!(
        "protocol",
        "TCP, a stream, or UDP, datagrams of `write` bytes each.",
        "tcp or udp",
        |plan, text| plan.datagrams.udp = datagrams::protocol(text)?
    ),
    field!(
        "rate",
        "Payload rate of a sender of datagrams; without `rate` it sends as fast as the stack accepts datagrams.",
        "a rate such as 810mbit",
        |plan, text| plan.datagrams.rate_bps = Some(parse_rate(text)?)
    ),
    field!(
        "tick",
        "Interval at which a sender of datagrams wakes and sends the datagrams that are due. Without `tick` each datagram leaves when it is due.",
        "a time such as 1ms, above 0",
        |plan, text| plan.datagrams.tick = Some(length(text)?)
    ),
    field!("start", "Start time.", TIME, |plan, text| plan.start =
        time(text)?),
    field!(
        "pause",
        "Pause of the sender after each write.",
        TIME,
        |plan, text| plan.pause = time(text)?
    ),
    field!(
        "low_water",
        "Free space in the send buffer at which a blocked writer continues (SO_SNDLOWAT); 0 is a third of the buffer, or less when little is unsent.",
        "a number of bytes such as 4K, or 0, or a share of the send buffer such as 50%",
        |plan, text| plan.low_water = parse_low_water(text)?
    ),
    field!(
        "no_push",
        "Delays a partial segment until the sender has written everything (SO_NOPUSH).",
        "true or false",
        |plan, text| plan.no_push = switch(text)?
    ),
    field!(
        "read.bytes",
        "Most bytes that the receiver reads at once; then it pauses for `read.every`.",
        BYTES,
        |plan, text| plan.reading.bytes = Some(amount(text)?)
    ),
    field!(
        "read.every",
        "Pause of the receiver after each read.",
        LENGTH,
        |plan, text| plan.reading.every = Some(length(text)?)
    ),
    field!(
        "read.stall_after",
        "Time after the start at which the receiver stops reading, for `read.stall_for`.",
        TIME,
        |plan, text| plan.reading.stall_after = Some(time(text)?)
    ),
    field!(
        "read.stall_for",
        "Time for which the receiver does not read.",
        LENGTH,
        |plan, text| plan.reading.stall_for = Some(length(text)?)
    ),
    field!(
        "read.vanish_after",
        "Bytes read after which the receiver vanishes without closing.",
        BYTES,
        |plan, text| plan.reading.vanish_after = Some(amount(text)?)
    ),
    field!(
        "vanish_after",
        "Bytes written after which the sender vanishes without closing.",
        BYTES,
        |plan, text| plan.vanish_after = Some(amount(text)?)
    ),
];

/// Returns `value`, the value of the setting at `path`, as text. Adds the unit "bytes" if the
/// setting is a field of a flow in bytes, and `value` is a plain number above 0: `300 bytes`.
pub fn with_bytes(path: &str, value: &str) -> String {
    let name = path.split_once('.').map_or(path, |(_, name)| name);
    let mut fields = FLOW_FIELDS.iter().filter(|field| field.name == name);
    let is_bytes = fields.any(|field| field.expected.starts_with("a number of bytes"));
    // A value of 0 is not an amount but turns a setting off or selects its default.
    match value.parse::<u64>() {
        Ok(1) if is_bytes => "1 byte".to_string(),
        Ok(2..) if is_bytes => format!("{value} bytes"),
        _ => value.to_string(),
    }
}

impl FlowPlan {
    /// Creates a flow between two hosts with the defaults: writes of 16 KiB for ten seconds.
    pub fn new(name: &str, from: usize, to: usize) -> Self {
        Self {
            name: name.to_string(),
            from,
            to,
            count: 1,
            family: Family::V4,
            start: Duration::ZERO,
            write: 16 << 10,
            stop: Stop::After(Duration::from_secs(10)),
            give_up: Duration::from_secs(600),
            at_most: None,
            omit: Duration::ZERO,
            reverse: false,
            at_least: Duration::ZERO,
            pause: Duration::ZERO,
            low_water: LowWater::Bytes(0),
            no_push: false,
            datagrams: DatagramFields::default(),
            reading: Reading::default(),
            vanish_after: None,
            ask: None,
            think: None,
        }
    }

    /// Sets the field called `field` from text.
    ///
    /// # Errors
    /// Fails if the field is unknown, or does not take the value `text`.
    pub fn set(&mut self, field: &str, text: &str) -> Result<(), SettingError> {
        let row = FLOW_FIELDS
            .iter()
            .find(|row| row.name == field)
            .ok_or_else(|| {
                SettingError::unknown("flow field", field, FLOW_FIELDS.iter().map(|row| row.name))
            })?;
        (row.set)(self, text).ok_or_else(|| SettingError::NotAValue {
            name: format!("{}.{field}", self.name),
            given: text.to_string(),
            expected: row.expected,
        })
    }

    fn set_reverse(&mut self, reverse: bool) {
        if self.reverse != reverse {
            std::mem::swap(&mut self.from, &mut self.to);
            self.reverse = reverse;
        }
    }

    /// Returns the error message if a field is missing or two fields exclude each other.
    pub fn contradiction(&self) -> Option<String> {
        let Reading {
            bytes,
            every,
            stall_after,
            stall_for,
            ..
        } = self.reading;
        let name = &self.name;
        if bytes.is_some() != every.is_some() {
            return Some(format!(
                "set both {name}.read.bytes and {name}.read.every, or neither"
            ));
        }
        if stall_after.is_some() != stall_for.is_some() {
            return Some(format!(
                "set both {name}.read.stall_after and {name}.read.stall_for, or neither"
            ));
        }
        if self.think.is_some() && self.ask.is_none() {
            return Some(format!(
                "{name}.think is the time between a request and its answer: also set {name}.ask, \
                 the size of the request"
            ));
        }
        if let Some(why) = self.datagrams.contradiction(name, self.write) {
            return Some(why);
        }
        let is_left = matches!(self.stop, Stop::After(length) if length > self.omit);
        if !self.omit.is_zero() && !is_left {
            return Some(format!(
                "{name}.omit excludes the beginning of {name}.duration from the measurement: set \
                 a {name}.duration that is longer than {name}.omit"
            ));
        }
        let is_stream = self.reading != Reading::default()
            || self.vanish_after.is_some()
            || self.ask.is_some()
            || !self.omit.is_zero();
        if self.is_udp() && is_stream {
            return Some(format!(
                "{name} sets `read`, `vanish_after`, `ask` or `omit`, which only TCP has, but \
                 {name}.protocol = \"udp\""
            ));
        }
        (bytes.is_some() && stall_for.is_some()).then(|| {
            format!(
                "{name}.read has a pace (`bytes`, `every`) and a stall \
                 (`stall_after`, `stall_for`): keep one of the two"
            )
        })
    }

    /// Returns true if the flow carries UDP datagrams.
    pub fn is_udp(&self) -> bool {
        self.datagrams.udp
    }

    /// Plan of the sender, for a flow of datagrams.
    pub fn datagram_plan(&self) -> DatagramPlan {
        DatagramPlan {
            size: self.write,
            pace: self.datagrams.pace(),
            amount: self.amount(),
        }
    }

    fn amount(&self) -> Amount {
        match self.stop {
            Stop::After(length) => Amount::For(length),
            Stop::Bytes(bytes) => Amount::Bytes(bytes),
        }
    }

    /// Pause after each write.
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// Returns true if the sender delays a partial segment until the application has written
    /// everything.
    pub fn is_no_push(&self) -> bool {
        self.no_push
    }

    /// Free space in the send buffer that a blocked writer waits for.
    pub fn low_water(&self) -> LowWater {
        self.low_water
    }

    /// Plan of the sending application. A blocked application waits for `low_water` bytes of free
    /// space.
    pub fn write_plan(&self, low_water: u32) -> WritePlan {
        WritePlan {
            amount: self.amount(),
            size: WriteSize::Fixed(u64::from(self.write)),
            pause: self.pause,
            low_water,
            no_push: self.no_push,
        }
    }

    /// The way in which the sending application ends.
    pub fn ending(&self) -> Ending {
        match self.vanish_after {
            Some(after) => Ending::Vanish { after },
            None => Ending::Graceful,
        }
    }

    /// The way in which the receiving application ends.
    pub fn reader_ending(&self) -> Ending {
        match self.reading.vanish_after {
            Some(after) => Ending::Vanish { after },
            None => Ending::Graceful,
        }
    }

    /// Plan of the receiving application.
    pub fn read_plan(&self) -> ReadPlan {
        let Reading {
            bytes,
            every,
            stall_after,
            stall_for,
            ..
        } = self.reading;
        match (bytes.zip(every), stall_after.zip(stall_for)) {
            (Some((bytes, every)), _) => ReadPlan::Rate { bytes, every },
            (None, Some(stall)) => ReadPlan::Stalls(vec![stall]),
            (None, None) => ReadPlan::Eager,
        }
    }

    /// Size of the receiver's request in bytes, and think time of the sender before its answer;
    /// `None` if the sender writes without a request.
    pub fn question(&self) -> Option<(u64, Duration)> {
        Some((self.ask?, self.think.unwrap_or_default()))
    }

    /// Time at which the flow's duration or its `at_most` is over; `None` for a flow with an
    /// amount, whose end depends on the run.
    fn known_end(&self) -> Option<Duration> {
        let Stop::After(length) = self.stop else {
            return None;
        };
        Some(self.start + self.at_most.map_or(length, |most| most.min(length)))
    }

    /// Latest time at which the flow is complete or given up.
    pub fn latest_end(&self) -> Duration {
        let longest = match self.stop {
            Stop::After(length) => length + self.give_up,
            Stop::Bytes(_) => self.give_up,
        };
        let longest = self.at_most.map_or(longest, |most| most.min(longest));
        self.start + longest.max(self.at_least)
    }
}

/// Returns the index of the first plan whose protocol differs from that of `plans[0]`, and the
/// error message for this plan.
pub(super) fn mixed_protocols(plans: &[FlowPlan]) -> Option<(usize, String)> {
    let place = plans
        .iter()
        .position(|plan| plan.is_udp() != plans[0].is_udp())?;
    let protocol = |plan: &FlowPlan| if plan.is_udp() { "udp" } else { "tcp" };
    let [first, other] = [&plans[0], &plans[place]];
    let why = format!(
        "is {} and `{}` is {}: give all flows the same `protocol`",
        protocol(other),
        first.name,
        protocol(first)
    );
    Some((place, why))
}

/// Returns the time at which the measurement starts: the latest end of any flow's excluded
/// beginning (`omit`). Returns `None` if no flow has an `omit`.
pub fn omitted_until(plans: &[FlowPlan]) -> Option<Duration> {
    let omitting = plans.iter().filter(|plan| !plan.omit.is_zero());
    omitting.map(|plan| plan.start + plan.omit).max()
}

/// Returns the error message for the first flow that may end before the measurement starts.
pub(super) fn ends_before_measuring(plans: &[FlowPlan]) -> Option<String> {
    let until = omitted_until(plans)?;
    let is_over = |plan: &&FlowPlan| plan.known_end().is_none_or(|end| end <= until);
    let name = &plans.iter().find(is_over)?.name;
    Some(format!(
        "{name} may end before the measurement starts, {} s after the run's start, when the last \
         `omit` of the flows ends: give {name} a `duration` that ends later, and also a later \
         `at_most` if it has one",
        until.as_secs_f64()
    ))
}

/// Parses a Boolean: `true` or `false` as in TOML, or `1` or `0` as in C.
fn switch(text: &str) -> Option<bool> {
    match text.trim() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn amount(text: &str) -> Option<u64> {
    parse_count(text).filter(|amount| *amount > 0)
}

fn count(text: &str) -> Option<u32> {
    let count = u32::try_from(parse_count(text)?).ok()?;
    (1..=10_000).contains(&count).then_some(count)
}

fn time(text: &str) -> Option<Duration> {
    text.trim().parse().ok()
}

fn length(text: &str) -> Option<Duration> {
    time(text).filter(|time| *time > Duration::ZERO)
}
