//! Out-of-order payload: merged where it meets, refused where there is no room.

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
