//! Tests of the bounds.

use super::FlowLimits;

#[test]
fn eight_kibibytes_for_each_flow_leave_half_of_the_memory() {
    let limits = |tcp_flows, memory| FlowLimits {
        tcp_flows,
        memory,
        ..FlowLimits::default()
    };
    assert!(FlowLimits::default().leaves_memory());
    for (flows, memory, leaves) in [
        (8_192, 64 << 20, true),
        (8_193, 64 << 20, false),
        (65_536, 64 << 20, false),
        (65_536, 512 << 20, true),
        (1, 8 << 10, true),
    ] {
        assert_eq!(
            limits(flows, memory).leaves_memory(),
            leaves,
            "{flows} {memory}"
        );
    }
}
