//! Tests of each line against the output of iperf 2.1.8.

use super::*;

const ONE: Label = Label::Stream {
    id: 1,
    reverse: false,
};

fn span(start_ms: u64, end_ms: u64, bytes: u64) -> Span {
    Span {
        start: Duration::from_millis(start_ms),
        end: Duration::from_millis(end_ms),
        bytes,
        loss: DatagramLoss::default(),
    }
}

#[test]
fn sizes_have_three_digits_and_the_largest_unit() {
    for (count, text) in [
        (0, "0.000 Byte"),
        (1_000, "1000 Byte"),
        (1_024, "1.00 KByte"),
        (10_000, "9.77 KByte"),
        (64_000, "62.5 KByte"),
        (131_072, " 128 KByte"),
        (1_010 << 20, "1010 MByte"),
        (1_170_378_588, "1.09 GByte"),
    ] {
        assert_eq!(bytes(count), text, "{count}");
    }
}

#[test]
fn percentages_have_two_significant_digits() {
    for (value, text) in [
        (0.0, "0"),
        (0.11173, "0.11"),
        (1.0, "1"),
        (5.04, "5"),
        (12.3, "12"),
        (99.6, "1e+02"),
        (100.0, "1e+02"),
        (0.000_05, "5e-05"),
        (0.001_36, "0.0014"),
    ] {
        assert_eq!(two_digits(value), text, "{value}");
    }
}

#[test]
fn a_result_in_bytes_is_formatted_as_in_iperf() {
    for (label, span, text) in [
        (
            ONE,
            span(0, 500, 655_360),
            "[  1] 0.0000-0.5000 sec   640 KBytes  10.5 Mbits/sec",
        ),
        (
            ONE,
            span(0, 17, 1_048_576),
            "[  1] 0.0000-0.0170 sec  1.00 MBytes   493 Mbits/sec",
        ),
        (
            Label::Stream {
                id: 1,
                reverse: true,
            },
            span(0, 1000, 268_435_456),
            "[ *1] 0.0000-1.0000 sec   256 MBytes  2.15 Gbits/sec",
        ),
        (
            Label::Stream {
                id: 12,
                reverse: true,
            },
            span(0, 1000, 0),
            "[*12] 0.0000-1.0000 sec  0.000 Bytes  0.000 bits/sec",
        ),
        (
            Label::Sum,
            span(500, 1000, 1_310_720),
            "[SUM] 0.5000-1.0000 sec  1.25 MBytes  21.0 Mbits/sec",
        ),
        (
            ONE,
            span(0, 0, 10),
            "[  1] 0.0000-0.0000 sec  10.0 Bytes  0.000 bits/sec",
        ),
    ] {
        assert_eq!(transfer(label, &span), text);
    }
}

#[test]
fn a_result_in_datagrams_is_formatted_as_in_iperf() {
    let mut span = span(0, 1000, 1_315_650);
    span.loss = DatagramLoss {
        lost: 1,
        total: 895,
        out_of_order: 1,
        jitter: Duration::from_micros(21),
    };
    assert_eq!(
        transfer_with_loss(ONE, &span),
        "[  1] 0.0000-1.0000 sec  1.25 MBytes  10.5 Mbits/sec   0.021 ms 1/895 (0.11%)"
    );
    assert_eq!(
        transfer_with_loss(Label::Sum, &span),
        "[SUM] 0.0000-1.0000 sec  1.25 MBytes  10.5 Mbits/sec   1/895 (0.11%)"
    );
    assert_eq!(
        out_of_order(ONE, &span),
        "[  1] 0.0000-1.0000 sec  1 datagrams received out-of-order"
    );
    assert_eq!(sent(ONE, 895), "[  1] Sent 895 datagrams");
    assert_eq!(sent_in_all(2, 1792), "[SUM-2] Sent 1792 datagrams");
    assert_eq!(server_report(ONE), "[  1] Server Report:");
}

#[test]
fn the_banner_warns_of_a_buffer_size_that_differs_from_the_request() {
    for (size, requested, text) in [
        (16_384, None, "TCP window size: 16.0 KByte (default)"),
        (131_072, None, "TCP window size:  128 KByte (default)"),
        (64_000, Some(64_000), "TCP window size: 62.5 KByte"),
        (
            128_000,
            Some(64_000),
            "TCP window size:  125 KByte (WARNING: requested 62.5 KByte)",
        ),
    ] {
        assert_eq!(buffer_size("TCP window size", size, requested), text);
    }
    assert_eq!(
        datagram_pacing(1472, Duration::from_nanos(1_123_046)),
        "Sending 1472 byte datagrams, IPG target: 1123.05 us (kalman adjust)"
    );
}

#[test]
fn a_connection_prints_the_values_of_its_handshake() {
    let local = "127.0.0.1:59792".parse().unwrap();
    let peer = "127.0.0.1:5101".parse().unwrap();
    let handshake = HandshakeInfo {
        initial_window: 327_410,
        mss: 32_741,
        rtt: Duration::from_micros(137),
    };
    assert_eq!(
        connected(ONE, local, peer, &["reverse"], Some(&handshake)),
        "[  1] local 127.0.0.1 port 59792 connected with 127.0.0.1 port 5101 (reverse) (icwnd/mss/irtt=319/32741/137)"
    );
    assert_eq!(
        connected(ONE, local, peer, &[], None),
        "[  1] local 127.0.0.1 port 59792 connected with 127.0.0.1 port 5101"
    );
}

#[test]
fn limits_are_printed_largest_first_and_without_those_of_zero_time() {
    let times =
        [("application", 100), ("nagle", 0), ("receive_window", 300)].map(|(name, ms)| LimitTime {
            name,
            time: Duration::from_millis(ms),
        });
    assert_eq!(
        limits("sender", &times),
        "limits (sender): receive_window 75.0%, application 25.0%"
    );
    assert_eq!(limits("receiver", &[]), "limits (receiver): none yet");
}
