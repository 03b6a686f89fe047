//! Tests of the spacing of writes. The tests compute the times of writes instead of waiting.

use super::*;

const GAP: Duration = Duration::from_micros(100);

/// Counts the writes of a sender that may write from `from` until `until`.
fn writes(pacer: &mut WritePacer, from: Instant, until: Instant) -> u32 {
    let mut now = from;
    for count in 0.. {
        now = now.max(pacer.due.max(pacer.earliest));
        if now >= until {
            return count;
        }
        pacer.advance(GAP, now);
    }
    unreachable!("the loop counts until the time is over")
}

#[test]
fn a_punctual_sender_sends_at_the_requested_rate() {
    let start = Instant::now();
    let mut pacer = WritePacer::new(Some(Rate::Packets(10_000)), start);
    assert_eq!(
        writes(&mut pacer, start, start + Duration::from_millis(10)),
        100
    );
}

#[test]
fn a_late_sender_sends_a_short_burst_and_then_catches_up() {
    let start = Instant::now();
    let mut pacer = WritePacer::new(Some(Rate::Packets(10_000)), start);
    let late_until = start + Duration::from_millis(20);
    let burst = writes(
        &mut pacer,
        late_until,
        late_until + Duration::from_micros(1),
    );
    assert!((10..=15).contains(&burst), "{burst}");
    let rest = writes(&mut pacer, late_until, start + Duration::from_millis(100));
    assert_eq!(burst + rest, 1_000, "the average is the requested rate");
}

#[test]
fn a_write_takes_the_time_of_its_bits() {
    assert_eq!(
        Rate::Bits(8_000_000).time_of(1_000),
        Duration::from_millis(1)
    );
    assert_eq!(Rate::Packets(100).time_of(1_000), Duration::from_millis(10));
}
