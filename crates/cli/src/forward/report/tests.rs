//! Tests of the reports for people.

use fullpipe::Limit;
use fullpipe_lab::layout::columns;

use super::*;

#[test]
fn no_line_of_a_report_is_longer_than_the_terminal_is_wide() {
    let direction = |bytes, seconds| DirectionReport {
        bytes,
        waited_for_client: Duration::from_secs(seconds),
        waited_for_target: Duration::from_millis(40),
    };
    let flow = FlowReport {
        number: 12_345,
        protocol: Protocol::Tcp,
        client: "10.9.0.1:50123".parse().unwrap(),
        target: "198.51.100.200:443".parse().unwrap(),
        age: Duration::from_secs(100),
        up: direction(1_234, 95),
        down: direction(987_654_321, 2),
        client_limit: Some((Limit::ReceiveWindow, 0.97)),
    };
    for width in [60, 80, 100, 140, 200] {
        let layout = Layout::plain(width);
        let text = limits(
            std::slice::from_ref(&flow),
            &FlowTotals::default(),
            false,
            layout,
        );
        for line in text.lines() {
            assert!(columns(line) <= width, "{width}: {line}");
        }
        let words: Vec<_> = text.split_whitespace().collect();
        let words = words.join(" ");
        assert!(
            words.contains("up 1234 B, waited for the client 95 % of the time"),
            "{text}"
        );
    }
}
