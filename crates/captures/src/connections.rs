//! The connections of all captures that are read together.
//!
//! Rule: memory is bounded. A row of fixed size is kept for each of the connections with the most
//! lost time (`lost_s`: the sender had something to send and the path was not full). At most
//! [`Connections::ROWS`] rows are kept, unless another number is given; other connections are only
//! counted, unless a selection keeps them. The whole result is kept for one connection: the
//! requested one, or the only one. A connection that is recognised as one of an earlier capture gets
//! no second row.

use std::{
    cmp::Ordering,
    collections::{BinaryHeap, HashMap},
    net::SocketAddr,
};

use fullpipe_diagnose::{
    account::{Shares, Times},
    capture::{EndedFlow, FlowEnding, FlowKey, ReturnedSegment},
    inferred::Confidence,
    merge::{MergeFailure, Merged, Tap, merge},
    observe::{ConnectionFailure, Followed, Follower, ObservedConnection, SeenLimit, SegmentLog},
    vocabulary::Limit,
};

use crate::failures::returned_segment;

/// Largest number of connections that can be recognised in a later capture.
const IDENTITIES: usize = 100_000;
/// Largest number of connections that [`Connections::same`] lists, and largest number of pairs that
/// [`Connections::apart`] lists.
const SAME_MAX: usize = 10_000;
/// Largest difference, in nanoseconds, that the clocks of two captures are assumed to have. With a
/// larger difference, two connections with the same addresses and ports count as different
/// connections.
const CLOCKS_NS: i64 = 60_000_000_000;

/// A connection in the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Number of the connection, counted over all captures from 1.
    pub number: u64,
    /// Index of the connection's capture, from 0.
    pub capture: usize,
    /// The end that sent more payload than the other.
    pub sender: SocketAddr,
    /// The other end.
    pub receiver: SocketAddr,
    /// Time of the first segment, in nanoseconds since the Unix epoch.
    pub began_ns: i64,
    /// Lifetime in seconds.
    pub seconds: f64,
    /// Segments of both ends.
    pub segments: u64,
    /// Segments of the sender with payload.
    pub data_segments: u64,
    /// Payload of the sender in bytes, without retransmissions.
    pub bytes: u64,
    /// Goodput in bit/s.
    pub goodput_bps: f64,
    /// Smallest round-trip time in seconds.
    pub rtt_s: Option<f64>,
    /// Retransmitted segments of the sender, those of the handshake and FIN included.
    pub retransmitted: u64,
    /// Retransmitted segments of the sender with payload.
    pub data_retransmitted: u64,
    /// The main limit, its share of the lifetime, and the confidence in this limit.
    pub limit: Option<(SeenLimit, f64, Confidence)>,
    /// For each limit, its share of the lifetime.
    pub shares: Shares<SeenLimit>,
    /// For each limit, its time and payload.
    pub account: Times<SeenLimit>,
    /// Seconds in which the sender had something to send and the path was not full.
    pub lost_s: f64,
    /// Reason for the end of the connection.
    pub ending: FlowEnding,
    /// The way in which the connection failed; `None` if the capture shows no failure.
    pub failure: Option<ConnectionFailure>,
    /// The segment that an ICMP error returned. If the connection failed, only an error that may
    /// explain the failure counts; otherwise the last one.
    pub returned: Option<ReturnedSegment>,
}

impl Row {
    fn of(flow: &EndedFlow<ObservedConnection>, number: u64, capture: usize) -> Self {
        let seen = &flow.outcome;
        let data = seen.data();
        let seconds = seen.lifetime_ns as f64 / 1e9;
        // Without ACKs of the receiver, count the payload that was sent.
        let arrived = match data.acknowledged_bytes {
            0 => data.payload_bytes,
            acknowledged => acknowledged,
        };
        Self {
            number,
            capture,
            sender: flow.key.address(seen.sender),
            receiver: flow.key.address(seen.sender.other()),
            began_ns: flow.began_ns,
            seconds,
            segments: flow.segments,
            data_segments: data.data_segments,
            bytes: data.payload_bytes,
            goodput_bps: match seconds > 0.0 {
                true => arrived as f64 * 8.0 / seconds,
                false => 0.0,
            },
            rtt_s: seen.path.base_rtt_ns.map(|ns| ns as f64 / 1e9),
            retransmitted: data.retransmissions.total(),
            data_retransmitted: data.retransmissions.of_data(),
            limit: seen.main_limit(),
            shares: seen.shares(),
            account: seen.account.clone(),
            lost_s: lost_s(seen),
            ending: flow.ending,
            failure: seen.failure,
            returned: returned_segment(flow),
        }
    }

    /// Share of the data segments that was retransmitted; 0 without data segments. SYN, and FIN without
    /// payload, do not count.
    pub fn retransmitted_share(&self) -> f64 {
        match self.data_segments {
            0 => 0.0,
            all => self.data_retransmitted as f64 / all as f64,
        }
    }

    /// `sender` or `receiver`: the end whose segment an ICMP error returned.
    pub fn returned_from(&self) -> Option<&'static str> {
        let (_, sender) = FlowKey::of(self.sender, self.receiver);
        Some(match self.returned?.from == sender {
            true => "sender",
            false => "receiver",
        })
    }

    /// Name of the reason if the receiver was unreachable: the connection failed because nothing
    /// answered, and an ICMP error says why.
    pub fn unreachable(&self) -> Option<&'static str> {
        let is_silent = matches!(
            self.failure,
            Some(ConnectionFailure::Unanswered { .. } | ConnectionFailure::Vanished { .. })
        );
        let returned = self.returned.filter(|_| is_silent)?;
        Some(returned.reason.name())
    }
}

/// Seconds in which the sender had something to send and the path was not full.
fn lost_s(seen: &ObservedConnection) -> f64 {
    let is_excluded = |limit: SeenLimit| {
        let excluded = [Limit::Application, Limit::Closing].map(SeenLimit::Known);
        limit == SeenLimit::Unknown || excluded.contains(&limit)
    };
    let waiting = seen
        .account
        .times()
        .filter(|(limit, _)| !is_excluded(*limit));
    let waiting: f64 = waiting.map(|(_, time)| time.as_secs_f64()).sum();
    let full = seen.path.full_share * seen.lifetime_ns as f64 / 1e9;
    (waiting - full).max(0.0)
}

/// A row. Rows are ordered so that a heap returns the row with the least lost time first.
struct ByTimeLost(Row);

impl PartialEq for ByTimeLost {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ByTimeLost {}

impl PartialOrd for ByTimeLost {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByTimeLost {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_loss = other.0.lost_s.total_cmp(&self.0.lost_s);
        by_loss.then(self.0.number.cmp(&other.0.number))
    }
}

/// Adds `row`. If there are then more than `rows_max` rows, removes the one with the least lost
/// time.
fn keep(rows: &mut BinaryHeap<ByTimeLost>, rows_max: usize, row: Row) {
    rows.push(ByTimeLost(row));
    if rows.len() > rows_max {
        rows.pop();
    }
}

/// Returns the rows; those with the most time lost come first.
fn most_lost_first(rows: &BinaryHeap<ByTimeLost>) -> Vec<Row> {
    let mut rows: Vec<_> = rows.iter().map(|ByTimeLost(row)| row.clone()).collect();
    rows.sort_by(|one, other| {
        let by_loss = other.lost_s.total_cmp(&one.lost_s);
        by_loss.then(one.number.cmp(&other.number))
    });
    rows
}

/// Rows that are chosen from all connections, including those without a row in the table.
struct Selection {
    chooses: Box<dyn Fn(&Row) -> bool + Send + Sync>,
    rows: BinaryHeap<ByTimeLost>,
    /// Largest number of rows that are kept.
    rows_max: usize,
}

/// Addresses, ports and initial sequence numbers, which are equal in all captures of a connection.
type Identity = (FlowKey, [u32; 2]);

fn identity(flow: &EndedFlow<ObservedConnection>) -> Option<Identity> {
    let [a, b] = flow.outcome.initial_seqs;
    Some((flow.key, [a?, b?]))
}

/// A connection that may also be in a later capture.
#[derive(Clone, Copy)]
struct Known {
    number: u64,
    capture: usize,
    is_closed: bool,
    lifetime_ns: u64,
    largest_rtt_ns: u64,
}

impl Known {
    fn of(flow: &EndedFlow<ObservedConnection>, capture: usize) -> Self {
        let seen = &flow.outcome;
        Self {
            number: flow.number,
            capture,
            is_closed: seen.is_closed,
            lifetime_ns: seen.lifetime_ns,
            largest_rtt_ns: seen.path.largest_rtt_ns.unwrap_or(0),
        }
    }

    /// Returns true if `self` and `other` are from different captures and may be the same
    /// connection. Equal initial sequence numbers do not suffice, because they are equal in all
    /// runs of a simulator. If both connections ended, their lifetimes must also be nearly equal.
    /// They may differ by four times the largest round-trip time, or by 1 ms if that is more, plus
    /// 1 % of the lifetime.
    fn may_be(&self, other: &Self) -> bool {
        let trips = 4 * self.largest_rtt_ns.max(other.largest_rtt_ns);
        let apart = self.lifetime_ns.abs_diff(other.lifetime_ns);
        let is_near = apart <= trips.max(1_000_000) + self.lifetime_ns / 100;
        self.capture != other.capture && (is_near || !(self.is_closed && other.is_closed))
    }
}

/// Reason for which a connection has two rows, although it is probably one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApartBy {
    /// One capture begins after the handshake.
    LateCapture,
    /// The addresses or ports differ: a host between the captures translates them.
    AddressTranslation,
}

impl ApartBy {
    /// Name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LateCapture => "late_capture",
            Self::AddressTranslation => "address_translation",
        }
    }
}

/// Two rows that are probably one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    /// The connection's number in the later capture.
    pub connection: u64,
    /// The connection's number in the earlier capture.
    pub earlier: u64,
    /// The reason.
    pub reason: ApartBy,
}

/// Facts by which a later row is recognised as probably the same connection.
#[derive(Clone, Copy)]
struct Traces {
    known: Known,
    began_ns: i64,
    has_handshake: bool,
}

impl Traces {
    /// Returns true if the two connections are in different captures and overlap in time. The
    /// clocks of the captures may differ by [`CLOCKS_NS`].
    fn overlaps(&self, other: &Self) -> bool {
        let lasted = |one: &Self| (one.known.lifetime_ns as i64).saturating_add(CLOCKS_NS);
        let end = |one: &Self| one.began_ns.saturating_add(lasted(one));
        self.known.capture != other.known.capture
            && self.began_ns <= end(other)
            && other.began_ns <= end(self)
    }
}

/// A second capture of the connection whose whole result is kept.
struct Second {
    flow: Box<EndedFlow<ObservedConnection>>,
    log: SegmentLog,
    capture: usize,
}

/// The connections that were added so far.
pub struct Connections {
    rows: BinaryHeap<ByTimeLost>,
    /// Largest number of rows that are kept.
    rows_max: usize,
    selections: Vec<Selection>,
    /// Number of connections in all captures.
    count: u64,
    /// Number of connections that an earlier capture also contains.
    repeated: u64,
    /// The connections whose handshakes were seen, at most [`IDENTITIES`].
    known: HashMap<Identity, Known>,
    /// For each connection that two captures contain, its number in the later capture and its
    /// number in the earlier capture.
    same: Vec<(u64, u64)>,
    /// The connections by their addresses and ports, at most [`IDENTITIES`].
    by_key: HashMap<FlowKey, Traces>,
    /// The connections by their initial sequence numbers, the smaller one first; at most
    /// [`IDENTITIES`].
    by_seqs: HashMap<[u32; 2], Traces>,
    /// Pairs of rows that are probably one connection, at most [`SAME_MAX`].
    apart: Vec<Apart>,
    /// The second observation of the connection whose whole result is kept.
    second: Option<Second>,
    merged: Option<Result<Merged, MergeFailure>>,
    /// Index of the current capture.
    capture: usize,
    /// Number of connections in earlier captures.
    before: u64,
    wanted: Option<u64>,
    full: Option<Box<EndedFlow<ObservedConnection>>>,
    /// Index of the capture that contains the connection in `full`.
    full_capture: usize,
    /// Segments of the connection in `full`.
    log: Option<SegmentLog>,
}

impl Connections {
    /// Largest number of rows that are kept, unless another number is given.
    pub const ROWS: usize = 10_000;

    /// Creates an empty collection. The collection keeps the whole result of connection number
    /// `wanted`, and at most `rows_max` rows.
    pub fn new(wanted: Option<u64>, rows_max: usize) -> Self {
        Self {
            rows: BinaryHeap::new(),
            rows_max,
            selections: Vec::new(),
            count: 0,
            repeated: 0,
            known: HashMap::new(),
            same: Vec::new(),
            by_key: HashMap::new(),
            by_seqs: HashMap::new(),
            apart: Vec::new(),
            second: None,
            merged: None,
            capture: 0,
            before: 0,
            wanted,
            full: None,
            full_capture: 0,
            log: None,
        }
    }

    /// Begins a selection: of the connections that are added from now on and that `chooses` accepts,
    /// keeps the `rows_max` with the most lost time. [`Connections::selected`] returns them.
    pub fn select(
        &mut self,
        rows_max: usize,
        chooses: impl Fn(&Row) -> bool + Send + Sync + 'static,
    ) {
        self.selections.push(Selection {
            chooses: Box::new(chooses),
            rows: BinaryHeap::new(),
            rows_max,
        });
    }

    /// Returns a function that creates the analysis of each further connection of the current
    /// capture. The segments of the requested connection are kept. If none was requested, the
    /// segments of the first connection are kept. If an earlier capture contains this connection,
    /// the current capture may be a second capture of it, so the segments of all connections with
    /// its addresses and ports are also kept. Once a second capture of it was found, they are not
    /// kept any more.
    pub fn analysis(&self) -> impl FnMut(&FlowKey) -> Follower + use<> {
        let mut number = self.before;
        let wanted = self.wanted.unwrap_or(1);
        let first = self.full.as_ref().map(|flow| flow.key);
        let first = first.filter(|_| self.second.is_none());
        move |key| {
            number += 1;
            Follower::new(number == wanted || first == Some(*key))
        }
    }

    /// Adds a connection of the current capture.
    pub fn add(&mut self, flow: EndedFlow<Followed>) {
        let mut log = None;
        let mut flow = flow.map(
            |Followed {
                 observed,
                 log: kept,
             }| {
                log = kept;
                observed
            },
        );
        flow.number += self.before;
        self.count += 1;
        if let Some(identity) = identity(&flow) {
            let own = Known::of(&flow, self.capture);
            match self.known.get(&identity) {
                Some(known) if known.may_be(&own) => {
                    let number = known.number;
                    return self.add_repeated(flow, log, number);
                }
                Some(_) => {}
                None if self.known.len() < IDENTITIES => drop(self.known.insert(identity, own)),
                None => {}
            }
        }
        self.note_apart(&flow);
        let row = Row::of(&flow, flow.number, self.capture);
        for selection in &mut self.selections {
            if (selection.chooses)(&row) {
                keep(&mut selection.rows, selection.rows_max, row.clone());
            }
        }
        keep(&mut self.rows, self.rows_max, row);
        let is_full = match self.wanted {
            Some(wanted) => wanted == flow.number,
            None => self.distinct() == 1,
        };
        if is_full {
            self.log = log;
            self.full_capture = self.capture;
            self.full = Some(Box::new(flow));
        } else if self.wanted.is_none() {
            self.full = None;
        }
    }

    /// Notes a connection that is probably in an earlier capture too, but cannot be merged.
    fn note_apart(&mut self, flow: &EndedFlow<ObservedConnection>) {
        let own = Traces {
            known: Known::of(flow, self.capture),
            began_ns: flow.began_ns,
            has_handshake: flow.outcome.vantage.has_handshake,
        };
        let mut seqs = match flow.outcome.initial_seqs {
            [Some(one), Some(other)] => Some([one, other]),
            _ => None,
        };
        if let Some(seqs) = &mut seqs {
            seqs.sort_unstable();
        }
        let by_key = self
            .by_key
            .get(&flow.key)
            .filter(|known| known.overlaps(&own) && !(known.has_handshake && own.has_handshake));
        // Recognise the connection by both initial sequence numbers and by its lifetime (`may_be`).
        // Do not require that the two rows overlap in time, because the clocks of the captures may
        // differ by any amount.
        let by_seqs = seqs.and_then(|seqs| self.by_seqs.get(&seqs));
        let same = self.by_key.get(&flow.key).map(|same| same.known.number);
        let by_seqs = by_seqs
            .filter(|known| known.known.may_be(&own.known) && same != Some(known.known.number));
        let found = by_key.map(|known| (known, ApartBy::LateCapture));
        let found = found.or(by_seqs.map(|known| (known, ApartBy::AddressTranslation)));
        if let Some((known, reason)) = found.filter(|_| self.apart.len() < SAME_MAX) {
            self.apart.push(Apart {
                connection: flow.number,
                earlier: known.known.number,
                reason,
            });
        }
        if self.by_key.len() < IDENTITIES {
            self.by_key.entry(flow.key).or_insert(own);
        }
        if let Some(seqs) = seqs.filter(|_| self.by_seqs.len() < IDENTITIES) {
            self.by_seqs.entry(seqs).or_insert(own);
        }
    }

    /// Adds what a later capture shows about connection `number`.
    fn add_repeated(
        &mut self,
        flow: EndedFlow<ObservedConnection>,
        log: Option<SegmentLog>,
        number: u64,
    ) {
        self.repeated += 1;
        if self.same.len() < SAME_MAX {
            self.same.push((flow.number, number));
        }
        let is_full = self.full.as_ref().is_some_and(|full| full.number == number);
        if let Some(log) = log.filter(|_| is_full && self.second.is_none()) {
            self.second = Some(Second {
                flow: Box::new(flow),
                log,
                capture: self.capture,
            });
        }
    }

    /// If two captures contain the connection whose whole result was kept, merges what they show.
    pub fn merge(&mut self) {
        let (Some(flow), Some(log), Some(second)) = (&mut self.full, &mut self.log, &self.second)
        else {
            return;
        };
        let taps = [
            Tap {
                observed: &flow.outcome,
                log,
            },
            Tap {
                observed: &second.flow.outcome,
                log: &second.log,
            },
        ];
        let merged = merge(taps);
        if let Ok(merged) = &merged {
            flow.outcome = merged.observed.clone();
            *log = merged.log.clone();
        }
        self.merged = Some(merged);
    }

    /// For the connection whose whole result was kept: the indices, from 0, of its two captures,
    /// and the merge of what they show.
    pub fn merged(&self) -> Option<([usize; 2], &Result<Merged, MergeFailure>)> {
        let second = self.second.as_ref()?;
        let places = [self.full_capture, second.capture];
        Some((places, self.merged.as_ref()?))
    }

    /// For each connection that two captures contain, its number in the later capture and its
    /// number in the earlier capture.
    pub fn same(&self) -> &[(u64, u64)] {
        &self.same
    }

    /// Pairs of rows that are probably one connection.
    pub fn apart(&self) -> &[Apart] {
        &self.apart
    }

    /// Number of connections; a connection in two captures is counted once.
    pub const fn distinct(&self) -> u64 {
        self.count - self.repeated
    }

    /// Number of connections that have no row, because other connections lost more time.
    pub fn left_out(&self) -> u64 {
        self.distinct() - self.rows.len() as u64
    }

    /// Begins the next capture. Connections that are added from now on belong to this capture.
    pub fn next_capture(&mut self) {
        self.capture += 1;
        self.before = self.count;
    }

    /// Number of connections in all captures.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The connection whose whole result was kept.
    pub fn full(&self) -> Option<&EndedFlow<ObservedConnection>> {
        self.full.as_deref()
    }

    /// The row of the connection whose whole result was kept.
    pub fn full_row(&self) -> Option<Row> {
        let flow = self.full.as_deref()?;
        Some(Row::of(flow, flow.number, self.full_capture))
    }

    /// Index, from 0, of the capture that contains the connection whose whole result was kept.
    pub const fn full_capture(&self) -> usize {
        self.full_capture
    }

    /// The segments of the connection whose whole result was kept.
    pub fn log(&self) -> Option<&SegmentLog> {
        self.log.as_ref().filter(|_| self.full.is_some())
    }

    /// The rows; those with the most time lost come first.
    pub fn sorted(&self) -> Vec<Row> {
        most_lost_first(&self.rows)
    }

    /// The rows of a selection; those with the most time lost come first. `place` is the number,
    /// from 0, of the call of [`Connections::select`].
    ///
    /// # Panics
    /// Panics if there were not that many calls.
    pub fn selected(&self, place: usize) -> Vec<Row> {
        most_lost_first(&self.selections[place].rows)
    }
}
