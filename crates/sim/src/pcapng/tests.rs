//! Tests of the bytes of a file, block by block.

use std::sync::{Arc, Mutex};

use super::*;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Type and body of each block. Asserts that the two length fields of each block agree.
fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let len = word(file, 4) as usize;
        assert_eq!(len % 4, 0);
        assert_eq!(word(file, len - 4) as usize, len);
        blocks.push((word(file, 0), file[8..len - 4].to_vec()));
        file = &file[len..];
    }
    blocks
}

#[test]
fn a_capture_is_a_section_its_taps_and_their_frames() {
    let file = Shared::default();
    let mut capture = Capture::new(Box::new(file.clone())).unwrap();
    let first = capture.tap("client", LinkType::Ethernet).unwrap();
    let second = capture.tap("tun", LinkType::Ip).unwrap();
    let at = Instant::from_nanos(0x1_2345_6789);
    capture
        .frame(first, Instant::ZERO, None, &[1, 2, 3, 4, 5])
        .unwrap();
    capture
        .frame(second, at, Some(CaptureDirection::Outbound), &[9; 8])
        .unwrap();
    capture.flush().unwrap();
    let blocks = blocks(&file.0.lock().unwrap());
    let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [SECTION_HEADER, 1, 1, 6, 6]);
    assert_eq!(word(&blocks[0].1, 0), BYTE_ORDER_MAGIC);
    assert_eq!(blocks[1].1[0], 1);
    assert_eq!(&blocks[1].1[12..18], b"client");
    assert_eq!(blocks[2].1[0], 101);
    assert_eq!(
        &blocks[3].1[12..],
        [5, 0, 0, 0, 5, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0]
    );
    let (_, outbound) = &blocks[4];
    assert_eq!(
        [word(outbound, 0), word(outbound, 4), word(outbound, 8)],
        [1, 1, 0x2345_6789]
    );
    assert_eq!(word(outbound, 32), 2, "outbound");
}
