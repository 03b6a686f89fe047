//! Tests of the waiting times of bytes.

use super::*;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[test]
fn the_mean_is_over_bytes_and_a_write_may_leave_in_parts() {
    let mut waits = Waits::default();
    assert_eq!(waits.mean(), Duration::ZERO);
    waits.wrote(100, at(0));
    waits.wrote(200, at(10));
    // All of the first write leaves after a wait of 20 ms, and half of the second write after 10
    // ms.
    waits.left(150, at(20));
    assert_eq!(waits.mean().as_micros(), 16_666);
    // A retransmission changes nothing.
    waits.left(150, at(50));
    waits.left(120, at(60));
    assert_eq!(waits.mean().as_micros(), 16_666);
    // The second half of the second write waited 50 ms: (100 × 20 + 50 × 10 + 50 × 50) / 200.
    waits.left(200, at(60));
    assert_eq!(waits.mean(), Duration::from_millis(25));
}
