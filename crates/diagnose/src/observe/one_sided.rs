//! The account (time and bytes by limit) of a capture that contains only one direction of a
//! connection.
//!
//! Without ACKs, it is unknown which event ended a wait. Without payload, it is unknown when the
//! sender sent.
//!
//! Rule: a period gets a limit only if the segments of one end prove the limit or make it likely.
//! All other time is charged to `unknown`, with low confidence.

use fullpipe_tcp::Limit;
use fullpipe_wire::TcpFlags;

use super::{ledger::Ledger, seen_limit::SeenLimit};
use crate::{capture::Segment, facts::unwrap::Unwrap};

/// A long silence in nanoseconds: the shortest retransmission timeout of Linux. A retransmission
/// after a long silence is due to a timeout. After a segment with PSH, a long silence probably
/// means that the sender had no more to send.
const SILENCE: u64 = 200_000_000;

/// Follows the segments of one end.
#[derive(Debug, Default)]
pub struct OneSided {
    /// Two ledgers (time and bytes by limit) with the same times. The first has the bytes that the
    /// end sent, the second the bytes that it acknowledged.
    ledgers: [Ledger; 2],
    now: u64,
    /// Sequence space of the end's own payload.
    own: Option<Unwrap>,
    /// Sequence space of the payload that the end acknowledges.
    peer: Option<Unwrap>,
    /// Position after the end's highest byte.
    max: u64,
    /// Highest position that the end acknowledged.
    acked: u64,
    /// Highest position in the end's SACK blocks.
    sacked: u64,
    /// True if the end's last segment has PSH.
    has_push: bool,
    has_fin: bool,
    is_closed_window: bool,
    /// True if the end has sent a segment without SYN.
    has_begun: bool,
    payload_bytes: u64,
    acknowledged_bytes: u64,
}

impl OneSided {
    /// Takes the next segment, `at` nanoseconds after the first segment of the connection.
    pub fn on_segment(&mut self, at: u64, segment: &Segment) {
        let is_syn = segment.flags.contains(TcpFlags::SYN);
        let payload = segment.payload > 0 && !is_syn;
        let own = self.own.get_or_insert_with(|| Unwrap::new(segment.seq));
        let end = own.count(segment.seq.wrapping_add(segment.payload));
        let is_again = payload && end <= self.max;
        let news = match self.max {
            0 => u64::from(segment.payload),
            max => end.saturating_sub(max).min(segment.payload.into()),
        };
        let ack = segment.acknowledges().map(|ack| {
            let space = self.peer.get_or_insert_with(|| Unwrap::new(ack));
            space.count(ack)
        });
        let progress = ack.map_or(0, |ack| ack.saturating_sub(self.acked));
        let (limit, is_sure) = self.limit(at, is_again);
        for (ledger, bytes) in self.ledgers.iter_mut().zip([news, progress]) {
            ledger.charge(at, limit, is_sure, bytes);
        }
        self.now = at;
        self.payload_bytes += news;
        self.acknowledged_bytes += progress;
        self.max = self.max.max(end);
        self.acked = self.acked.max(ack.unwrap_or(0));
        if let Some(space) = &mut self.peer {
            let blocks = segment.options.sack.as_slice().iter();
            let edge = blocks.map(|block| space.count(block.right)).max();
            self.sacked = self.sacked.max(edge.unwrap_or(0));
        }
        self.has_push = segment.flags.contains(TcpFlags::PSH);
        self.has_fin |= segment.flags.contains(TcpFlags::FIN);
        self.is_closed_window = segment.window == 0 && !is_syn;
        self.has_begun |= !is_syn;
    }

    /// Returns the limit of the period that ends with a segment at `at`, and true if the limit is
    /// certain.
    fn limit(&self, at: u64, is_again: bool) -> (SeenLimit, bool) {
        let gap = at.saturating_sub(self.now);
        let has_hole = self.sacked > self.acked;
        // Without one of these signs the limit is unknown, because the segments of the other end
        // are missing.
        let (limit, is_sure) = match () {
            () if !self.has_begun => (Limit::Handshake, true),
            () if self.has_fin => (Limit::Closing, true),
            () if self.payload_bytes == 0 && self.is_closed_window => (Limit::ZeroWindow, true),
            () if is_again => (Limit::Recovery, gap >= SILENCE),
            () if self.payload_bytes == 0 && has_hole => (Limit::Recovery, false),
            () if self.has_push && self.payload_bytes > 0 && gap >= SILENCE => {
                (Limit::Application, false)
            }
            () => return (SeenLimit::Unknown, false),
        };
        (limit.into(), is_sure)
    }

    /// Returns the times until `end`. The bytes are those of the direction that carried more
    /// payload.
    pub fn finish(self, end: u64) -> Ledger {
        let (limit, is_sure) = self.limit(end, false);
        let [sent, acknowledged] = self.ledgers;
        let mut ledger = match self.payload_bytes >= self.acknowledged_bytes {
            true => sent,
            false => acknowledged,
        };
        ledger.charge(end, limit, is_sure, 0);
        ledger
    }
}
