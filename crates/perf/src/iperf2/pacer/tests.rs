//! Spacing, in times that are arguments.

use super::*;

const GAP: Duration = Duration::from_micros(100);

/// Writes that could be made until `until`, by a sender that is free from
/// `from` on.
fn writes(pacer: &mut Pacer, from: Instant, until: Instant) -> u32 {
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
fn a_sender_in_time_sends_at_the_rate() {
    let start = Instant::now();
    let mut pacer = Pacer::new(Some(Rate::Packets(10_000)), start);
    assert_eq!(
        writes(&mut pacer, start, start + Duration::from_millis(10)),
        100
    );
}

#[test]
fn a_sender_that_was_held_up_bursts_a_little_and_catches_up() {
    let start = Instant::now();
    let mut pacer = Pacer::new(Some(Rate::Packets(10_000)), start);
    let held_until = start + Duration::from_millis(20);
    let burst = writes(
        &mut pacer,
        held_until,
        held_until + Duration::from_micros(1),
    );
    assert!((10..=15).contains(&burst), "{burst}");
    let rest = writes(&mut pacer, held_until, start + Duration::from_millis(100));
    assert_eq!(burst + rest, 1_000, "the average is what was asked for");
}

#[test]
fn a_write_takes_the_time_of_its_bits() {
    assert_eq!(gap(Rate::Bits(8_000_000), 1_000), Duration::from_millis(1));
    assert_eq!(gap(Rate::Packets(100), 1_000), Duration::from_millis(10));
}
