//! The cut segments equal those that a stack would have sent itself.

use std::net::{IpAddr, Ipv4Addr};

use fullpipe_wire::{
    ChecksumPolicy, EtherType, MacAddress, Protocol, TcpHeader, TcpOptions, Timestamps,
    tcp::{CHECKSUM_OFFSET, verify_checksum},
};

use super::*;

const SRC: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const DST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// A frame from a stack: `payload` bytes, to be cut at `size`.
fn large(payload: usize, size: u16, flags: TcpFlags) -> (Vec<u8>, TxMeta) {
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
    let mut segment = vec![0; 60];
    let head_len = header.write(&mut segment);
    segment.truncate(head_len);
    segment.extend((0..payload).map(|place| place as u8));
    let mut pseudo = Checksum::new();
    pseudo.add_pseudo_header(SRC.into(), DST.into(), 6, segment.len() as u32);
    segment[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2].copy_from_slice(&pseudo.sum().to_be_bytes());
    let mut frame = vec![0; TCP_AT];
    let ethernet = EthernetHeader {
        dst: MacAddress([2, 0, 0, 0, 0, 1]),
        src: MacAddress([2, 0, 0, 0, 0, 0]),
        ether_type: EtherType::Ipv4,
    };
    ethernet.write(&mut frame);
    let ip = Ipv4Header {
        identification: 0xffff,
        dont_fragment: true,
        ..Ipv4Header::new(SRC, DST, Protocol::Tcp, segment.len())
    };
    ip.write(&mut frame[IP_AT..]);
    frame.extend(segment);
    let meta = TxMeta {
        checksum: TxChecksum::Partial {
            start: TCP_AT as u16,
            offset: CHECKSUM_OFFSET as u16,
        },
        segment_size: size,
        header_len: (TCP_AT + head_len) as u16,
    };
    (frame, meta)
}

fn parse(frame: &[u8]) -> (Ipv4Header, TcpHeader, Vec<u8>) {
    let (ip, segment) = Ipv4Header::parse(&frame[IP_AT..], ChecksumPolicy::Verify).unwrap();
    verify_checksum(segment, IpAddr::V4(SRC), IpAddr::V4(DST)).unwrap();
    let (header, payload) = TcpHeader::parse(segment).unwrap();
    (ip, header, payload.to_vec())
}

#[test]
fn each_segment_has_its_own_numbers_and_only_the_ends_have_their_flags() {
    let ack = TcpFlags::ACK.union(TcpFlags::ECE);
    let all = ack
        .union(TcpFlags::PSH)
        .union(TcpFlags::FIN)
        .union(TcpFlags::CWR);
    let (frame, meta) = large(2_500, 1_000, all);
    let frames = cut(&frame, meta);
    assert_eq!(frames.len(), 3);
    let expected = [
        (u32::MAX - 1_000, 0xffff, 1_000, ack.union(TcpFlags::CWR)),
        (u32::MAX, 0, 1_000, ack),
        (999, 1, 500, ack.union(TcpFlags::PSH).union(TcpFlags::FIN)),
    ];
    let mut whole = Vec::new();
    for (frame, (seq, identification, len, flags)) in frames.iter().zip(expected) {
        let (ip, header, payload) = parse(frame);
        assert_eq!((header.seq, header.flags), (seq, flags));
        assert_eq!((ip.identification, payload.len()), (identification, len));
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

#[test]
fn a_frame_that_is_not_cut_gets_its_checksum() {
    let (mut frame, meta) = large(900, 0, TcpFlags::ACK);
    complete(&mut frame, meta.checksum);
    assert_eq!(parse(&frame).2.len(), 900);
}

#[test]
fn a_whole_frame_is_left_as_it_is() {
    let mut frame = [1, 2, 3];
    complete(&mut frame, TxChecksum::Complete);
    assert_eq!(frame, [1, 2, 3]);
}
