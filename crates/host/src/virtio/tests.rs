//! Tests of headers with the bytes that the kernel writes.

use super::*;

/// A header of a frame whose TCP header begins at byte 34.
fn head(kind: u8, segment_size: u16) -> [u8; VNET_LEN] {
    let checksum = TxChecksum::Partial {
        start: 34,
        offset: 16,
    };
    let mut head = write(TxMeta {
        checksum,
        segment_size,
        header_len: 66,
    });
    head[1] = kind;
    head
}

#[test]
fn a_merged_frame_counts_its_segments() {
    let mut frame = vec![0; 34 + 32 + 3_000];
    frame[34 + 12] = 8 << 4; // 32 bytes of TCP header
    for (name, kind, size, segments) in [
        ("one segment", 0, 0, 0),
        ("three segments", CUT_TCP4, 1_448, 3),
        ("with CWR", CUT_TCP4 | CUT_ECN, 1_000, 3),
        ("no size", CUT_TCP4, 0, 0),
        ("over IPv6", CUT_TCP6, 1_448, 3),
        ("not TCP", 3, 1_448, 0),
    ] {
        assert_eq!(read(&head(kind, size), &frame).merged, segments, "{name}");
    }
    assert_eq!(read(&head(CUT_TCP4, 1_448), &frame[..40]).merged, 0);
}

#[test]
fn the_offset_of_the_tcp_header_tells_the_version_of_ip() {
    for (start, kind) in [
        (20, CUT_TCP4),
        (34, CUT_TCP4),
        (40, CUT_TCP6),
        (54, CUT_TCP6),
    ] {
        let head = write(TxMeta {
            checksum: TxChecksum::Partial { start, offset: 16 },
            segment_size: 1_000,
            header_len: start + 20,
        });
        assert_eq!(head[1], kind, "{start}");
    }
}

#[test]
fn a_checksum_left_out_counts_as_verified() {
    assert!(read(&head(0, 0), &[]).checksum_verified);
    assert!(!read(&write(TxMeta::default()), &[]).checksum_verified);
}
