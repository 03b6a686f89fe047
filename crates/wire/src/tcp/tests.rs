//! Tests of flags, of options in every combination, and of impossible headers.

extern crate std;

use core::net::Ipv4Addr;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use super::*;

const SRC: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const DST: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2));
const TS: Timestamps = Timestamps {
    value: 0x0102_0304,
    echo: 0xfffe_fdfc,
};

fn sack(count: u32) -> SackBlocks {
    let mut blocks = SackBlocks::NONE;
    for place in 0..count {
        assert!(blocks.push(SackBlock {
            left: place * 100,
            right: place * 100 + 50
        }));
    }
    blocks
}

fn written(options: TcpOptions) -> Vec<u8> {
    let mut bytes = vec![0xee; 40];
    let len = options.write(&mut bytes);
    assert_eq!(len, options.encoded_len());
    assert!(bytes[len..].iter().all(|&byte| byte == 0xee));
    bytes.truncate(len);
    bytes
}

#[test]
fn a_header_has_the_bytes_of_the_rfc() {
    let header = TcpHeader {
        src_port: 0x1389,
        dst_port: 80,
        seq: 0x0102_0304,
        ack: 0x0506_0708,
        flags: TcpFlags::ACK | TcpFlags::PSH | TcpFlags::AE,
        window: 0x1000,
        urgent: 7,
        options: TcpOptions {
            timestamps: Some(TS),
            ..TcpOptions::NONE
        },
        ..TcpHeader::default()
    };
    let mut bytes = [0; 32];
    assert_eq!(header.write(&mut bytes), 32);
    let expected = [
        0x13, 0x89, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8, 0x81, 0x18, 0x10, 0, 0, 0, 0, 7, 1, 1, 8, 10, 1,
        2, 3, 4, 0xff, 0xfe, 0xfd, 0xfc,
    ];
    assert_eq!(bytes, expected);
    assert_eq!(TcpHeader::parse(&bytes), Ok((header, &[][..])));
}

#[test]
fn all_512_sets_of_flags_are_read_back_without_reserved_bits() {
    for bits in 0..512 {
        let header = TcpHeader {
            flags: TcpFlags::from_bits(bits),
            ..TcpHeader::default()
        };
        let mut bytes = [0; 20];
        header.write(&mut bytes);
        bytes[12] |= 0x0e;
        assert_eq!(TcpHeader::parse(&bytes).unwrap().0.flags.bits(), bits);
    }
    assert_eq!(TcpFlags::from_bits(0xffff), TcpFlags::ALL);
}

#[test]
fn flags_are_sets() {
    let syn_ack = TcpFlags::SYN | TcpFlags::ACK;
    assert!(syn_ack.contains(TcpFlags::SYN) && !TcpFlags::SYN.contains(syn_ack));
    assert!(syn_ack.intersects(TcpFlags::SYN | TcpFlags::RST));
    assert!(!syn_ack.intersects(TcpFlags::FIN));
    assert_eq!(syn_ack.without(TcpFlags::SYN), TcpFlags::ACK);
    assert_eq!(syn_ack & TcpFlags::SYN, TcpFlags::SYN);
    assert_eq!((syn_ack & TcpFlags::FIN).to_string(), "none");
    assert_eq!(syn_ack.to_string(), "SYN|ACK");
    let all = TcpFlags::NAMED
        .iter()
        .fold(TcpFlags::NONE, |set, &(flag, _)| set | flag);
    assert_eq!(all, TcpFlags::ALL);
    assert_eq!(all.to_string(), "FIN|SYN|RST|PSH|ACK|URG|ECE|CWR|AE");
}

#[test]
fn every_combination_of_options_is_aligned_and_read_back() {
    for choice in 0..16 {
        for blocks in 0..=4 {
            let options = TcpOptions {
                mss: (choice & 1 != 0).then_some(1460),
                window_scale: (choice & 2 != 0).then_some(7),
                sack_permitted: choice & 4 != 0,
                timestamps: (choice & 8 != 0).then_some(TS),
                sack: sack(blocks),
            };
            let bytes = written(options);
            assert!(bytes.len() <= 40 && bytes.len().is_multiple_of(4));
            let fitting = options.sack_blocks_that_fit();
            let expected = TcpOptions {
                sack: sack(fitting as u32),
                ..options
            };
            assert_eq!(TcpOptions::parse(&bytes), (expected, Ok(())), "{bytes:?}");
        }
    }
}

/// The options have the lengths that every stack uses: a longer header would make segments smaller.
#[test]
fn options_are_encoded_as_short_as_possible() {
    let none = TcpOptions::NONE;
    let with_ts = TcpOptions {
        timestamps: Some(TS),
        ..none
    };
    let syn = TcpOptions {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        ..with_ts
    };
    for (name, options, len, fitting) in [
        ("nothing", none, 0, 0),
        ("a full SYN", syn, 20, 0),
        ("data with timestamps", with_ts, 12, 0),
        (
            "one block",
            TcpOptions {
                sack: sack(1),
                ..none
            },
            12,
            1,
        ),
        (
            "four blocks",
            TcpOptions {
                sack: sack(4),
                ..none
            },
            36,
            4,
        ),
        (
            "three blocks beside timestamps",
            TcpOptions {
                sack: sack(3),
                ..with_ts
            },
            40,
            3,
        ),
        (
            "a fourth does not fit",
            TcpOptions {
                sack: sack(4),
                ..with_ts
            },
            40,
            3,
        ),
        (
            "two beside a full SYN",
            TcpOptions {
                sack: sack(4),
                ..syn
            },
            40,
            2,
        ),
    ] {
        assert_eq!(
            (options.encoded_len(), options.sack_blocks_that_fit()),
            (len, fitting),
            "{name}"
        );
        assert_eq!(written(options).len(), len, "{name}");
    }
}

#[test]
fn reading_is_tolerant() {
    let mss = TcpOptions {
        mss: Some(1460),
        ..TcpOptions::NONE
    };
    let bad = Err(WireError::BadOption);
    for (name, bytes, expected, verdict) in [
        ("no options", &[][..], TcpOptions::NONE, Ok(())),
        ("padding only", &[1, 1, 1, 0], TcpOptions::NONE, Ok(())),
        (
            "the end hides what follows",
            &[2, 4, 5, 180, 0, 3, 3, 7],
            mss,
            Ok(()),
        ),
        (
            "an unknown one is stepped over",
            &[253, 4, 9, 9, 2, 4, 5, 180],
            mss,
            Ok(()),
        ),
        (
            "an unknown one without value",
            &[99, 2, 2, 4, 5, 180],
            mss,
            Ok(()),
        ),
        (
            "the last of two counts",
            &[2, 4, 0, 1, 2, 4, 5, 180],
            mss,
            Ok(()),
        ),
        (
            "a length of zero ends it",
            &[2, 4, 5, 180, 9, 0, 3, 3, 7],
            mss,
            bad,
        ),
        (
            "a length of one ends it",
            &[2, 4, 5, 180, 9, 1, 3, 3, 7],
            mss,
            bad,
        ),
        (
            "a length past the end ends it",
            &[2, 4, 5, 180, 9, 9, 3, 3],
            mss,
            bad,
        ),
        (
            "a kind without a length ends it",
            &[2, 4, 5, 180, 9],
            mss,
            bad,
        ),
        (
            "an MSS of three bytes is lost alone",
            &[2, 3, 7, 2, 4, 5, 180],
            mss,
            bad,
        ),
        (
            "a scale of two bytes is lost alone",
            &[3, 4, 7, 7, 2, 4, 5, 180],
            mss,
            bad,
        ),
        (
            "a permission with a value is lost",
            &[4, 3, 7, 2, 4, 5, 180],
            mss,
            bad,
        ),
        (
            "short timestamps are lost",
            &[8, 6, 1, 2, 3, 4, 2, 4, 5, 180],
            mss,
            bad,
        ),
        (
            "a SACK without blocks is lost",
            &[5, 2, 2, 4, 5, 180],
            mss,
            bad,
        ),
        (
            "a SACK with half a block is lost",
            &[5, 6, 1, 2, 3, 4, 2, 4, 5, 180],
            mss,
            bad,
        ),
    ] {
        assert_eq!(TcpOptions::parse(bytes), (expected, verdict), "{name}");
    }
}

#[test]
fn a_malformed_option_does_not_invalidate_the_segment() {
    let mut bytes = [0; 28];
    TcpHeader {
        seq: 9,
        ..TcpHeader::default()
    }
    .write(&mut bytes);
    bytes[12] = 6 << 4;
    bytes[20..].copy_from_slice(&[8, 0, 1, 1, b't', b'e', b'x', b't']);
    let (header, payload) = TcpHeader::parse(&bytes).unwrap();
    assert_eq!(
        (header.seq, header.options_malformed, payload),
        (9, true, &b"text"[..])
    );
}

#[test]
fn an_impossible_data_offset_is_refused() {
    for (words, len, expected) in [
        (0, 20, Err(WireError::BadHeaderLength)),
        (4, 60, Err(WireError::BadHeaderLength)),
        (5, 20, Ok(0)),
        (5, 23, Ok(3)),
        (6, 23, Err(WireError::BadHeaderLength)),
        (15, 59, Err(WireError::BadHeaderLength)),
        (15, 60, Ok(0)),
        (5, 19, Err(WireError::Truncated)),
        (0, 0, Err(WireError::Truncated)),
    ] {
        let mut bytes = [1; 60];
        bytes[12] = words << 4;
        let verdict = TcpHeader::parse(&bytes[..len]).map(|(_, payload)| payload.len());
        assert_eq!(verdict, expected, "{words} words in {len} bytes");
    }
}

#[test]
fn the_checksum_covers_addresses_header_options_and_payload() {
    let header = TcpHeader {
        options: TcpOptions {
            mss: Some(536),
            ..TcpOptions::NONE
        },
        ..TcpHeader::default()
    };
    let payload = b"an odd number of bytes.";
    let mut good = vec![0xee; 24];
    header.write(&mut good);
    set_checksum(&mut good, SRC, DST, Checksum::of(payload));
    good.extend(payload);
    assert_eq!(verify_checksum(&good, SRC, DST), Ok(()));
    for place in 0..good.len() {
        let mut bytes = good.clone();
        bytes[place] ^= 1;
        assert_eq!(
            verify_checksum(&bytes, SRC, DST),
            Err(WireError::BadChecksum),
            "byte {place}"
        );
    }
    assert_eq!(
        verify_checksum(&good, SRC, SRC),
        Err(WireError::BadChecksum)
    );
    assert_eq!(
        verify_checksum(&good[..19], SRC, DST),
        Err(WireError::Truncated)
    );
}

#[test]
fn eight_quoted_bytes_name_the_connection_and_the_byte() {
    let header = TcpHeader {
        src_port: 1,
        dst_port: 2,
        seq: 0xdead_beef,
        ..TcpHeader::default()
    };
    let mut bytes = [0; 20];
    header.write(&mut bytes);
    let expected = QuotedTcp {
        src_port: 1,
        dst_port: 2,
        seq: 0xdead_beef,
    };
    assert_eq!(QuotedTcp::parse(&bytes[..8]), Ok(expected));
    assert_eq!(QuotedTcp::parse(&bytes[..7]), Err(WireError::Truncated));
}
