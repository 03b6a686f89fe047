//! Tests of the blocks of a capture file, byte by byte.

use super::*;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The blocks of a file, each with its type. The lengths at both ends of a block must agree.
fn blocks(file: &[u8]) -> Vec<(u32, &[u8])> {
    let mut blocks = Vec::new();
    let mut rest = file;
    while !rest.is_empty() {
        let len = word(rest, 4) as usize;
        assert_eq!(len % 4, 0, "a block is a number of words");
        assert_eq!(word(rest, len - 4) as usize, len, "both lengths agree");
        blocks.push((word(rest, 0), &rest[8..len - 4]));
        rest = &rest[len..];
    }
    blocks
}

fn frame(direction: u32, len: usize) -> RecordedFrame {
    RecordedFrame {
        time_ns: 1_700_000_000_123_456_789,
        direction,
        bytes: vec![0xab; len],
    }
}

#[test]
fn a_file_has_a_section_an_interface_and_its_packets() {
    for (medium, link) in [(Medium::Ethernet, LINK_ETHERNET), (Medium::Ip, LINK_RAW_IP)] {
        let mut file = CaptureFile::begin(Vec::new(), medium).expect("memory takes it");
        for len in [1, 60, 1_514] {
            file.packet(&frame(OUTBOUND, len)).expect("memory takes it");
        }
        let blocks = blocks(&file.out);
        let kinds: Vec<_> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, PACKET, PACKET, PACKET]);
        assert_eq!(word(blocks[0].1, 0), BYTE_ORDER);
        assert_eq!(word(blocks[1].1, 0), u32::from(link));
        for ((_, body), len) in blocks[2..].iter().zip([1, 60, 1_514]) {
            assert_eq!((word(body, 12), word(body, 16)), (len, len));
            assert_eq!(body[20..20 + len as usize], vec![0xab; len as usize]);
            let nanos = u64::from(word(body, 4)) << 32 | u64::from(word(body, 8));
            assert_eq!(nanos, 1_700_000_000_123_456_789);
        }
    }
}

/// A file that accepts a number of bytes and no more.
struct FullDisk(usize);

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_recording_only() {
    let (frames, recorded) = mpsc::sync_channel(2);
    let mut file = CaptureFile::begin(FullDisk(100), Medium::Ip).expect("the head fits");
    let writer = thread::spawn(move || file.record(&recorded));
    // The first frame that does not fit ends the writer. Later frames find no reader, instead of
    // waiting for ever.
    let sent = (0..100).take_while(|_| frames.send(frame(INBOUND, 60)).is_ok());
    assert!(sent.count() < 100);
    writer.join().expect("no panic");
    let error = CaptureFile::begin(FullDisk(10), Medium::Ip)
        .err()
        .expect("no head");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
