//! The result: a connection, as a capture at one point (the tap) shows it.
//!
//! Rule: the result consists of plain values that own their memory. Times are nanoseconds from the
//! connection's first segment in the capture. A value that the capture does not show is `None`.

use serde::Serialize;

use super::{
    end_name::{end_name, optional_end_name},
    failure::ConnectionFailure,
    seen_limit::SeenLimit,
};
use crate::{
    account::{Shares, Times},
    capture::End,
    inferred::Confidence,
};

/// A connection, as a capture at one point shows it.
#[derive(Clone, Debug, Serialize)]
pub struct ObservedConnection {
    /// Time of the first segment, in nanoseconds since the Unix epoch.
    pub begin_ns: i64,
    /// Time from the first segment to the last one. If the connection was still open, time from the
    /// first segment to the end of the capture; if then an end had answered nothing (`Unanswered`,
    /// `Vanished`), at most until the other end would have sent its next segment.
    pub lifetime_ns: u64,
    /// The end that sent more payload than the other. The account (time and bytes by limit)
    /// describes this sender.
    #[serde(serialize_with = "end_name")]
    pub sender: End,
    /// The end that opened the connection: it sent a SYN or received a SYN-ACK. `None` if the
    /// capture has neither segment.
    #[serde(serialize_with = "optional_end_name")]
    pub client: Option<End>,
    /// Initial sequence numbers of end A and of end B; `None` for an end without a captured SYN.
    pub initial_seqs: [Option<u32>; 2],
    /// The only end whose segments were captured; `None` if both ends have segments.
    #[serde(serialize_with = "optional_end_name")]
    pub only: Option<End>,
    /// Number of requests and responses, if the ends send payload in turns.
    pub exchange: Option<Exchange>,
    /// True if a FIN of each end, or a reset, was captured.
    pub is_closed: bool,
    /// The way in which the connection failed; `None` if the capture shows no failure.
    pub failure: Option<ConnectionFailure>,
    /// Both directions: the segments sent by end A, then those sent by end B.
    pub directions: [DirectionSeen; 2],
    /// Position of the tap.
    pub vantage: Vantage,
    /// Time and bytes of the sender by limit. The times add up to `lifetime_ns`. The bytes add up
    /// to the payload without retransmissions.
    pub account: Times<SeenLimit>,
    /// The part of `account` that has high confidence.
    pub sure: Times<SeenLimit>,
    /// Periods with one limit, in the order of time. Once [`ObservedConnection::BANDS`] periods are
    /// kept, later ones join the last of them.
    pub bands: Vec<Band>,
    /// Episodes in the order of their beginning; at most [`ObservedConnection::EPISODES`].
    pub episodes: Vec<SeenEpisode>,
    /// Number of episodes that were not kept.
    pub episodes_omitted: u64,
    /// Waits of small writes (Nagle's algorithm).
    pub small_writes: SmallWrites,
    /// The path.
    pub path: PathSeen,
    /// Facts that this capture cannot show, one sentence for each.
    pub cannot_tell: Vec<String>,
}

impl ObservedConnection {
    /// Largest number of bands (periods with one limit) that are kept.
    pub const BANDS: usize = 16_384;
    /// Largest number of episodes that are kept.
    pub const EPISODES: usize = 4_096;

    /// Shares of the account.
    pub fn shares(&self) -> Shares<SeenLimit> {
        Shares::of(self.account.times())
    }

    /// The limit with the longest time, the share of time with this limit, and the confidence in
    /// the limit. The handshake or the closing is returned only if there is no other limit.
    pub fn main_limit(&self) -> Option<(SeenLimit, f64, Confidence)> {
        let is_transfer = |limit: SeenLimit| {
            use fullpipe_tcp::Limit::{Closing, Handshake};
            ![Handshake.into(), Closing.into()].contains(&limit)
        };
        let largest = self.shares().largest_first();
        let found = largest.iter().find(|(limit, _)| is_transfer(*limit));
        let &(limit, share) = found.or(largest.first())?;
        let compared = |other: SeenLimit| (is_transfer(other) || other == limit).then_some(other);
        let is_sure = limit != SeenLimit::Unknown && self.is_certain(limit, compared);
        let confidence = if is_sure {
            Confidence::High
        } else {
            Confidence::Low
        };
        Some((limit, share, confidence))
    }

    /// Returns true if it is certain that no group of limits has a longer time than `group`: even if
    /// all uncertain time belongs to one other group. `group_of` returns the group of a limit, or
    /// `None` for a limit that is not compared.
    pub fn is_certain<G: PartialEq>(
        &self,
        group: G,
        group_of: impl Fn(SeenLimit) -> Option<G>,
    ) -> bool {
        let time_of = |times: &Times<SeenLimit>, is_counted: &dyn Fn(&G) -> bool| -> f64 {
            let counted = times.times().filter(|(limit, _)| {
                let own = group_of(*limit);
                own.is_some_and(|own| is_counted(&own))
            });
            counted.map(|(_, time)| time.as_secs_f64()).sum()
        };
        let all = |_: &G| true;
        let uncertain = time_of(&self.account, &all) - time_of(&self.sure, &all);
        let others = SeenLimit::ALL.iter().filter_map(|limit| group_of(*limit));
        let others = others.filter(|other| *other != group);
        let other = others
            .map(|other| time_of(&self.sure, &|one| *one == other))
            .fold(0.0, f64::max);
        time_of(&self.sure, &|one| *one == group) >= other + uncertain
    }

    /// The direction of the sender.
    pub const fn data(&self) -> &DirectionSeen {
        &self.directions[self.sender.index()]
    }
}

/// The requests of one end and the responses of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// The end that sent the first payload.
    #[serde(serialize_with = "end_name")]
    pub asker: End,
    /// Requests of `asker`.
    pub requests: u64,
    /// Responses of the peer of `asker`.
    pub responses: u64,
}

/// The segments of one end.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DirectionSeen {
    /// Number of segments.
    pub segments: u64,
    /// Number of segments with payload.
    pub data_segments: u64,
    /// Payload sent for the first time, in bytes.
    pub payload_bytes: u64,
    /// Payload that the peer acknowledged, in bytes.
    pub acknowledged_bytes: u64,
    /// Payload that was acknowledged and is not in the capture, in bytes.
    pub missing_bytes: u64,
    /// Retransmissions by kind.
    pub retransmissions: Retransmissions,
    /// Segments that reached the tap after segments that were sent later, without having been lost.
    pub reordered: u64,
    /// Segments that the network duplicated before the tap.
    pub duplicated: u64,
    /// Keep-alives: segments with at most one byte, before the first unacknowledged one, while
    /// nothing was in flight. They count neither as payload nor as retransmissions.
    pub keep_alives: u64,
    /// Segments lost before the tap.
    pub lost_before_tap: u64,
    /// Segments that passed the tap and were retransmitted; spurious retransmissions are not
    /// counted.
    pub lost_after_tap: u64,
    /// Shift of the windows that this end advertises: seen in its SYN, inferred, or unknown.
    pub window_scale: WindowScale,
    /// Largest window that this end advertised, in bytes; `None` while the scale is unknown.
    pub largest_window_bytes: Option<u64>,
    /// Smallest window that this end advertised after its SYN, in bytes.
    pub smallest_window_bytes: Option<u64>,
    /// MSS option of this end's SYN.
    pub offered_mss: Option<u16>,
    /// Largest payload of this end's segments on the wire, in bytes. If the peer's SYN or its
    /// options are missing in the capture, the most frequent payload length.
    pub segment_bytes: u32,
    /// True if segments are longer than the MSS, so the tap is above segmentation offload.
    pub has_super_segments: bool,
    /// Zero windows of the receiver, and their probes.
    pub zero_windows: ZeroWindows,
    /// Round-trip times from the tap to the receiver of this direction and back to the tap.
    pub rtt_beyond_tap: RttSeen,
    /// Largest number of bytes in flight at the sender: sent, and neither acknowledged nor reported
    /// by a SACK block; 0 if the capture has no ACKs.
    pub largest_flight_bytes: u64,
}

/// Retransmitted segments by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Retransmissions {
    /// Fast retransmissions, after duplicate ACKs or SACK blocks.
    pub fast: u64,
    /// Segments retransmitted after a retransmission timeout: the first one, and those that follow
    /// it without a further timeout.
    pub timeout: u64,
    /// Tail loss probes. RFC 8985 §7.
    pub tail_probe: u64,
    /// Retransmissions of SYN and SYN-ACK.
    pub handshake: u64,
    /// Retransmissions of a FIN without payload. They are among `fast`, `timeout` and `tail_probe`.
    pub fin: u64,
    /// Retransmissions of any kind that a DSACK block or a timestamp proves spurious.
    pub spurious: u64,
}

impl Retransmissions {
    /// Number of retransmissions.
    pub const fn total(&self) -> u64 {
        self.fast + self.timeout + self.tail_probe + self.handshake
    }

    /// Number of retransmissions of segments with payload.
    pub const fn of_data(&self) -> u64 {
        self.total() - self.handshake - self.fin
    }
}

/// Shift of the windows of one end. RFC 7323 §2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "shift")]
pub enum WindowScale {
    /// Both SYNs were captured with all their options.
    Seen(u8),
    /// A SYN or its options are missing, and bytes in flight came close to a window. The value is
    /// the smallest shift with which bytes in flight never exceed the window.
    Inferred(u8),
    /// A SYN or its options are missing, and bytes in flight never came close to a window.
    #[default]
    Unknown,
}

impl WindowScale {
    /// The shift, if it is known or inferred.
    pub const fn shift(self) -> Option<u8> {
        match self {
            Self::Seen(shift) | Self::Inferred(shift) => Some(shift),
            Self::Unknown => None,
        }
    }
}

/// Zero windows that the receiver of a direction advertised, and the sender's probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ZeroWindows {
    /// Number of times that the window closed.
    pub count: u64,
    /// Time with a closed window, in nanoseconds.
    pub closed_ns: u64,
    /// Probes that were answered.
    pub probes_answered: u64,
    /// Probes without an answer.
    pub probes_lost: u64,
    /// Largest number of consecutive probes without an answer. A Linux sender gives up after
    /// `net.ipv4.tcp_retries2` unanswered probes, 15 by default.
    pub probes_lost_in_a_row: u64,
}

/// Round-trip times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RttSeen {
    /// Number of samples. A sample is the time from a segment that was sent once to the ACK that
    /// covers it.
    pub samples: u64,
    /// Smallest sample.
    pub min_ns: Option<u64>,
    /// Mean of the samples.
    pub mean_ns: Option<u64>,
    /// Largest sample.
    pub max_ns: Option<u64>,
}

/// Side of the path on which the capture was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// At the sender, or so near that the round trip to the sender is less than 10 % of the whole
    /// round trip.
    Sender,
    /// On the path.
    Middle,
    /// At the receiver, or so near that the round trip to the receiver is less than 10 % of the
    /// whole round trip.
    Receiver,
    /// The position is unknown.
    Unknown,
}

/// Position of the capture between sender and receiver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Vantage {
    /// Side of the capture.
    pub side: Side,
    /// Smallest round-trip time from the tap to the sender and back, in nanoseconds.
    pub to_sender_ns: Option<u64>,
    /// Smallest round-trip time from the tap to the receiver and back, in nanoseconds.
    pub to_receiver_ns: Option<u64>,
    /// True if both SYNs were captured with all their options.
    pub has_handshake: bool,
    /// True if both SYNs offer timestamps. RFC 7323 §3.
    pub has_timestamps: bool,
}

/// A period with one limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Band {
    /// Begin.
    pub at_ns: u64,
    /// End.
    pub end_ns: u64,
    /// The limit.
    pub limit: SeenLimit,
    /// True if the confidence in the limit is high.
    pub is_sure: bool,
    /// New payload in bytes, sent at the end of the waits in this period.
    pub bytes: u64,
}

/// A kind of episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeKind {
    /// A SYN or a SYN-ACK was retransmitted. The count is the number of retransmissions.
    LostHandshake,
    /// A retransmission timeout. The episode lasts from the silence before it until everything that
    /// was outstanding at the timeout was acknowledged. The count is the number of timeouts; further
    /// segments that are retransmitted after a timeout are not counted.
    Timeout,
    /// Fast recovery. The count is the number of segments retransmitted.
    FastRecovery,
    /// A tail loss probe. The episode lasts from the silence before it to the next progress. The
    /// count is the number of probes.
    TailProbe,
    /// Retransmissions proved spurious. The count is the number of these retransmissions.
    Spurious,
    /// The receiver's window was zero. The count is the number of probes.
    ZeroWindow,
    /// Probes of a zero window had no answer. The count is the number of such probes.
    ProbesLost,
    /// Nothing was in flight for longer than a retransmission timeout. After such a pause a sender
    /// may reduce its congestion window (RFC 5681 §4.1). The count is 0.
    IdleRestart,
    /// Segments were reordered before the tap. The count is the number of reordered segments.
    Reordering,
    /// Long segments were lost, and their bytes were sent again in shorter segments. The count is
    /// the payload of the first shorter segment, in bytes.
    MtuHole,
}

impl EpisodeKind {
    /// Name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LostHandshake => "lost_handshake",
            Self::Timeout => "timeout",
            Self::FastRecovery => "fast_recovery",
            Self::TailProbe => "tail_probe",
            Self::Spurious => "spurious",
            Self::ZeroWindow => "zero_window",
            Self::ProbesLost => "probes_lost",
            Self::IdleRestart => "idle_restart",
            Self::Reordering => "reordering",
            Self::MtuHole => "mtu_hole",
        }
    }
}

/// An episode of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SeenEpisode {
    /// Begin.
    pub at_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Kind.
    pub kind: EpisodeKind,
    /// Count, as [`EpisodeKind`] describes it.
    pub count: u64,
    /// Largest number of timeouts in a row without progress (`timeout`), or of window probes in a
    /// row without an answer (`zero_window`, `probes_lost`). Linux gives up after
    /// `net.ipv4.tcp_retries2` window probes; for timeouts this setting gives a time. 0 in other
    /// episodes.
    pub unanswered: u64,
}

/// Waits of partial segments for ACKs (Nagle's algorithm). RFC 9293 §3.7.4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SmallWrites {
    /// Number of waits that Nagle's algorithm explains.
    pub waits: u64,
    /// Time in these waits that round trips took, in nanoseconds.
    pub nagle_ns: u64,
    /// Time in these waits that delayed ACKs added, in nanoseconds.
    pub delayed_ack_ns: u64,
}

/// The path of the sender's payload, as input for a model of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PathSeen {
    /// Smallest round-trip time of the whole path, in nanoseconds.
    pub base_rtt_ns: Option<u64>,
    /// Largest round-trip time, in nanoseconds.
    pub largest_rtt_ns: Option<u64>,
    /// Mean round-trip time, in nanoseconds.
    pub mean_rtt_ns: Option<u64>,
    /// Highest rate at which payload was acknowledged over a round trip, in bits per second.
    pub delivery_bps: Option<f64>,
    /// Rate of the bottleneck, inferred from the spacing of consecutive ACKs, in bits of payload
    /// per second.
    pub dispersion_bps: Option<f64>,
    /// Share of the lifetime in which the path was full: payload was delivered at nearly the
    /// highest rate, and the round-trip time was above the smallest one.
    pub full_share: f64,
    /// Largest queue in bytes. It is the rise of the round-trip time above its minimum, times the
    /// highest rate.
    pub queue_bytes: Option<u64>,
    /// Share of data segments that were lost, before and after the tap.
    pub loss_share: f64,
    /// Number of losses without another loss within a round trip.
    pub losses_alone: u64,
    /// Number of losses with another loss within a round trip.
    pub losses_in_groups: u64,
    /// Share of data segments that were reordered.
    pub reordered_share: f64,
    /// Data segments with a congestion mark (CE). RFC 3168.
    pub marked: u64,
    /// Number of data segments for each ACK of the receiver.
    pub segments_per_ack: f64,
}
