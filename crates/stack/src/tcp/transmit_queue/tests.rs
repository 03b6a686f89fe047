//! Tests of `transmit_queue.rs`.

use alloc::vec::Vec;

use super::*;

const FIRST: InterfaceId = InterfaceId::FIRST;

fn ready(queue: &mut TransmitQueue) -> Vec<u32> {
    core::iter::from_fn(|| {
        let index = queue.first(FIRST)?;
        queue.requeue(FIRST, index, false);
        Some(index)
    })
    .collect()
}

#[test]
fn a_resolved_neighbour_wakes_its_own_connections_only() {
    let mut queue = TransmitQueue::new(4, 8);
    for (index, entry) in [(0, 1), (1, 2), (2, 1)] {
        queue.wait_for(FIRST, index, entry);
        queue.enqueue(FIRST, index);
    }
    assert_eq!(
        queue.first(FIRST),
        None,
        "a connection that waits stays in its list"
    );
    queue.wake(FIRST, 1);
    assert_eq!(ready(&mut queue), [0, 2]);
    queue.wake(FIRST, 2);
    assert_eq!(ready(&mut queue), [1]);
}

#[test]
fn connections_without_room_in_the_cache_are_woken_in_turn() {
    let mut queue = TransmitQueue::new(1, 4);
    queue.wait_for(FIRST, 0, 0);
    for index in [2, 3, 1] {
        queue.wait_for_room(FIRST, index);
    }
    queue.wake_for_room(FIRST, 2);
    assert_eq!(ready(&mut queue), [2, 3]);
    assert!(queue.awaits_room(FIRST));
    queue.wake_for_room(FIRST, 9);
    assert_eq!(ready(&mut queue), [1]);
    assert!(!queue.awaits_room(FIRST));
}

#[test]
fn connections_are_polled_in_turn() {
    let mut queue = TransmitQueue::new(0, 4);
    queue.enqueue(FIRST, 3);
    queue.enqueue(FIRST, 1);
    queue.enqueue(FIRST, 3);
    queue.requeue(FIRST, 3, true);
    assert_eq!(ready(&mut queue), [1, 3]);
}

#[test]
fn a_connection_that_ended_is_not_woken() {
    let mut queue = TransmitQueue::new(2, 4);
    queue.wait_for(FIRST, 0, 1);
    queue.remove(0);
    queue.wake(FIRST, 1);
    assert_eq!(queue.first(FIRST), None);
}

#[test]
fn an_interface_does_not_see_the_connections_of_another() {
    let mut queue = TransmitQueue::new(2, 4);
    queue.add_interface();
    let second = InterfaceId(1);
    queue.enqueue(second, 0);
    queue.wait_for(second, 1, 1);
    queue.wait_for(FIRST, 2, 1);
    assert_eq!(queue.first(FIRST), None);
    queue.wake(FIRST, 1);
    assert_eq!(ready(&mut queue), [2]);
    assert!(queue.has_one(second));
    queue.wake(second, 1);
    assert_eq!(queue.first(second), Some(0));
    assert_eq!(queue.next_after(0), Some(1));
}
