//! Tests of frame sizes and of the device backlog.

use super::*;

#[test]
fn a_frame_is_a_millisecond_of_the_rate_in_whole_segments() {
    for (name, rate, device_max, expected) in [
        ("a plain device", 100_000_000, 0, 1_448),
        ("room for less than two", 100_000_000, 2_895, 1_448),
        ("slow: two segments", 1_000, 64_000, 2_896),
        ("a millisecond", 10_000_000, 64_000, 8_688),
        ("the device's limit", 1_000_000_000, 20_000, 18_824),
        ("no rate yet", u64::MAX, 60_000, 59_368),
    ] {
        assert_eq!(frame_goal(rate, 1_448, device_max), expected, "{name}");
    }
}

#[test]
fn buffers_keep_the_ends_they_had_at_the_write() {
    let mut buffers = WriteBuffers::new();
    assert_eq!(buffers.left(0), u32::MAX);
    buffers.wrote(0, 2_000, 0);
    buffers.wrote(5_000, 2_000, 1_000);
    assert_eq!(
        [0, 1_999, 2_000, 5_500].map(|offset| buffers.left(offset)),
        [2_000, 1, 2_000, 500]
    );
    buffers.wrote(7_000, 3_000, 1_000);
    // The last buffer of the old size ends where the new size begins.
    assert_eq!(
        [6_500, 7_000, 9_999].map(|offset| buffers.left(offset)),
        [500, 3_000, 1]
    );
}

/// The offsets of a long transfer do not fit into 32 bits.
#[test]
fn boundaries_stay_the_same_beyond_four_gibibytes() {
    let mut buffers = WriteBuffers::new();
    for number in 0..20 {
        let start = number * 200_000 * 3_000;
        buffers.wrote(start, 3_000, start);
        assert_eq!(buffers.left(start), 3_000);
        assert_eq!(buffers.left(start + 4_000), 2_000);
    }
}

#[test]
fn a_new_size_without_a_free_run_waits_until_payload_has_left() {
    let mut buffers = WriteBuffers::new();
    for (number, size) in [1_000, 2_000, 3_000, 4_000, 5_000].into_iter().enumerate() {
        buffers.wrote(10_000 * number as u64, size, 0);
    }
    assert_eq!(buffers.left(40_000), 4_000 - 10_000 % 4_000);
    buffers.wrote(50_000, 5_000, 15_000);
    assert_eq!(buffers.left(50_000), 5_000);
    assert_eq!(buffers.left(20_500), 2_500);
    // Everything has left, so the new size counts from the next byte.
    buffers.wrote(60_001, 7_000, 60_001);
    assert_eq!(buffers.left(60_001), 7_000);
}

#[test]
fn the_backlog_bound_is_a_millisecond_or_two_frames_within_the_knob() {
    let mut queue = SmallQueue::new();
    assert!(!queue.is_full());
    for (name, held, rate, goal, cap, full) in [
        ("a millisecond", 9_999, 10_000_000, 2_000, 1 << 20, false),
        ("all of it", 10_000, 10_000_000, 2_000, 1 << 20, true),
        ("two frames", 3_999, 1_000, 2_000, 1 << 20, false),
        ("both of them", 4_000, 1_000, 2_000, 1 << 20, true),
        ("the knob", 3_000, u64::MAX, 60_000, 3_000, true),
        ("no knob", u32::MAX - 1, 1_000, 2_000, 0, false),
        ("nothing is never too much", 0, 0, 0, 1, false),
    ] {
        queue.set(held, rate, goal, cap);
        assert_eq!((queue.held(), queue.is_full()), (held, full), "{name}");
    }
}

#[test]
fn a_run_is_dropped_once_everything_in_it_has_left() {
    let mut buffers = WriteBuffers::new();
    buffers.wrote(0, 1_000, 0);
    buffers.wrote(3_000, 2_000, 2_999);
    assert_eq!([2_500, 3_500].map(|at| buffers.left(at)), [500, 1_500]);
    // The second run begins where everything before it has left.
    buffers.wrote(9_000, 4_000, 3_000);
    assert_eq!(buffers.used, 2);
    assert_eq!(
        [3_500, 8_500, 9_500].map(|at| buffers.left(at)),
        [1_500, 500, 3_500]
    );
    buffers.wrote(13_000, 5_000, 12_999);
    assert_eq!(buffers.used, 2, "not all of the last run has left");
    assert_eq!([12_500, 13_000].map(|at| buffers.left(at)), [500, 5_000]);
    let mut one = WriteBuffers::new();
    one.wrote(0, 1_000, 0);
    one.wrote(2_500, 2_000, 2_499);
    assert_eq!([2_499, 2_500].map(|at| one.left(at)), [1, 2_000]);
    one.wrote(2_500, 3_000, 2_500);
    assert_eq!((one.used, one.left(2_500)), (1, 3_000));
}
