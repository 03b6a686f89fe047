//! The payload of one end, at the tap (the place of the capture) and at its sender.
//!
//! Rule: the scoreboard uses the tap's times, and `waits` uses the sender's times. An ACK is kept
//! here, with the tap's time, until the sender has received it. At most [`ACKS`] ACKs are kept; if
//! there are more, the oldest is passed on early.

use std::collections::VecDeque;

use fullpipe_wire::TcpFlags;

use super::{
    observed::{DirectionSeen, EpisodeKind, RttSeen},
    opening::SeenEnd,
    path::PathLog,
    scoreboard::{Arrival, Scoreboard},
    sender_events::{AckIn, Repair, SegmentSent},
    sender_view::SenderView,
    spacing::Spacing,
    waits::Waits,
};
use crate::{
    capture::Segment,
    facts::{ranges::Ranges, unwrap::Unwrap},
};

/// Largest number of ACKs that may be between tap and sender.
const ACKS: usize = 65_536;
/// Largest number of ranges from SACK blocks.
const SACKED: usize = 1_024;
/// A hole is sequence space that was skipped at the tap. While no round-trip time is known, a
/// segment that fills a hole within about this time, in nanoseconds, counts as reordered. A segment
/// that fills a hole later counts as a retransmission.
const REORDERING: u64 = 3_000_000;
/// Error of a time that was computed from a timestamp, in nanoseconds.
const TICK: u64 = 1_100_000;
/// Largest length of the options of a SYN-ACK, in bytes. RFC 9293 §3.1.
const OPTIONS: u32 = 40;
/// Number of positions that are reserved before the first segment, for retransmissions of earlier
/// bytes.
const BEFORE: u32 = 1 << 20;

/// One direction of a connection.
#[derive(Debug)]
pub struct Direction {
    pub seen: DirectionSeen,
    pub waits: Waits,
    pub path: PathLog,
    space: Option<Unwrap>,
    board: Scoreboard,
    view: SenderView,
    /// ACKs between tap and sender, with the tap's times.
    acks: VecDeque<AckIn>,
    /// Longest times from an ACK to a segment that this ACK released. The first value applies to
    /// the tap's times, the second to times computed from timestamps.
    reactions: [u64; 2],
    spacing: Spacing,
    shift: Option<u8>,
    rtt_sum: u128,
    newest_tsval: Option<u32>,
    edge: u64,
    last_is_zero: bool,
    /// Bytes reported by SACK blocks, at most [`SACKED`] ranges.
    sacked: Ranges,
    last_reordering: Option<(u64, super::episodes::Place)>,
    /// Number of retransmissions of acknowledged bytes that no DSACK block has reported yet.
    needless: u64,
    pub fin: Option<u64>,
    /// Position of the byte of a window probe that was sent beyond the window and is not
    /// acknowledged.
    probed: Option<u64>,
    /// Number of timeouts, keep-alives and window probes since the receiver's last segment. Further
    /// segments that are retransmitted after a timeout are not counted.
    pub unanswered: u64,
}

impl Direction {
    /// Creates the direction whose payload `sender` sends and whose windows `receiver` advertises.
    pub fn new(isn: Option<u32>, sender: &SeenEnd, receiver: &SeenEnd) -> Self {
        let space = isn.map(Unwrap::new);
        let position = u64::from(isn.is_some());
        let to_sender = sender.round_trip.unwrap_or(0);
        let to_receiver = receiver.round_trip.unwrap_or(0);
        let all = to_sender + to_receiver;
        // Ignore a distance between tap and sender of less than 2 % of the round trip.
        let to_sender = if to_sender * 50 < all { 0 } else { to_sender };
        let mut waits = Waits::new(position, u64::from(sender.mss.max(1)));
        // Allow for a program that waits for room in its send buffer: it wakes about 0.1 ms after
        // the ACK.
        waits.reaction = (all / 100).clamp(30_000, 200_000);
        waits.sees_no_sender = to_sender > 0;
        let reactions = [waits.reaction, TICK.min(all / 4).max(waits.reaction)];
        Self {
            seen: DirectionSeen {
                has_super_segments: sender.has_super_segments,
                segment_bytes: sender.mss,
                ..DirectionSeen::default()
            },
            waits,
            path: PathLog::default(),
            space,
            board: Scoreboard::new(position),
            view: SenderView::new(to_sender),
            acks: VecDeque::new(),
            reactions,
            spacing: Spacing::default(),
            shift: receiver.scale.shift(),
            rtt_sum: 0,
            newest_tsval: None,
            edge: 0,
            last_is_zero: false,
            sacked: Ranges::default(),
            last_reordering: None,
            needless: 0,
            fin: None,
            probed: None,
            unanswered: 0,
        }
    }

    /// Smallest round-trip time from the tap to the sender and back; 0 if the tap is at the
    /// sender.
    pub const fn to_sender(&self) -> u64 {
        self.view.to_sender
    }

    /// Payload in flight at the tap, in bytes.
    pub fn in_flight(&self) -> u64 {
        let all = self.board.max.saturating_sub(self.board.una);
        all.saturating_sub(self.has_fin_in_flight().into())
    }

    /// Returns true if the FIN passed the tap and was not acknowledged.
    pub fn has_fin_in_flight(&self) -> bool {
        self.fin.is_some_and(|fin| fin > self.board.una)
    }

    /// Takes a segment of the sender.
    pub fn on_sent(&mut self, at: u64, segment: &Segment) {
        if let (Some(stamps), Some(_)) = (segment.options.timestamps, segment.acknowledges()) {
            self.view.on_echo(at, stamps.echo);
        }
        let first = segment.seq.wrapping_sub(BEFORE);
        let is_first = self.space.is_none();
        let space = self.space.get_or_insert_with(|| Unwrap::new(first));
        let start = space.count(segment.seq);
        let start = start + u64::from(segment.flags.contains(TcpFlags::SYN));
        if is_first {
            self.board = Scoreboard::new(start);
            self.waits.restart(start);
        }
        let has_fin = segment.flags.contains(TcpFlags::FIN);
        let end = start + u64::from(segment.payload) + u64::from(has_fin);
        if self.is_probe(start, end, segment) {
            let sent_at = self.view.sent_at(at, None);
            self.take_acks(sent_at);
            self.unanswered += 1;
            self.probed = (segment.payload > 0 && start >= self.board.max).then_some(start);
            return self.waits.on_probe(sent_at);
        }
        if self.is_keep_alive(start, end, segment) {
            self.unanswered += 1;
            self.seen.keep_alives += 1;
            return;
        }
        if end == start {
            return;
        }
        if segment.payload > 0 {
            self.seen.data_segments += 1;
        }
        self.on_range(at, start..end, segment, has_fin);
    }

    fn on_range(&mut self, at: u64, range: std::ops::Range<u64>, segment: &Segment, has_fin: bool) {
        let tsval = segment.options.timestamps.map(|stamps| stamps.value);
        let sent = SegmentSent {
            at: self.view.sent_at(at, tsval),
            start: range.start,
            end: range.end,
            payload: segment.payload,
            has_push: segment.flags.contains(TcpFlags::PSH),
            has_fin,
        };
        // The tap's times are accurate unless something shows that segments waited before the tap.
        self.waits.is_blurred = self.view.is_blurred() && self.path_passes_trains(0);
        let is_computed = sent.at < at || self.waits.is_blurred;
        self.waits.is_computed = is_computed;
        self.waits.reaction = self.reactions[usize::from(is_computed)];
        self.waits.rounds.shows_path = self.view.to_sender == 0 || self.spacing.is_shown;
        self.waits.rounds.is_blind = self.waits.is_blurred;
        self.waits.rounds.reaction = self.waits.reaction;
        self.waits.in_train = false;
        if self.view.to_sender > 0 {
            let passage = self.spacing.passage(segment.payload);
            self.waits.reaction += match self.spacing.is_shown {
                true => passage,
                false => passage.min(self.waits.base_rtt() / 20),
            };
            let waited = at - sent.at;
            self.waits.in_train =
                self.spacing.on_data(at, segment.payload) && self.path_passes_trains(waited);
        }
        self.take_acks_before(&sent);
        let before = self.board.max;
        let arrival = self.board.on_data(at, range.start, range.end, tsval);
        if has_fin {
            self.fin = Some(range.end);
        }
        self.seen.payload_bytes +=
            (range.end.max(before) - before.max(range.start)).min(segment.payload.into());
        match arrival {
            Arrival::New => {
                self.path.on_data(at, segment);
                self.waits.on_new(&sent);
            }
            Arrival::Fills { since } if self.is_overtaken(at - since, tsval) => {
                self.seen.payload_bytes += u64::from(segment.payload);
                self.seen.reordered += 1;
                self.note_reordering(sent.at);
            }
            Arrival::Fills { .. } => {
                self.seen.payload_bytes += u64::from(segment.payload);
                self.seen.lost_before_tap += 1;
                self.repair(&sent);
            }
            Arrival::Again { last } if self.is_duplicate(at - last, tsval) => {
                self.seen.duplicated += 1;
            }
            Arrival::Again { .. } => {
                self.seen.lost_after_tap += 1;
                self.repair(&sent);
            }
            Arrival::Acknowledged => {
                self.seen.retransmissions.spurious += 1;
                self.needless += 1;
                self.repair(&sent);
            }
        }
        self.newest_tsval = match (self.newest_tsval, tsval) {
            (Some(newest), Some(value)) if (value.wrapping_sub(newest) as i32) < 0 => Some(newest),
            (newest, value) => value.or(newest),
        };
    }

    /// Returns true if segments that follow each other at the least spacing waited for the path.
    /// They did so if a run of segments has shown that the path causes this spacing, or if the path
    /// has a queue. `waited` is the time for which the latest segment waited before the tap.
    fn path_passes_trains(&self, waited: u64) -> bool {
        let base = self.waits.base_rtt();
        let has_queue = waited > 0 || self.waits.rounds.recent_rtt() > base + base / 10;
        has_queue || self.spacing.is_shown
    }

    fn repair(&mut self, sent: &SegmentSent) {
        let kinds = &mut self.seen.retransmissions;
        kinds.fin += u64::from(sent.has_fin && sent.payload == 0);
        match self.waits.on_again(sent) {
            Repair::Fast => kinds.fast += 1,
            Repair::Timeout => {
                kinds.timeout += 1;
                self.unanswered += u64::from(self.waits.is_timeout);
            }
            Repair::TailProbe => kinds.tail_probe += 1,
        }
        self.path.on_loss(sent.at, self.waits.srtt());
    }

    /// Takes a segment of the receiver.
    pub fn on_received(&mut self, at: u64, segment: &Segment) {
        self.unanswered = 0;
        let Some(ack) = segment.acknowledges() else {
            return;
        };
        if let Some(stamps) = segment.options.timestamps {
            self.view.on_stamp(at, stamps.value);
        }
        let is_syn = segment.flags.contains(TcpFlags::SYN);
        let first = ack.wrapping_sub(BEFORE);
        let is_first = self.space.is_none();
        let space = self.space.get_or_insert_with(|| Unwrap::new(first));
        let ack = space.count(ack);
        if is_first {
            self.board = Scoreboard::new(ack);
            self.waits.restart(ack);
        }
        let echo = segment.options.timestamps.map(|stamps| stamps.echo);
        let in_flight = self.board.max.saturating_sub(self.board.una);
        let (una, max) = (self.board.una, self.board.max);
        let mut progress = self.board.on_ack(at, ack, echo);
        // FIN has a sequence number and is no payload.
        progress.bytes -= u64::from(self.fin.is_some_and(|fin| una < fin && fin <= ack));
        if let Some(probed) = self.probed.take_if(|probed| *probed < ack)
            && max <= probed
        {
            // The receiver accepted the byte of a window probe.
            self.seen.payload_bytes += 1;
            progress.missing -= 1;
        }
        self.seen.acknowledged_bytes += progress.bytes;
        self.seen.missing_bytes += progress.missing;
        let dsack = duplicate_sack(segment);
        let needless = progress.needless.max(u64::from(dsack));
        if needless > 0 {
            self.spurious(at, needless);
        }
        if let Some(sample) = progress.sample {
            let may_be_delayed = in_flight <= 2 * self.waits.mss;
            self.sample(sample, may_be_delayed);
        }
        let (edge, is_zero) = self.note_window(ack, segment);
        self.last_is_zero = is_zero;
        let sacked = self.note_sacks(ack, segment, dsack);
        self.path.on_ack(at, progress.bytes, self.waits.srtt());
        self.acks.push_back(AckIn {
            at,
            ack,
            sacked,
            edge,
            is_zero,
            has_payload: segment.payload > 0,
            has_sack: !segment.options.sack.is_empty() && !dsack,
            has_echo: segment.flags.contains(TcpFlags::ECE) && !is_syn,
        });
        if self.view.to_sender == 0 || self.acks.len() > ACKS {
            let first = self.acks.front().map_or(0, |ack| ack.at);
            self.take_acks(self.view.received_at(first));
        }
    }

    /// Records the window of an ACK for `ack`. Returns the right edge of the window, if known, and
    /// whether the window is closed.
    fn note_window(&mut self, ack: u64, segment: &Segment) -> (Option<u64>, bool) {
        let is_syn = segment.flags.contains(TcpFlags::SYN);
        // The window of a SYN is not scaled (RFC 7323 §2.2). Without a scale, the window of a SYN
        // is of no use either, because the later windows are unknown.
        let shift = self.shift.map(|shift| if is_syn { 0 } else { shift });
        let window = shift.map(|shift| u64::from(segment.window) << shift);
        // A reset has no window of use: many systems send 0.
        let is_reset = segment.flags.contains(TcpFlags::RST);
        let window = window.filter(|_| !is_reset);
        if let Some(window) = window.filter(|_| !is_syn) {
            let largest = self.seen.largest_window_bytes.get_or_insert(window);
            *largest = window.max(*largest);
            let smallest = self.seen.smallest_window_bytes.get_or_insert(window);
            *smallest = window.min(*smallest);
        }
        let edge = window.map(|window| ack + window);
        self.edge = self.edge.max(edge.unwrap_or(0));
        (edge, segment.window == 0 && !is_reset)
    }

    /// Records the SACK blocks of an ACK. Returns the number of bytes beyond `ack` that the blocks
    /// report.
    fn note_sacks(&mut self, ack: u64, segment: &Segment, dsack: bool) -> u64 {
        let blocks = segment.options.sack.as_slice();
        let blocks = &blocks[usize::from(dsack)..];
        if blocks.is_empty() && self.sacked.count() == 0 {
            return 0;
        }
        // Work on a copy of `space`, so that a damaged block cannot move it.
        if let Some(mut space) = self.space {
            for block in blocks {
                let [left, right] = [block.left, block.right].map(|seq| space.count(seq));
                // Ignore a block beyond the bytes sent.
                if left < right && right <= self.board.max && self.sacked.count() < SACKED {
                    self.sacked.add(left, right);
                }
            }
        }
        self.sacked.remove_before(ack);
        self.sacked.bytes()
    }

    /// Divides the time until `end` among the limits.
    pub fn finish(&mut self, end: u64, is_closed: bool) {
        self.take_acks(end);
        self.waits.finish(end, is_closed);
        self.seen.zero_windows = self.waits.probes.zero_windows;
        self.seen.largest_flight_bytes = self.waits.largest_flight;
    }

    /// Passes on the ACKs that the sender had received when it sent `sent`. Until echoes correct
    /// the round trip of the handshake, this round trip may be too long by the time that the path
    /// takes for the options of SYN-ACK.
    fn take_acks_before(&mut self, sent: &SegmentSent) {
        let passage = match self.spacing.passage(OPTIONS) {
            0 => u64::MAX,
            known => known,
        };
        let error = match self.view.is_corrected() {
            true => 0,
            false => passage
                .min(self.reactions[0])
                .min(self.view.to_sender / 100),
        };
        while let Some(first) = self.acks.front()
            && self.view.received_at(first.at) <= sent.at + error
        {
            let at = self.view.received_at(first.at).min(sent.at);
            let first = AckIn { at, ..*first };
            self.acks.pop_front();
            self.waits.on_ack(&first);
        }
    }

    /// Passes on the ACKs that the sender had received at `at`.
    fn take_acks(&mut self, at: u64) {
        let view = &self.view;
        let is_received = |ack: &mut AckIn| view.received_at(ack.at) <= at;
        while let Some(ack) = self.acks.pop_front_if(is_received) {
            let at = view.received_at(ack.at);
            self.waits.on_ack(&AckIn { at, ..ack });
        }
    }

    /// Takes a round-trip time. If at most two segments were in flight, the ACK may have been
    /// delayed, so a long time shows no queue.
    fn sample(&mut self, sample: u64, may_be_delayed: bool) {
        let RttSeen {
            samples,
            min_ns,
            mean_ns,
            max_ns,
        } = &mut self.seen.rtt_beyond_tap;
        *samples += 1;
        self.rtt_sum += u128::from(sample);
        *min_ns = Some(min_ns.unwrap_or(u64::MAX).min(sample));
        *max_ns = Some(max_ns.unwrap_or(0).max(sample));
        *mean_ns = Some((self.rtt_sum / u128::from(*samples)) as u64);
        let whole = sample + self.view.to_sender;
        self.waits.on_rtt(whole);
        if !may_be_delayed || whole <= self.waits.base_rtt() {
            self.waits.rounds.on_rtt(whole);
            self.path.on_rtt(whole);
        }
    }

    /// Takes the proof that `count` retransmissions were spurious. Retransmissions of bytes that
    /// were already acknowledged are not counted here again.
    fn spurious(&mut self, at: u64, count: u64) {
        let known = self.needless.min(count);
        self.needless -= known;
        let more = self.seen.lost_after_tap.min(count - known);
        self.seen.lost_after_tap -= more;
        self.seen.retransmissions.spurious += more;
        let left = known + more;
        if left == 0 {
            return;
        }
        let at = self.view.received_at(at);
        self.waits.episodes.begin(at, EpisodeKind::Spurious, left);
        self.waits.on_needless(left);
    }

    /// Returns true if the segment is a window probe: after a zero window, one byte beyond the
    /// window, or at most one byte just before the first unacknowledged byte.
    fn is_probe(&mut self, start: u64, end: u64, segment: &Segment) -> bool {
        if segment
            .flags
            .intersects(TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST)
        {
            return false;
        }
        let is_beyond = end == start + 1 && start >= self.edge && self.edge > 0;
        let is_before = end <= start + 1 && start + 1 == self.board.una;
        self.last_is_zero && (is_beyond || is_before)
    }

    /// Returns true if the segment is a keep-alive (RFC 9293 §3.8.4): nothing is in flight, and the
    /// segment has at most the last acknowledged byte.
    fn is_keep_alive(&self, start: u64, end: u64, segment: &Segment) -> bool {
        let ends = TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST;
        let has_flight = self.board.una < self.board.max;
        let is_before = start + 1 == self.board.una && end <= self.board.una;
        is_before && !has_flight && !segment.flags.intersects(ends) && self.fin.is_none()
    }

    fn is_overtaken(&self, delay: u64, tsval: Option<u32>) -> bool {
        let is_older = self
            .newest_tsval
            .zip(tsval)
            .is_some_and(|(newest, value)| (value.wrapping_sub(newest) as i32) < 0);
        let round_trip = self.seen.rtt_beyond_tap.min_ns;
        let all = round_trip.map_or(REORDERING, |trip| trip + self.view.to_sender);
        is_older || delay < all / 10 * 9
    }

    fn is_duplicate(&self, delay: u64, tsval: Option<u32>) -> bool {
        let round_trip = self.seen.rtt_beyond_tap.min_ns;
        let all = round_trip.map_or(REORDERING, |trip| trip + self.view.to_sender);
        delay < all / 2 && (tsval.is_none() || tsval == self.newest_tsval)
    }

    fn note_reordering(&mut self, at: u64) {
        let window = 2 * self.waits.srtt().max(REORDERING);
        match self.last_reordering {
            Some((last, place)) if at - last < window => {
                self.waits.episodes.extend(place, at, 1);
                self.last_reordering = Some((at, place));
            }
            Some(_) | None => {
                let place = self.waits.episodes.begin(at, EpisodeKind::Reordering, 1);
                self.last_reordering = Some((at, place));
            }
        }
    }
}

/// Returns true if the first SACK block reports bytes that arrived twice. RFC 2883.
fn duplicate_sack(segment: &Segment) -> bool {
    let blocks = segment.options.sack.as_slice();
    let Some(first) = blocks.first() else {
        return false;
    };
    let is_before = |a: u32, b: u32| (a.wrapping_sub(b) as i32) <= 0;
    let is_acked = is_before(first.right, segment.ack);
    let is_inside = blocks.get(1).is_some_and(|second| {
        is_before(second.left, first.left) && is_before(first.right, second.right)
    });
    is_acked || is_inside
}
