//! Tests with headers captured from stock iperf 2.1.8.

use std::{vec, vec::Vec};

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits"))
        .collect()
}

const REVERSED: &str = "4401007800000001000013ed0000400000000000ffffff9c00000000000000000400000000020001000800030000000000a000000000000000000000";

#[test]
fn the_header_of_a_reversed_tcp_test_is_parsed_and_written_byte_for_byte() {
    let wire = bytes(REVERSED);
    let header = ClientHeader::parse(&wire).expect("a header");
    assert_eq!(
        header,
        ClientHeader {
            streams: 1,
            port: 5101,
            length: 16_384,
            window: 0,
            amount: Amount::Time(Duration::from_secs(1)),
            rate: Some(Rate::Bits(10 << 20)),
            reverse: true,
            wants_ack: false,
            wants_dual_test: false,
        }
    );
    let mut written = [0; CLIENT_LEN];
    header.write_tcp(&mut written);
    assert_eq!(written[..], wire[..]);
}

#[test]
fn the_headers_of_a_udp_test_are_parsed_and_written_byte_for_byte() {
    let wire = bytes(
        "000000016b002f4b000c0cb6000000004801009800000001000013ed0000000000000000ffffffe2000000000000000000000000000200010008000300000000\
         0007a1200000000000000000",
    );
    let header = client_header_of_datagram(&wire).expect("a header");
    assert_eq!(header.amount, Amount::Time(Duration::from_millis(300)));
    assert_eq!(header.rate, Some(Rate::Bits(500_000)));
    let first = DatagramHeader::parse(&wire).expect("a datagram");
    assert_eq!(first.id, 1);
    let mut written = [[0; DATAGRAM_LEN].to_vec(), [0; CLIENT_LEN].to_vec()].concat();
    first.write((&mut written[..DATAGRAM_LEN]).try_into().unwrap());
    header.write_udp((&mut written[DATAGRAM_LEN..]).try_into().unwrap());
    assert_eq!(written, wire);
}

#[test]
fn the_last_datagram_has_a_negative_number_in_both_widths() {
    for (name, hex, id) in [
        ("reversed", "ffffffe86b002f4a000eea3bffffffff36373839", -24),
        (
            "32 bits, then payload",
            "0000000500000000000000007a7a7a7a7a7a7a7a",
            5,
        ),
        ("12 bytes", "000000070000000000000000", 7),
    ] {
        let header = DatagramHeader::parse(&bytes(hex)).expect(name);
        assert_eq!(header.id, id, "{name}");
    }
    assert_eq!(DatagramHeader::parse(&[0; 11]), None);

    let mut head = [0; DATAGRAM_LEN + CLIENT_LEN];
    ClientHeader::parse(&bytes(REVERSED))
        .unwrap()
        .write_udp(head.last_chunk_mut().unwrap());
    for id in [1, -16, 0x1_0000_0001, -0x1_0000_0001] {
        let header = DatagramHeader {
            id,
            sent: Duration::from_micros(1_234_567),
        };
        header.write(head.first_chunk_mut().unwrap());
        assert_eq!(DatagramHeader::parse(&head), Some(header));
    }
}

#[test]
fn bytes_that_are_not_a_header_are_not_parsed() {
    for (name, head) in [
        ("zeros", vec![0; 64]),
        ("ones", vec![0xff; 64]),
        ("filler", b"0123456789".repeat(7)),
        ("a lone flag", [vec![0x40, 0, 0, 0], vec![0; 60]].concat()),
        ("cut short", bytes(&REVERSED[..80])),
        ("nothing", vec![]),
    ] {
        assert_eq!(ClientHeader::parse(&head), None, "{name}");
    }
    assert_eq!(ClientHeader::bytes_needed(&[]), 4);
    assert_eq!(ClientHeader::bytes_needed(&[0; 4]), 4);
    assert_eq!(ClientHeader::bytes_needed(&bytes("44010078")), CLIENT_LEN);
}

#[test]
fn any_bytes_are_parsed_without_a_panic() {
    let mut state = 1u64;
    for len in 0..200 {
        let noise: Vec<u8> = (0..len)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let _ = (
            ClientHeader::parse(&noise),
            DatagramHeader::parse(&noise),
            parse_report(&noise),
        );
        let _ = (
            client_header_of_datagram(&noise),
            ClientHeader::bytes_needed(&noise),
        );
    }
}

#[test]
fn a_stock_report_is_parsed_and_our_report_is_parsed_back() {
    let stock = bytes(
        "00000000000000000000000000000000880000000000000000005be000000000000506be00000000000000000000001000000000\
         0000000a",
    );
    let span = parse_report(&stock).expect("a report");
    assert_eq!(
        (span.bytes, span.end, span.loss.total),
        (23_520, Duration::from_micros(329_406), 16)
    );
    assert_eq!(span.loss.jitter, Duration::from_micros(10));

    let ours = Span {
        start: Duration::ZERO,
        end: Duration::from_micros(1_234_567),
        bytes: 5 << 32,
        loss: DatagramLoss {
            lost: 3,
            total: 70_000,
            out_of_order: 2,
            jitter: Duration::from_micros(7),
        },
    };
    assert_eq!(parse_report(&report_bytes(&ours)), Some(ours));
    assert_eq!(parse_report(&[0; 128]), None);
}

#[test]
fn times_and_bytes_stay_what_they_are_on_the_wire() {
    for amount in [
        Amount::Bytes(1_000_000),
        Amount::Time(Duration::from_millis(500)),
        Amount::Time(Duration::from_secs(200)),
    ] {
        assert_eq!(amount_from_wire(amount_on_wire(amount)), amount);
    }
}
