//! Tests of `reassembly`.

use alloc::{vec, vec::Vec};

use fullpipe_pool::{PoolConfig, Rng};
use fullpipe_wire::Ipv4Header;

use super::*;

const START: Instant = Instant::from_secs(100);

/// A reassembler and the arguments of its calls.
struct Rig {
    reassembler: Reassembler,
    pool: Pool,
    counters: Counters,
    now: Instant,
}

impl Rig {
    fn new(change: impl FnOnce(&mut IpConfig)) -> Self {
        let mut config = IpConfig::default();
        change(&mut config);
        let pool = PoolConfig {
            blocks: 64,
            block_size: 256,
            ..PoolConfig::default()
        };
        Self {
            reassembler: Reassembler::new(&config, &Secret([5; 16])),
            pool: Pool::new(&pool),
            counters: Counters::default(),
            now: START,
        }
    }

    /// Feeds the bytes `range` of datagram `identification`, which has `total` bytes; byte k of the
    /// datagram is k mod 251. Returns the datagram if it is then complete.
    fn feed(&mut self, identification: u16, total: usize, range: Range<usize>) -> Option<Vec<u8>> {
        let bytes: Vec<u8> = range.clone().map(|k| (k % 251) as u8).collect();
        self.feed_bytes(
            identification,
            range.start as u16,
            range.end < total,
            &bytes,
        )
    }

    fn feed_bytes(
        &mut self,
        identification: u16,
        offset: u16,
        more: bool,
        bytes: &[u8],
    ) -> Option<Vec<u8>> {
        let header = Ipv4Header {
            identification,
            fragment_offset: offset,
            more_fragments: more,
            ..header(bytes.len())
        };
        let Self {
            reassembler,
            pool,
            counters,
            now,
        } = self;
        let datagram = reassembler.on_fragment(&header.into(), bytes, pool, *now, counters)?;
        let IpHeader::V4(header) = datagram.header else {
            panic!("the version changed");
        };
        assert_eq!(header.payload_len(), datagram.payload.len());
        assert!(!header.is_fragment());
        Some(datagram.payload.to_vec())
    }

    /// Checks that no memory is held or promised, and no block or range is lost.
    fn assert_empty(&self) {
        assert_eq!(self.pool.free_blocks(), self.pool.block_count());
        assert_eq!(self.pool.promised(), 0);
        assert_eq!(self.pool.free_ranges(), self.pool.range_count());
        self.pool.verify();
    }
}

fn header(len: usize) -> Ipv4Header {
    Ipv4Header::new(
        [10, 0, 0, 1].into(),
        [10, 0, 0, 2].into(),
        Protocol::Udp,
        len,
    )
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|k| (k % 251) as u8).collect()
}

#[test]
fn fragments_in_any_order_make_the_datagram() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
        let mut rig = Rig::new(|_| ());
        let pieces = [0..1_480, 1_480..2_960, 2_960..4_000];
        assert_eq!(rig.feed(1, 4_000, pieces[order[0]].clone()), None);
        assert_eq!(rig.feed(1, 4_000, pieces[order[1]].clone()), None);
        assert_eq!(
            rig.feed(1, 4_000, pieces[order[2]].clone()),
            Some(pattern(4_000))
        );
        assert_eq!(
            (
                rig.counters.mib.ip_reasm_oks,
                rig.counters.mib.ip_reasm_fails
            ),
            (1, 0)
        );
        rig.assert_empty();
    }
}

#[test]
fn a_fragment_that_arrives_twice_is_ignored() {
    let mut rig = Rig::new(|_| ());
    assert_eq!(rig.feed(1, 2_000, 0..1_000), None);
    assert_eq!(rig.feed(1, 2_000, 0..1_000), None);
    assert_eq!(rig.feed(1, 2_000, 1_000..2_000), Some(pattern(2_000)));
    assert_eq!(rig.counters.mib.ip_reasm_fails, 0);
    rig.assert_empty();
}

#[test]
fn a_fragment_that_differs_ends_the_datagram_and_its_other_fragments() {
    let attacks: [(&str, u16, bool, Vec<u8>, Discard); 6] = [
        (
            "the same place, other bytes",
            0,
            true,
            vec![9; 800],
            Discard::FragmentOverlap,
        ),
        (
            "part of it again",
            400,
            true,
            vec![9; 800],
            Discard::FragmentOverlap,
        ),
        (
            "the same bytes and more",
            0,
            true,
            pattern(808),
            Discard::FragmentOverlap,
        ),
        (
            "an end before what is there",
            8,
            false,
            vec![9; 100],
            Discard::FragmentBadEnd,
        ),
        (
            "a second end",
            1_600,
            false,
            vec![9; 90],
            Discard::FragmentBadEnd,
        ),
        (
            "data behind the end",
            4_000,
            true,
            vec![9; 80],
            Discard::FragmentBadEnd,
        ),
    ];
    for (name, offset, more, bytes, reason) in attacks {
        let mut rig = Rig::new(|_| ());
        assert_eq!(rig.feed(1, 2_400, 0..800), None);
        assert_eq!(rig.feed(1, 2_400, 1_600..2_400), None);
        assert_eq!(rig.feed_bytes(1, offset, more, &bytes), None, "{name}");
        assert_eq!(rig.counters.discarded(reason), 1, "{name}");
        rig.assert_empty();
        assert_eq!(rig.feed(1, 2_400, 800..1_600), None, "{name}");
        assert_eq!(
            rig.counters.discarded(Discard::FragmentOfGivenUp),
            1,
            "{name}"
        );
        assert_eq!(rig.counters.mib.ip_reasm_oks, 0);
    }
}

#[test]
fn an_end_below_what_has_arrived_ends_the_datagram() {
    let mut rig = Rig::new(|_| ());
    assert_eq!(rig.feed(1, 3_000, 0..800), None);
    assert_eq!(rig.feed(1, 3_000, 1_600..2_400), None);
    assert_eq!(rig.feed_bytes(1, 800, false, &[9; 100]), None);
    assert_eq!(rig.counters.discarded(Discard::FragmentBadEnd), 1);
    rig.assert_empty();
}

#[test]
fn impossible_fragments_are_discarded_by_themselves() {
    for (name, offset, more, len, reason) in [
        ("nothing", 0, true, 0, Discard::FragmentMisaligned),
        (
            "an odd length with more to come",
            0,
            true,
            9,
            Discard::FragmentMisaligned,
        ),
        (
            "beyond the largest datagram",
            65_512,
            false,
            8,
            Discard::FragmentTooLong,
        ),
    ] {
        let mut rig = Rig::new(|_| ());
        assert_eq!(
            rig.feed_bytes(1, offset, more, &vec![1; len]),
            None,
            "{name}"
        );
        assert_eq!(rig.counters.discarded(reason), 1, "{name}");
        rig.assert_empty();
    }
}

#[test]
fn an_incomplete_datagram_times_out() {
    let mut rig = Rig::new(|config| config.reassembly_timeout = Duration::from_secs(3));
    assert_eq!(rig.reassembler.next_timeout(), None);
    rig.feed(1, 2_000, 0..1_000);
    rig.now += Duration::from_secs(1);
    rig.feed(2, 2_000, 0..1_000);
    assert_eq!(
        rig.reassembler.next_timeout(),
        Some(START + Duration::from_secs(3))
    );
    let Rig {
        reassembler,
        pool,
        counters,
        ..
    } = &mut rig;
    reassembler.on_timeout(pool, START + Duration::from_secs(3), counters);
    assert_eq!(counters.mib.ip_reasm_timeout, 1);
    assert_eq!(
        reassembler.next_timeout(),
        Some(START + Duration::from_secs(4))
    );
    reassembler.on_timeout(pool, START + Duration::from_secs(4), counters);
    assert_eq!(reassembler.next_timeout(), None);
    rig.assert_empty();
}

#[test]
fn a_flood_of_first_fragments_stays_in_its_bounds_and_complete_datagrams_pass() {
    let mut rig = Rig::new(|config| {
        config.reassembly_datagrams = 4;
        config.reassembly_bytes = 8_192;
        config.reassembly_largest = 8_192;
    });
    for round in 0..1_000u16 {
        // Eight bytes at a high offset reserve the most memory for the least effort.
        rig.feed_bytes(round, 4_000, true, &[1; 8]);
        assert!(u64::from(rig.pool.held(Holder::Fragment)) * 256 <= 8_192);
        if round % 100 == 0 {
            assert_eq!(rig.feed(50_000 + round, 2_000, 0..1_000), None);
            assert_eq!(
                rig.feed(50_000 + round, 2_000, 1_000..2_000),
                Some(pattern(2_000))
            );
        }
        rig.pool.verify();
    }
    assert!(rig.counters.discarded(Discard::FragmentEvicted) >= 990);
    rig.reassembler.release(&mut rig.pool);
    rig.assert_empty();
}

#[test]
fn without_memory_a_datagram_is_dropped_and_nothing_is_kept() {
    let mut rig = Rig::new(|_| ());
    let mut hog = Stream::new(Holder::Send);
    hog.append(&mut rig.pool, &vec![0; 62 * 256]);
    assert_eq!(rig.feed(1, 2_000, 0..1_000), None);
    assert_eq!(rig.counters.discarded(Discard::FragmentNoMemory), 1);
    assert_eq!(rig.pool.held(Holder::Fragment), 0);
    hog.release(&mut rig.pool);
    rig.assert_empty();
}

#[test]
fn with_no_slots_every_fragment_is_refused() {
    let mut rig = Rig::new(|config| config.reassembly_datagrams = 0);
    assert_eq!(rig.feed(1, 2_000, 0..1_000), None);
    assert_eq!(rig.counters.mib.ip_reasm_fails, 1);
    rig.assert_empty();
}

#[test]
fn a_congestion_mark_on_any_fragment_marks_the_datagram() {
    use Ecn::*;
    for (first, second, expected) in [
        (Ect0, Ce, Some(Ce)),
        (Ce, Ect1, Some(Ce)),
        (Ect0, Ect0, Some(Ect0)),
        (NotEct, NotEct, Some(NotEct)),
        (NotEct, Ce, None),
        (Ce, NotEct, None),
    ] {
        let mut rig = Rig::new(|_| ());
        let Rig {
            reassembler,
            pool,
            counters,
            now,
        } = &mut rig;
        let part = |ecn, fragment_offset, more_fragments| Ipv4Header {
            ecn,
            fragment_offset,
            more_fragments,
            ..header(8)
        };
        reassembler.on_fragment(&part(first, 0, true).into(), &[1; 8], pool, *now, counters);
        let whole = reassembler.on_fragment(
            &part(second, 8, false).into(),
            &[2; 8],
            pool,
            *now,
            counters,
        );
        assert_eq!(
            whole.map(|whole| whole.header.ecn()),
            expected,
            "{first:?} {second:?}"
        );
    }
}

#[test]
fn random_fragments_never_panic_and_never_leak() {
    let mut rng = Rng::seeded(11);
    for _ in 0..20 {
        let mut rig = Rig::new(|config| {
            config.reassembly_datagrams = 3;
            config.reassembly_bytes = 10_000;
            config.reassembly_largest = 9_000;
        });
        for _ in 0..2_000 {
            let bytes = vec![rng.below(2) as u8; rng.below(400) as usize];
            let offset = (rng.below(1_200) * 8) as u16;
            rig.feed_bytes(rng.below(6) as u16, offset, rng.chance(0.9), &bytes);
            rig.now += Duration::from_millis(rng.below(200));
            let Rig {
                reassembler,
                pool,
                counters,
                now,
            } = &mut rig;
            reassembler.on_timeout(pool, *now, counters);
        }
        rig.pool.verify();
        rig.reassembler.release(&mut rig.pool);
        rig.assert_empty();
    }
}

#[test]
fn a_sender_evicts_its_own_oldest_datagram_and_no_other() {
    let mut rig = Rig::new(|ip| {
        ip.reassembly_datagrams = 4;
        ip.reassembly_per_source = 2;
    });
    let mut from = |src: [u8; 4], identification: u16, offset: u16, more: bool| {
        let header = Ipv4Header {
            src: src.into(),
            identification,
            fragment_offset: offset,
            more_fragments: more,
            ..header(8)
        };
        let Rig {
            reassembler,
            pool,
            counters,
            now,
        } = &mut rig;
        let complete = reassembler.on_fragment(&header.into(), &[0; 8], pool, *now, counters);
        complete.is_some()
    };
    let (victim, flooder) = ([10, 0, 0, 3], [10, 0, 0, 4]);
    assert!(!from(victim, 1, 0, true));
    for identification in 0..100 {
        assert!(!from(flooder, identification, 0, true));
    }
    assert!(from(victim, 1, 8, false), "it was not pushed out");
    assert!(from(flooder, 99, 8, false), "nor was the newest");
    assert_eq!(rig.counters.discarded(Discard::FragmentEvicted), 98);
    rig.reassembler.release(&mut rig.pool);
    rig.assert_empty();
}

#[test]
fn a_datagram_in_too_many_ranges_is_dropped() {
    let mut rig = Rig::new(|ip| ip.reassembly_pieces = 4);
    for piece in 0..5_u16 {
        rig.feed_bytes(1, piece * 16, true, &[0; 8]);
    }
    assert_eq!(rig.counters.discarded(Discard::FragmentTooManyPieces), 1);
    rig.feed_bytes(1, 16, true, &[0; 8]);
    assert_eq!(rig.counters.discarded(Discard::FragmentOfGivenUp), 1);
    rig.reassembler.release(&mut rig.pool);
    rig.assert_empty();
}
