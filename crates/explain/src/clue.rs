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

/// The clues of a run.
#[derive(Clone, Debug, Default)]
pub struct Clues(Vec<Clue>);

impl Clues {
    /// The clues of `played`, a run of `setup`.
    pub fn of(setup: &Setup, played: &Played) -> Self {
        let measured = &played.measured;
        let sender = Shares::of(played.sender.times());
        let receiver = Shares::of(played.receiver.times());
        // While the last bytes are in flight, nothing else can show.
        let open = (1.0 - sender.share(Limit::Closing)).max(1e-9);
        let waited = Limit::ALL
            .iter()
            .map(|limit| (*limit, sender.share(*limit) / open));
        let held = ReceiveLimit::ALL
            .iter()
            .map(|limit| (*limit, receiver.share(*limit)));
        let mut clues: Vec<Clue> = waited
            .filter(|(_, share)| *share >= WORTH)
            .map(|(limit, _)| Clue::Sender(limit))
            .collect();
        clues.extend(
            held.filter(|(_, share)| *share >= WORTH)
                .map(|(limit, _)| Clue::Receiver(limit)),
        );
        let tables = |host: &HostMeasured| host.full_tables != Default::default();
        let is_small = measured.segment_bytes < 1_400 || measured.full_sized_share < 0.9;
        let in_flight = measured.round_trip_bytes / measured.segment_bytes.max(1);
        let pool = setup.hosts[setup.subject].pool_bytes() as f64;
        let others = [
            (Clue::FewInFlight, in_flight < FEW),
            (
                Clue::UsedMemory,
                measured.peak_pool_bytes as f64 >= pool * USED,
            ),
            (Clue::Losses, measured.retransmitted_segments > 0),
            (
                Clue::Losses,
                measured.lost_share.is_some_and(|lost| lost > 0.0),
            ),
            (Clue::Timeouts, measured.timeouts > 0),
            (Clue::FullRing, measured.rx_ring_drops > 0),
            (Clue::FullTable, measured.hosts.iter().any(tables)),
            (Clue::SmallSegments, is_small),
            (Clue::Unfinished, measured.outcome != Outcome::Complete),
            (Clue::Datagrams, setup.flow().is_udp()),
        ];
        clues.extend(others.iter().filter(|(_, is)| *is).map(|(clue, _)| *clue));
        Self(clues)
    }

    /// Adds the clues of another run.
    pub fn add(&mut self, other: &Self) {
        let new = other.0.iter().filter(|clue| !self.0.contains(clue));
        let new: Vec<_> = new.copied().collect();
        self.0.extend(new);
    }

    /// The clues without those of another run.
    pub fn without(&self, other: &Self) -> Self {
        let new = self.0.iter().filter(|clue| !other.0.contains(clue));
        Self(new.copied().collect())
    }

    /// Share of `wanted` that is among them: a lever with one clue that is there is more
    /// likely to help than one with six clues of which one is there.
    pub fn share(&self, wanted: &[Clue]) -> f64 {
        let there = wanted.iter().filter(|clue| self.0.contains(clue));
        there.count() as f64 / wanted.len().max(1) as f64
    }

    /// Returns true if one of `wanted` is among them.
    pub fn suggest(&self, wanted: &[Clue]) -> bool {
        wanted.iter().any(|clue| self.0.contains(clue))
    }
}
