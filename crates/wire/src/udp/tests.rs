//! Tests of lengths, and of the two meanings of checksum zero.

extern crate std;

use core::net::{Ipv4Addr, Ipv6Addr};
use std::vec;
use std::vec::Vec;

use super::*;

const SRC: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const DST: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2));

fn datagram(payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; UdpHeader::LEN];
    let header = UdpHeader {
        src_port: 5001,
        dst_port: 53,
        len: (UdpHeader::LEN + payload.len()) as u16,
    };
    header.write(&mut bytes);
    set_checksum(&mut bytes, SRC, DST, Checksum::of(payload));
    bytes.extend(payload);
    bytes
}

#[test]
fn a_written_datagram_is_read_back_and_verified() {
    for payload in [&b""[..], b"odd", b"even"] {
        let bytes = datagram(payload);
        let expected = UdpHeader {
            src_port: 5001,
            dst_port: 53,
            len: bytes.len() as u16,
        };
        assert_eq!(UdpHeader::parse(&bytes), Ok((expected, payload)));
        assert_eq!(verify_checksum(&bytes, SRC, DST), Ok(()));
    }
}

#[test]
fn bytes_after_the_length_are_neither_payload_nor_summed() {
    let mut bytes = datagram(b"abc");
    bytes.extend([0xee; 9]);
    assert_eq!(UdpHeader::parse(&bytes).unwrap().1, b"abc");
    assert_eq!(verify_checksum(&bytes, SRC, DST), Ok(()));
}

#[test]
fn impossible_lengths_are_refused() {
    for (len_field, expected) in [(0, false), (7, false), (8, true), (11, true), (12, false)] {
        let mut bytes = datagram(b"abc");
        bytes[4..6].copy_from_slice(&u16::to_be_bytes(len_field));
        let verdict = UdpHeader::parse(&bytes).map(|(header, _)| header.len);
        let expected = if expected {
            Ok(len_field)
        } else {
            Err(WireError::BadLength)
        };
        assert_eq!(verdict, expected, "{len_field}");
        assert_eq!(UdpHeader::parse_quoted(&bytes[..8]).unwrap().len, len_field);
    }
    assert_eq!(UdpHeader::parse(&[0; 7]), Err(WireError::Truncated));
    assert_eq!(UdpHeader::parse_quoted(&[0; 7]), Err(WireError::Truncated));
}

#[test]
fn a_missing_checksum_is_valid_over_ipv4_and_invalid_over_ipv6() {
    let mut bytes = datagram(b"abc");
    bytes[6..8].fill(0);
    assert_eq!(verify_checksum(&bytes, SRC, DST), Ok(()));
    let (src, dst) = (
        IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    );
    assert_eq!(
        verify_checksum(&bytes, src, dst),
        Err(WireError::BadChecksum)
    );
}

#[test]
fn a_sum_of_zero_is_sent_as_all_ones() {
    let mut bytes = datagram(&[0, 0]);
    // Use the present checksum as payload, which brings the sum to 0xffff.
    let so_far = [bytes[6], bytes[7]];
    bytes[8..].copy_from_slice(&so_far);
    let (header, payload) = bytes.split_at_mut(8);
    set_checksum(header, SRC, DST, Checksum::of(payload));
    assert_eq!(bytes[6..8], [0xff, 0xff]);
    assert_eq!(verify_checksum(&bytes, SRC, DST), Ok(()));
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    let good = datagram(b"payload");
    for place in 0..good.len() {
        let mut bytes = good.clone();
        bytes[place] ^= 0x10;
        assert!(verify_checksum(&bytes, SRC, DST).is_err(), "byte {place}");
    }
    assert_eq!(
        verify_checksum(&good, DST, DST),
        Err(WireError::BadChecksum)
    );
}
