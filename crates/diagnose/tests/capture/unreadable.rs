//! Tests with captures of which only the beginning can be read.

use std::io::{self, Cursor, Read};

use fullpipe_diagnose::capture::{BytesRead, CaptureReader, CaptureWarning};

/// A source that returns bytes, and then an error.
struct Failing {
    bytes: Cursor<Vec<u8>>,
    error: Option<io::Error>,
}

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.bytes.read(buffer)? {
            0 => Err(self
                .error
                .take()
                .unwrap_or_else(|| io::ErrorKind::Other.into())),
            read => Ok(read),
        }
    }
}

/// Returns the warnings about a capture of one frame after which `error` occurs.
fn warnings(error: io::Error) -> Vec<CaptureWarning> {
    const FRAME: u32 = 60;
    let header = [0xA1B2_C3D4, 0x0004_0002, 0, 0, 65_535, 1];
    let record = [0, 0, FRAME, FRAME];
    let numbers = header.into_iter().chain(record);
    let mut bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    bytes.resize(bytes.len() + FRAME as usize, 0);
    let bytes = Cursor::new(bytes);
    let source = Failing {
        bytes,
        error: Some(error),
    };
    let mut reader = CaptureReader::open(source, BytesRead::default()).expect("it begins well");
    assert_eq!(reader.by_ref().count(), 0);
    assert_eq!(reader.counters().frames, 1);
    CaptureWarning::all(&reader.counters(), reader.ending())
}

#[test]
fn an_error_of_the_system_is_distinguished_from_damage() {
    let of_system = |error| match warnings(error).first() {
        Some(&CaptureWarning::Unreadable {
            at_byte: 100,
            is_of_system,
            ..
        }) => is_of_system,
        other => panic!("{other:?}"),
    };
    const EIO: i32 = 5;
    assert!(of_system(io::Error::from_raw_os_error(EIO)));
    assert!(!of_system(io::Error::other("corrupt deflate stream")));
}
