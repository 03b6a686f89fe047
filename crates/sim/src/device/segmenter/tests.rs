//! Tests that the cut segments equal those that a stack would have sent itself.

use fullpipe_wire::{
    Ecn, TcpHeader, TcpOptions, Timestamps,
    tcp::{CHECKSUM_OFFSET, verify_checksum},
};

use super::*;
use crate::ids::Family;
use crate::packet::IpPacket;
use crate::test_frames::{self, FAMILIES, addresses};

/// A frame from a stack: `payload` bytes, to be cut at `size`.
fn large(family: Family, payload: usize, size: u16, flags: TcpFlags) -> (Vec<u8>, TxMeta) {
    let header = TcpHeader {
        src_port: 1,
        dst_port: 2,
        seq: u32::MAX - 1_000,
        ack: 77,
        flags,
        window: 500,
        options: TcpOptions {
            timestamps: Some(Timestamps { value: 5, echo: 6 }),
            ..TcpOptions::NONE
        },
        ..TcpHeader::default()
    };
    let payload: Vec<u8> = (0..payload).map(|place| place as u8).collect();
    let mut frame = test_frames::segment(family, &header, &payload, Ecn::NotEct);
    let start = test_frames::tcp_at(family);
    let mut pseudo = Checksum::new();
    let [src, dst] = addresses(family);
    pseudo.add_pseudo_header(src, dst, 6, (frame.len() - start) as u32);
    let field = start + CHECKSUM_OFFSET;
    frame[field..field + 2].copy_from_slice(&pseudo.sum().to_be_bytes());
    let meta = TxMeta {
        checksum: TxChecksum::Partial {
            start: start as u16,
            offset: CHECKSUM_OFFSET as u16,
        },
        segment_size: size,
        header_len: (start + header.header_len()) as u16,
    };
    (frame, meta)
}

/// Checks the checksums of a frame, and returns its TCP header and its payload.
fn parse(frame: &[u8]) -> (TcpHeader, Vec<u8>) {
    test_frames::ecn_of(frame);
    let ip = IpPacket::parse(frame).unwrap();
    verify_checksum(ip.payload, ip.src, ip.dst).unwrap();
    let (header, payload) = TcpHeader::parse(ip.payload).unwrap();
    (header, payload.to_vec())
}

#[test]
fn each_segment_has_its_own_numbers_and_only_the_ends_have_their_flags() {
    let ack = TcpFlags::ACK.union(TcpFlags::ECE);
    let all = ack
        .union(TcpFlags::PSH)
        .union(TcpFlags::FIN)
        .union(TcpFlags::CWR);
    for family in FAMILIES {
        let (frame, meta) = large(family, 2_500, 1_000, all);
        let frames = cut(&frame, meta);
        assert_eq!(frames.len(), 3);
        let expected = [
            (u32::MAX - 1_000, 0xffff, 1_000, ack.union(TcpFlags::CWR)),
            (u32::MAX, 0, 1_000, ack),
            (999, 1, 500, ack.union(TcpFlags::PSH).union(TcpFlags::FIN)),
        ];
        let mut whole = Vec::new();
        for (frame, (seq, identification, len, flags)) in frames.iter().zip(expected) {
            let (header, payload) = parse(frame);
            assert_eq!((header.seq, header.flags), (seq, flags));
            assert_eq!(payload.len(), len);
            if family == Family::V4 {
                assert_eq!(number_at(frame, IP_AT + 2) & 0xffff, identification);
            }
            assert_eq!((header.ack, header.window), (77, 500));
            assert_eq!(
                header.options.timestamps,
                Some(Timestamps { value: 5, echo: 6 })
            );
            whole.extend(payload);
        }
        let expected: Vec<u8> = (0..2_500).map(|place| place as u8).collect();
        assert_eq!(whole, expected);
    }
}

#[test]
fn a_frame_that_is_not_cut_gets_its_checksum() {
    for family in FAMILIES {
        let (mut frame, meta) = large(family, 900, 0, TcpFlags::ACK);
        complete(&mut frame, meta.checksum);
        assert_eq!(parse(&frame).1.len(), 900);
    }
}

#[test]
fn a_whole_frame_is_left_as_it_is() {
    let mut frame = [1, 2, 3];
    complete(&mut frame, TxChecksum::Complete);
    assert_eq!(frame, [1, 2, 3]);
}
