//! Tests that compare the sum with its definition and with the sums of its pieces, and the vector
//! code with the portable code.

extern crate std;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::vec;
use std::vec::Vec;

use proptest::collection::vec as bytes_of;
use proptest::prelude::*;

use super::{Checksum, big_endian_sum, portable};

/// Returns the checksum as RFC 1071 §4.1 computes it, word by word.
fn by_definition(bytes: &[u8]) -> u16 {
    let mut sum = 0u64;
    for pair in bytes.chunks(2) {
        sum += u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns bytes that differ from place to place and are often 0xff, so that sums
/// carry.
fn pattern(len: usize) -> Vec<u8> {
    (0..len)
        .map(|place| (place * place / 3) as u8 | (place as u8 & 0xf0))
        .collect()
}

#[test]
fn known_sums_are_reproduced() {
    for (name, bytes, expected) in [
        ("nothing", &[][..], 0),
        (
            "example of RFC 1071",
            &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7],
            0xddf2,
        ),
        ("an odd last byte is the high half", &[0x12], 0x1200),
        ("zeros stay zero", &[0; 200], 0),
        ("ones never become zero", &[0xff; 200], 0xffff),
        ("a carry comes round", &[0xff, 0xff, 0x00, 0x01], 0x0001),
    ] {
        assert_eq!(Checksum::of(bytes).sum(), expected, "{name}");
        assert_eq!(Checksum::of(bytes).finish(), !expected, "{name}");
    }
}

#[test]
fn every_length_and_alignment_agrees_with_the_definition() {
    let bytes = pattern(700);
    for start in 0..33 {
        for end in start..bytes.len() {
            let slice = &bytes[start..end];
            assert_eq!(
                Checksum::of(slice).sum(),
                by_definition(slice),
                "{start}..{end}"
            );
        }
    }
}

#[test]
fn a_copy_moves_every_byte_no_other_and_sums_them() {
    let src = pattern(700);
    for start in [0, 1, 2, 3, 7, 8, 31] {
        for len in 0..600 {
            let mut dst = vec![0xa5; 700];
            let mut checksum = Checksum::new();
            checksum.copy(&mut dst[start..start + len], &src[5..5 + len]);
            assert_eq!(dst[start..start + len], src[5..5 + len]);
            assert!(
                dst[..start]
                    .iter()
                    .chain(&dst[start + len..])
                    .all(|&byte| byte == 0xa5)
            );
            assert_eq!(checksum, Checksum::of(&src[5..5 + len]), "{start} {len}");
        }
    }
}

#[test]
#[should_panic(expected = "a copy is as long")]
fn a_copy_of_another_length_is_refused() {
    Checksum::new().copy(&mut [0; 3], &[0; 4]);
}

/// Every lane is full in the largest sum, and no carry is lost.
#[test]
fn a_super_segment_of_ones_does_not_overflow() {
    for len in [65_535, 65_536, 1 << 20] {
        let ones = vec![0xff; len];
        let expected = by_definition(&ones);
        assert_eq!(Checksum::of(&ones).sum(), expected);
        assert_eq!(big_endian_sum(portable::sum_words(&ones)), expected);
    }
}

#[test]
fn the_pseudo_header_is_the_one_of_the_rfc() {
    let v4 = [192, 0, 2, 1, 198, 51, 100, 7, 0, 17, 0x12, 0x34];
    let mut checksum = Checksum::new();
    let (src, dst) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 7));
    checksum.add_pseudo_header(src.into(), dst.into(), 17, 0x1234);
    assert_eq!(checksum.sum(), by_definition(&v4));
    assert!(checksum.is_empty(), "it is not part of the payload");

    let (src, dst): (Ipv6Addr, Ipv6Addr) = ([0xfe; 16].into(), [0x31; 16].into());
    let mut v6 = [src.octets(), dst.octets()].concat();
    v6.extend([0x00, 0x01, 0x23, 0x45, 0, 0, 0, 6]);
    let mut checksum = Checksum::new();
    checksum.add_pseudo_header(src.into(), dst.into(), 6, 0x0001_2345);
    assert_eq!(checksum.sum(), by_definition(&v6));
}

#[test]
fn a_pseudo_header_may_be_added_at_an_odd_offset() {
    let (src, dst) = (
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V4(Ipv4Addr::BROADCAST),
    );
    let mut before = Checksum::new();
    before.add_pseudo_header(src, dst, 6, 5);
    before.add(&[1, 2, 3, 4, 5]);
    let mut between = Checksum::of(&[1, 2, 3]);
    between.add_pseudo_header(src, dst, 6, 5);
    between.add(&[4, 5]);
    assert_eq!(before, between);
}

proptest! {
    #[test]
    fn the_sum_is_independent_of_the_cuts(pieces in bytes_of(bytes_of(any::<u8>(), 0..300), 0..8)) {
        let whole: Vec<u8> = pieces.concat();
        let mut added = Checksum::new();
        let mut copied = Checksum::new();
        let mut chained = Checksum::new();
        for piece in &pieces {
            added.add(piece);
            copied.copy(&mut vec![0; piece.len()], piece);
            chained = chained.then(Checksum::of(piece));
        }
        let expected = by_definition(&whole);
        prop_assert_eq!([added.sum(), copied.sum(), chained.sum()], [expected; 3]);
        prop_assert_eq!(added.len(), whole.len());
    }

    #[test]
    fn a_sixteen_bit_field_is_two_bytes(before in bytes_of(any::<u8>(), 0..9), field: u16) {
        let mut as_field = Checksum::of(&before);
        as_field.add_u16(field);
        let mut as_bytes = Checksum::of(&before);
        as_bytes.add(&field.to_be_bytes());
        prop_assert_eq!(as_field, as_bytes);
    }

    #[test]
    fn a_completed_checksum_is_valid_and_a_flipped_bit_is_not(
        mut bytes in bytes_of(any::<u8>(), 2..2000), place: prop::sample::Index, bit in 0..8u32,
    ) {
        bytes[..2].fill(0);
        let value = Checksum::of(&bytes).finish();
        bytes[..2].copy_from_slice(&value.to_be_bytes());
        prop_assert!(Checksum::of(&bytes).is_valid());
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        prop_assert!(!Checksum::of(&bytes).is_valid());
    }

    #[cfg(all(feature = "simd", target_arch = "x86_64"))]
    #[test]
    fn the_vector_sum_and_the_portable_sum_agree(
        bytes in bytes_of(any::<u8>(), 0..5000), skip in 0..64usize,
    ) {
        use super::simd;
        let bytes = &bytes[skip.min(bytes.len())..];
        let portable_sum = big_endian_sum(portable::sum_words(bytes));
        prop_assert_eq!(big_endian_sum(simd::sum_words(bytes)), portable_sum);
        prop_assert_eq!(by_definition(bytes), portable_sum);

        let (mut fast, mut plain) = (vec![0; bytes.len()], vec![0; bytes.len()]);
        prop_assert_eq!(big_endian_sum(simd::copy_words(&mut fast, bytes)), portable_sum);
        prop_assert_eq!(big_endian_sum(portable::copy_words(&mut plain, bytes)), portable_sum);
        prop_assert_eq!(&fast[..], bytes);
        prop_assert_eq!(&plain[..], bytes);
    }
}

/// Without this test, the tests above could compare the portable code with
/// itself.
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
#[test]
fn the_vector_code_runs_wherever_the_processor_has_avx2_and_fma() {
    let has_v3 = std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("fma")
        && std::is_x86_feature_detected!("bmi2");
    assert_eq!(super::simd::is_available(), has_v3);
}
