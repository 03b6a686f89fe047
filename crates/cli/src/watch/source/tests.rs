//! Tests of reading the kernel's counters.

use super::*;

#[test]
fn counters_have_the_names_of_nstat() {
    let text = "Ip: Forwarding\nIp: 1\nTcp: ActiveOpens MaxConn RetransSegs\nTcp: 5 -1 7\n";
    let mut counters = Vec::new();
    add_counters(&mut counters, text);
    let expected = [("TcpActiveOpens", 5), ("TcpRetransSegs", 7)];
    assert_eq!(
        counters,
        expected.map(|(name, value)| (name.to_string(), value))
    );
}
