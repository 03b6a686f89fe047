//! Tests of the order of events, and of wake-ups whose times change.

use super::*;

#[test]
fn events_come_by_time_and_then_in_the_order_they_were_added() {
    let mut events = EventQueue::default();
    for (at, event) in [(5, "c"), (1, "a"), (5, "d"), (2, "b"), (5, "e")] {
        events.add(Instant::from_micros(at), event);
    }
    let order: String = std::iter::from_fn(|| events.take())
        .map(|(_, event)| event)
        .collect();
    assert_eq!(order, "abcde");
    assert_eq!(events.next_at(), None);
}

#[test]
fn an_alarm_that_moves_later_needs_no_new_event() {
    let at = Instant::from_micros;
    let mut wakeup = Wakeup::default();
    assert_eq!(wakeup.set(Some(at(10))), Some(at(10)));
    assert_eq!(wakeup.set(Some(at(20))), None, "the early one will do");
    assert_eq!(wakeup.set(None), None);
    assert_eq!(wakeup.set(Some(at(5))), Some(at(5)), "earlier: a new one");
    assert!(wakeup.fired(at(5)));
    assert!(!wakeup.fired(at(10)), "replaced");
    assert_eq!(wakeup.set(Some(at(30))), Some(at(30)));
}
