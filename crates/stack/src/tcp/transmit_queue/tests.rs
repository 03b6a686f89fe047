//! Tests of `transmit_queue.rs`.

use alloc::vec::Vec;

use super::*;

fn ready(queue: &mut TransmitQueue) -> Vec<u32> {
    core::iter::from_fn(|| {
        let index = queue.first()?;
        queue.requeue(index, false);
        Some(index)
    })
    .collect()
}

#[test]
fn a_resolved_neighbour_wakes_its_own_connections_only() {
    let mut queue = TransmitQueue::new(4, 8);
    for (index, entry) in [(0, 1), (1, 2), (2, 1)] {
        queue.wait_for(index, entry);
        queue.enqueue(index);
    }
    assert_eq!(
        queue.first(),
        None,
        "a connection that waits stays in its list"
    );
    queue.wake(1);
    assert_eq!(ready(&mut queue), [0, 2]);
    queue.wake(2);
    assert_eq!(ready(&mut queue), [1]);
}

#[test]
fn connections_without_room_in_the_cache_are_woken_in_turn() {
    let mut queue = TransmitQueue::new(1, 4);
    queue.wait_for(0, 0);
    for index in [2, 3, 1] {
        queue.wait_for_room(index);
    }
    queue.wake_for_room(2);
    assert_eq!(ready(&mut queue), [2, 3]);
    assert!(queue.awaits_room());
    queue.wake_for_room(9);
    assert_eq!(ready(&mut queue), [1]);
    assert!(!queue.awaits_room());
}

#[test]
fn connections_are_polled_in_turn() {
    let mut queue = TransmitQueue::new(0, 4);
    queue.enqueue(3);
    queue.enqueue(1);
    queue.enqueue(3);
    queue.requeue(3, true);
    assert_eq!(ready(&mut queue), [1, 3]);
}

#[test]
fn a_connection_that_ended_is_not_woken() {
    let mut queue = TransmitQueue::new(2, 4);
    queue.wait_for(0, 1);
    queue.remove(0);
    queue.wake(1);
    assert_eq!(queue.first(), None);
}
