//! Clues: signs in a run that suggest levers (things that could be changed) to try.
//!
//! Rule: a clue only suggests a run with a lever; it never proves a cause. A superfluous clue
//! costs a run; a missing clue can hide a cause.

use fullpipe_scenario::{HostMeasured, Outcome, Played, Setup, Shares};
use fullpipe_sim::link::FrameLoss;
use fullpipe_tcp::{Limit, ReceiveLimit};

/// A limit is a clue if it lasted at least this share of the time.
const WORTH: f64 = 0.02;
/// A round trip has few segments if it has fewer than this number.
const FEW: u64 = 8;
/// Usual payload of a full segment, in bytes.
const FULL: f64 = 1_448.0;
/// If the direction of the ACKs was busy for at least this share of the time, it may have been full
/// during the phases in which data was sent.
const BUSY: f64 = 0.75;
/// Packet memory may be scarce if at least this share of the pool is used.
const USED: f64 = 0.25;

/// A sign in a run: in its account (time by limit) or in its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clue {
    /// The sender waited for this limit.
    Sender(Limit),
    /// The receiver advertised a smaller window for this reason.
    Receiver(ReceiveLimit),
    /// Segments were retransmitted, or datagrams lost.
    Losses,
    /// A retransmission timer ran out.
    Timeouts,
    /// A receive ring was full.
    FullRing,
    /// A table of ranges was full.
    FullTable,
    /// The segments carried less than 1,400 bytes, or more than a tenth of them were not
    /// full-sized.
    SmallSegments,
    /// A round trip carried only a few segments.
    FewInFlight,
    /// The direction of the ACKs was busy for at least three quarters of the time.
    FullAcks,
    /// At least a quarter of the packet memory of the host under study was in use.
    UsedMemory,
    /// The path dropped packets that were too long for it.
    TooLong,
    /// The transfer did not complete.
    Unfinished,
    /// The transfer consists of datagrams.
    Datagrams,
}

/// Clues of levers that let the sender keep more unacknowledged payload.
pub const SENDING: &[Clue] = &[Clue::Sender(Limit::SendBuffer), Clue::Sender(Limit::Memory)];
/// Clues of levers that let the receiver advertise a larger window.
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
/// Clues of rules by which the receiver acknowledges.
pub const ANSWERS: &[Clue] = &[
    Clue::Sender(Limit::CwndSlowStart),
    Clue::Sender(Limit::Nagle),
    Clue::FewInFlight,
];
/// Clues of rules that divide writes into segments.
pub const SEGMENTATION: &[Clue] = &[
    Clue::Sender(Limit::Nagle),
    Clue::SmallSegments,
    Clue::FewInFlight,
];
/// Clues of levers that enlarge segments.
pub const SMALL: &[Clue] = &[Clue::SmallSegments];
/// Clues of header options, which cost much in small packets or if the direction of the ACKs is
/// full.
pub const OPTIONS: &[Clue] = &[Clue::SmallSegments, Clue::FullAcks];
/// Clues of path MTU probing, which helps if large segments never arrive.
pub const PROBING: &[Clue] = &[
    Clue::SmallSegments,
    Clue::Timeouts,
    Clue::Unfinished,
    Clue::TooLong,
];
/// Clues of levers that avoid packets that are too long for the path.
pub const TOO_LONG: &[Clue] = &[Clue::TooLong];
/// Clues of Nagle's algorithm and of corks.
pub const DELAYED: &[Clue] = &[Clue::Sender(Limit::Nagle)];
/// Clues of rules that make a receiver acknowledge less often.
pub const MANY_ACKS: &[Clue] = &[
    Clue::FullAcks,
    Clue::Sender(Limit::Processor),
    Clue::Receiver(ReceiveLimit::Processor),
];
/// Clues of smaller segments, with which more of them fit into a small window.
pub const LOSSES_OF_FEW: &[Clue] = &[Clue::FewInFlight];
/// Clues of the cells into which packet memory is divided.
pub const CELLS: &[Clue] = &[Clue::Receiver(ReceiveLimit::Memory), Clue::UsedMemory];
/// Clues of the work that a host does in one turn.
pub const PROCESSOR: &[Clue] = &[
    Clue::Sender(Limit::Processor),
    Clue::Receiver(ReceiveLimit::Processor),
];
/// Clues of tables of connections that are being opened.
pub const OPENING_TABLES: &[Clue] = &[Clue::Sender(Limit::Handshake), Clue::Unfinished];
/// Clues of the first retransmission timeout of a connection.
pub const FIRST_TIMERS: &[Clue] = &[Clue::Sender(Limit::Handshake), Clue::Timeouts];
/// Clues of loss recovery.
pub const LOSSES: &[Clue] = &[Clue::Losses];
/// Clues of retransmission timers.
pub const TIMERS: &[Clue] = &[Clue::Timeouts];
/// Clues of the handshake's timers.
pub const OPENING: &[Clue] = &[Clue::Sender(Limit::Handshake)];
/// Clues of rules by which a connection is aborted.
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
/// Clues of the queue of packets for an unresolved neighbour.
pub const NEIGHBOUR: &[Clue] = &[Clue::Datagrams, Clue::Sender(Limit::Device)];
/// Clues of queues of datagrams.
pub const DATAGRAMS: &[Clue] = &[Clue::Datagrams];

/// The clues of a run, each with the share of the time that it explains.
#[derive(Clone, Debug, Default)]
pub struct Clues(Vec<(Clue, f64)>);

impl Clues {
    /// Returns the clues of `played`, a run of `setup`.
    pub fn of(setup: &Setup, played: &Played) -> Self {
        let sender = Shares::of(played.sender.times());
        let receiver = Shares::of(played.receiver.times());
        // Exclude the time in which the connection closes, because no other limit can appear in
        // this time.
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
        let repair = [Limit::Recovery, Limit::CwndAfterLoss].map(|limit| sender.share(limit));
        let repair = repair.iter().sum::<f64>() / open;
        let all = waits.chain(Self::of_counts(setup, played, repair));
        Self(all.collect())
    }

    /// Returns the clues from counters, each with the share of the time that it may explain. A full
    /// table, a full ring, packets that are too long, datagrams and lost datagrams may explain the
    /// whole time. A full
    /// direction of ACKs may explain the share for which it was busy. Retransmissions and timeouts
    /// may explain `repair`, the share in which the sender repaired losses or had a window that a
    /// loss had reduced. Small segments may explain the share by which they are smaller than usual.
    /// The other clues occur in many transfers, so their share is unknown and counts as 0.
    fn of_counts(setup: &Setup, played: &Played, repair: f64) -> Vec<(Clue, f64)> {
        let measured = &played.measured;
        let tables = |host: &HostMeasured| host.full_tables != Default::default();
        let is_small = measured.segment_bytes < 1_400 || measured.full_sized_share < 0.9;
        let carried = measured.segment_bytes as f64 * measured.full_sized_share / FULL;
        let in_flight = measured.round_trip_bytes / measured.segment_bytes.max(1);
        let pool = setup.hosts[setup.subject].pool_bytes() as f64;
        let used = measured.peak_pool_bytes as f64 / pool;
        let lost = measured.lost_share.unwrap_or_default();
        let flow = setup.flow();
        let back = setup.route(flow.to, flow.from);
        let acks = played.path.along(&back);
        let acks = acks.map(|(_, direction)| direction.busy_share());
        let acks = acks.fold(0.0, f64::max);
        let there = setup.route(flow.from, flow.to);
        let too_long = played.path.along(&there).any(|(_, direction)| {
            let lost = &direction.counters.lost;
            [
                FrameLoss::TooLong,
                FrameLoss::PacketTooBig,
                FrameLoss::BlackHole,
            ]
            .iter()
            .any(|reason| lost.frames(*reason) > 0)
        });
        let all = [
            (Clue::TooLong, too_long, 1.0),
            (Clue::FullAcks, acks >= BUSY, acks),
            (Clue::FewInFlight, in_flight < FEW, 0.0),
            (Clue::UsedMemory, used >= USED, 0.0),
            (Clue::Losses, measured.retransmitted_segments > 0, repair),
            (Clue::Losses, lost > 0.0, 1.0),
            (Clue::Timeouts, measured.timeouts > 0, repair),
            (Clue::FullRing, measured.rx_ring_drops > 0, 1.0),
            (Clue::FullTable, measured.hosts.iter().any(tables), 1.0),
            (Clue::SmallSegments, is_small, (1.0 - carried).max(0.0)),
            (Clue::Unfinished, measured.outcome != Outcome::Complete, 0.0),
            (Clue::Datagrams, flow.is_udp(), 1.0),
        ];
        let there = all.into_iter().filter(|(_, is_there, _)| *is_there);
        there.map(|(clue, _, share)| (clue, share)).collect()
    }

    /// Adds those clues of `other` that are not present yet.
    pub fn add(&mut self, other: &Self) {
        let new = other.without(self);
        self.0.extend(new.0);
    }

    /// Returns the clues that `other` does not have.
    pub fn without(&self, other: &Self) -> Self {
        let is_new = |(clue, _): &&(Clue, f64)| !other.suggest(&[*clue]);
        Self(self.0.iter().filter(is_new).copied().collect())
    }

    /// Returns two shares: the share of the time that the clues in `wanted` explain, and the share
    /// of `wanted` that is present. The second share ranks levers with equal first shares: a lever
    /// with one clue, which is present, is more likely to help than a lever with six clues, of
    /// which one is present.
    pub fn share(&self, wanted: &[Clue]) -> (f64, f64) {
        let there = self.0.iter().filter(|(clue, _)| wanted.contains(clue));
        let (count, time) = there.fold((0.0, 0.0), |(count, time), (_, share)| {
            (count + 1.0, f64::min(1.0, time + share))
        });
        (time, count / wanted.len().max(1) as f64)
    }

    /// Returns true if at least one clue in `wanted` is present.
    pub fn suggest(&self, wanted: &[Clue]) -> bool {
        self.0.iter().any(|(clue, _)| wanted.contains(clue))
    }
}
