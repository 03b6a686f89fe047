//! Tests of `counters`.

use alloc::{collections::BTreeSet, vec, vec::Vec};

use super::*;

#[test]
fn every_counter_and_every_reason_has_its_own_name() {
    let counters = Counters::default();
    let names: BTreeSet<_> = counters.iter().map(|(name, _)| name).collect();
    assert_eq!(
        names.len(),
        counters.mib.iter().count() + Discard::ALL.len()
    );
}

#[test]
fn a_discard_counts_its_reason_and_its_mib_counters() {
    for (reason, mib) in [
        (Discard::FrameTruncated, vec![]),
        (Discard::IpBadChecksum, vec!["IpInHdrErrors"]),
        (
            Discard::FragmentTimeout,
            vec!["IpReasmTimeout", "IpReasmFails"],
        ),
        (Discard::UdpNoPort, vec!["UdpNoPorts"]),
        (
            Discard::UdpQueueFull,
            vec!["UdpInErrors", "UdpRcvbufErrors"],
        ),
    ] {
        let mut counters = Counters::default();
        counters.discard(reason);
        let raised: Vec<_> = counters
            .mib
            .iter()
            .filter(|(_, value)| *value > 0)
            .map(|(name, _)| name)
            .collect();
        assert_eq!(raised, mib, "{reason:?}");
        assert_eq!(counters.discarded(reason), 1);
        assert_eq!(counters.discards().map(|(_, count)| count).sum::<u64>(), 1);
    }
}
