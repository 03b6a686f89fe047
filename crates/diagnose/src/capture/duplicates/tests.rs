//! Tests of the recognition of copied frames, with and without identification.

use super::{Duplicates, Fingerprint};

const fn data(hash: u64, id: u16) -> Fingerprint {
    Fingerprint {
        hash,
        id,
        has_payload: true,
    }
}

#[test]
fn the_same_packet_within_a_millisecond_is_a_copy() {
    let mut seen = Duplicates::new();
    assert!(!seen.is_copy(data(1, 7), 0));
    assert!(seen.is_copy(data(1, 7), 900_000));
    assert!(!seen.is_copy(data(1, 8), 900_000), "another identification");
    assert!(!seen.is_copy(data(1, 7), 5_000_000), "too late");
}

#[test]
fn packets_without_identification_are_copies_only_where_all_are() {
    let mut seen = Duplicates::new();
    let mut now = 0;
    for hash in 0..200 {
        now += 10_000_000;
        assert!(!seen.is_copy(data(hash, 0), now));
    }
    assert!(!seen.is_copy(data(199, 0), now), "one retransmission");
    for hash in 1_000..1_400 {
        now += 10_000_000;
        seen.is_copy(data(hash, 0), now);
        seen.is_copy(data(hash, 0), now + 1_000);
    }
    assert!(seen.is_copy(data(1_399, 0), now + 2_000));
}
