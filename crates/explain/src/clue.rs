//! The clues of an account: levers that are worth a run.
//!
//! Rule: a clue says only that a lever is worth a run, never that it is the cause. One clue
//! too many costs a run, one too few a cause.

use fullpipe_scenario::{HostMeasured, Outcome, Played, Setup, Shares};
use fullpipe_tcp::{Limit, ReceiveLimit};

/// A limit counts from this share of the time on.
const WORTH: f64 = 0.02;
/// Fewer segments in a round trip are few.
const FEW: u64 = 8;
/// A path of ACKs that was busy for this share of the time may be full while data flows.
const BUSY: f64 = 0.75;
/// A pool of which this share was in use may be scarce.
const USED: f64 = 0.25;

/// Something that an account can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clue {
    /// The sender waited for this.
    Sender(Limit),
    /// The receiver held its window back for this.
    Receiver(ReceiveLimit),
    /// Segments were retransmitted, or datagrams lost.
    Losses,
    /// A retransmission timer ran out.
    Timeouts,
    /// A receive ring was full.
    FullRing,
    /// A table of ranges was full.
    FullTable,
    /// Segments carried much less than the usual 1,448 bytes, or there were small ones.
    SmallSegments,
    /// A round trip carried a few segments only.
    FewInFlight,
    /// The path of the ACKs was busy most of the time.
    FullAcks,
    /// Much of the packet memory of the host under study was in use.
    UsedMemory,
    /// The transfer did not end.
    Unfinished,
    /// The transfer is one of datagrams.
    Datagrams,
}

/// Clues of levers that enlarge what the sender may keep.
pub const SENDING: &[Clue] = &[Clue::Sender(Limit::SendBuffer), Clue::Sender(Limit::Memory)];
/// Clues of levers that enlarge what the receiver offers.
pub const RECEIVING: &[Clue] = &[
    Clue::Sender(Limit::ReceiveWindow),
    Clue::Sender(Limit::ZeroWindow),
    Clue::Receiver(ReceiveLimit::Buffer),
    Clue::Receiver(ReceiveLimit::Memory),
    Clue::Receiver(ReceiveLimit::Hole),
];
/// Clues of packet memory, which buffers, windows and datagrams share.
pub const MEMORY: &[Clue] = &[
    Clue::Datagrams,
    Clue::Sender(Limit::Memory),
    Clue::Receiver(ReceiveLimit::Memory),
    Clue::FullTable,
    Clue::UsedMemory,
    Clue::Unfinished,
];
/// Clues of the rules of congestion control.
pub const CONGESTION: &[Clue] = &[
    Clue::Sender(Limit::CwndSlowStart),
    Clue::Sender(Limit::CwndSteady),
    Clue::Sender(Limit::CwndAfterLoss),
    Clue::Sender(Limit::CwndAfterMark),
    Clue::Sender(Limit::CwndAfterIdle),
    Clue::Sender(Limit::Pacing),
    Clue::Sender(Limit::Recovery),
];
/// Clues of slow start.
pub const SLOW_START: &[Clue] = &[
    Clue::Sender(Limit::CwndSlowStart),
    Clue::Sender(Limit::CwndAfterIdle),
    Clue::Sender(Limit::CwndSteady),
];
/// Clues of pacing.
pub const PACING: &[Clue] = &[Clue::Sender(Limit::Pacing), Clue::Losses];
/// Clues of congestion marks.
pub const MARKS: &[Clue] = &[Clue::Sender(Limit::CwndAfterMark), Clue::Losses];
/// Clues of rules by which the receiver answers.
pub const ANSWERS: &[Clue] = &[
    Clue::Sender(Limit::CwndSlowStart),
    Clue::Sender(Limit::Nagle),
    Clue::FewInFlight,
];
/// Clues of rules that cut writes into segments.
pub const SEGMENTATION: &[Clue] = &[
    Clue::Sender(Limit::Nagle),
    Clue::SmallSegments,
    Clue::FewInFlight,
];
/// Clues of small segments.
pub const SMALL: &[Clue] = &[Clue::SmallSegments];
/// Clues of options that every packet carries: they count in small ones.
pub const OPTIONS: &[Clue] = &[Clue::SmallSegments, Clue::FullAcks];
/// Clues of probing for the MTU: large segments may never have arrived.
pub const PROBING: &[Clue] = &[Clue::SmallSegments, Clue::Timeouts, Clue::Unfinished];
/// Clues of Nagle's algorithm and of corks.
pub const DELAYED: &[Clue] = &[Clue::Sender(Limit::Nagle)];
/// Clues of loss recovery.
pub const LOSSES: &[Clue] = &[Clue::Losses];
/// Clues of retransmission timers.
pub const TIMERS: &[Clue] = &[Clue::Timeouts];
/// Clues of the handshake's timers.
pub const OPENING: &[Clue] = &[Clue::Sender(Limit::Handshake)];
/// Clues of rules that give a connection up.
pub const GIVING_UP: &[Clue] = &[Clue::Unfinished];
/// Clues of receive rings.
pub const RINGS: &[Clue] = &[Clue::FullRing];
/// Clues of tables of ranges.
pub const TABLES: &[Clue] = &[Clue::FullTable];
/// Clues of the device.
pub const DEVICE: &[Clue] = &[
    Clue::Sender(Limit::Device),
    Clue::Sender(Limit::Processor),
    Clue::Receiver(ReceiveLimit::Processor),
    Clue::Sender(Limit::Pacing),
];
/// Clues of the queue of packets for a neighbour that is not resolved yet.
pub const NEIGHBOUR: &[Clue] = &[Clue::Datagrams, Clue::Sender(Limit::Device)];
/// Clues of queues of datagrams.
pub const DATAGRAMS: &[Clue] = &[Clue::Datagrams];

/// The clues of a run, with the share of the time that each explains.
#[derive(Clone, Debug, Default)]
pub struct Clues(Vec<(Clue, f64)>);

impl Clues {
    /// The clues of `played`, a run of `setup`.
    pub fn of(setup: &Setup, played: &Played) -> Self {
        let sender = Shares::of(played.sender.times());
        let receiver = Shares::of(played.receiver.times());
        // While the last bytes are in flight, nothing else can show.
        let open = (1.0 - sender.share(Limit::Closing)).max(1e-9);
        let waited = Limit::ALL.iter().map(|limit| {
            let share = sender.share(*limit) / open;
            (Clue::Sender(*limit), share)
        });
        let held = ReceiveLimit::ALL.iter().map(|limit| {
            let share = receiver.share(*limit);
            (Clue::Receiver(*limit), share)
        });
        let waits = waited.chain(held).filter(|(_, share)| *share >= WORTH);
        let repair = sender.share(Limit::Recovery) / open;
        let all = waits.chain(Self::of_counts(setup, played, repair));
        Self(all.collect())
    }

    /// The clues that counters show, with the time that each may explain: all of it for a full
    /// table or ring and for datagrams, the busy share of the path for ACKs, `repair` for losses
    /// of segments. Of the others, which many transfers have, the time is unknown: 0.
    fn of_counts(setup: &Setup, played: &Played, repair: f64) -> Vec<(Clue, f64)> {
        let measured = &played.measured;
        let tables = |host: &HostMeasured| host.full_tables != Default::default();
        let is_small = measured.segment_bytes < 1_400 || measured.full_sized_share < 0.9;
        let in_flight = measured.round_trip_bytes / measured.segment_bytes.max(1);
        let pool = setup.hosts[setup.subject].pool_bytes() as f64;
        let used = measured.peak_pool_bytes as f64 / pool;
        let lost = measured.lost_share.unwrap_or_default();
        let flow = setup.flow();
        let back = setup.route(flow.to, flow.from);
        let acks = played.path.along(&back);
        let acks = acks.map(|(_, direction)| direction.busy_share());
        let acks = acks.fold(0.0, f64::max);
        let all = [
            (Clue::FullAcks, acks >= BUSY, acks),
            (Clue::FewInFlight, in_flight < FEW, 0.0),
            (Clue::UsedMemory, used >= USED, 0.0),
            (Clue::Losses, measured.retransmitted_segments > 0, repair),
            (Clue::Losses, lost > 0.0, 1.0),
            (Clue::Timeouts, measured.timeouts > 0, repair),
            (Clue::FullRing, measured.rx_ring_drops > 0, 1.0),
            (Clue::FullTable, measured.hosts.iter().any(tables), 1.0),
            (Clue::SmallSegments, is_small, 0.0),
            (Clue::Unfinished, measured.outcome != Outcome::Complete, 0.0),
            (Clue::Datagrams, flow.is_udp(), 1.0),
        ];
        let there = all.into_iter().filter(|(_, is_there, _)| *is_there);
        there.map(|(clue, _, share)| (clue, share)).collect()
    }

    /// Adds the clues of another run.
    pub fn add(&mut self, other: &Self) {
        let new = other.without(self);
        self.0.extend(new.0);
    }

    /// The clues without those of another run.
    pub fn without(&self, other: &Self) -> Self {
        let is_new = |(clue, _): &&(Clue, f64)| !other.suggest(&[*clue]);
        Self(self.0.iter().filter(is_new).copied().collect())
    }

    /// Share of the time that the clues among `wanted` explain, and of `wanted` that is there:
    /// of two levers for the same time, one with a single clue is more likely to help than one
    /// with six clues of which one is there.
    pub fn share(&self, wanted: &[Clue]) -> (f64, f64) {
        let there = self.0.iter().filter(|(clue, _)| wanted.contains(clue));
        let (count, time) = there.fold((0.0, 0.0), |(count, time), (_, share)| {
            (count + 1.0, f64::min(1.0, time + share))
        });
        (time, count / wanted.len().max(1) as f64)
    }

    /// Returns true if one of `wanted` is among them.
    pub fn suggest(&self, wanted: &[Clue]) -> bool {
        self.0.iter().any(|(clue, _)| wanted.contains(clue))
    }
}
