//! Tests of the ring of records.

use super::*;

#[test]
fn the_ring_keeps_the_newest_records_and_counts_the_overwritten() {
    let mut trace = Trace::new(3);
    for count in 0..5 {
        trace.record(Instant::ZERO, 1, TraceEvent::Timeout(count));
    }
    let held: alloc::vec::Vec<_> = trace.iter().map(|record| record.event).collect();
    assert_eq!(
        held,
        [
            TraceEvent::Timeout(2),
            TraceEvent::Timeout(3),
            TraceEvent::Timeout(4)
        ]
    );
    assert_eq!(trace.overwritten(), 2);
}

#[test]
fn a_cleared_ring_starts_empty() {
    let mut trace = Trace::new(3);
    for count in 0..5 {
        trace.record(Instant::ZERO, 1, TraceEvent::Timeout(count));
    }
    trace.clear();
    assert_eq!((trace.iter().count(), trace.overwritten()), (0, 0));
    trace.record(Instant::ZERO, 1, TraceEvent::Timeout(9));
    let held: alloc::vec::Vec<_> = trace.iter().map(|record| record.event).collect();
    assert_eq!(held, [TraceEvent::Timeout(9)]);
}

#[test]
fn a_ring_without_room_records_nothing() {
    let mut trace = Trace::new(0);
    trace.record(Instant::ZERO, 1, TraceEvent::Timeout(1));
    assert!(!trace.is_on());
    assert_eq!(trace.iter().count(), 0);
}

#[test]
fn a_record_stays_small() {
    assert!(
        size_of::<TraceRecord>() <= 32,
        "{}",
        size_of::<TraceRecord>()
    );
}
