//! The values that are inferred about a path, each with its confidence.
//!
//! Rule: a value that the observation does not show is [`Inferred::Unknown`], never a guess.

use super::acks::AckPath;

/// Confidence in an inferred value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Likely: other explanations are possible.
    Low,
    /// Nearly certain: by chance, such an observation occurs less than once in several hundred
    /// cases.
    High,
}

/// The reason for which a value is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No frame or too few frames arrived.
    TooFewFrames,
    /// No frame waited behind another, so the rate is not visible.
    NoQueue,
    /// Delays vary for reasons other than a queue.
    Noise,
}

/// An inferred value, or the reason for which it is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inferred<T> {
    /// The value.
    Known(T, Confidence),
    /// The observation does not show the value.
    Unknown(Unknown),
}

impl<T: Copy> Inferred<T> {
    /// The value, if it is known.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Known(value, _) => Some(value),
            Self::Unknown(_) => None,
        }
    }

    /// Replaces the value by what `of` computes from it. The confidence stays.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> Inferred<U> {
        match self {
            Self::Known(value, confidence) => Inferred::Known(of(value), confidence),
            Self::Unknown(why) => Inferred::Unknown(why),
        }
    }
}

/// The inferred reason of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// The frame was longer than all frames that arrived.
    MtuHole,
    /// Everything was lost for several round trips.
    Outage,
    /// The queue was as long as at other losses of the direction, and longer than for most frames
    /// that arrived.
    Queue,
    /// More bytes had passed than a constant rate allows, although no queue had grown.
    Policer,
    /// Losses followed each other more often than chance explains.
    Burst,
    /// Losses were independent of each other and of the queue.
    Random,
    /// No other reason explains the loss, and fewer than five such losses remain, too few to show a
    /// pattern.
    Unclear,
}

impl LossReason {
    /// Every reason, in declaration order.
    pub const ALL: [Self; 7] = [
        Self::MtuHole,
        Self::Outage,
        Self::Queue,
        Self::Policer,
        Self::Burst,
        Self::Random,
        Self::Unclear,
    ];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MtuHole => "MTU hole",
            Self::Outage => "outage",
            Self::Queue => "queue",
            Self::Policer => "policer",
            Self::Burst => "burst",
            Self::Random => "random",
            Self::Unclear => "unclear",
        }
    }
}

/// A time in which nothing that was sent arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Time at which the first lost frame was sent.
    pub from_ns: u64,
    /// Sending time of the first frame after the lost frames; `u64::MAX` if no later frame was
    /// sent.
    pub until_ns: u64,
    /// Number of consecutive frames of each direction that were lost; 0 if fewer than two
    /// consecutive frames were lost.
    pub lost: [u64; 2],
}

/// A frame size above which no frame arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MtuHole {
    /// Longest frame that arrived, link header included.
    pub passes_bytes: u32,
    /// Shortest lost frame among the frames that are longer than `passes_bytes`.
    pub stops_bytes: u32,
    /// True if an ICMP message reported to the sender that a packet was too big.
    pub is_answered: bool,
}

/// A rate above which frames are lost without waiting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// The rate, in bits per second, link headers included.
    pub rate_bps: f64,
    /// Bytes that may pass in one burst after a pause.
    pub burst_bytes: f64,
}

/// The time that frames waited in queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueDelay {
    /// Mean over all frames that arrived, in milliseconds.
    pub mean_ms: f64,
    /// Largest wait, in milliseconds.
    pub largest_ms: f64,
}

/// Counts of the frames of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// Frames sent.
    pub sent: u64,
    /// Bytes of the frames sent.
    pub sent_bytes: u64,
    /// Frames that arrived, without duplicates.
    pub arrived: u64,
    /// Bytes of the frames that arrived.
    pub arrived_bytes: u64,
    /// Frames that did not arrive although later frames arrived, or although much time had passed.
    pub lost: u64,
    /// Frames that may still have been in flight at the end.
    pub undecided: u64,
    /// Arrivals of frames that had already arrived.
    pub duplicated: u64,
    /// Frames that arrived damaged.
    pub damaged: u64,
    /// Frames that arrived after a frame that was sent later. Frames that equal another frame are
    /// not counted, so the true number may be larger.
    pub overtaken: u64,
    /// Frames that were marked with CE on the path.
    pub marked: u64,
    /// Received frames that the other end did not send.
    pub foreign: u64,
    /// Frames sent that equal another frame, such as repeated acknowledgments. Their arrivals may
    /// be mistaken for each other.
    pub alike: u64,
}

/// One direction of the path, as seen by its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionInference {
    /// Counts of frames.
    pub frames: FrameCounts,
    /// Losses by reason, in the order of [`LossReason::ALL`].
    pub losses: [u64; LossReason::ALL.len()],
    /// Confidence in the reasons of `losses`.
    pub confidence: Confidence,
    /// A frame size above which no frame arrived.
    pub mtu_hole: Option<MtuHole>,
    /// A rate above which frames were lost although no queue had formed.
    pub policer: Option<Policer>,
    /// Rate of the bottleneck, in bits per second, link headers included.
    pub rate_bps: Inferred<f64>,
    /// Share of the time in which the bottleneck transmitted a frame or a frame waited for the
    /// bottleneck.
    pub busy_share: Inferred<f64>,
    /// Time in queues.
    pub queue_delay: Inferred<QueueDelay>,
    /// Acknowledgments that this direction carried.
    pub acks: AckPath,
}

impl DirectionInference {
    /// Number of losses for `reason`.
    pub const fn lost(&self, reason: LossReason) -> u64 {
        self.losses[reason as usize]
    }
}

/// A path, as seen by its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct PathInference {
    /// From the first end to the second.
    pub forward: DirectionInference,
    /// From the second end to the first.
    pub back: DirectionInference,
    /// Outages, in the order of their begin.
    pub outages: Vec<Outage>,
}
