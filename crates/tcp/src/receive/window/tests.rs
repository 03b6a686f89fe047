//! Tests of the size of the window, and of the time at which a larger one is advertised.

use fullpipe_pool::PoolConfig;

use super::*;
use crate::SeqNum;

const MSS: u32 = 1_000;

fn room(limits_peer: bool) -> WindowRoom {
    WindowRoom {
        capacity: 1 << 20,
        share: 100,
        mss: MSS,
        mss_most: MSS,
        scale: 0,
        limits_peer,
    }
}

/// Creates a receiver. Its application has not read `unread` bytes, and its peer may still send
/// `left` bytes.
fn receiver(unread: u32, left: u32) -> ReceiveHalf {
    let mut receive = ReceiveHalf::new(SeqNum(u32::MAX - 700), 0);
    receive.rcv_nxt += unread;
    receive.rcv_adv = receive.rcv_nxt + left;
    receive
}

fn pool(blocks: u32, block_size: u32) -> Pool {
    Pool::new(&PoolConfig {
        blocks,
        block_size,
        send_floor: 0,
        receive_floor: 0,
        ..PoolConfig::default()
    })
}

/// Four blocks of 1,024 bytes: the first byte may lie anywhere in its block, so 3,073 bytes
/// are certain.
#[test]
fn a_scarce_window_is_whole_segments_wherever_its_first_byte_lies() {
    for (mss, expected) in [
        (1_000, 3_000),
        (3_073 / 7, 3_073),
        (1_536, 3_072),
        // Only one whole segment is certain to fit, so the part of a second one is kept.
        (1_537, 4_096),
        // With many segments, the part of a further one is insignificant.
        (48, 3_072),
        (47, 4_096),
    ] {
        assert_eq!(whole_segments(4_096, mss, 1_024), expected, "{mss}");
    }
    assert_eq!(
        whole_segments(4_000, 1_000, 1_024),
        3_000,
        "a part of a block"
    );
    assert_eq!(whole_segments(0, 1_000, 1_024), 0);
}

#[test]
fn a_share_of_memory_is_at_least_the_segment_that_any_peer_may_send() {
    for (memory, share, expected) in [
        (100_000, 25, 25_000),
        (100_000, 100, 100_000),
        (1_000, 10, 536),
        (500, 10, 500),
    ] {
        assert_eq!(fair_bytes(memory, share), expected, "{share} % of {memory}");
    }
}

/// RFC 9293 §3.8.6.2.2: a growth of one segment or of half the buffer is worth advertising.
#[test]
fn a_growth_is_advertised_from_a_segment_or_half_the_window_on() {
    for (unread, left, growth, expected) in [
        (0, 50_000, 999, false),
        (0, 50_000, 1_000, true),
        (0, 0, 0, false),
        // Half of 1,200 bytes is less than a segment.
        (500, 101, 599, false),
        (500, 100, 600, true),
    ] {
        let receive = receiver(unread, left);
        assert_eq!(
            receive.is_worth_showing(growth, &room(false)),
            expected,
            "{growth} bytes beside {left} of window and {unread} unread"
        );
    }
}

#[test]
fn an_update_of_its_own_is_due_to_a_peer_that_needs_it() {
    for (name, limits_peer, frame, unread, left, growth, expected) in [
        ("a stopped peer", false, 0, 5_000, 999, 1_000, true),
        ("a segment is left", false, 0, 5_000, 1_000, 1_000, false),
        (
            "a silly growth for a stopped peer",
            true,
            0,
            5_000,
            999,
            999,
            false,
        ),
        ("below a quarter", false, 0, 0, 30_001, 9_999, false),
        ("a quarter", false, 0, 0, 30_000, 10_000, true),
        ("below two segments", false, 0, 2_000, 2_001, 1_999, false),
        ("two segments", false, 0, 2_000, 2_000, 2_000, true),
        ("half the window", false, 0, 0, 1_500, 1_500, true),
        ("below a 64th", true, 0, 0, 126_002, 1_998, false),
        ("a 64th", true, 0, 0, 126_000, 2_000, true),
        ("a segment", true, 0, 0, 10_000, 1_000, true),
        ("below a frame", true, 3_000, 0, 20_000, 2_999, false),
        ("a frame", true, 3_000, 0, 20_000, 3_000, true),
    ] {
        let mut receive = receiver(unread, left);
        receive.frame = frame;
        let due = receive.update_is_due(growth, &room(limits_peer));
        assert_eq!(due, expected, "{name}");
    }
}

/// RFC 7323 §2.4: the field counts in units of 2^scale.
#[test]
fn the_field_is_rounded_up_if_memory_can_back_the_rest_and_down_otherwise() {
    let scaled = |capacity, mss| WindowRoom {
        capacity,
        mss,
        scale: 8,
        ..room(false)
    };
    for (name, capacity, mss, units) in [
        ("half the memory, in full units", 512, 100, 2),
        ("up: 500 bytes", 500, 100, 2),
        ("up: 513 bytes", 513, 100, 3),
        // 2,000 bytes are 7.8 units, and there is no memory for the eighth.
        ("down: all the memory", 10_000, 2_000, 7),
    ] {
        let mut pool = pool(2, 1_000);
        let mut receive = receiver(0, 0);
        let field = receive.window_field(&scaled(capacity, mss), &mut pool);
        assert_eq!(field, units, "{name}");
        assert_eq!(receive.window_left(), u32::from(units) << 8, "{name}");
        assert!(receive.stream.promised_blocks(&pool) * 1_000 >= receive.window_left());
        // The next segment advertises the same window.
        let field = receive.window_field(&scaled(capacity, mss), &mut pool);
        assert_eq!(field, units, "{name}");
        receive.release(&mut pool);
    }
}

/// Nothing can follow a FIN, so the window neither grows nor is rounded up.
#[test]
fn after_the_fin_the_window_does_not_grow() {
    let mut pool = pool(100, 1_000);
    let mut receive = receiver(0, 5_000);
    assert!(receive.note_fin(receive.rcv_nxt));
    assert!(receive.take_fin(&mut pool));
    assert_eq!(receive.window_growth(&room(false), &mut pool), 0);
    assert_eq!(receive.window_field(&room(false), &mut pool), 4_999);
}

#[test]
fn a_first_window_takes_its_blocks_or_the_connection_is_not_opened() {
    for (blocks, capacity, admitted) in [
        (1, 10_000, false),
        (2, 10_000, true),
        // All of a small buffer fits into one block.
        (1, 500, true),
    ] {
        let mut pool = pool(blocks, 1_000);
        let mut receive = receiver(0, 0);
        let room = WindowRoom {
            capacity,
            ..room(false)
        };
        let what = alloc::format!("{capacity} bytes from {blocks} blocks");
        assert_eq!(receive.admit(&room, &mut pool), admitted, "{what}");
        assert_eq!(
            receive.stream.promised_blocks(&pool) > 0,
            admitted,
            "{what}"
        );
    }
    let pool = pool(100, 1_000);
    for (capacity, blocks) in [(1, 2), (1_000, 2), (1_001, 3), (1 << 20, 67)] {
        let room = WindowRoom {
            capacity,
            ..room(false)
        };
        let blocks_of = receiver(0, 0).first_blocks(&room, &pool);
        assert_eq!(blocks_of, blocks, "{capacity} bytes, at most 65,535");
    }
}
