//! Tests of the scoreboard and the recovery engine without a connection: their conclusions from
//! ACKs, SACK blocks, time and timeouts.

mod phases;

use fullpipe_pool::{Duration, Rng};

use super::*;

const MSS: u32 = 1_000;

/// An engine with segments in flight, one sent each millisecond from 1 ms on,
/// and a round-trip time of 100 ms.
struct Rig {
    recovery: Recovery,
    rate: DeliveryRate,
    arena: SentArena,
    una: SeqNum,
    nxt: SeqNum,
    /// Number of nodes visited for ACKs, without the visits of this test's own checks.
    nodes_visited: u64,
}

impl Rig {
    fn with(count: u32, ranges: u32) -> Self {
        let mut rig = Self {
            recovery: Recovery::new(SeqNum(0)),
            rate: DeliveryRate::new(),
            // Each of two connections has a node of its own, and the second has nothing in flight.
            arena: SentArena::new(ranges, 2),
            una: SeqNum(1),
            nxt: SeqNum(1),
            nodes_visited: 0,
        };
        for sent in 1..=count {
            rig.send(u64::from(sent));
        }
        rig
    }

    fn send(&mut self, at_ms: u64) {
        let range = self.nxt..self.nxt + MSS;
        let now = Instant::from_millis(at_ms);
        let (rate, arena) = (&mut self.rate, &mut self.arena);
        self.recovery
            .on_sent(range.clone(), self.nxt, now, rate, arena);
        self.nxt = range.end;
        self.verify();
    }

    /// Takes an ACK of the first `acked` segments, with the given segments
    /// SACKed.
    fn ack(&mut self, at_ms: u64, acked: u32, sacked: &[(u32, u32)]) -> AckOut {
        let blocks: alloc::vec::Vec<SackBlock> = sacked
            .iter()
            .map(|(first, end)| SackBlock {
                left: 1 + first * MSS,
                right: 1 + end * MSS,
            })
            .collect();
        let out = self.ack_with(at_ms, 1 + acked * MSS, &blocks);
        self.verify();
        out
    }

    /// Returns the inputs of an ACK without SACK blocks.
    fn input(&self, at_ms: u64, ack: SeqNum) -> AckIn<'static> {
        AckIn {
            now: Instant::from_millis(at_ms),
            ack,
            snd_una: self.una,
            snd_nxt: self.nxt,
            sack: None,
            is_duplicate: false,
            echoed_at: None,
            path: PathState {
                mss: MSS,
                srtt: Duration::from_millis(100),
                min_rtt: Some(Duration::from_millis(100)),
            },
        }
    }

    /// Takes an ACK with these sequence numbers.
    fn ack_with(&mut self, at_ms: u64, ack: u32, blocks: &[SackBlock]) -> AckOut {
        let input = AckIn {
            sack: Some(blocks),
            ..self.input(at_ms, SeqNum(ack))
        };
        let before = self.arena.nodes_visited();
        let arena = &mut self.arena;
        let out = self
            .recovery
            .on_ack(&input, &mut self.rate, &mut |_| {}, arena);
        self.una = input.ack;
        self.nodes_visited += self.arena.nodes_visited() - before;
        out
    }

    /// Retransmits the first lost segment.
    fn repair(&mut self, at_ms: u64) {
        if let Some(again) = self.lost() {
            let (now, nxt) = (Instant::from_millis(at_ms), self.nxt);
            let end = again.end.earliest(again.start + MSS);
            let (rate, arena) = (&mut self.rate, &mut self.arena);
            self.recovery
                .on_sent(again.start..end, nxt, now, rate, arena);
        }
        self.verify();
    }

    /// Lets RACK's reordering timer expire.
    fn reordering_deadline(&mut self, at_ms: u64) -> RecoveryChange {
        let input = self.input(at_ms, self.una);
        let (rate, arena) = (&mut self.rate, &mut self.arena);
        let looked = self
            .recovery
            .on_reordering_timeout(&input, rate, &mut |_| {}, arena);
        self.verify();
        looked.0
    }

    fn verify(&self) {
        self.recovery
            .board()
            .verify(self.una, self.nxt, &self.arena);
    }

    fn lost(&self) -> Option<Range<SeqNum>> {
        self.recovery.next_lost(&self.arena)
    }
}

#[test]
fn three_segments_sacked_beyond_a_hole_make_it_lost_at_once() {
    let mut rig = Rig::with(10, 100);
    assert_eq!(rig.ack(102, 0, &[(1, 2)]).change, RecoveryChange::Unchanged);
    assert_eq!(rig.ack(103, 0, &[(1, 3)]).change, RecoveryChange::Unchanged);
    let out = rig.ack(104, 0, &[(1, 4)]);
    assert_eq!((out.change, out.lost), (RecoveryChange::LossFound, MSS));
    assert_eq!(rig.lost(), Some(SeqNum(1)..SeqNum(1 + MSS)));
    assert_eq!(rig.recovery.board().in_flight(), 6 * MSS);
}

#[test]
fn an_overtaken_segment_is_lost_only_after_a_quarter_round_trip() {
    let mut rig = Rig::with(3, 100);
    let out = rig.ack(102, 0, &[(1, 2)]);
    assert_eq!(out.change, RecoveryChange::Unchanged);
    let due = out.reordering_deadline.flatten().expect("RACK looks again");
    assert_eq!(due, Instant::from_millis(1 + 100 + 25));
    // An ACK that reports nothing new marks no loss, and leaves the timer unchanged.
    let late = rig.ack(103, 0, &[(1, 2)]);
    assert_eq!((late.lost, late.reordering_deadline), (0, None));
    assert_eq!(rig.reordering_deadline(126), RecoveryChange::LossFound);
    assert_eq!(rig.recovery.board().lost(), MSS);
}

/// RFC 8985 §6.2 step 5: one timer waits for the last segment, instead of one timer per segment.
#[test]
fn the_reordering_timer_fires_once_for_all_segments_that_were_overtaken() {
    for sacked in [1, 2, 20] {
        let mut rig = Rig::with(30, 100);
        let out = rig.ack(130, 0, &[(sacked, sacked + 1)]);
        assert_eq!(out.lost, 0);
        let rtt_ms = 130 - u64::from(sacked + 1);
        // The segment before the SACKed one was sent at `sacked` milliseconds. From then on, the
        // timer waits for a round trip and a reordering window of 25 ms.
        let expected = Instant::from_millis(u64::from(sacked) + rtt_ms + 25);
        let deadline = out.reordering_deadline.flatten().expect("a timer");
        assert!((expected..=expected + Duration::from_millis(1)).contains(&deadline));
        rig.reordering_deadline(deadline.as_millis());
        assert_eq!(rig.recovery.board().lost(), sacked * MSS);
    }
}

#[test]
fn recovery_ends_when_everything_outstanding_at_its_start_has_arrived() {
    let mut rig = Rig::with(5, 100);
    rig.ack(104, 0, &[(1, 4)]);
    assert_eq!(rig.recovery.phase(), RecoveryPhase::Fast);
    let again = rig.lost().expect("lost");
    let now = Instant::from_millis(105);
    rig.recovery
        .on_sent(again, rig.nxt, now, &mut rig.rate, &mut rig.arena);
    assert_eq!(rig.lost(), None);
    assert_eq!(rig.ack(205, 5, &[]).change, RecoveryChange::Recovered);
    assert_eq!(rig.recovery.phase(), RecoveryPhase::Open);
    assert_eq!(rig.arena.free_count(), rig.arena.capacity());
}

#[test]
fn a_timeout_marks_everything_lost_and_an_original_that_arrives_undoes_it() {
    let mut rig = Rig::with(4, 100);
    let (una, nxt) = (rig.una, rig.nxt);
    let now = Instant::from_millis(400);
    rig.recovery
        .on_timeout(una, nxt, now, &mut rig.rate, &mut |_| {}, &mut rig.arena);
    assert_eq!(rig.recovery.board().lost(), 4 * MSS);
    // Two segments arrive although nothing was retransmitted.
    let out = rig.ack(401, 2, &[]);
    assert_eq!(out.change, RecoveryChange::Spurious);
    assert_eq!(rig.recovery.board().lost(), 0);
}

#[test]
fn a_sacked_range_that_the_peer_discards_is_retransmitted() {
    let mut rig = Rig::with(4, 100);
    rig.ack(102, 0, &[(1, 3)]);
    // The ACK stops where the SACKed range begins, so the peer has discarded that range.
    rig.ack(103, 1, &[]);
    assert_eq!(rig.lost().map(|range| range.start), Some(SeqNum(1 + MSS)));
}

#[test]
fn without_free_nodes_ranges_merge_and_nothing_fails() {
    let mut rig = Rig::with(50, 2);
    assert!(rig.arena.free_count() >= 1, "one is kept for others");
    for hole in 0..20 {
        rig.ack(200 + u64::from(hole), 0, &[(hole * 2 + 1, hole * 2 + 2)]);
    }
    rig.ack(300, 50, &[]);
    assert_eq!(rig.arena.free_count(), rig.arena.capacity());
}

/// With one node, the board cannot distinguish the retransmitted segment from the lost rest of
/// the range.
#[test]
fn without_a_free_node_the_ack_of_a_retransmission_shows_the_rest_as_lost() {
    let mut rig = Rig::with(5, 0);
    let (una, nxt, now) = (rig.una, rig.nxt, Instant::from_millis(400));
    rig.recovery
        .on_timeout(una, nxt, now, &mut rig.rate, &mut |_| {}, &mut rig.arena);
    for acked in 1..5 {
        assert_eq!(rig.lost(), Some(rig.una..rig.nxt));
        rig.repair(300 + 200 * u64::from(acked));
        assert_eq!(rig.recovery.board().lost(), 0);
        // New payload joins the range in flight, and does not hide the loss.
        rig.send(301 + 200 * u64::from(acked));
        rig.ack(420 + 200 * u64::from(acked), acked, &[]);
    }
    rig.ack(1_400, 9, &[]);
    assert_eq!(rig.recovery.board().lost(), 0);
}

/// If SACK blocks were ignored for lack of nodes, it is unknown which originals had arrived
/// before the timeout.
#[test]
fn without_free_nodes_what_a_timeout_repairs_is_not_taken_for_an_original() {
    let mut rig = Rig::with(5, 1);
    rig.ack(104, 0, &[(1, 3)]);
    rig.ack(105, 0, &[(4, 5), (1, 3)]);
    assert_eq!(rig.recovery.board().sacked(), 0, "no node for the reports");
    let (una, nxt, now) = (rig.una, rig.nxt, Instant::from_millis(400));
    rig.recovery
        .on_timeout(una, nxt, now, &mut rig.rate, &mut |_| {}, &mut rig.arena);
    rig.repair(400);
    assert_eq!(rig.ack(500, 3, &[(4, 5)]).change, RecoveryChange::Unchanged);
    assert_eq!(
        rig.lost().map(|range| range.start),
        Some(SeqNum(1 + 3 * MSS))
    );
}

/// With too few nodes, the board still distinguishes runs (merged segments) of a 64th of the
/// flight.
#[test]
fn while_nodes_are_scarce_segments_are_tracked_in_short_runs() {
    let mut rig = Rig::with(2_000, 600);
    let longest = rig.recovery.board().iter(&rig.arena).map(Sent::len).max();
    assert_eq!(rig.recovery.board().in_flight(), 2_000 * MSS);
    assert!(longest <= Some(2_000 / 64 * MSS + MSS), "{longest:?}");
    assert!(rig.arena.free_count() > 20, "{}", rig.arena.free_count());
    // One segment is lost, and only this one is marked for retransmission.
    rig.ack(2_101, 1_000, &[(1_001, 1_500)]);
    rig.ack(2_102, 1_000, &[(1_001, 1_501)]);
    assert_eq!(
        rig.lost(),
        Some(SeqNum(1 + 1_000 * MSS)..SeqNum(1 + 1_001 * MSS))
    );
    assert_eq!(rig.recovery.board().lost(), MSS);
}

#[test]
fn without_sack_three_duplicates_show_a_loss() {
    let mut rig = Rig::with(6, 100);
    let mut changes = alloc::vec::Vec::new();
    for at_ms in 102..105 {
        let input = AckIn {
            now: Instant::from_millis(at_ms),
            ack: rig.una,
            snd_una: rig.una,
            snd_nxt: rig.nxt,
            sack: None,
            is_duplicate: true,
            echoed_at: None,
            path: PathState {
                mss: MSS,
                srtt: Duration::from_millis(100),
                min_rtt: Some(Duration::from_millis(100)),
            },
        };
        let arena = &mut rig.arena;
        let out = rig
            .recovery
            .on_ack(&input, &mut rig.rate, &mut |_| {}, arena);
        changes.push(out.change);
    }
    assert_eq!(changes[2], RecoveryChange::LossFound, "{changes:?}");
    assert_eq!(rig.lost(), Some(SeqNum(1)..SeqNum(1 + MSS)));
}

#[test]
fn sack_blocks_split_off_a_bounded_number_of_ranges() {
    let mut rig = Rig::with(0, 1_000);
    rig.arena = SentArena::new(1_000, 1).with_max_cuts(20);
    // Fifty segments leave together: one range.
    for _ in 0..50 {
        rig.send(1);
    }
    for round in 0..3 {
        for segment in (1..49).step_by(2) {
            rig.ack(102 + round, 0, &[(segment, segment + 1)]);
        }
    }
    let pieces = rig.arena.capacity() - rig.arena.free_count();
    assert!((15..=21).contains(&pieces), "{pieces}");
    assert!(
        rig.nodes_visited < 72 * 30,
        "{} for 72 reports",
        rig.nodes_visited
    );
    rig.ack(110, 50, &[]);
    assert_eq!(rig.arena.free_count(), rig.arena.capacity());
}

#[test]
fn a_sack_block_costs_a_logarithm_of_the_ranges_in_any_order() {
    for (pieces, mean) in [(1_024, 40), (32_768, 60)] {
        let mut rig = Rig::with(0, 4 * pieces);
        rig.arena = SentArena::new(4 * pieces, 1).with_max_cuts(2 * pieces);
        for _ in 0..=4 * pieces / MSS {
            rig.send(1);
        }
        let mut dice = Rng::seeded(u64::from(pieces));
        let reports = 4 * pieces;
        for _ in 0..reports {
            let left = 2 + 2 * dice.below(u64::from(2 * pieces)) as u32;
            let right = left + 1;
            rig.ack_with(102, 1, &[SackBlock { left, right }]);
        }
        let (nodes_visited, reports) = (rig.nodes_visited, u64::from(reports));
        assert!(rig.recovery.board().sacked() > pieces / 2, "{pieces}");
        assert!(
            nodes_visited <= mean * reports,
            "{pieces}: {nodes_visited} for {reports}"
        );
        rig.verify();
    }
}

#[test]
fn lists_tree_and_sums_agree_after_random_events() {
    let mut changes = [0; 5];
    for seed in 0..120 {
        let mut dice = Rng::seeded(seed);
        let mut rig = Rig::with(20, 40);
        rig.arena = core::mem::replace(&mut rig.arena, SentArena::new(0, 0)).with_max_cuts(30);
        for step in 0..400_u64 {
            let at_ms = 110 + step / 2;
            match dice.below(12) {
                0..3 => rig.send(at_ms),
                3..6 => rig.repair(at_ms),
                6 if dice.below(10) == 0 => {
                    let (una, nxt) = (rig.una, rig.nxt);
                    let now = Instant::from_millis(at_ms);
                    let (rate, arena) = (&mut rig.rate, &mut rig.arena);
                    rig.recovery
                        .on_timeout(una, nxt, now, rate, &mut |_| {}, arena);
                    rig.verify();
                }
                _ => {
                    let flight = u64::from(rig.una.room_to(rig.nxt));
                    let ahead = dice.below(flight + 1) * dice.below(2) * dice.below(2);
                    let ack = rig.una.0 + ahead as u32;
                    let blocks: [SackBlock; 2] = core::array::from_fn(|_| {
                        let left = rig.una.0 + dice.below(flight + 1) as u32;
                        let right = left + 1 + dice.below(1_500) as u32;
                        SackBlock { left, right }
                    });
                    let out = rig.ack_with(at_ms, ack, &blocks);
                    changes[out.change as usize] += 1;
                    rig.verify();
                }
            }
        }
        let end = rig.nxt.0;
        rig.ack_with(1_000, end, &[]);
        assert_eq!(rig.arena.free_count(), rig.arena.capacity());
    }
    for change in [
        RecoveryChange::LossFound,
        RecoveryChange::Recovered,
        RecoveryChange::Spurious,
    ] {
        assert!(changes[change as usize] > 10, "{change:?}: {changes:?}");
    }
}

/// Reordering exceeds the window, and the originals arrive before the pacer lets a
/// retransmission leave.
#[test]
fn a_recovery_without_a_retransmission_is_spurious() {
    let mut rig = Rig::with(10, 64);
    assert_eq!(rig.ack(105, 0, &[(1, 4)]).change, RecoveryChange::LossFound);
    assert_eq!(rig.ack(106, 10, &[]).change, RecoveryChange::Spurious);
    assert_eq!(rig.recovery.phase(), RecoveryPhase::Open);
}

/// A peer without SACK may repeat an ACK for ever.
#[test]
fn duplicate_acks_beyond_what_was_sent_count_no_further() {
    let mut rig = Rig::with(4, 100);
    rig.recovery.duplicates = u32::MAX - 2;
    for at_ms in 200..210 {
        let input = AckIn {
            sack: None,
            is_duplicate: true,
            ..rig.input(at_ms, rig.una)
        };
        let (rate, arena) = (&mut rig.rate, &mut rig.arena);
        rig.recovery.on_ack(&input, rate, &mut |_| {}, arena);
        rig.verify();
    }
    assert_eq!(rig.recovery.duplicates, u32::MAX);
    assert_eq!(rig.recovery.board().sacked(), 3 * MSS, "all but the first");
}
