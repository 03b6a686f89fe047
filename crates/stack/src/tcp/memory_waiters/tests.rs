//! Tests of offers of memory.

use super::*;
use alloc::vec::Vec;
use fullpipe_pool::{PoolConfig, Stream};

fn pool(blocks: u32) -> Pool {
    Pool::new(&PoolConfig {
        blocks,
        block_size: 100,
        ..PoolConfig::default()
    })
}

/// Removes and returns the connection that has waited longest.
fn take(waiters: &mut MemoryWaiters) -> Option<u32> {
    match waiters.take()? {
        Waiter::Tcp(index) => Some(index),
        Waiter::Udp(_) => panic!("there are no UDP sockets"),
    }
}

/// Offers memory to at most `most` connections, all of which still wait after the offer. Returns
/// these connections.
fn ask(waiters: &mut MemoryWaiters, pool: &Pool, most: u32) -> Vec<u32> {
    if !waiters.can_ask(pool) {
        return Vec::new();
    }
    let count = waiters.count_to_ask(pool, Instant::ZERO).min(most);
    let asked: Vec<u32> = (0..count).filter_map(|_| take(waiters)).collect();
    for index in &asked {
        waiters.file(*index, true, pool);
    }
    waiters.asked(pool);
    asked
}

#[test]
fn the_same_room_is_offered_to_each_connection_once() {
    let mut pool = pool(8);
    let mut hog = Stream::new(Holder::Send);
    hog.append(&mut pool, &[0; 800]);
    let mut waiters = MemoryWaiters::new(8, 0);
    for index in [5, 2, 7] {
        waiters.file(index, true, &pool);
    }
    assert!(ask(&mut waiters, &pool, 8).is_empty(), "there is no room");
    hog.advance(&mut pool, 200);
    assert_eq!(ask(&mut waiters, &pool, 2), [5, 2]);
    assert_eq!(ask(&mut waiters, &pool, 2), [7]);
    assert!(
        ask(&mut waiters, &pool, 2).is_empty(),
        "nothing has changed"
    );
    hog.advance(&mut pool, 100);
    assert_eq!(ask(&mut waiters, &pool, 8), [5, 2, 7]);
    hog.release(&mut pool);
}

#[test]
fn a_connection_that_no_longer_waits_gets_no_offer() {
    let mut pool = pool(4);
    let mut hog = Stream::new(Holder::Send);
    hog.append(&mut pool, &[0; 400]);
    let mut waiters = MemoryWaiters::new(4, 0);
    waiters.file(0, true, &pool);
    waiters.file(1, true, &pool);
    waiters.file(0, false, &pool);
    hog.release(&mut pool);
    assert_eq!(ask(&mut waiters, &pool, 8), [1]);
}

#[test]
fn a_connection_refused_with_less_room_is_offered_more() {
    let mut pool = pool(8);
    let mut hog = Stream::new(Holder::Send);
    let mut waiters = MemoryWaiters::new(4, 0);
    // Connection 0 was refused although some memory is free; that memory is not offered again.
    waiters.file(0, true, &pool);
    assert!(ask(&mut waiters, &pool, 8).is_empty());
    hog.append(&mut pool, &[0; 800]);
    waiters.file(1, true, &pool);
    hog.advance(&mut pool, 100);
    assert_eq!(ask(&mut waiters, &pool, 8), [0, 1]);
    hog.release(&mut pool);
}

/// The connection was refused first because it wanted much, then because no block was free.
#[test]
fn a_connection_refused_again_with_less_room_is_offered_less() {
    let mut pool = pool(8);
    let mut hog = Stream::new(Holder::Send);
    let mut waiters = MemoryWaiters::new(4, 0);
    waiters.file(0, true, &pool);
    hog.append(&mut pool, &[0; 800]);
    waiters.file(0, true, &pool);
    hog.advance(&mut pool, 100);
    assert_eq!(ask(&mut waiters, &pool, 8), [0]);
    hog.release(&mut pool);
}

#[test]
fn a_freed_block_pays_for_some_offers_and_the_others_follow_in_time() {
    const CONNECTIONS: u32 = 10_000;
    let mut pool = pool(8);
    let mut hog = Stream::new(Holder::Send);
    hog.append(&mut pool, &[0; 800]);
    let mut waiters = MemoryWaiters::new(CONNECTIONS, 0);
    for index in 0..CONNECTIONS {
        waiters.file(index, true, &pool);
    }
    hog.advance(&mut pool, 200);
    let first = ask(&mut waiters, &pool, CONNECTIONS);
    // Two blocks became free, for a writer and for a window.
    assert_eq!(first, (0..4 * OFFERS_PER_BLOCK).collect::<Vec<_>>());
    assert!(!waiters.can_ask(&pool), "further offers wait");
    let mut asked = first.len() as u32;
    let mut last = Instant::ZERO;
    while let Some(at) = waiters.next_offer() {
        assert_eq!(at, last + PERIOD);
        last = at;
        for _ in 0..waiters.count_to_ask(&pool, at) {
            let index = take(&mut waiters).expect("all wait");
            assert_eq!(index, asked, "in the order of the refusals");
            waiters.file(index, true, &pool);
            asked += 1;
        }
        waiters.asked(&pool);
    }
    assert_eq!(asked, CONNECTIONS, "each is asked once");
    hog.release(&mut pool);
}

#[cfg(feature = "udp")]
#[test]
fn connections_and_udp_sockets_wait_in_one_queue() {
    let mut pool = pool(8);
    let mut hog = Stream::new(Holder::Send);
    hog.append(&mut pool, &[0; 800]);
    let mut waiters = MemoryWaiters::new(4, 2);
    waiters.file_udp(0, true, &pool);
    waiters.file(0, true, &pool);
    waiters.file_udp(1, true, &pool);
    waiters.file_udp(0, true, &pool);
    assert!(waiters.has_udp(0) && waiters.has_udp(1));
    hog.release(&mut pool);
    assert_eq!(waiters.count_to_ask(&pool, Instant::ZERO), 3);
    assert_eq!(waiters.take(), Some(Waiter::Udp(0)));
    assert_eq!(waiters.take(), Some(Waiter::Tcp(0)));
    assert!(!waiters.has_udp(0));
    waiters.file_udp(1, false, &pool);
    assert_eq!(waiters.take(), None);
}
