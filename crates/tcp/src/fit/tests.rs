//! Tests of segment sizes for small buffers.

use super::*;

#[test]
fn two_segments_fit_into_a_small_buffer_and_large_buffers_keep_full_segments() {
    assert_eq!(two_fit(1_460, 1_024, 2), 512);
    assert_eq!(two_fit(1_460, 1_024, 0), 1_460);
    assert_eq!(two_fit(1_460, 65_536, 8), 1_460);
    assert_eq!(two_fit(1_460, 10, 8), 64, "headers would outweigh payload");
}

#[test]
fn the_offered_mss_divides_a_small_window() {
    for (window, expected) in [
        (6_664, 1_332),
        (2_920, 1_460),
        (2_000, 1_000),
        (16 * 1_460, 1_460),
        (16 * 1_460 + 1, 1_460),
    ] {
        assert_eq!(whole_fit(1_460, window, 8), expected, "{window}");
    }
    assert_eq!(whole_fit(1_460, 6_664, 1), 1_460, "switched off");
}

#[test]
fn a_small_send_buffer_is_divided_into_pairs_of_segments() {
    for (room, segments, expected) in [
        (6_664, 8, 833),
        (6_664, 2, 1_110),
        (1_024, 8, 256),
        (300, 8, 150),
        (45 * 1_448, 8, 1_416),
        (1 << 20, 8, 1_448),
        (6_664, 0, 1_448),
    ] {
        let size = even_fit(1_448, room, segments);
        assert_eq!(size, expected, "{room} bytes, {segments} segments");
    }
}

#[test]
fn three_segments_in_place_of_two_restore_the_pairs() {
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    let mut pairs = AckPairs::new();
    assert_eq!(pairs.cut(800, 1_700), 850, "a rest is spread");
    assert_eq!(pairs.cut(800, 900), 900);
    assert_eq!(pairs.cut(800, 300), 800, "not enough for one");
    pairs.on_ack(at(80), 20_000, at(100));
    assert_eq!(pairs.cut(800, 1_700), 850, "both left a round trip ago");
    pairs.on_ack(at(60), 20_000, at(100));
    let mut unsent = 1_700;
    let mut sizes = [0; 3];
    for size in &mut sizes {
        *size = pairs.cut(800, unsent);
        unsent -= *size;
        pairs.on_sent();
    }
    assert_eq!(sizes, [533; 3]);
    pairs.on_ack(at(85), 15_000, at(120));
    assert_eq!(pairs.cut(800, 1_700), 850, "too early to tell");
}
