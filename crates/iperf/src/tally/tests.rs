//! Tests of the counts against those of iperf.

use super::*;

fn receive(ids: &[i64]) -> Tally {
    let mut tally = Tally::default();
    for id in ids {
        tally.received(*id, 100, None);
    }
    tally
}

#[test]
fn a_late_datagram_is_out_of_order_and_not_lost() {
    for (name, ids, lost, total, late) in [
        ("all there", &[1, 2, 3][..], 0, 3, 0),
        ("one missing", &[1, 3][..], 1, 3, 0),
        ("two swapped", &[1, 3, 2][..], 0, 3, 1),
        (
            "all but the last of the tail missing",
            &[1, 2, 6][..],
            3,
            6,
            0,
        ),
        ("only the last arrived", &[4][..], 3, 4, 0),
        ("the head missing", &[3, 4][..], 2, 4, 0),
        ("nothing arrived", &[][..], 0, 0, 0),
    ] {
        let tally = receive(ids);
        let loss = tally.whole(Duration::from_secs(1)).loss;
        assert_eq!(
            (loss.lost, loss.total, loss.out_of_order),
            (lost, total, late),
            "{name}"
        );
    }
}

#[test]
fn the_spans_of_a_stream_add_up_to_its_total() {
    let early = receive(&[1, 2, 4]);
    let mut late = early;
    for id in [5, 3, 8] {
        late.received(id, 100, None);
    }
    let half = Duration::from_millis(500);
    let mut sum = early.whole(half);
    sum.add(&late.since(&early, half, half * 2));
    let whole = late.whole(half * 2);
    assert_eq!(
        (sum.bytes, sum.loss.total, sum.loss.out_of_order),
        (whole.bytes, whole.loss.total, whole.loss.out_of_order)
    );
    assert_eq!((sum.start, sum.end), (whole.start, whole.end));
}

#[test]
fn jitter_depends_only_on_changes_of_the_transit_time() {
    let mut tally = Tally::default();
    tally.received(1, 1, Some(-5.0));
    tally.received(2, 1, Some(-5.0));
    assert_eq!(tally.whole(Duration::ZERO).loss.jitter, Duration::ZERO);
    tally.received(3, 1, Some(-4.984));
    assert_eq!(tally.whole(Duration::ZERO).loss.jitter.as_micros(), 1_000);
}
