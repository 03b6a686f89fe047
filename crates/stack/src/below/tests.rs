//! Whose bytes have left.

use super::*;

fn key(index: u32) -> Key {
    Key {
        index,
        generation: 0,
    }
}

/// Owner and length of each frame that is sent by `sent`.
fn sent(below: &mut Below, sent: u64) -> Vec<(u32, u32)> {
    core::iter::from_fn(|| below.next_sent(sent))
        .map(|frame| (frame.owner.index, frame.len))
        .collect()
}

#[test]
fn a_frame_has_left_when_all_of_it_and_all_before_it_has() {
    let mut below = Below::new(true);
    below.push(100, key(1));
    below.pass(60);
    below.push(200, key(2));
    assert_eq!(sent(&mut below, 99), []);
    assert_eq!(sent(&mut below, 100), [(1, 100)]);
    assert_eq!(sent(&mut below, 359), []);
    assert_eq!(sent(&mut below, 360), [(2, 200)]);
}

#[test]
fn a_full_ring_counts_its_oldest_frame_as_sent() {
    let mut below = Below::new(true);
    for number in 0..FRAMES as u32 {
        assert!(below.push(10, key(number)).is_none());
    }
    let forgotten = below.push(10, key(999)).expect("the oldest");
    assert_eq!(forgotten.owner.index, 0);
    assert_eq!(sent(&mut below, u64::MAX).len(), FRAMES);
    assert_eq!(sent(&mut below, u64::MAX), []);
}

#[test]
fn nobody_waits_once_everything_has_left() {
    let mut below = Below::new(true);
    below.push(10, key(0));
    below.note_full();
    assert!(below.is_waited_for());
    sent(&mut below, 10);
    assert!(!below.is_waited_for());
}
