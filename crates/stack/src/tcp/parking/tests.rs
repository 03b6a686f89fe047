//! Tests of the places where connections wait for their next hop.

use super::*;

fn hop(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

fn ready(parking: &mut Parking) -> Vec<u32> {
    core::iter::from_fn(|| {
        let index = parking.first()?;
        parking.had_its_turn(index, false);
        Some(index)
    })
    .collect()
}

#[test]
fn a_settled_hop_wakes_its_own_connections_only() {
    let mut parking = Parking::new(4, 8);
    for (index, last) in [(0, 1), (1, 2), (2, 1)] {
        parking.park(index, hop(last));
        parking.wants(index);
    }
    assert_eq!(parking.first(), None, "who waits for a hop waits on");
    parking.wake(|settled| settled == hop(1));
    assert_eq!(ready(&mut parking), [0, 2]);
    parking.wake(|settled| settled == hop(2));
    assert_eq!(ready(&mut parking), [1]);
}

#[test]
fn hops_without_a_place_of_their_own_are_woken_by_any() {
    let mut parking = Parking::new(1, 4);
    parking.park(0, hop(1));
    parking.park(1, hop(2));
    parking.park(2, hop(3));
    parking.wake(|_| false);
    assert_eq!(ready(&mut parking), [1, 2]);
    parking.wake(|settled| settled == hop(1));
    assert_eq!(ready(&mut parking), [0]);
}

#[test]
fn connections_take_turns() {
    let mut parking = Parking::new(0, 4);
    parking.wants(3);
    parking.wants(1);
    parking.wants(3);
    parking.had_its_turn(3, true);
    assert_eq!(ready(&mut parking), [1, 3]);
}

#[test]
fn a_connection_that_ended_is_not_woken() {
    let mut parking = Parking::new(2, 4);
    parking.park(0, hop(1));
    parking.forget(0);
    parking.wake(|_| true);
    assert_eq!(parking.first(), None);
}
