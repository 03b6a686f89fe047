//! A link of an experiment and its fields.
//!
//! Rule: the experiment file, `--set` and the error messages take every field from one table,
//! [`LINK_FIELDS`]. A field applies to both directions, or to one direction if its name has the
//! prefix `forward.` or `back.`. The simulator implements the fields.

use fullpipe_pool::{Duration, knobs::parse_count};
use fullpipe_sim::link::{
    AckThinning, BurstLoss, Codel, Direction, EcnThreshold, Hop, LinkModel, Outage, Queue, Radio,
    Reordering, TokenBucket,
};

use super::setting::SettingError;
use crate::{
    document::hint,
    units::{PROBABILITY, ambiguous_probability, parse_probability, parse_rate},
};

/// A shaper with the parameters of `tbf`. Its queue is bounded by the longest waiting time
/// (`latency`) instead of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Shaper {
    rate_bps: u64,
    burst_bytes: u64,
    latency_us: u64,
}

/// Host or switch at an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A host, by its index in the experiment.
    Host(usize),
    /// A switch, by its index in the experiment.
    Switch(usize),
}

/// One direction of a link as the file describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct OneDirection {
    fields: LinkModel,
    shaper: Option<Shaper>,
}

/// A link as the file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPlan {
    /// The link's name in the file.
    pub name: String,
    /// The two ends of the link. The forward direction leads from the first to the second.
    pub between: [Place; 2],
    directions: [OneDirection; 2],
}

/// Prefixes of a field's name that select one direction.
const DIRECTIONS: [(&str, Direction); 2] =
    [("forward.", Direction::Forward), ("back.", Direction::Back)];

/// One field of a link.
pub struct LinkField {
    /// The field's name after the link's name.
    pub name: &'static str,
    /// The field's effect, in a sentence.
    pub doc: &'static str,
    /// Description of the values that the field takes.
    pub expected: &'static str,
    set: fn(&mut OneDirection, &str) -> Option<()>,
}

/// ACK thinning with defaults, for a file that sets only one of the two fields.
const USUAL_THINNING: AckThinning = AckThinning {
    every: 8,
    wait_us: 10_000,
};

/// Name of the field that always applies to both directions.
const RTT: &str = "rtt";

const TIME: &str = "a time of whole microseconds such as 20ms";
const RATE: &str = "a rate such as 12mbit, 500kbit or 1gbit";
const COUNT: &str = "a number of bytes such as 1500 or 16K";

/// Declares an entry of [`LINK_FIELDS`].
macro_rules! field {
    ($name:expr, $doc:literal, $expected:expr, |$direction:ident, $text:ident| $set:expr) => {
        LinkField {
            name: $name,
            doc: $doc,
            expected: $expected,
            set: |$direction, $text| {
                $set;
                Some(())
            },
        }
    };
}

/// Every field of a link.
pub const LINK_FIELDS: &[LinkField] = &[
    field!(
        "rate",
        "Rate of the wire; without a rate, transmitting a frame takes no time.",
        RATE,
        |direction, text| direction.fields.rate_bps = parse_rate(text)?
    ),
    field!(
        "delay",
        "Propagation delay in one direction.",
        TIME,
        |direction, text| direction.fields.delay_us = whole_us(text)?
    ),
    field!(
        RTT,
        "Propagation delay of both directions together; each direction gets half.",
        "a round-trip time such as 20ms, in an even number of microseconds",
        |direction, text| direction.fields.delay_us = half_us(text)?
    ),
    field!(
        "jitter",
        "Largest random addition to the delay of a frame.",
        TIME,
        |direction, text| direction.fields.jitter_us = whole_us(text)?
    ),
    field!(
        "loss",
        "Share of frames lost, each independently.",
        PROBABILITY,
        |direction, text| direction.fields.loss = parse_probability(text)?
    ),
    field!(
        "burst_loss.enter",
        "Chance that a good channel turns bad before a frame.",
        PROBABILITY,
        |direction, text| direction.burst().enter = parse_probability(text)?
    ),
    field!(
        "burst_loss.leave",
        "Chance that a bad channel turns good before a frame.",
        PROBABILITY,
        |direction, text| direction.burst().leave = parse_probability(text)?
    ),
    field!(
        "burst_loss.loss_good",
        "Share of frames lost while the channel is good.",
        PROBABILITY,
        |direction, text| direction.burst().loss_good = parse_probability(text)?
    ),
    field!(
        "burst_loss.loss_bad",
        "Share of frames lost while the channel is bad.",
        PROBABILITY,
        |direction, text| direction.burst().loss_bad = parse_probability(text)?
    ),
    field!(
        "reordering.chance",
        "Share of frames that are overtaken.",
        PROBABILITY,
        |direction, text| direction.reordering().chance = parse_probability(text)?
    ),
    field!(
        "reordering.late",
        "Longest additional delay of an overtaken frame.",
        TIME,
        |direction, text| direction.reordering().late_us = whole_us(text)?
    ),
    field!(
        "duplication",
        "Share of frames that arrive twice.",
        PROBABILITY,
        |direction, text| direction.fields.duplication = parse_probability(text)?
    ),
    field!(
        "corruption",
        "Share of frames that arrive damaged.",
        PROBABILITY,
        |direction, text| direction.fields.corruption = parse_probability(text)?
    ),
    #[cfg(feature = "recipes")]
    field!(
        "truncation",
        "Share of frames whose end is cut off.",
        PROBABILITY,
        |direction, text| direction.fields.truncation = parse_probability(text)?
    ),
    field!(
        "ack_thinning.every",
        "Number of waiting pure ACKs of one connection at which the last is sent in place of all. \
         ACKs wait at most for `ack_thinning.wait`.",
        "a number, at least 1",
        |direction, text| direction.ack_thinning().every = parse_at_least_one(text)?
    ),
    field!(
        "ack_thinning.wait",
        "Longest time for which a pure ACK waits for further ACKs; by default 10 ms.",
        TIME,
        |direction, text| direction.ack_thinning().wait_us = whole_us(text)?
    ),
    field!(
        "queue",
        "Queue of frames in front of the wire.",
        "unlimited, device, or an amount such as \"32 packets\" or \"64K bytes\"",
        |direction, text| direction.fields.queue = parse_queue(text)?
    ),
    field!(
        "ecn_threshold",
        "Queue length above which ECN-capable frames are marked, and other frames are dropped.",
        "an amount such as \"20 packets\" or \"30K bytes\"",
        |direction, text| direction.fields.ecn_threshold = Some(parse_threshold(text)?)
    ),
    field!(
        "codel.target",
        "CoDel's target: the acceptable sojourn time in the queue.",
        TIME,
        |direction, text| direction.codel().target_us = whole_us(text)?
    ),
    field!(
        "codel.interval",
        "CoDel's interval: the time above the target after which CoDel drops, about the longest usual round trip.",
        TIME,
        |direction, text| direction.codel().interval_us = whole_us(text)?
    ),
    field!(
        "codel.ecn",
        "CoDel marks ECN-capable frames instead of dropping them.",
        "true or false",
        |direction, text| direction.codel().ecn = text.trim().parse().ok()?
    ),
    field!(
        "token_bucket.rate",
        "Rate of a token bucket in front of the wire.",
        RATE,
        |direction, text| direction.shaper().rate_bps = parse_rate(text)?
    ),
    field!(
        "token_bucket.burst",
        "Bytes that may leave the token bucket at once.",
        COUNT,
        |direction, text| direction.shaper().burst_bytes = parse_count(text)?
    ),
    field!(
        "token_bucket.latency",
        "Longest wait in the token bucket; a frame that would wait longer is dropped.",
        TIME,
        |direction, text| direction.shaper().latency_us = whole_us(text)?
    ),
    field!(
        "radio.access",
        "Channel time of each frame in addition to its bits; both directions share the channel.",
        TIME,
        |direction, text| direction.radio().access_us = whole_us(text)?
    ),
    field!(
        "radio.backoff",
        "Longest random wait (backoff) before a frame is sent on a free channel.",
        TIME,
        |direction, text| direction.radio().backoff_us = whole_us(text)?
    ),
    field!(
        "mtu",
        "Largest IP packet.",
        "a number of bytes, at least 68",
        |direction, text| direction.fields.mtu = parse_mtu(text)?
    ),
    field!(
        "hop.mtu",
        "Largest IP packet that a hop within the link carries.",
        "a number of bytes, at least 68",
        |direction, text| direction.hop().mtu = parse_mtu(text)? as u16
    ),
    field!(
        "hop.silent",
        "The hop sends no ICMP error for the packets that it drops because they are too long: a \
         black hole.",
        "true or false",
        |direction, text| direction.hop().silent = text.trim().parse().ok()?
    ),
    field!(
        "outage.after",
        "Time after the start at which an outage begins; it lasts `outage.length`.",
        TIME,
        |direction, text| direction.outage().after_us = whole_us(text)?
    ),
    field!(
        "outage.length",
        "Length of the outage, in which every frame is lost.",
        TIME,
        |direction, text| direction.outage().length_us = whole_us(text)?
    ),
];

impl LinkPlan {
    /// Creates a link without impairments.
    pub fn new(name: &str, between: [Place; 2]) -> Self {
        let direction = OneDirection {
            fields: LinkModel::ideal(),
            shaper: None,
        };
        Self {
            name: name.to_string(),
            between,
            directions: [direction; 2],
        }
    }

    /// Sets the field called `field` (`radio.access`, `back.loss`) from text.
    ///
    /// # Errors
    /// Fails if the field is unknown, or does not take the value `text`.
    pub fn set(&mut self, field: &str, text: &str) -> Result<(), SettingError> {
        let one = DIRECTIONS
            .iter()
            .find_map(|(prefix, direction)| Some((field.strip_prefix(prefix)?, *direction)));
        let (name, directions) = match one {
            Some((name, direction)) => {
                let place = direction.index();
                (name, &mut self.directions[place..=place])
            }
            None => (field, &mut self.directions[..]),
        };
        let row = LINK_FIELDS
            .iter()
            .find(|row| row.name == name && (one.is_none() || name != RTT))
            .ok_or_else(|| SettingError::Unknown {
                what: "link field",
                name: field.to_string(),
                hint: hint(name, LINK_FIELDS.iter().map(|row| row.name)),
            })?;
        for direction in directions {
            (row.set)(direction, text).ok_or_else(|| {
                let name = format!("{}.{field}", self.name);
                match ambiguous_probability(text).filter(|_| row.expected == PROBABILITY) {
                    Some(why) => SettingError::Ambiguous { name, why },
                    None => SettingError::NotAValue {
                        name,
                        given: text.to_string(),
                        expected: row.expected,
                    },
                }
            })?;
        }
        Ok(())
    }

    /// Returns the error message for the first field that is out of range, contradicts another
    /// field, or lacks a field that it needs.
    pub fn contradiction(&self) -> Option<String> {
        let name = &self.name;
        let [forward, back] = &self.directions;
        if forward.fields.radio != back.fields.radio {
            return Some(format!(
                "{name}.radio must be set for both directions, because they share the channel: \
                 write it without `forward` or `back`"
            ));
        }
        // A setting of both directions is named without a direction.
        let found = self
            .directions
            .each_ref()
            .map(|way| way.contradiction(name));
        match found {
            [None, None] => None,
            [None, Some(_)] => back.contradiction(&format!("{name}.back")),
            [Some(one), Some(other)] if one == other => Some(one),
            [Some(_), _] => forward.contradiction(&format!("{name}.forward")),
        }
    }

    /// Returns the simulator's model of one direction.
    pub fn link(&self, direction: Direction) -> LinkModel {
        self.directions[direction.index()].link()
    }
}

impl OneDirection {
    fn contradiction(&self, name: &str) -> Option<String> {
        if let Some(shaper) = self.shaper {
            if shaper.rate_bps == 0 {
                return Some(format!(
                    "{name}.token_bucket needs a rate: set `{name}.token_bucket.rate` above 0"
                ));
            }
            if shaper.burst_bytes > u32::MAX.into() {
                return Some(format!(
                    "{name}.token_bucket.burst = {} is above {} bytes, so the bucket would never \
                     delay a frame: lower the burst",
                    shaper.burst_bytes,
                    u32::MAX
                ));
            }
            let frame = self.fields.mtu as u64 + 14;
            if shaper.burst_bytes < frame {
                return Some(format!(
                    "{name}.token_bucket.burst = {} is smaller than a frame of {frame} bytes, \
                     which would never leave: raise the burst",
                    shaper.burst_bytes
                ));
            }
        }
        if let Some(outage) = self.fields.outage
            && outage.length_us == 0
        {
            return Some(format!(
                "{name}.outage needs a length: set `{name}.outage.length` above 0"
            ));
        }
        if self.fields.radio.is_some() && self.fields.rate_bps == 0 {
            return Some(format!(
                "{name}.radio needs {name}.rate: a frame's channel time is its bits divided by \
                 the rate"
            ));
        }
        self.link().check().err().map(|error| error.to_string())
    }

    fn link(&self) -> LinkModel {
        let token_bucket = self.shaper.map(
            |Shaper {
                 rate_bps,
                 burst_bytes,
                 latency_us,
             }| { TokenBucket::with_latency(rate_bps, burst_bytes, latency_us) },
        );
        LinkModel {
            token_bucket,
            ..self.fields
        }
    }

    fn shaper(&mut self) -> &mut Shaper {
        self.shaper.get_or_insert_default()
    }

    fn burst(&mut self) -> &mut BurstLoss {
        self.fields.burst_loss.get_or_insert_default()
    }

    fn reordering(&mut self) -> &mut Reordering {
        self.fields.reordering.get_or_insert(Reordering {
            chance: 0.0,
            late_us: 0,
        })
    }

    fn ack_thinning(&mut self) -> &mut AckThinning {
        self.fields.ack_thinning.get_or_insert(USUAL_THINNING)
    }

    fn codel(&mut self) -> &mut Codel {
        self.fields.codel.get_or_insert(Codel::internet())
    }

    fn hop(&mut self) -> &mut Hop {
        let mtu = self.fields.mtu.min(usize::from(u16::MAX)) as u16;
        self.fields.hop.get_or_insert(Hop { mtu, silent: false })
    }

    fn outage(&mut self) -> &mut Outage {
        self.fields.outage.get_or_insert_default()
    }

    fn radio(&mut self) -> &mut Radio {
        self.fields.radio.get_or_insert(Radio {
            access_us: 0,
            backoff_us: 0,
        })
    }
}

/// Parses a time in microseconds; `None` if it is not a whole number of microseconds.
fn whole_us(text: &str) -> Option<u64> {
    let time: Duration = text.trim().parse().ok()?;
    time.as_nanos()
        .is_multiple_of(1_000)
        .then_some(time.as_micros())
}

/// Parses a round-trip time and returns half of it in microseconds; `None` if the half is not a
/// whole number of microseconds.
fn half_us(text: &str) -> Option<u64> {
    let rtt = whole_us(text)?;
    rtt.is_multiple_of(2).then_some(rtt / 2)
}

fn parse_at_least_one(text: &str) -> Option<u32> {
    let number = u32::try_from(parse_count(text)?).ok()?;
    (number >= 1).then_some(number)
}

fn parse_mtu(text: &str) -> Option<usize> {
    let mtu = usize::try_from(parse_count(text)?).ok()?;
    (68..=65_535).contains(&mtu).then_some(mtu)
}

fn parse_queue(text: &str) -> Option<Queue> {
    let text = text.trim();
    match text {
        "unlimited" => return Some(Queue::Unlimited),
        "device" => return Some(Queue::Device),
        _ => {}
    }
    match parse_threshold(text)? {
        EcnThreshold::Packets(packets) => Some(Queue::Packets(packets)),
        EcnThreshold::Bytes(bytes) => Some(Queue::Bytes(bytes)),
    }
}

fn parse_threshold(text: &str) -> Option<EcnThreshold> {
    let (amount, unit) = text.trim().split_once(' ')?;
    let amount = parse_count(amount)?;
    match unit.trim() {
        "packets" => u32::try_from(amount).ok().map(EcnThreshold::Packets),
        "bytes" => Some(EcnThreshold::Bytes(amount)),
        _ => None,
    }
}
