//! Blocks of the file, byte by byte.

use super::*;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The blocks of a file, each with its type; lengths at both ends must agree.
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

#[test]
fn a_file_has_a_section_an_interface_and_its_packets() {
    for (medium, link) in [(Medium::Ethernet, LINK_ETHERNET), (Medium::Ip, LINK_RAW_IP)] {
        let mut record = Record {
            out: Some(Vec::new()),
            block: Vec::new(),
        };
        let mut file = record.head(medium).to_vec();
        for len in [1, 60, 1_514] {
            record.packet(&vec![0xab; len], OUTBOUND);
        }
        file.extend(record.out.take().expect("it is written"));
        let blocks = blocks(&file);
        let kinds: Vec<_> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, PACKET, PACKET, PACKET]);
        assert_eq!(word(blocks[0].1, 0), BYTE_ORDER);
        assert_eq!(word(blocks[1].1, 0), u32::from(link));
        for ((_, body), len) in blocks[2..].iter().zip([1, 60, 1_514]) {
            assert_eq!((word(body, 12), word(body, 16)), (len, len));
            assert_eq!(body[20..20 + len as usize], vec![0xab; len as usize]);
            let nanos = u64::from(word(body, 4)) << 32 | u64::from(word(body, 8));
            assert!(
                nanos > 1_000_000_000_000_000_000,
                "nanoseconds since the epoch"
            );
        }
    }
}

/// Refuses to be written after so many bytes.
struct Full(usize);

impl Write for Full {
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
    let mut record = Record {
        out: Some(Full(100)),
        block: Vec::new(),
    };
    for _ in 0..3 {
        record.packet(&[0; 60], INBOUND);
    }
    assert!(record.out.is_none());
}
