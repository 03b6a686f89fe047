//! Tests of the comparison of values.

use std::collections::BTreeSet;

use super::*;
use crate::world::World;

#[test]
fn values_are_alike_if_they_lie_on_the_same_side_of_the_present_one() {
    for (one, other, present, expected) in [
        ("8", "64", Some(2.0), true),
        ("1", "8", Some(2.0), false),
        ("10ms", "100ms", Some(200_000.0), true),
        ("10ms", "400ms", Some(200_000.0), false),
        ("false", "true", None, false),
        ("true", "true", None, true),
        ("5us", "0us", None, true),
    ] {
        assert_eq!(is_alike(one, other, present), expected, "{one}, {other}");
    }
}

/// Levers of the judge that the engine lacks in at least one of the worlds that are drawn first,
/// without the names of hosts, links and flows, and without numbers. Some of them are only lacking
/// if the present value is already large.
const LACKING: &[&str] = &[
    "back.ack_thinning",
    "back.codel",
    "count",
    "device.merge_longest",
    "device.reports_sent=false",
    "device.reports_sent=true",
    "forward.ack_thinning",
    "forward.codel",
    "forward.hop.silent",
    "ip.reassembly_largest",
    "mtu",
    "no_push",
    "rate",
    "stack.backlog",
    "stack.half_open",
    "tcp.cork_timeout",
    "tcp.receive_buffer_max",
    "tcp.sack=false",
    "tcp.send_buffer_max",
    "tcp.window_scaling=false",
    "write",
];

/// A lever that the engine lacks can never be named, so a new lever of the judge needs a row in the
/// engine or here.
#[test]
fn the_engine_has_every_lever_of_the_judge_but_these() {
    let measured = Measured::default();
    let mut lacking = BTreeSet::new();
    for number in 0..300 {
        let setup = World::draw(number).setup();
        let known = Known::of(&setup, &measured);
        for lever in levers::all(&setup, &measured) {
            let values = lever.values.iter();
            if values.clone().all(|changes| !known.has(changes)) {
                let (_, knob) = lever.name.split_once('.').expect("a host, link or flow");
                let is_number = |(_, to): &(&str, &str)| to.starts_with(|c: char| c.is_numeric());
                let bare = knob.split_once('=').filter(is_number);
                lacking.insert(bare.map_or(knob, |(bare, _)| bare).to_owned());
            }
        }
    }
    assert_eq!(lacking.iter().collect::<Vec<_>>(), LACKING);
}
