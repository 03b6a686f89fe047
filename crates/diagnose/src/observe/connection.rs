//! Analyses one connection, segment by segment.
//!
//! Rule: this file decides nothing. It passes each segment first to the handshake and then to both
//! directions: to its sender's direction as payload, and to the other direction as ACK.

use std::mem;

use fullpipe_tcp::limit::Reason;
use fullpipe_wire::TcpFlags;

use super::{
    direction::Direction,
    failure::{Failures, Outstanding},
    handshake::Handshake,
    observed::{DirectionSeen, EpisodeKind, ObservedConnection, Side as TapSide, Vantage},
    one_sided::OneSided,
    opening::{self, SEGMENTS},
    seen_limit::SeenLimit,
    sentences::{Lacks, cannot_tell},
    turns::Turns,
};
use crate::capture::{Analysis, End, Segment};

/// Analyses the segments of one connection.
#[derive(Debug, Default)]
pub struct ConnectionObserver {
    begin_ns: Option<i64>,
    /// Time of the last segment.
    now: u64,
    /// The handshake that was seen so far.
    handshake: Handshake,
    /// Segments that were taken before the directions could start.
    waiting: Vec<(u64, Segment)>,
    directions: Option<Box<[Direction; 2]>>,
    sides: [opening::SeenEnd; 2],
    counts: [u64; 2],
    has_fin: [bool; 2],
    lacks: Lacks,
    turns: Turns,
    failures: Failures,
    /// The account (time and bytes by limit) from the segments of one end; `None` once both ends
    /// have sent.
    one_sided: Option<Box<OneSided>>,
}

impl ConnectionObserver {
    /// Creates the analysis of a connection without a segment.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next segment of the capture.
    pub fn on_segment(&mut self, segment: &Segment) {
        let begin = *self.begin_ns.get_or_insert(segment.at_ns);
        let at = segment.at_ns.saturating_sub(begin);
        self.lacks.clock_went_back += u64::from(at < self.now as i64);
        self.now = self.now.max(at.max(0) as u64);
        self.counts[segment.from.index()] += 1;
        self.lacks.cut_options += u64::from(segment.options_cut);
        self.lacks.fragments += u64::from(segment.is_fragment);
        self.has_fin[segment.from.index()] |= segment.flags.contains(TcpFlags::FIN);
        self.turns.on_segment(segment);
        match self.counts.contains(&0) {
            true => self
                .one_sided
                .get_or_insert_default()
                .on_segment(self.now, segment),
            false => self.one_sided = None,
        }
        self.handshake.on_segment(self.now, segment);
        if self.directions.is_some() {
            return self.give(self.now, segment);
        }
        self.waiting.push((self.now, *segment));
        let is_known = self.handshake.whole_offers().is_some() && self.handshake.done.is_some();
        if is_known || self.waiting.len() >= SEGMENTS {
            self.start();
        }
    }

    /// Returns the result. `end_ns` is the end of the capture, in nanoseconds since the Unix epoch.
    /// A connection that is still open ends at this time. It ends earlier if one end stopped
    /// answering and the other end gave up.
    pub fn finish(mut self, end_ns: i64) -> ObservedConnection {
        self.start();
        let begin_ns = self.begin_ns.unwrap_or(end_ns);
        let is_closed = self.has_fin == [true; 2] || self.failures.is_reset();
        let open_until = end_ns.saturating_sub(begin_ns).max(0) as u64;
        let mut lifetime_ns = if is_closed {
            self.now
        } else {
            self.now.max(open_until)
        };
        let mut directions = *self
            .directions
            .take()
            .expect("both directions have started");
        let after = outstanding(&directions);
        let handshake = &self.handshake;
        let failure =
            self.failures
                .finish(lifetime_ns, handshake, after, self.has_fin == [true; 2]);
        let given_up = failure
            .as_ref()
            .and_then(|failure| self.failures.given_up_at(failure, handshake.client));
        lifetime_ns = lifetime_ns.min(given_up.unwrap_or(lifetime_ns));
        for direction in &mut directions {
            direction.finish(lifetime_ns, is_closed);
        }
        // If a direction was not captured, take its payload from the ACKs of the other direction.
        let [a, b] = directions.each_ref().map(|one| match &self.one_sided {
            Some(_) => one.seen.payload_bytes.max(one.seen.acknowledged_bytes),
            None => one.seen.payload_bytes,
        });
        let sender = if b > a { End::B } else { End::A };
        ObservedConnection {
            failure,
            ..self.result(begin_ns, lifetime_ns, is_closed, sender, directions)
        }
    }

    fn result(
        &mut self,
        begin_ns: i64,
        lifetime_ns: u64,
        is_closed: bool,
        sender: End,
        mut directions: [Direction; 2],
    ) -> ObservedConnection {
        let vantage = self.vantage(sender, &directions);
        let data = &mut directions[sender.index()];
        let mut ledger = data.waits.ledger();
        ledger.cut_at(lifetime_ns);
        let one_sided = self.one_sided.take().filter(|_| self.counts != [0, 0]);
        let only = one_sided.is_some().then_some(match self.counts[0] {
            0 => End::B,
            _ => End::A,
        });
        let ledger = one_sided.map_or(ledger, |one| one.finish(lifetime_ns));
        let (account, sure, bands) = ledger.finish();
        let path = data.path.finish(&data.seen, lifetime_ns);
        let small_writes = data.waits.small_writes;
        let mut log = std::mem::take(&mut data.waits.episodes);
        if let Some((from, to, count)) = self.handshake.lost() {
            let place = log.begin(from, EpisodeKind::LostHandshake, count);
            log.extend(place, to, 0);
        }
        let (mut episodes, episodes_omitted) = log.finish();
        if only.is_some() {
            // Drop recoveries, because their end is unknown without ACKs.
            episodes.retain(|episode| episode.kind != EpisodeKind::FastRecovery);
        }
        let mut seen = directions.map(|direction| direction.seen);
        if only.is_some() {
            seen.iter_mut().for_each(|one| one.largest_flight_bytes = 0);
        }
        self.complete(&mut seen);
        let lacks = Lacks { only, ..self.lacks };
        debug_assert_eq!(account.times().count(), SeenLimit::all().len());
        ObservedConnection {
            begin_ns,
            lifetime_ns,
            sender,
            client: self.handshake.client,
            only,
            exchange: self.turns.exchange(),
            initial_seqs: self
                .handshake
                .offers
                .map(|offer| offer.map(|offer| offer.isn)),
            is_closed,
            failure: None,
            cannot_tell: cannot_tell(&vantage, &seen, sender, lacks),
            directions: seen,
            vantage,
            account,
            sure,
            bands,
            episodes,
            episodes_omitted,
            small_writes,
            path,
        }
    }

    /// Starts both directions with the values that are known, and passes the waiting segments to
    /// them.
    fn start(&mut self) {
        if self.directions.is_some() {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.sides = opening::sides(&self.handshake, &waiting);
        let [a, b] = &self.sides;
        let isn = |end: End| self.handshake.offers[end.index()].map(|offer| offer.isn);
        self.directions = Some(Box::new([
            Direction::new(isn(End::A), a, b),
            Direction::new(isn(End::B), b, a),
        ]));
        let established = match self.handshake.client {
            Some(_) => self.handshake.done,
            None => Some(0),
        };
        let mut is_established = false;
        for (at, segment) in &waiting {
            if !is_established && established.is_some_and(|done| done <= *at) {
                self.establish();
                is_established = true;
            }
            self.give(*at, segment);
        }
    }

    /// Ends the handshake for both senders. For each sender, the handshake ends when that sender
    /// sends or receives the last segment of the handshake.
    fn establish(&mut self) {
        let Some(directions) = &mut self.directions else {
            return;
        };
        for (end, direction) in End::BOTH.into_iter().zip(directions.iter_mut()) {
            let at = match (self.handshake.client, self.handshake.done) {
                (None, _) => 0,
                (Some(_), None) => continue,
                (Some(client), Some(done)) if client == end => done,
                (Some(_), Some(done)) => done + direction.to_sender(),
            };
            direction.waits.on_established(at);
        }
    }

    fn give(&mut self, at: u64, segment: &Segment) {
        if let Some(directions) = &mut self.directions {
            directions[segment.from.index()].on_sent(at, segment);
            directions[segment.from.other().index()].on_received(at, segment);
            let after = || outstanding(directions);
            self.failures.on_segment(at, segment, after);
        }
    }

    fn complete(&self, seen: &mut [DirectionSeen; 2]) {
        // Swap the windows: each direction recorded the windows that its receiver advertised, but
        // `DirectionSeen` gives those that its sender advertised.
        let [a, b] = seen;
        mem::swap(&mut a.largest_window_bytes, &mut b.largest_window_bytes);
        mem::swap(&mut a.smallest_window_bytes, &mut b.smallest_window_bytes);
        for end in End::BOTH {
            let place = end.index();
            let direction = &mut seen[place];
            direction.segments = self.counts[place];
            direction.window_scale = self.sides[place].scale;
            direction.offered_mss = self.handshake.offers[place].and_then(|offer| offer.mss);
            if let Some(client) = self.handshake.client {
                let kind = usize::from(client != end);
                direction.retransmissions.handshake = self.handshake.retransmissions[kind];
            }
        }
    }

    fn vantage(&self, sender: End, directions: &[Direction; 2]) -> Vantage {
        let to_sender = self.sides[sender.index()].round_trip;
        let beyond = &directions[sender.index()].seen.rtt_beyond_tap;
        let handshake = self.sides[sender.other().index()].round_trip;
        let to_receiver = match (beyond.min_ns, handshake) {
            (Some(seen), Some(handshake)) => Some(seen.min(handshake)),
            (seen, handshake) => seen.or(handshake),
        };
        let side = match (to_sender, to_receiver) {
            (Some(near), Some(far)) if near * 10 < near + far => TapSide::Sender,
            (Some(near), Some(far)) if far * 10 < near + far => TapSide::Receiver,
            (Some(_), Some(_)) => TapSide::Middle,
            (None, _) | (_, None) => TapSide::Unknown,
        };
        let offers = self.handshake.whole_offers();
        Vantage {
            side,
            to_sender_ns: to_sender,
            to_receiver_ns: to_receiver,
            has_handshake: offers.is_some(),
            has_timestamps: offers.is_some_and(|all| all.iter().all(|offer| offer.timestamps)),
        }
    }
}

/// Payload and FIN in flight, and unanswered segments, of both directions.
fn outstanding(directions: &[Direction; 2]) -> Outstanding {
    Outstanding {
        in_flight: directions.each_ref().map(Direction::in_flight),
        has_fin: directions.each_ref().map(Direction::has_fin_in_flight),
        unanswered: directions.each_ref().map(|one| one.unanswered),
    }
}

impl Analysis for ConnectionObserver {
    type Outcome = ObservedConnection;

    fn on_segment(&mut self, segment: &Segment) {
        self.on_segment(segment);
    }

    fn conclude(self, end_ns: i64) -> ObservedConnection {
        self.finish(end_ns)
    }
}
