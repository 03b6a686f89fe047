//! The ends of a connection as a capture shows them.
//!
//! Rule: times are those of the end's own capture. A segment that begins before the highest byte
//! seen is a retransmission. An ACK gives an RTT sample only if the segments that it acknowledges
//! were sent once. Limits and episodes come from the connection's account (time by limit), which
//! describes the sender, so only the sender's end has them. A capture does not show the congestion
//! window.

use std::collections::VecDeque;

use fullpipe_tcp::{limit::Reason, trace::TraceEvent};
use fullpipe_wire::TcpFlags;

use super::{Bands, Connection, Endpoint, Episode, Episodes, assembly::Open, lost};
use crate::{
    capture::End,
    observe::{EpisodeKind, Noted, ObservedConnection, SegmentLog},
};

/// Builds the connection of `seen` from its segments in one capture. The first end is the sender.
/// The other end is absent if it sent no payload.
pub fn captured_ends(log: &SegmentLog, seen: &ObservedConnection) -> Connection {
    let receiver = seen.sender.other();
    let answers = seen.directions[receiver.index()].payload_bytes > 0;
    Connection {
        first: captured_end(log, seen, seen.sender, 0),
        second: answers.then(|| captured_end(log, seen, receiver, 1)),
    }
}

/// Builds the end `own` of the connection of `seen` from the segments in a capture. The end belongs
/// to the host with index `host`.
pub fn captured_end(
    log: &SegmentLog,
    seen: &ObservedConnection,
    own: End,
    host: usize,
) -> Endpoint {
    let segments = log.segments();
    let [iss, irs] = [own, own.other()].map(|end| initial(segments, end));
    let mut reader = Reader {
        open: Open::new(host, 0, true, iss, irs),
        seen,
        own,
        now: 0,
        next: None,
        trips: RoundTrips::default(),
        timeout_at: 0,
    };
    let mut sacks = log.sacks().iter().peekable();
    for (place, segment) in segments.iter().enumerate() {
        reader.on_segment(segment);
        while let Some(block) = sacks.next_if(|block| block.place as usize == place) {
            let (left, right) = (block.left, block.right);
            reader.record(TraceEvent::Sack { left, right });
        }
    }
    let mut end = reader.open.finish(seen.lifetime_ns);
    let is_sender = own == seen.sender;
    end.limits = if is_sender {
        bands(seen)
    } else {
        Bands::default()
    };
    end.receive_limits = Bands::default();
    if is_sender {
        end.episodes = episodes(seen);
    }
    end
}

/// Marks the segments that never reached the other end. Each end must come from a capture that was
/// made at the host of this end.
pub fn mark_lost(connection: &mut Connection) {
    lost::find(connection);
}

/// Sequence number of an end's SYN. If no SYN was seen, the number before the first byte that the
/// capture shows as sent or acknowledged.
fn initial(segments: &[Noted], end: End) -> u32 {
    let own = || segments.iter().filter(|one| one.from == end);
    if let Some(syn) = own().find(|one| one.flags.contains(TcpFlags::SYN)) {
        return syn.seq;
    }
    let acked = segments
        .iter()
        .find(|one| one.from != end && one.flags.contains(TcpFlags::ACK));
    let first = match (own().next(), acked) {
        (Some(own), Some(acked)) if (acked.ack.wrapping_sub(own.seq) as i32) < 0 => acked.ack,
        (Some(own), _) => own.seq,
        (None, Some(acked)) => acked.ack,
        (None, None) => 1,
    };
    first.wrapping_sub(1)
}

/// Builds one end.
struct Reader<'a> {
    open: Open,
    seen: &'a ObservedConnection,
    own: End,
    now: u64,
    /// Sequence number after the highest byte that this end sent.
    next: Option<u32>,
    /// Round trips of this end's segments.
    trips: RoundTrips,
    /// End of the last timeout episode whose retransmission was seen.
    timeout_at: u64,
}

impl Reader<'_> {
    fn record(&mut self, event: TraceEvent) {
        self.open.record(self.now, event);
    }

    fn on_segment(&mut self, segment: &Noted) {
        let at = segment.at_ns.saturating_sub(self.seen.begin_ns);
        self.now = self.now.max(at.max(0) as u64);
        let Noted {
            seq, ack, flags, ..
        } = *segment;
        let len = segment.payload;
        // Do not scale the window of a SYN. RFC 7323 §2.2.
        let shift = match flags.contains(TcpFlags::SYN) {
            true => None,
            false => self.seen.directions[segment.from.index()]
                .window_scale
                .shift(),
        };
        let window = u32::from(segment.window) << shift.unwrap_or(0).min(14);
        if segment.from == self.own {
            self.record(TraceEvent::SegmentOut {
                flags,
                seq,
                ack,
                window,
                len,
            });
            self.on_payload(segment);
        } else {
            self.record(TraceEvent::SegmentIn {
                flags,
                seq,
                ack,
                window,
                len,
            });
            if flags.contains(TcpFlags::ACK)
                && let Some(event) = self.trips.on_ack(self.now, ack)
            {
                self.record(event);
            }
        }
    }

    fn on_payload(&mut self, segment: &Noted) {
        let Noted { seq, payload, .. } = *segment;
        if payload == 0 {
            return;
        }
        let end = seq.wrapping_add(payload);
        let next = *self.next.get_or_insert(seq);
        if (seq.wrapping_sub(next) as i32) < 0 {
            self.record(TraceEvent::Retransmission { seq, len: payload });
            self.trips.pending.clear();
            self.note_timeout();
        } else {
            self.trips.pending.push_back((end, self.now));
        }
        if (end.wrapping_sub(next) as i32) > 0 {
            self.next = Some(end);
        }
    }

    /// Records a timeout if this is the first retransmission in an episode of timeouts.
    fn note_timeout(&mut self) {
        if self.own != self.seen.sender || self.now < self.timeout_at {
            return;
        }
        let is_open = |kind: EpisodeKind, from: u64, to: u64| {
            kind == EpisodeKind::Timeout && (from..=to).contains(&self.now)
        };
        let mut episodes = self.seen.episodes.iter();
        let found = episodes.find(|one| is_open(one.kind, one.at_ns, one.end_ns));
        if let Some(episode) = found {
            self.timeout_at = episode.end_ns;
            self.record(TraceEvent::Timeout(1));
        }
    }
}

/// Round trips from the place of the capture to the receiver and back.
#[derive(Debug, Default)]
struct RoundTrips {
    /// Each segment that was sent after the latest retransmission and is not yet acknowledged: the
    /// sequence number after the segment, and the time of sending.
    pending: VecDeque<(u32, u64)>,
    /// Smoothed round-trip time in microseconds.
    srtt_us: u32,
    rttvar_us: u32,
}

impl RoundTrips {
    /// Takes an ACK and returns an RTT sample if it gives one. RFC 6298 §2, without a minimum RTO.
    fn on_ack(&mut self, now: u64, ack: u32) -> Option<TraceEvent> {
        let mut sent = None;
        while let Some(&(end, at)) = self.pending.front()
            && (ack.wrapping_sub(end) as i32) >= 0
        {
            sent = Some(at);
            self.pending.pop_front();
        }
        let sample_us = u32::try_from((now - sent?) / 1_000).unwrap_or(u32::MAX);
        if self.srtt_us == 0 {
            (self.srtt_us, self.rttvar_us) = (sample_us, sample_us / 2);
        } else {
            let error = self.srtt_us.abs_diff(sample_us);
            self.rttvar_us = self.rttvar_us - self.rttvar_us / 4 + error / 4;
            self.srtt_us = self.srtt_us - self.srtt_us / 8 + sample_us / 8;
        }
        let (srtt_us, rttvar_us) = (self.srtt_us, self.rttvar_us);
        Some(TraceEvent::Rtt {
            sample_us,
            srtt_us,
            rttvar_us,
            rto_us: srtt_us.saturating_add(rttvar_us.saturating_mul(4)),
        })
    }
}

fn bands(seen: &ObservedConnection) -> Bands {
    let mut bands = Bands::default();
    for band in &seen.bands {
        bands.push(
            band.at_ns,
            band.end_ns,
            band.limit.index() as u8,
            band.bytes,
        );
    }
    bands
}

/// The episodes of a sender's recovery and congestion control.
fn episodes(seen: &ObservedConnection) -> Episodes {
    let mut episodes = Episodes::default();
    for one in &seen.episodes {
        let kind = match one.kind {
            EpisodeKind::LostHandshake => Episode::LostHandshake,
            EpisodeKind::Timeout => Episode::Timeout,
            EpisodeKind::FastRecovery => Episode::FastRecovery,
            EpisodeKind::TailProbe => Episode::TailProbe,
            EpisodeKind::Spurious => Episode::Undo,
            EpisodeKind::ZeroWindow
            | EpisodeKind::ProbesLost
            | EpisodeKind::IdleRestart
            | EpisodeKind::Reordering
            | EpisodeKind::MtuHole => continue,
        };
        episodes.at_ns.push(one.at_ns);
        episodes.end_ns.push(one.end_ns);
        episodes.kind.push(kind as u8);
        let count = u32::try_from(one.count).unwrap_or(u32::MAX);
        episodes.count.push(count);
    }
    episodes
}
