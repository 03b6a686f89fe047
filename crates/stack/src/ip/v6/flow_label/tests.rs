//! Tests of flow labels.

use alloc::{collections::BTreeSet, vec::Vec};

use super::*;

const OWN: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1);
const PEER: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2);

fn flow(port: u16) -> FlowKey {
    FlowKey {
        ends: (OWN, PEER),
        protocol: Protocol::Tcp,
        ports: (port, 443),
    }
}

#[test]
fn a_flow_keeps_its_label_beside_other_flows() {
    let mut labels = FlowLabels::new(Rng::seeded(1));
    let first: Vec<u32> = (0..100).map(|port| labels.of(flow(port))).collect();
    let again: Vec<u32> = (0..100).map(|port| labels.of(flow(port))).collect();
    assert_eq!(first, again);
    let different: BTreeSet<u32> = first.iter().copied().collect();
    assert!(different.len() >= 99, "{} labels", different.len());
    assert!(first.iter().all(|label| (1..1 << BITS).contains(label)));
}

#[test]
fn each_field_and_the_key_change_the_label() {
    let mut labels = FlowLabels::new(Rng::seeded(1));
    let base = flow(5_000);
    let others = [
        FlowKey {
            ends: (PEER, OWN),
            ..base
        },
        FlowKey {
            protocol: Protocol::Udp,
            ..base
        },
        FlowKey {
            ports: (5_000, 444),
            ..base
        },
        flow(5_001),
    ];
    let label = labels.of(base);
    for other in others {
        assert_ne!(labels.of(other), label, "{other:?}");
    }
    assert_ne!(FlowLabels::new(Rng::seeded(2)).of(base), label);
}
