//! What the hosts of an experiment do: streams between two of them.
//!
//! Rule: a stream ends after a time or after an amount, never both. One row a
//! field, with its text form; the file, `--set` and the error messages read the
//! same rows. How a byte travels is not known here.

use fullpipe_pool::{Duration, knobs::parse_count};
use fullpipe_sim::DatagramPlan;
use fullpipe_sim::app::{Amount, Ending, ReadPlan, WritePlan, WriteSize};

use super::{
    datagrams::{self, Datagrams},
    setting::SettingError,
};
use crate::units::parse_rate;

/// When the sender stops writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// So long after it was connected.
    After(Duration),
    /// When it has written this many bytes; the transfer is over when all have
    /// been read.
    Bytes(u64),
}

/// How the receiving application reads when it does not read at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reading {
    bytes: Option<u64>,
    every: Option<Duration>,
    stall_after: Option<Duration>,
    stall_for: Option<Duration>,
    vanish_after: Option<u64>,
}

/// One stream, or several alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPlan {
    /// The name it has in the file.
    pub name: String,
    /// The host that writes, by its place in the experiment.
    pub from: usize,
    /// The host that reads.
    pub to: usize,
    /// How many there are, each with a connection of its own.
    pub count: u32,
    /// When they begin.
    pub start: Duration,
    /// Bytes the sender hands over with each write.
    pub write: u32,
    /// When the sender stops.
    pub stop: Stop,
    /// An amount that has not arrived so long after the start is given up.
    pub give_up: Duration,
    /// An amount that has not arrived so long after the start is measured as it
    /// is then, and nothing is wrong with that.
    pub at_most: Option<Duration>,
    /// What comes within this long after the start is not counted. All flows count from
    /// the latest such moment on, and none may end before it.
    pub omit: Duration,
    reverse: bool,
    /// The run goes on for so long after the start, whatever became of the flow.
    pub at_least: Duration,
    pause: Duration,
    low_water: LowWater,
    no_push: bool,
    datagrams: Datagrams,
    reading: Reading,
    vanish_after: Option<u64>,
    ask: Option<u64>,
    think: Option<Duration>,
}

/// Room that a writer who found the send buffer full waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowWater {
    /// So many bytes; 0 leaves it to the stack.
    Bytes(u32),
    /// So much of what the send buffer holds.
    Percent(u32),
}

impl LowWater {
    /// Bytes of a send buffer that holds `held`.
    pub fn of(self, held: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.into(),
            Self::Percent(percent) => held * u64::from(percent) / 100,
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
    /// Its name below the flow's.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// What a value looks like.
    pub expected: &'static str,
    set: fn(&mut FlowPlan, &str) -> Option<()>,
}

const TIME: &str = "a time such as 200ms";
const LENGTH: &str = "a time such as 30s, above 0";
const BYTES: &str = "a number of bytes such as 2000000 or 4M, at least 1";

/// Declares a row of [`FLOW_FIELDS`].
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

/// Every field of a flow but its ends.
pub const FLOW_FIELDS: &[FlowField] = &[
    field!(
        "write",
        "Bytes that the sender hands over with each write.",
        "a number of bytes such as 16384 or 16K, at least 1",
        |plan, text| plan.write = amount(text)?.try_into().ok()?
    ),
    field!(
        "duration",
        "The sender writes for so long; of `duration` and `bytes` the one set last counts.",
        LENGTH,
        |plan, text| plan.stop = Stop::After(length(text)?)
    ),
    field!(
        "bytes",
        "The sender writes so much.",
        BYTES,
        |plan, text| plan.stop = Stop::Bytes(amount(text)?)
    ),
    field!(
        "give_up",
        "What has not arrived so long after the start is given up.",
        "a time such as 600s, above 0",
        |plan, text| plan.give_up = length(text)?
    ),
    field!(
        "at_most",
        "What has come over so long after the start is measured, all of it or not.",
        LENGTH,
        |plan, text| plan.at_most = Some(length(text)?)
    ),
    field!(
        "omit",
        "What is read within this long after the start, and that time, are not counted, so that slow start is left out of a `duration`; all flows count from the latest such moment on.",
        LENGTH,
        |plan, text| plan.omit = length(text)?
    ),
    field!(
        "at_least",
        "The run goes on for so long after the start, even if the connection is gone before.",
        LENGTH,
        |plan, text| plan.at_least = length(text)?
    ),
    field!(
        "ask",
        "The receiver opens the connection and asks with so much; what the sender writes is the answer.",
        BYTES,
        |plan, text| plan.ask = Some(amount(text)?)
    ),
    field!(
        "think",
        "Time between the end of the question and the answer.",
        LENGTH,
        |plan, text| plan.think = Some(length(text)?)
    ),
    field!(
        "count",
        "How many such flows there are, each with a connection of its own.",
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
        "protocol",
        "What carries it: a TCP stream, or UDP datagrams of `write` bytes each.",
        "tcp or udp",
        |plan, text| plan.datagrams.udp = datagrams::protocol(text)?
    ),
    field!(
        "rate",
        "Bits of datagrams that the sender hands over a second; without it, as many as are taken.",
        "a rate such as 810mbit",
        |plan, text| plan.datagrams.rate_bps = Some(parse_rate(text)?)
    ),
    field!(
        "tick",
        "How often such a sender wakes and sends what is due; without it, each datagram at its time.",
        "a time such as 1ms, above 0",
        |plan, text| plan.datagrams.tick = Some(length(text)?)
    ),
    field!("start", "When it begins.", TIME, |plan, text| plan.start =
        time(text)?),
    field!(
        "pause",
        "Rest of the sender after each write.",
        TIME,
        |plan, text| plan.pause = time(text)?
    ),
    field!(
        "low_water",
        "Room that a sender who found the send buffer full waits for (SO_SNDLOWAT); 0: a third of it, or less when little is left to send.",
        "a number of bytes such as 4K, or 0, or a share of the send buffer such as 50%",
        |plan, text| plan.low_water = parse_low_water(text)?
    ),
    field!(
        "no_push",
        "Less than a segment is held until the sender has written everything (SO_NOPUSH).",
        "true or false",
        |plan, text| plan.no_push = text.trim().parse().ok()?
    ),
    field!(
        "read.bytes",
        "The receiver reads no more than this at once, and then rests for `read.every`.",
        BYTES,
        |plan, text| plan.reading.bytes = Some(amount(text)?)
    ),
    field!(
        "read.every",
        "Rest of the receiver after each read.",
        LENGTH,
        |plan, text| plan.reading.every = Some(length(text)?)
    ),
    field!(
        "read.stall_after",
        "So long after the start the receiver stops reading, for `read.stall_for`.",
        TIME,
        |plan, text| plan.reading.stall_after = Some(time(text)?)
    ),
    field!(
        "read.stall_for",
        "How long the receiver does not read.",
        LENGTH,
        |plan, text| plan.reading.stall_for = Some(length(text)?)
    ),
    field!(
        "read.vanish_after",
        "The receiver is gone without a word once it has read so much.",
        BYTES,
        |plan, text| plan.reading.vanish_after = Some(amount(text)?)
    ),
    field!(
        "vanish_after",
        "The sender is gone without a word once it has written so much.",
        BYTES,
        |plan, text| plan.vanish_after = Some(amount(text)?)
    ),
];

impl FlowPlan {
    /// What a flow between two hosts does when nothing else is said: writes of
    /// 16 KiB for ten seconds.
    pub fn new(name: &str, from: usize, to: usize) -> Self {
        Self {
            name: name.to_string(),
            from,
            to,
            count: 1,
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
            datagrams: Datagrams::default(),
            reading: Reading::default(),
            vanish_after: None,
            ask: None,
            think: None,
        }
    }

    /// Sets the field called `field` from text.
    ///
    /// # Errors
    /// An unknown field, or a text that is none of its values.
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

    /// Fields that cannot be without each other, in words.
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
                "{name}.read.bytes and {name}.read.every are a pace only together"
            ));
        }
        if stall_after.is_some() != stall_for.is_some() {
            return Some(format!(
                "{name}.read.stall_after and {name}.read.stall_for are a stall only together"
            ));
        }
        if self.think.is_some() && self.ask.is_none() {
            return Some(format!(
                "{name}.think is the time before an answer: {name}.ask says how long the question is"
            ));
        }
        if let Some(why) = self.datagrams.contradiction(name, self.write) {
            return Some(why);
        }
        let is_left = matches!(self.stop, Stop::After(length) if length > self.omit);
        if !self.omit.is_zero() && !is_left {
            return Some(format!(
                "{name}.omit leaves out the beginning of a {name}.duration, which must be longer"
            ));
        }
        let is_stream = self.reading != Reading::default()
            || self.vanish_after.is_some()
            || self.ask.is_some()
            || !self.omit.is_zero();
        if self.is_udp() && is_stream {
            return Some(format!(
                "{name} has fields of a stream, and {name}.protocol = \"udp\""
            ));
        }
        (bytes.is_some() && stall_for.is_some())
            .then(|| format!("{name}.read has a pace and a stall: a reader has one of them"))
    }

    /// Whether it carries datagrams.
    pub fn is_udp(&self) -> bool {
        self.datagrams.udp
    }

    /// What the sender of datagrams does.
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

    /// The rest after each write.
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// Whether less than a segment is held until everything is written.
    pub fn is_no_push(&self) -> bool {
        self.no_push
    }

    /// The room that a writer who found the send buffer full waits for.
    pub fn low_water(&self) -> LowWater {
        self.low_water
    }

    /// What the sending application does, where it waits for `low_water` bytes.
    pub fn write_plan(&self, low_water: u32) -> WritePlan {
        WritePlan {
            amount: self.amount(),
            size: WriteSize::Fixed(u64::from(self.write)),
            pause: self.pause,
            low_water,
            no_push: self.no_push,
        }
    }

    /// How the sending application ends.
    pub fn ending(&self) -> Ending {
        match self.vanish_after {
            Some(after) => Ending::Vanish { after },
            None => Ending::Graceful,
        }
    }

    /// How the receiving application ends.
    pub fn reader_ending(&self) -> Ending {
        match self.reading.vanish_after {
            Some(after) => Ending::Vanish { after },
            None => Ending::Graceful,
        }
    }

    /// What the receiving application does.
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

    /// Bytes of the question that the receiver asks, and the time that the sender
    /// takes before it answers; `None` when the sender begins.
    pub fn question(&self) -> Option<(u64, Duration)> {
        Some((self.ask?, self.think.unwrap_or_default()))
    }

    /// When it stops writing or is measured; `None` where only a run can tell.
    fn known_end(&self) -> Option<Duration> {
        let Stop::After(length) = self.stop else {
            return None;
        };
        Some(self.start + self.at_most.map_or(length, |most| most.min(length)))
    }

    /// When it is over or given up at the latest.
    pub fn latest_end(&self) -> Duration {
        let longest = match self.stop {
            Stop::After(length) => length + self.give_up,
            Stop::Bytes(_) => self.give_up,
        };
        let longest = self.at_most.map_or(longest, |most| most.min(longest));
        self.start + longest.max(self.at_least)
    }
}

/// The first of `plans` that is not of the first one's protocol, by its place, and
/// why that cannot be.
pub(super) fn mixed_protocols(plans: &[FlowPlan]) -> Option<(usize, String)> {
    let place = plans
        .iter()
        .position(|plan| plan.is_udp() != plans[0].is_udp())?;
    let protocol = |plan: &FlowPlan| if plan.is_udp() { "udp" } else { "tcp" };
    let [first, other] = [&plans[0], &plans[place]];
    let why = format!(
        "is {} and {} is {}: give all of them one `protocol`",
        protocol(other),
        first.name,
        protocol(first)
    );
    Some((place, why))
}

/// The moment from which everything counts, where a flow leaves its beginning out: the
/// latest of them.
pub fn omitted_until(plans: &[FlowPlan]) -> Option<Duration> {
    let omitting = plans.iter().filter(|plan| !plan.omit.is_zero());
    omitting.map(|plan| plan.start + plan.omit).max()
}

/// The first of `plans` of which nothing may be left once everything counts, in words.
pub(super) fn over_before_it_counts(plans: &[FlowPlan]) -> Option<String> {
    let until = omitted_until(plans)?;
    let is_over = |plan: &&FlowPlan| plan.known_end().is_none_or(|end| end <= until);
    let name = &plans.iter().find(is_over)?.name;
    Some(format!(
        "{name} may be over before anything counts, which is {} s after the beginning, where the last flow's `omit` ends: give it a longer `duration`, and no `at_most` before that",
        until.as_secs_f64()
    ))
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
