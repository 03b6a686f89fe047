//! Tests of the queues.

use super::*;

fn drain(queues: &mut Queues, queue: u32) -> Vec<u32> {
    core::iter::from_fn(|| queues.take(queue)).collect()
}

#[test]
fn the_first_to_join_is_taken_first_and_joining_twice_changes_nothing() {
    let mut queues = Queues::new(1, 8);
    assert!(queues.join(0, 3));
    assert!(queues.join(0, 1));
    assert!(!queues.join(0, 3));
    assert!(queues.join(0, 7));
    assert_eq!(queues.len(0), 3);
    assert_eq!(drain(&mut queues, 0), [3, 1, 7]);
    assert!(queues.is_empty(0));
}

#[test]
fn leaving_keeps_the_order_of_the_others() {
    for leaver in 0..4 {
        let mut queues = Queues::new(1, 4);
        for index in 0..4 {
            queues.join(0, index);
        }
        queues.leave(leaver);
        queues.leave(leaver);
        let expected: Vec<_> = (0..4).filter(|index| *index != leaver).collect();
        assert_eq!(queues.len(0), 3);
        assert_eq!(drain(&mut queues, 0), expected, "without {leaver}");
    }
}

#[test]
fn an_index_is_in_one_queue_at_a_time() {
    let mut queues = Queues::new(2, 4);
    queues.join(0, 2);
    assert!(!queues.join(1, 2), "it moved, it did not come from nowhere");
    assert_eq!(queues.queue_of(2), Some(1));
    assert!(queues.is_empty(0));
    assert_eq!(drain(&mut queues, 1), [2]);
    assert_eq!(queues.queue_of(2), None);
}
