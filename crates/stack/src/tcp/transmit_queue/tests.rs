//! Tests of `transmit_queue.rs`.

use super::*;

fn neighbour(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

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
    for (index, last) in [(0, 1), (1, 2), (2, 1)] {
        queue.wait_for(index, neighbour(last));
        queue.enqueue(index);
    }
    assert_eq!(
        queue.first(),
        None,
        "a connection that waits stays in its list"
    );
    queue.wake_resolved(|settled| settled == neighbour(1));
    assert_eq!(ready(&mut queue), [0, 2]);
    queue.wake_resolved(|settled| settled == neighbour(2));
    assert_eq!(ready(&mut queue), [1]);
}

#[test]
fn connections_of_neighbours_without_a_list_are_woken_by_any() {
    let mut queue = TransmitQueue::new(1, 4);
    queue.wait_for(0, neighbour(1));
    queue.wait_for(1, neighbour(2));
    queue.wait_for(2, neighbour(3));
    queue.wake_resolved(|_| false);
    assert_eq!(ready(&mut queue), [1, 2]);
    queue.wake_resolved(|settled| settled == neighbour(1));
    assert_eq!(ready(&mut queue), [0]);
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
    queue.wait_for(0, neighbour(1));
    queue.remove(0);
    queue.wake_resolved(|_| true);
    assert_eq!(queue.first(), None);
}
