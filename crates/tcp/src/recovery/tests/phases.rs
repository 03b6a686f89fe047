//! Tests of the phases of recovery, one step at a time, with segments of 1,000 bytes. One segment
//! is sent each millisecond from 1 ms on, and a round trip takes 100 ms.

use fullpipe_pool::Duration;

use super::{super::*, MSS, Rig};

impl Rig {
    /// Lets the retransmission timer expire.
    fn timeout(&mut self, at_ms: u64) {
        let (una, nxt, now) = (self.una, self.nxt, Instant::from_millis(at_ms));
        let (rate, arena) = (&mut self.rate, &mut self.arena);
        self.recovery
            .on_timeout(una, nxt, now, rate, &mut |_| {}, arena);
        self.verify();
    }

    /// Takes an ACK of the first `acked` segments that echoes a timestamp.
    fn echo(&mut self, at_ms: u64, acked: u32, echoed_ms: u64) -> AckOut {
        let input = AckIn {
            sack: Some(&[]),
            echoed_at: Some(Instant::from_millis(echoed_ms)),
            ..self.input(at_ms, SeqNum(1 + acked * MSS))
        };
        let (rate, arena) = (&mut self.rate, &mut self.arena);
        let out = self.recovery.on_ack(&input, rate, &mut |_| {}, arena);
        self.una = input.ack;
        self.verify();
        out
    }

    /// Takes a duplicate ACK of a peer without SACK.
    fn duplicate(&mut self, at_ms: u64) -> AckOut {
        let input = AckIn {
            is_duplicate: true,
            ..self.input(at_ms, self.una)
        };
        let (rate, arena) = (&mut self.rate, &mut self.arena);
        self.recovery.on_ack(&input, rate, &mut |_| {}, arena)
    }

    /// Retransmits segment number `index`.
    fn resend(&mut self, at_ms: u64, index: u32) {
        let start = SeqNum(1 + index * MSS);
        let (nxt, now) = (self.nxt, Instant::from_millis(at_ms));
        let (rate, arena) = (&mut self.rate, &mut self.arena);
        self.recovery
            .on_sent(start..start + MSS, nxt, now, rate, arena);
        self.verify();
    }

    fn sequence(&self) -> (RecoveryPhase, u32, u32) {
        let board = self.recovery.board();
        (self.recovery.phase(), board.in_flight(), board.lost())
    }
}

#[test]
fn a_tick_is_a_whole_millisecond() {
    let at = Instant::from_micros(41_999);
    assert_eq!(tick(at), Instant::from_millis(41));
}

/// RFC 5682 §2.1: an ACK that advances leads to new data (2b), a duplicate ACK to ordinary
/// recovery (2a), and any other ACK changes nothing.
#[test]
fn f_rto_takes_the_steps_of_rfc_5682() {
    use Frto::{AwaitsFirstAck, Inactive, SendsNewData};
    for (state, advanced, is_duplicate, expected) in [
        (AwaitsFirstAck, true, false, SendsNewData(2)),
        (AwaitsFirstAck, false, false, AwaitsFirstAck),
        (AwaitsFirstAck, false, true, Inactive),
        (SendsNewData(2), true, false, Inactive),
        (SendsNewData(1), false, false, Inactive),
        (Inactive, true, false, Inactive),
        (Inactive, false, false, Inactive),
    ] {
        let after = state.after_ack(advanced, is_duplicate);
        assert_eq!(after, expected, "{state:?} {advanced} {is_duplicate}");
    }
    let mut rig = Rig::with(1, 10);
    for (state, after, prefers, awaits) in [
        (Inactive, Inactive, false, false),
        (AwaitsFirstAck, AwaitsFirstAck, false, false),
        (SendsNewData(2), SendsNewData(1), true, false),
        (SendsNewData(1), SendsNewData(0), true, true),
        (SendsNewData(0), SendsNewData(0), false, true),
    ] {
        assert_eq!(state.after_new_data(), after);
        rig.recovery.frto = state;
        assert_eq!(rig.recovery.frto_prefers_new_data(), prefers, "{state:?}");
        assert_eq!(rig.recovery.frto_awaits_new_data(), awaits, "{state:?}");
    }
}

/// RFC 5682 §2.1: F-RTO runs only after a timeout, and not if the loss was known before
/// (§3.1).
#[test]
fn f_rto_runs_after_a_timeout_that_began_the_recovery() {
    let mut rig = Rig::with(4, 100);
    rig.timeout(400);
    rig.repair(400);
    assert_eq!(rig.ack(500, 1, &[]).change, RecoveryChange::Unchanged);
    assert!(rig.recovery.frto_prefers_new_data());
    rig.send(501);
    assert!(rig.recovery.frto_awaits_new_data());
    rig.timeout(900);
    assert_eq!(rig.recovery.frto, Frto::Inactive);
    let mut fast = Rig::with(6, 100);
    fast.ack(104, 0, &[(1, 4)]);
    fast.timeout(400);
    assert_eq!(fast.recovery.frto, Frto::Inactive);
    let mut open = Rig::with(6, 100);
    open.timeout(400);
    assert_eq!(open.recovery.frto, Frto::AwaitsFirstAck);
}

/// RFC 5682 §2.1 step 3b: only the ACK of data that was sent before the timeout and not
/// retransmitted shows a spurious timeout.
#[test]
fn only_an_original_from_before_the_timeout_undoes_it() {
    let mut rig = Rig::with(4, 100);
    rig.timeout(400);
    rig.repair(400);
    rig.send(401);
    let out = rig.ack(501, 0, &[(4, 5)]);
    assert_eq!(out.change, RecoveryChange::Unchanged, "new data");
    let mut rig = Rig::with(4, 100);
    rig.timeout(400);
    rig.repair(400);
    rig.timeout(800);
    assert_eq!(rig.recovery.timeouts(), 2);
    let out = rig.ack(901, 1, &[]);
    assert_eq!(out.change, RecoveryChange::Unchanged, "a retransmission");
    assert_eq!(rig.recovery.timeouts(), 0);
    let out = rig.ack(902, 2, &[]);
    assert_eq!(out.change, RecoveryChange::Spurious, "an original");
}

/// RFC 3522 §3.2: an echo of the tick of the retransmission, or of a later tick, is caused
/// by the retransmission.
#[test]
fn an_echo_of_the_retransmission_does_not_undo_it() {
    for (echoed_ms, expected) in [
        (104, RecoveryChange::Spurious),
        (105, RecoveryChange::Unchanged),
        (106, RecoveryChange::Unchanged),
    ] {
        let mut rig = Rig::with(10, 100);
        rig.ack(104, 0, &[(1, 4)]);
        rig.repair(105);
        let out = rig.echo(206, 4, echoed_ms);
        assert_eq!(out.change, expected, "{echoed_ms}");
    }
}

/// RFC 7323 §4.3: the peer echoes the timestamp of the segment at `snd_una`.
#[test]
fn an_old_echo_says_nothing_of_segments_behind_the_first() {
    let mut rig = Rig::with(6, 100);
    rig.ack(105, 0, &[(2, 5)]);
    rig.resend(106, 1);
    let out = rig.echo(207, 5, 50);
    assert_eq!(out.change, RecoveryChange::Unchanged);
}

#[test]
fn duplicates_of_a_peer_without_sack_are_counted_until_an_ack_advances() {
    let mut rig = Rig::with(6, 100);
    assert!(!rig.recovery.has_duplicates());
    rig.duplicate(102);
    assert!(rig.recovery.has_duplicates());
    let advancing = rig.input(103, SeqNum(1 + MSS));
    let (rate, arena) = (&mut rig.rate, &mut rig.arena);
    rig.recovery.on_ack(&advancing, rate, &mut |_| {}, arena);
    assert!(!rig.recovery.has_duplicates());
}

/// RFC 8985 §7.4: only an ACK that reports nothing else is the duplicate ACK of a probe.
#[test]
fn a_probe_ends_with_a_bare_ack_at_its_end() {
    let mut rig = Rig::with(2, 100);
    let end = rig.nxt;
    rig.recovery.on_tail_probe(end, true);
    assert!(rig.recovery.is_probing());
    rig.send(50);
    rig.send(51);
    rig.ack(110, 0, &[(1, 2)]);
    rig.ack(111, 2, &[]);
    assert!(rig.recovery.is_probing(), "it advances");
    rig.ack(112, 2, &[(3, 4)]);
    assert!(rig.recovery.is_probing(), "it reports more");
    rig.ack(113, 2, &[(3, 4)]);
    assert!(!rig.recovery.is_probing(), "bare");
    let mut sacked = Rig::with(2, 100);
    sacked.recovery.on_tail_probe(sacked.nxt, true);
    sacked.ack(110, 1, &[]);
    sacked
        .recovery
        .board
        .mark_all_lost(false, &mut sacked.arena);
    sacked.recovery.board.unmark_lost(&mut sacked.arena);
    sacked.ack(111, 2, &[]);
    assert!(sacked.recovery.is_probing());
    assert!(!sacked.ack(112, 2, &[]).probe_repaired);
    assert!(!sacked.recovery.is_probing());
}

#[test]
fn fast_recovery_ends_a_probe_unless_the_ack_is_bare() {
    let mut rig = Rig::with(10, 100);
    rig.ack(104, 0, &[(1, 4)]);
    rig.recovery.on_tail_probe(rig.nxt, true);
    rig.ack(105, 0, &[(1, 4)]);
    assert!(rig.recovery.is_probing());
    rig.ack(106, 0, &[(1, 5)]);
    assert!(!rig.recovery.is_probing());
}

/// RFC 2018 §4: a block is above the cumulative ACK, and ends at or before SND.NXT.
#[test]
fn blocks_of_what_cannot_be_sacked_are_ignored() {
    for (left, right, delivered) in [
        (1, 1_001, 0),
        (1_001, 4_002, 0),
        (3_001, 2_001, 0),
        (1_001, 1_001, 0),
        (2, 1_001, 999),
        (3_001, 4_001, 1_000),
    ] {
        let mut rig = Rig::with(4, 100);
        let out = rig.ack_with(102, 1, &[SackBlock { left, right }]);
        assert_eq!(out.delivered, delivered, "{left}:{right}");
        rig.verify();
    }
}

/// RFC 2883 §4: a DSACK is the first block, below the ACK or inside the second.
#[test]
fn a_dsack_is_below_the_ack_or_inside_the_second_block() {
    for (blocks, expected) in [
        (&[(0, 1)][..], true),
        (&[(1, 2)], true),
        (&[(1, 3)], false),
        (&[(4, 5)], false),
        (&[(4, 5), (3, 6)], true),
        (&[(3, 6), (3, 6)], true),
        (&[(4, 7), (3, 6)], false),
        (&[(2, 5), (3, 6)], false),
        (&[(4, 5), (6, 7)], false),
        (&[], false),
    ] {
        let mut rig = Rig::with(10, 100);
        let out = rig.ack(103, 2, blocks);
        assert_eq!(out.dsack, expected, "{blocks:?}");
    }
    let mut rig = Rig::with(4, 100);
    let without = rig.input(103, SeqNum(1 + MSS));
    let (rate, arena) = (&mut rig.rate, &mut rig.arena);
    let out = rig.recovery.on_ack(&without, rate, &mut |_| {}, arena);
    assert!(!out.dsack);
}

#[test]
fn a_recovery_without_a_retransmission_is_spurious_only_at_its_end() {
    let mut rig = Rig::with(10, 64);
    rig.ack(105, 0, &[(1, 4)]);
    assert_eq!(rig.ack(106, 5, &[]).change, RecoveryChange::Unchanged);
    assert_eq!(rig.recovery.phase(), RecoveryPhase::Fast);
    assert_eq!(rig.ack(107, 10, &[]).change, RecoveryChange::Spurious);
}

/// RFC 4821 §7.6.2: the loss of a probe alone causes no congestion response.
#[test]
fn the_loss_of_a_path_mtu_probe_alone_is_not_congestion() {
    for (name, probe, hole, change, told) in [
        ("the probe", 0..1, 1, RecoveryChange::MtuProbeLost, 0),
        ("two segments", 0..1, 2, RecoveryChange::LossFound, 1),
        ("another one", 5..6, 1, RecoveryChange::LossFound, 1),
        ("a part of it", 0..2, 1, RecoveryChange::LossFound, 1),
    ] {
        let mut rig = Rig::with(10, 100);
        let seq = |segment: u32| SeqNum(1 + segment * MSS);
        rig.recovery.on_mtu_probe(seq(probe.start)..seq(probe.end));
        let blocks = [SackBlock {
            left: seq(hole).0,
            right: seq(hole + 3).0,
        }];
        let input = AckIn {
            sack: Some(&blocks),
            ..rig.input(120, rig.una)
        };
        let mut calls = 0;
        let (rate, arena) = (&mut rig.rate, &mut rig.arena);
        let out = rig
            .recovery
            .on_ack(&input, rate, &mut |_| calls += 1, arena);
        assert_eq!((out.change, calls), (change, told), "{name}");
        let fast = rig.recovery.phase() == RecoveryPhase::Fast;
        assert_eq!(fast, change == RecoveryChange::LossFound, "{name}");
    }
}

/// RFC 8985 §6.2 step 5, RFC 9937 §6.2: one retransmission leaves at once.
#[test]
fn the_reordering_timer_grants_a_segment_only_if_it_begins_a_recovery() {
    let mut rig = Rig::with(3, 100);
    rig.ack(102, 0, &[(1, 2)]);
    assert_eq!(rig.reordering_deadline(103), RecoveryChange::Unchanged);
    assert_eq!(rig.sequence(), (RecoveryPhase::Open, 2 * MSS, 0));
    assert_eq!(rig.reordering_deadline(126), RecoveryChange::LossFound);
    assert_eq!(rig.sequence(), (RecoveryPhase::Fast, MSS, MSS));
    assert_eq!(rig.recovery.window(), 2 * MSS);
    rig.send(127);
    rig.repair(128);
    // The next round trip SACKs what was sent last, so the third segment is overtaken.
    rig.recovery.window = 9 * MSS;
    rig.recovery.rack.on_dsack(SeqNum(1), rig.nxt);
    let out = rig.ack(228, 0, &[(1, 2), (3, 4)]);
    let before = rig.sequence();
    assert_eq!((out.lost, before.0), (MSS, RecoveryPhase::Fast));
    rig.send(229);
    assert_eq!(rig.reordering_deadline(900), RecoveryChange::Unchanged);
    let lost = rig.sequence().2 - before.2;
    assert_eq!(rig.recovery.window(), 9 * MSS - lost);
}

/// RFC 9937 §6.1: RecoverFS includes the bytes that are lost; §6.2: SndCnt from it.
#[test]
fn prr_counts_what_was_in_flight_before_the_loss_and_what_left_since() {
    let mut rig = Rig::with(10, 100);
    rig.ack(102, 0, &[(1, 2)]);
    rig.ack(103, 0, &[(1, 3)]);
    let out = rig.ack(104, 0, &[(1, 4)]);
    assert_eq!((out.delivered, out.lost), (MSS, MSS));
    assert_eq!(rig.recovery.window(), 6 * MSS);
    rig.recovery.pace(&out, false, 4 * MSS, MSS);
    assert_eq!(rig.recovery.window(), 7 * MSS, "the first retransmission");
    rig.repair(105);
    let out = rig.ack(106, 0, &[(1, 6)]);
    rig.recovery.pace(&out, false, 4 * MSS, MSS);
    // ceil(3,000 · 4,000 / 7,000) = 1,715, of which 1,000 have left.
    assert_eq!(rig.recovery.window(), 5_715);
}

/// The window of RFC 9937 §6.2, and in addition the bytes that PRR granted before and the pacer has
/// not sent yet.
#[test]
fn what_prr_granted_stays_granted_up_to_ssthresh() {
    for (name, before, advanced, lost, expected) in [
        ("safe", 12_000, true, 0, 13_000),
        ("a loss", 13_000, true, 2_000, 11_000),
        ("no advance", 12_000, false, 0, 12_000),
        ("both", 13_000, false, 2_000, 11_000),
        ("ssthresh", 20_000, true, 0, 14_000),
        ("nothing granted", 0, true, 0, 11_000),
        ("all lost", 1_000, false, 2_000, 10_000),
    ] {
        let mut rig = Rig::with(10, 100);
        rig.recovery.prr = Prr::start(20 * MSS);
        rig.recovery.prr.on_sent(5 * MSS);
        rig.recovery.window = before;
        let out = AckOut {
            change: RecoveryChange::Unchanged,
            delivered: 0,
            lost,
            dsack: false,
            probe_repaired: false,
            reordering_deadline: None,
        };
        rig.recovery.pace(&out, advanced, 14 * MSS, MSS);
        assert_eq!(rig.recovery.window(), expected, "{name}");
    }
}

/// RFC 6582 §3.2: a partial ACK shows the next hole; a full one ends the recovery.
#[test]
fn without_sack_a_partial_ack_marks_the_next_segment_lost() {
    let advance = |rig: &mut Rig, at_ms, segments| {
        let input = rig.input(at_ms, SeqNum(1 + segments * MSS));
        let (rate, arena) = (&mut rig.rate, &mut rig.arena);
        let out = rig.recovery.on_ack(&input, rate, &mut |_| {}, arena);
        rig.una = input.ack;
        rig.verify();
        out.change
    };
    let mut rig = Rig::with(6, 100);
    for at_ms in 102..105 {
        rig.duplicate(at_ms);
    }
    rig.repair(105);
    assert_eq!(advance(&mut rig, 206, 1), RecoveryChange::Unchanged);
    assert_eq!(rig.lost().map(|range| range.start), Some(SeqNum(1 + MSS)));
    rig.send(207);
    assert_eq!(advance(&mut rig, 306, 6), RecoveryChange::Recovered);
    assert_eq!(rig.lost(), None);
    let mut open = Rig::with(6, 100);
    advance(&mut open, 102, 1);
    assert_eq!(open.lost(), None, "no recovery, no hole");
    // 2^31 bytes later the end of the last recovery seems to be ahead.
    open.recovery.recover = open.nxt;
    advance(&mut open, 103, 2);
    assert_eq!(open.lost(), None, "no recovery, no hole");
    assert_eq!(open.recovery.board().in_flight(), 4 * MSS);
}

#[test]
fn a_closed_window_marks_what_was_probed_for_retransmission() {
    let mut rig = Rig::with(3, 100);
    rig.recovery.on_window_probe(&mut rig.arena);
    assert_eq!(rig.sequence(), (RecoveryPhase::Open, 0, 3 * MSS));
    let mut rig = Rig::with(6, 100);
    rig.ack(104, 0, &[(1, 4)]);
    rig.repair(105);
    rig.recovery.on_packet_too_big(&mut rig.arena);
    assert_eq!(rig.sequence(), (RecoveryPhase::Fast, 0, 3 * MSS));
    assert_eq!(rig.recovery.board().sacked(), 3 * MSS);
    let out = rig.echo(106, 4, 1);
    assert_eq!(out.change, RecoveryChange::Unchanged, "nothing to undo");
    let later = Duration::from_millis(1);
    assert_eq!(tick(Instant::ZERO + later), Instant::from_millis(1));
}

/// RFC 6298 §3, Karn's algorithm: a segment that was retransmitted gives no sample.
#[test]
fn a_retransmitted_segment_gives_no_round_trip_time() {
    let mut rig = Rig::with(6, 100);
    rig.ack(101, 1, &[]);
    assert_eq!(rig.rate.sample(0).rtt_us, Some(100_000));
    rig.resend(110, 1);
    rig.ack(210, 2, &[]);
    assert_eq!(rig.rate.sample(0).rtt_us, None);
    rig.ack(211, 3, &[]);
    assert_eq!(rig.rate.sample(0).rtt_us, Some(208_000));
}

/// After a timeout only an echo proves that an early ACK is for the original; in fast
/// recovery the arrival time proves it, too. RFC 8985 §6.2 step 2.
#[test]
fn an_early_ack_undoes_fast_recovery_and_not_a_timeout() {
    let mut timeout = Rig::with(4, 100);
    assert!(!timeout.recovery.may_be_spurious());
    timeout.timeout(400);
    assert!(timeout.recovery.may_be_spurious());
    timeout.repair(400);
    let out = timeout.ack(450, 1, &[]);
    assert_eq!(out.change, RecoveryChange::Unchanged);
    let mut fast = Rig::with(10, 100);
    fast.ack(104, 0, &[(1, 4)]);
    fast.repair(105);
    assert_eq!(fast.ack(150, 4, &[]).change, RecoveryChange::Spurious);
    assert!(!fast.recovery.may_be_spurious(), "undone");
}

/// A DSACK arrives a round trip after the retransmission. A DSACK that arrives much later
/// may report a copy that the network made of another segment.
#[test]
fn a_dsack_undoes_a_recovery_until_a_window_after_it_is_acknowledged() {
    for (more, undone) in [(0, true), (10, true), (11, false)] {
        let mut rig = Rig::with(10, 100);
        rig.ack(104, 0, &[(1, 4)]);
        rig.repair(105);
        assert_eq!(rig.ack(210, 10, &[]).change, RecoveryChange::Recovered);
        for sent in 0..more {
            rig.send(220 + sent);
        }
        rig.ack(330, 10 + more as u32, &[]);
        assert_eq!(rig.recovery.may_be_spurious(), undone, "{more}");
        let out = rig.ack_with(
            340,
            rig.una.0,
            &[SackBlock {
                left: 1,
                right: 1 + MSS,
            }],
        );
        let expected = if undone {
            RecoveryChange::Spurious
        } else {
            RecoveryChange::Unchanged
        };
        assert_eq!(out.change, expected, "{more}");
    }
}

/// If no SACK block was ignored, an ACK that covers more than the retransmission shows an
/// original.
#[test]
fn an_ack_beyond_the_retransmission_undoes_a_timeout() {
    for sacked in [&[][..], &[(3, 4)]] {
        let mut rig = Rig::with(4, 100);
        rig.ack(104, 0, sacked);
        rig.timeout(400);
        rig.repair(400);
        let out = rig.ack(501, 2, sacked);
        assert_eq!(out.change, RecoveryChange::Spurious, "{sacked:?}");
    }
}

/// RFC 8985 §6.2 step 4: no reordering window in recovery.
#[test]
fn in_recovery_an_overtaken_segment_is_lost_at_once() {
    let mut rig = Rig::with(10, 100);
    rig.ack(104, 0, &[(1, 4)]);
    rig.repair(105);
    for at_ms in [200, 201, 202] {
        rig.send(at_ms);
    }
    assert_eq!(rig.ack(206, 4, &[]).lost, 6 * MSS);
    assert_eq!(rig.ack(302, 4, &[(11, 12)]).lost, MSS);
}
