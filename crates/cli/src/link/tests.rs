//! Tests of the MTU of a link between interfaces that exist.

use super::joint_mtu;

#[test]
fn a_link_has_the_mtu_of_its_interface_unless_a_smaller_one_is_given() {
    for (link, is_given, interface, expected) in [
        (1_500, false, 9_000, Some(9_000)),
        (1_500, false, 1_280, Some(1_280)),
        (1_400, true, 1_500, Some(1_400)),
        (9_000, true, 1_500, None),
    ] {
        let found = joint_mtu(link, is_given, "eth0", interface).ok();
        assert_eq!(found, expected, "{link} {is_given} {interface}");
    }
}
