//! Tests of `device_backlog.rs`.

use super::*;

fn key(index: u32) -> Key {
    Key {
        index,
        generation: 0,
    }
}

/// Owner and length of each frame that is complete after `completed` bytes.
fn taken(backlog: &mut DeviceBacklog, completed: u64) -> Vec<(u32, u32)> {
    core::iter::from_fn(|| backlog.take_completed(completed))
        .map(|frame| (frame.owner.index, frame.len))
        .collect()
}

#[test]
fn a_frame_is_complete_when_all_of_it_and_of_those_before_it_is() {
    let mut backlog = DeviceBacklog::new(true);
    backlog.add(100, key(1));
    backlog.add_bare(60);
    backlog.add(200, key(2));
    assert_eq!(taken(&mut backlog, 99), []);
    assert_eq!(taken(&mut backlog, 100), [(1, 100)]);
    assert_eq!(taken(&mut backlog, 359), []);
    assert_eq!(taken(&mut backlog, 360), [(2, 200)]);
}

#[test]
fn a_full_ring_counts_its_oldest_frame_as_complete() {
    let mut backlog = DeviceBacklog::new(true);
    for number in 0..FRAMES as u32 {
        assert!(backlog.add(10, key(number)).is_none());
    }
    let forgotten = backlog.add(10, key(999)).expect("the oldest");
    assert_eq!(forgotten.owner.index, 0);
    assert_eq!(taken(&mut backlog, u64::MAX).len(), FRAMES);
    assert_eq!(taken(&mut backlog, u64::MAX), []);
}

#[test]
fn an_empty_backlog_limits_no_connection() {
    let mut backlog = DeviceBacklog::new(true);
    backlog.add(10, key(0));
    backlog.note_limited();
    assert!(backlog.is_awaited());
    taken(&mut backlog, 10);
    assert!(!backlog.is_awaited());
}
