//! Tests of initial sequence numbers.

use super::*;
use alloc::collections::BTreeSet;
use fullpipe_pool::Duration;

fn tuple(remote_port: u16) -> FourTuple {
    FourTuple::new(
        "10.0.0.1:80".parse().unwrap(),
        ([10, 0, 0, 2], remote_port).into(),
    )
}

#[test]
fn numbers_of_one_tuple_grow_with_the_clock() {
    let numbers = InitialNumbers::new(&Secret([1; 16]));
    let now = Instant::from_secs(5);
    let first = numbers.sequence(&tuple(1), now);
    let second = numbers.sequence(&tuple(1), now + Duration::from_secs(1));
    assert_eq!(second, first + 250_000);
}

#[test]
fn numbers_of_different_tuples_and_secrets_are_independent() {
    let numbers = InitialNumbers::new(&Secret([1; 16]));
    let others = InitialNumbers::new(&Secret([2; 16]));
    let seen: BTreeSet<u32> = (0..1_000)
        .flat_map(|port| [&numbers, &others].map(|n| n.sequence(&tuple(port), Instant::ZERO).0))
        .collect();
    assert!(seen.len() > 1_990, "{}", seen.len());
}

#[test]
fn a_new_incarnation_starts_beyond_the_old_one() {
    let numbers = InitialNumbers::new(&Secret([1; 16]));
    let clock = numbers.sequence(&tuple(1), Instant::ZERO);
    for ahead in [0, 1, 100_000, 1 << 30] {
        let snd_nxt = clock + ahead;
        let next = numbers.sequence_after(&tuple(1), snd_nxt, Instant::ZERO);
        assert!(next.after(snd_nxt), "{ahead}");
    }
    let long_dead = clock - (1 << 30);
    assert_eq!(
        numbers.sequence_after(&tuple(1), long_dead, Instant::ZERO),
        clock
    );
}

#[test]
fn timestamp_offsets_depend_on_addresses_and_not_on_ports() {
    let numbers = InitialNumbers::new(&Secret([1; 16]));
    assert_eq!(
        numbers.timestamp_offset(&tuple(1)),
        numbers.timestamp_offset(&tuple(2))
    );
    let (local, remote) = (tuple(1).local(), tuple(1).remote());
    let elsewhere = FourTuple::new(local, ([10, 0, 0, 9], remote.port()).into());
    assert_ne!(
        numbers.timestamp_offset(&tuple(1)),
        numbers.timestamp_offset(&elsewhere)
    );
}
