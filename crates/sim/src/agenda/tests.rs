//! The order of events, and alarms that move.

use super::*;

#[test]
fn events_come_by_time_and_then_in_the_order_they_were_added() {
    let mut agenda = Agenda::default();
    for (at, event) in [(5, "c"), (1, "a"), (5, "d"), (2, "b"), (5, "e")] {
        agenda.add(Instant::from_micros(at), event);
    }
    let order: String = std::iter::from_fn(|| agenda.take())
        .map(|(_, event)| event)
        .collect();
    assert_eq!(order, "abcde");
    assert_eq!(agenda.next_at(), None);
}

#[test]
fn an_alarm_that_moves_later_needs_no_new_event() {
    let at = Instant::from_micros;
    let mut alarm = Alarm::default();
    assert_eq!(alarm.set(Some(at(10))), Some(at(10)));
    assert_eq!(alarm.set(Some(at(20))), None, "the early one will do");
    assert_eq!(alarm.set(None), None);
    assert_eq!(alarm.set(Some(at(5))), Some(at(5)), "earlier: a new one");
    assert!(alarm.rang(at(5)));
    assert!(!alarm.rang(at(10)), "replaced");
    assert_eq!(alarm.set(Some(at(30))), Some(at(30)));
}
