//! Tests of ACKs that are due at once, and of delayed ACKs.

use super::*;

#[test]
fn an_ack_waits_only_while_the_peer_has_no_need_of_it() {
    use AckTiming::{Delayed, Now};
    for (name, quick, arrivals, window_left, expected) in [
        ("one segment", 0, &[1_000][..], 50_000, Delayed),
        ("two segments", 0, &[1_000, 1_000][..], 50_000, Now),
        ("many small ones", 0, &[400; 2][..], 50_000, Delayed),
        (
            "small ones that make more than one",
            0,
            &[400; 3][..],
            50_000,
            Now,
        ),
        ("the window is used up", 0, &[10][..], 999, Now),
        ("a segment of window is left", 0, &[10][..], 1_000, Delayed),
        ("a young connection", 1, &[10][..], 50_000, Now),
    ] {
        let mut policy = AckPolicy::new(quick);
        let mut last = Delayed;
        for &bytes in arrivals {
            last = policy.on_payload(bytes, 1_000, 2, window_left, 60_000);
        }
        assert_eq!(last, expected, "{name}");
    }
}

#[test]
fn half_a_small_window_makes_an_ack_due() {
    let mut policy = AckPolicy::new(0);
    assert_eq!(
        policy.on_payload(700, 1_000, 2, 1_200, 1_400),
        AckTiming::Now
    );
}
