//! Tests of the scoreboard alone: the ranges that it keeps, merges and splits.

use std::{vec, vec::Vec};

use fullpipe_pool::Rng;

use super::*;

/// A scoreboard that begins at sequence number 0.
struct Rig {
    board: Scoreboard,
    arena: SentArena,
    end: SeqNum,
}

impl Rig {
    fn with(arena: SentArena) -> Self {
        Self {
            board: Scoreboard::new(),
            arena,
            end: SeqNum(0),
        }
    }

    /// Creates a board with room for everything.
    fn roomy() -> Self {
        Self::with(SentArena::new(10_000, 1))
    }

    fn send(&mut self, bytes: u32, at: Instant) {
        let range = self.end..self.end + bytes;
        self.end = range.end;
        self.board
            .on_sent(range, at, Snapshot::default(), &mut self.arena);
        self.verify();
    }

    /// Sends ranges of these lengths, the first at 1 s and the others a second apart.
    fn send_each(&mut self, lengths: &[u32]) {
        for (second, &bytes) in (1..).zip(lengths) {
            self.send(bytes, Instant::from_secs(second));
        }
    }

    fn sack(&mut self, left: u32, right: u32) -> Vec<(u32, u32)> {
        let mut told = vec![];
        let block = SeqNum(left)..SeqNum(right);
        self.board.on_sack(block, &mut self.arena, &mut |sent| {
            told.push((sent.start.0, sent.end.0));
        });
        self.verify();
        told
    }

    fn again(&mut self, left: u32, right: u32) {
        let range = SeqNum(left)..SeqNum(right);
        let (now, snapshot) = (Instant::from_secs(90), Snapshot::default());
        self.board
            .on_retransmitted(range, now, snapshot, &mut self.arena);
        self.verify();
    }

    /// Returns the first and the last sequence number of each range, and its status.
    fn ranges(&self) -> Vec<(u32, u32, SentStatus)> {
        let ranges = self.board.iter(&self.arena);
        ranges
            .map(|sent| (sent.start.0, sent.end.0, sent.status))
            .collect()
    }

    fn count(&self) -> usize {
        self.ranges().len()
    }

    fn verify(&self) {
        let first = self.board.iter(&self.arena).next();
        let una = first.map_or(self.end, |sent| sent.start);
        self.board.verify(una, self.end, &self.arena);
    }
}

use SentStatus::{InFlight, Lost, Sacked};

#[test]
fn segments_that_leave_together_are_one_range_while_nothing_happened_to_it() {
    let at = Instant::from_secs(1);
    let mut rig = Rig::roomy();
    rig.send(100, at);
    rig.send(100, at);
    assert_eq!(rig.ranges(), [(0, 200, InFlight)]);
    rig.send(100, at + fullpipe_pool::Duration::from_nanos(1));
    assert_eq!(rig.count(), 2);
    let mut lost = Rig::roomy();
    lost.send(100, at);
    lost.board.mark_all_lost(false, &mut lost.arena);
    lost.send(100, at);
    assert_eq!(lost.ranges(), [(0, 100, Lost), (100, 200, InFlight)]);
    let mut again = Rig::roomy();
    again.send(100, at);
    again.board.mark_all_lost(false, &mut again.arena);
    again.again(0, 100);
    again.send(100, Instant::from_secs(90));
    assert_eq!(again.count(), 2);
    assert_eq!(again.board.retransmitted(), 100);
}

/// Six ranges take the connection's own node and five shared ones.
#[test]
fn a_short_run_takes_one_more_segment_while_nodes_are_scarce() {
    let ms = Instant::from_millis;
    // The last of five small ranges left at 5,100 ms, the first range at 0. The next
    // segment is merged if 256 times the age of the last range is less than the age of
    // the first: 20 · 256 = 5,120.
    for (name, head, tail, ranges, now_ms, merges) in [
        ("19 ms", 63_000, 1_000, 6, 5_119, true),
        ("20 ms", 63_000, 1_000, 6, 5_120, false),
        ("21 ms", 63_000, 1_000, 6, 5_121, false),
        ("a 64th", 59_063, 1_000, 6, 5_119, false),
        ("less than a 64th", 59_064, 1_000, 6, 5_119, true),
        ("much longer", 59_064, 5_000, 6, 5_119, false),
        (
            "2 of 7 shared nodes are free",
            63_000,
            1_000,
            7,
            5_119,
            false,
        ),
    ] {
        let mut rig = Rig::with(SentArena::new(ranges, 1));
        rig.send(head, ms(0));
        for at_ms in [1_000, 2_000, 3_000, 4_000] {
            rig.send(1_000, ms(at_ms));
        }
        rig.send(tail, ms(5_100));
        assert_eq!((rig.count(), rig.arena.refused()), (6, 0), "{name}");
        rig.send(1_000, ms(now_ms));
        let found = (rig.count(), rig.arena.refused());
        assert_eq!(found, if merges { (6, 1) } else { (7, 0) }, "{name}");
        let last = rig.board.last(&rig.arena).expect("a range");
        assert_eq!(
            last.sent_at,
            ms(now_ms),
            "{name}: the run counts as sent now"
        );
    }
}

/// Each of 100 connections has its own node in use, and 8 nodes are shared.
#[test]
fn the_first_range_of_a_connection_neither_uses_up_shared_nodes_nor_makes_them_scarce() {
    let ms = Instant::from_millis;
    let mut rig = Rig::with(SentArena::new(8, 100));
    let mut others: Vec<_> = (1..100).map(|_| Scoreboard::new()).collect();
    for board in &mut others {
        let range = SeqNum(0)..SeqNum(10);
        board.on_sent(range, ms(0), Snapshot::default(), &mut rig.arena);
    }
    rig.send(630_000, ms(0));
    for at_ms in 5_000..5_007 {
        rig.send(900, ms(at_ms));
    }
    // When the last range was added, two of eight shared nodes were free. This is a quarter, and
    // not yet scarce.
    assert_eq!((rig.count(), rig.arena.refused()), (1 + 7, 0));
    rig.send(900, ms(5_007));
    assert_eq!((rig.count(), rig.arena.refused()), (8, 1), "now scarce");
    // The own nodes of other connections are not shared, even when they are free.
    for board in &mut others {
        board.clear(&mut rig.arena);
    }
    rig.send(900, ms(5_008));
    assert_eq!((rig.count(), rig.arena.refused()), (8, 2), "still scarce");
    rig.board.clear(&mut rig.arena);
    assert_eq!(rig.arena.free_count(), rig.arena.capacity());
}

/// The arena was created for one connection; two shared nodes are free.
#[test]
#[cfg(feature = "resting")]
fn the_arena_grows_for_the_first_range_of_each_further_connection() {
    let mut arena = SentArena::new(2, 1);
    let mut boards = [(); 5].map(|()| Scoreboard::new());
    for board in &mut boards {
        let range = SeqNum(0)..SeqNum(10);
        board.on_sent(range, Instant::ZERO, Snapshot::default(), &mut arena);
        board.verify(SeqNum(0), SeqNum(10), &arena);
    }
    assert_eq!((arena.capacity(), arena.free_count()), (2 + 5, 2));
    assert_eq!(arena.refused(), 0);
    for board in &mut boards {
        board.clear(&mut arena);
    }
    assert_eq!(arena.free_count(), arena.capacity());
}

#[test]
fn a_run_that_is_not_in_flight_is_not_extended() {
    let ms = Instant::from_millis;
    let mut rig = Rig::with(SentArena::new(6, 1));
    rig.send(63_000, ms(0));
    for at_ms in [1_000, 2_000, 3_000, 4_000, 5_100] {
        rig.send(1_000, ms(at_ms));
    }
    rig.sack(67_000, 68_000);
    rig.send(1_000, ms(5_101));
    assert_eq!(rig.count(), 7);
}

/// A connection may have `each` ranges or one range per 256 bytes, whichever is more.
#[test]
fn small_segments_are_merged_in_a_connection_with_too_many_ranges() {
    for (name, each, lengths, merges) in [
        ("three of three", 3, &[100, 100, 100][..], true),
        ("three of four", 4, &[100, 100, 100], false),
        ("255 bytes", 3, &[100, 100, 255], true),
        ("256 bytes", 3, &[100, 100, 256], false),
        ("257 bytes", 3, &[100, 100, 257], false),
        ("3.9 times 256", 3, &[823, 100, 100], true),
        ("4 times 256", 3, &[824, 100, 100], false),
    ] {
        let mut rig = Rig::with(SentArena::new(1_000, 1).with_max_cuts(each));
        rig.send_each(lengths);
        assert_eq!(rig.arena.refused_each(), 0, "{name}");
        rig.send(10, Instant::from_secs(50));
        let expected = lengths.len() + usize::from(!merges);
        assert_eq!(rig.count(), expected, "{name}");
        assert_eq!(rig.arena.refused_each(), u64::from(merges), "{name}");
    }
    for status in [Lost, Sacked] {
        let mut rig = Rig::with(SentArena::new(1_000, 1).with_max_cuts(3));
        rig.send_each(&[100, 100, 100]);
        match status {
            Lost => rig.board.mark_all_lost(false, &mut rig.arena),
            Sacked | InFlight => _ = rig.sack(200, 300),
        }
        rig.send(10, Instant::from_secs(50));
        assert_eq!(rig.count(), 4, "{status:?}");
    }
}

/// A small segment that was retransmitted is merged with the segment that leaves next,
/// too.
#[test]
fn a_small_retransmission_is_merged_like_a_small_segment() {
    let mut rig = Rig::with(SentArena::new(1_000, 1).with_max_cuts(3));
    rig.send_each(&[100, 100, 100]);
    rig.again(200, 300);
    rig.send(10, Instant::from_secs(91));
    assert_eq!((rig.count(), rig.board.retransmitted()), (3, 110));
}

#[test]
fn a_lost_range_that_must_grow_hides_its_loss_until_an_ack_shows_it() {
    let mut rig = Rig::with(SentArena::new(0, 1));
    rig.send(1_000, Instant::from_secs(1));
    rig.send(1_000, Instant::from_secs(2));
    assert_eq!(
        (rig.ranges(), rig.arena.refused()),
        (vec![(0, 2_000, InFlight)], 1)
    );
    rig.board.on_ack(SeqNum(500), &mut rig.arena, &mut |_| {});
    assert_eq!(rig.ranges(), [(500, 2_000, InFlight)], "it hides no loss");
    rig.board.mark_all_lost(false, &mut rig.arena);
    rig.send(1_000, Instant::from_secs(3));
    assert_eq!(rig.ranges(), [(500, 3_000, InFlight)]);
    rig.board.on_ack(SeqNum(1_000), &mut rig.arena, &mut |_| {});
    assert_eq!(rig.ranges(), [(1_000, 3_000, Lost)]);
}

/// With a limit of 0, one range may be split off for each KiB that is not acknowledged, but at
/// least 1,024.
#[test]
fn reports_split_off_one_range_for_each_kib() {
    for (bytes, pieces) in [(1 << 21, 2_049), (1 << 20, 1_025), (600_000, 1_025)] {
        let mut rig = Rig::with(SentArena::new(8_000, 1).with_max_cuts(0));
        rig.send(bytes, Instant::from_secs(1));
        for block in 0..1_500 {
            let left = 1 + block * 300;
            let mut told = 0;
            let range = SeqNum(left)..SeqNum(left + 1);
            rig.board.on_sack(range, &mut rig.arena, &mut |_| told += 1);
        }
        assert_eq!(rig.count(), pieces, "{bytes}");
        assert!(rig.arena.refused_each() > 0);
        assert!(rig.arena.nodes_visited() > 1_500);
    }
}

#[test]
fn a_report_without_a_part_left_to_split_off_is_ignored_and_counted() {
    let mut rig = Rig::with(SentArena::new(100, 1).with_max_cuts(1));
    rig.send_each(&[1_000, 1_000]);
    assert_eq!(rig.sack(1_100, 1_200), []);
    assert_eq!((rig.count(), rig.arena.refused_each()), (3, 1));
    assert_eq!(rig.sack(0, 1_000), [(0, 1_000)], "no split");
    assert_eq!(rig.arena.refused_each(), 1);
}

#[test]
fn a_block_marks_the_parts_of_ranges_that_it_covers_and_merges_them() {
    let mut rig = Rig::roomy();
    rig.send_each(&[1_000, 1_000, 1_000, 1_000]);
    assert_eq!(rig.sack(1_500, 2_500), [(1_500, 2_000), (2_000, 2_500)]);
    let expected = [
        (0, 1_000, InFlight),
        (1_000, 1_500, InFlight),
        (1_500, 2_500, Sacked),
        (2_500, 3_000, InFlight),
        (3_000, 4_000, InFlight),
    ];
    assert_eq!(rig.ranges(), expected);
    // The block reaches from the middle of the first range, over SACKed ranges, to the
    // middle of another.
    assert_eq!(
        rig.sack(500, 2_600),
        [(500, 1_000), (1_000, 1_500), (2_500, 2_600)]
    );
    let expected = [
        (0, 500, InFlight),
        (500, 2_600, Sacked),
        (2_600, 3_000, InFlight),
        (3_000, 4_000, InFlight),
    ];
    assert_eq!(rig.ranges(), expected);
    assert_eq!(rig.sack(500, 2_600), []);
    assert_eq!(rig.sack(3_000, 3_500), [(3_000, 3_500)]);
    assert_eq!(rig.sack(2_600, 3_000), [(2_600, 3_000)]);
    assert_eq!(
        rig.ranges()[1..],
        [(500, 3_500, Sacked), (3_500, 4_000, InFlight)]
    );
    assert_eq!(rig.board.sacked(), 3_000);
}

/// Random blocks, some of which begin below the first range. One flag for each byte gives the
/// expected result.
#[test]
fn a_block_anywhere_delivers_exactly_the_bytes_that_were_not_sacked() {
    for seed in 0..40 {
        let mut dice = Rng::seeded(seed);
        let mut rig = Rig::roomy();
        rig.send_each(&[50; 40]);
        rig.board.on_ack(SeqNum(120), &mut rig.arena, &mut |_| {});
        let mut sacked = [false; 2_000];
        for _ in 0..60 {
            let left = 60 + dice.below(1_900) as u32;
            let right = (left + 1 + dice.below(130) as u32).min(2_000);
            let told: u32 = rig.sack(left, right).iter().map(|(a, b)| b - a).sum();
            let bytes = &mut sacked[left.max(120) as usize..right.max(120) as usize];
            let news = bytes.iter().filter(|byte| !**byte).count();
            bytes.fill(true);
            assert_eq!(told as usize, news, "seed {seed}: {left}..{right}");
        }
        let all = sacked.iter().filter(|byte| **byte).count();
        assert_eq!(rig.board.sacked() as usize, all);
    }
}

#[test]
fn the_lowest_bytes_are_marked_lost_only_if_they_are_in_flight() {
    for (bytes, expected) in [
        (400, &[(0, 400, Lost), (400, 1_000, InFlight)][..]),
        (1_000, &[(0, 1_000, Lost)]),
        (2_000, &[(0, 1_000, Lost)]),
    ] {
        let mut rig = Rig::roomy();
        rig.send_each(&[1_000, 1_000]);
        rig.board.mark_head_lost(bytes, &mut rig.arena);
        rig.verify();
        let ranges = rig.ranges();
        assert_eq!(ranges[..ranges.len() - 1], *expected, "{bytes}");
    }
    let mut rig = Rig::roomy();
    rig.board.mark_head_lost(1, &mut rig.arena);
    rig.send_each(&[1_000, 1_000]);
    rig.sack(0, 1_000);
    rig.board.mark_head_lost(400, &mut rig.arena);
    assert_eq!(rig.ranges()[0], (0, 1_000, Sacked));
    rig.board.forget_sacked(&mut rig.arena);
    rig.verify();
    assert_eq!(rig.ranges()[0], (0, 1_000, InFlight));
}

#[test]
fn only_bytes_newly_lost_are_returned() {
    let mut rig = Rig::roomy();
    rig.send_each(&[1_000, 2_000, 4_000]);
    for (until, expected) in [(1_000, 1_000), (3_000, 2_000), (3_000, 0)] {
        let lost = rig.board.mark_lost(&mut rig.arena, &mut |sent| {
            sent.end.at_or_before(SeqNum(until))
        });
        assert_eq!(lost, expected);
        rig.verify();
    }
    assert_eq!(
        rig.board.next_lost(&rig.arena),
        Some(SeqNum(0)..SeqNum(1_000))
    );
}

#[test]
fn a_retransmission_covers_the_beginning_of_a_range() {
    let mut rig = Rig::roomy();
    rig.again(0, 100);
    rig.send_each(&[1_000, 1_000, 1_000]);
    rig.board.mark_all_lost(false, &mut rig.arena);
    assert!(rig.board.starts_at(SeqNum(0), &rig.arena));
    assert!(!rig.board.starts_at(SeqNum(1_000), &rig.arena));
    rig.again(1_000, 1_500);
    let expected = [
        (0, 1_000, Lost),
        (1_000, 1_500, InFlight),
        (1_500, 2_000, Lost),
        (2_000, 3_000, Lost),
    ];
    assert_eq!(rig.ranges(), expected);
    rig.again(1_500, 3_000);
    assert_eq!(rig.board.retransmitted(), 2_000);
    assert_eq!(rig.board.lost(), 1_000);
    rig.board.clear(&mut rig.arena);
    assert_eq!(rig.arena.free_count(), rig.arena.capacity());
    assert!(!rig.board.starts_at(SeqNum(0), &rig.arena));
    assert!(!rig.board.head_is_sacked(&rig.arena));
}

/// RFC 8985 §6.2 step 5 waits for the last range that may be lost.
#[test]
fn the_last_suspect_is_found_without_a_search_or_assumed() {
    let at = Instant::from_secs;
    for (until, expected) in [(0, None), (1, Some(1)), (2, Some(9)), (3, Some(3))] {
        let mut rig = Rig::roomy();
        rig.send_each(&[100, 100, 100]);
        let is_suspect = |sent: &Sent| sent.sent_at <= at(until);
        let found = rig.board.last_suspect(at(9), &is_suspect, &rig.arena);
        assert_eq!(found, expected.map(at), "{until} s");
    }
}

#[test]
#[should_panic(expected = "the scoreboard ends elsewhere")]
fn a_board_that_ends_elsewhere_is_a_mistake() {
    let mut rig = Rig::roomy();
    rig.send(100, Instant::from_secs(1));
    let end = SeqNum(101);
    rig.board.verify(SeqNum(0), end, &rig.arena);
}

#[test]
#[should_panic(expected = "ranges InFlight")]
fn a_list_that_ends_elsewhere_is_a_mistake() {
    let mut rig = Rig::roomy();
    rig.send_each(&[100, 100]);
    rig.board.lists[InFlight as usize].last = rig.board.head;
    rig.verify();
}

#[test]
#[should_panic(expected = "the tree and the list of the scoreboard")]
fn a_list_that_disagrees_with_the_tree_is_a_mistake() {
    let mut rig = Rig::roomy();
    rig.send_each(&[100, 100, 100]);
    let (head, tail) = (rig.board.head, rig.board.tail);
    rig.arena.get_mut(tail).previous = head;
    rig.verify();
}

/// A list remembers the range inserted last. Here this is the first range, which an ACK
/// then removes.
#[test]
fn a_range_finds_its_place_after_the_one_inserted_last_is_gone() {
    let mut rig = Rig::roomy();
    rig.send_each(&[1_000; 4]);
    rig.board.mark_all_lost(false, &mut rig.arena);
    rig.board.on_ack(SeqNum(1_000), &mut rig.arena, &mut |_| {});
    rig.again(2_000, 3_000);
    let lost = rig.board.mark_lost(&mut rig.arena, &mut |_| true);
    rig.verify();
    assert_eq!((lost, rig.board.lost()), (1_000, 3_000));
}
