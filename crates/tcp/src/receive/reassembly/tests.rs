//! Tests of out-of-order payload: adjacent pieces are merged, and pieces without room are refused.

use fullpipe_pool::{Pool, PoolConfig};

use super::*;

const ANY: OutOfOrderLimits = OutOfOrderLimits {
    pieces: 8,
    bytes: 10_000,
};

/// Creates a receiver that has advertised a window of 8,000 bytes after SYN 0.
fn receiver() -> (ReceiveHalf, Pool) {
    let mut pool = Pool::new(&PoolConfig {
        blocks: 100,
        block_size: 100,
        ..PoolConfig::default()
    });
    let mut receive = ReceiveHalf::new(SeqNum(0), 0);
    assert!(receive.stream.reserve(&mut pool, 8_000) >= 8_000);
    receive.rcv_adv = receive.rcv_nxt + 8_000;
    (receive, pool)
}

fn take(
    receive: &mut ReceiveHalf,
    pool: &mut Pool,
    from: u32,
    len: usize,
    room: OutOfOrderLimits,
) -> Arrival {
    receive.on_payload(SeqNum(1 + from), &[7; 2_000][..len], room, pool)
}

#[test]
fn payload_that_covers_one_piece_and_reaches_into_the_next_makes_both_readable() {
    let (mut receive, mut pool) = receiver();
    for from in [100, 300] {
        let arrival = take(&mut receive, &mut pool, from, 100, ANY);
        assert_eq!(arrival, Arrival::OutOfOrder);
    }
    let arrival = take(&mut receive, &mut pool, 0, 350, ANY);
    let all = Arrival::InOrder {
        bytes: 400,
        filled: true,
    };
    assert_eq!(arrival, all);
    assert!(!receive.has_hole());
    assert_eq!(receive.readable(), 400);
}

#[test]
fn out_of_order_payload_is_bounded_in_bytes_and_the_room_comes_back() {
    let (mut receive, mut pool) = receiver();
    let room = OutOfOrderLimits { bytes: 250, ..ANY };
    for (from, expected) in [
        (100, Arrival::OutOfOrder),
        (200, Arrival::OutOfOrder),
        (300, Arrival::Discarded(DiscardReason::OutOfOrderFull)),
    ] {
        let arrival = take(&mut receive, &mut pool, from, 100, room);
        assert_eq!(arrival, expected, "{from}");
    }
    let arrival = take(&mut receive, &mut pool, 0, 100, room);
    assert!(matches!(arrival, Arrival::InOrder { bytes: 300, .. }));
    let arrival = take(&mut receive, &mut pool, 400, 100, room);
    assert_eq!(arrival, Arrival::OutOfOrder);
}

/// RFC 2018 §8: a receiver may refuse out-of-order payload. All segments of a burst behind one loss
/// form a single piece.
#[test]
fn with_all_pieces_in_use_only_the_last_one_grows() {
    let (mut receive, mut pool) = receiver();
    let room = OutOfOrderLimits { pieces: 2, ..ANY };
    let refused = Arrival::Discarded(DiscardReason::TooManyHoles);
    for (from, len, expected) in [
        (200, 100, Arrival::OutOfOrder),
        (600, 100, Arrival::OutOfOrder),
        (1_000, 100, refused.clone()),
        (701, 100, refused.clone()),
        (599, 50, refused.clone()),
        (300, 100, refused.clone()),
        (700, 100, Arrival::OutOfOrder),
        (600, 250, Arrival::OutOfOrder),
    ] {
        let arrival = take(&mut receive, &mut pool, from, len, room);
        assert_eq!(arrival, expected, "{len} bytes from {from}");
    }
    assert_eq!(receive.ranges(), 2);
    receive.verify(&pool);
}

/// RFC 2883 §4: the first block of the next ACK names the bytes that arrived twice, and no
/// others.
#[test]
fn a_duplicate_is_reported_once_and_names_the_bytes_that_came_twice() {
    let (mut receive, mut pool) = receiver();
    let reported = |receive: &mut ReceiveHalf, pool: &Pool| {
        let blocks = receive.sack_blocks(4, pool);
        let offsets: alloc::vec::Vec<_> = blocks
            .iter()
            .map(|block| (block.left - 1, block.right - 1))
            .collect();
        offsets
    };
    take(&mut receive, &mut pool, 0, 300, ANY);
    assert!(!receive.has_sack_to_report());
    for (name, from, len, expected) in [
        ("all of it", 100, 100, &[(100, 200)][..]),
        ("its first part", 250, 100, &[(250, 300)][..]),
        ("nothing", 350, 50, &[][..]),
        ("behind a hole", 500, 100, &[(500, 600)][..]),
        (
            "a part behind a hole",
            550,
            100,
            &[(550, 600), (500, 650)][..],
        ),
        (
            "the front of a piece, by what fills the hole",
            400,
            150,
            &[(500, 550)][..],
        ),
    ] {
        take(&mut receive, &mut pool, from, len, ANY);
        assert_eq!(reported(&mut receive, &pool), expected, "{name}");
    }
    assert!(!receive.has_sack_to_report());
    assert_eq!(receive.readable(), 650);
}

/// RFC 9293 §3.10.7.4: a segment is trimmed to the window. Bytes before the first byte of the
/// stream were never payload.
#[test]
fn a_segment_that_begins_before_the_stream_is_trimmed() {
    let (mut receive, mut pool) = receiver();
    let first = receive.rcv_nxt;
    let old = receive.on_payload(first - 5, &[7; 5], ANY, &mut pool);
    assert_eq!(old, Arrival::Discarded(DiscardReason::Duplicate));
    let overlapping = receive.on_payload(first - 5, &[7; 15], ANY, &mut pool);
    let new = Arrival::InOrder {
        bytes: 10,
        filled: false,
    };
    assert_eq!(overlapping, new);
    assert!(!receive.has_sack_to_report(), "no byte came twice");
}

/// RFC 2018 §4: SACK may be the only way for the peer to learn that its FIN arrived.
#[test]
fn the_fin_is_part_of_the_block_that_it_follows() {
    let (mut receive, mut pool) = receiver();
    take(&mut receive, &mut pool, 100, 100, ANY);
    assert!(receive.note_fin(SeqNum(1 + 200)));
    assert!(
        !receive.note_fin(SeqNum(1 + 150)),
        "it contradicts the first"
    );
    let blocks = receive.sack_blocks(4, &pool);
    let block = blocks.iter().next().expect("one block");
    assert_eq!((block.left, block.right), (101, 202));
    assert!(!receive.take_fin(&mut pool), "a hole comes first");
    take(&mut receive, &mut pool, 0, 100, ANY);
    assert!(receive.take_fin(&mut pool));
    assert!(!receive.take_fin(&mut pool), "once");
    assert_eq!(receive.rcv_nxt, SeqNum(1 + 201));
    assert_eq!(receive.readable(), 200);
}

/// RFC 2018 §4: an ACK reports the range that changed last, then the others in the order of their
/// reports, as many as fit. `recent` has at most four ranges; a search for further ranges takes no
/// more steps than the ACK has blocks.
#[test]
fn an_ack_costs_no_more_steps_than_it_has_sack_blocks() {
    let (mut receive, mut pool) = receiver();
    let limits = OutOfOrderLimits { pieces: 64, ..ANY };
    let report = |receive: &mut ReceiveHalf, pool: &Pool, most| {
        let walked = pool.ranges_walked();
        let blocks = receive.sack_blocks(most, pool);
        let from: alloc::vec::Vec<u32> = blocks.iter().map(|block| block.left - 1).collect();
        (from, pool.ranges_walked() - walked)
    };
    for hole in 1..=20 {
        let arrival = take(&mut receive, &mut pool, hole * 200, 100, limits);
        assert_eq!(arrival, Arrival::OutOfOrder);
        let (_, steps) = report(&mut receive, &pool, 4);
        assert!(steps <= 4, "{steps} steps with {hole} ranges");
    }
    let (from, steps) = report(&mut receive, &pool, 4);
    assert_eq!((from, steps), (alloc::vec![4_000, 3_800, 3_600, 3_400], 0));
    // The newest four ranges become one range, so the search finds older ranges again.
    for filler in [3_500, 3_700, 3_900] {
        take(&mut receive, &mut pool, filler, 100, limits);
    }
    let (from, steps) = report(&mut receive, &pool, 3);
    assert_eq!(from, [3_400, 200, 400]);
    assert!(steps <= 3, "{steps} steps");
    receive.verify(&pool);
}

/// Payload behind a hole was never readable, and a reset connection discards it.
#[test]
fn nothing_is_readable_after_a_release_with_a_hole() {
    let (mut receive, mut pool) = receiver();
    take(&mut receive, &mut pool, 100, 100, ANY);
    receive.forget_beyond_readable(&mut pool);
    receive.release(&mut pool);
    assert_eq!(receive.readable(), 0);
    assert_eq!(pool.free_blocks(), pool.block_count());
}
