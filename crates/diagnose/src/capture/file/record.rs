//! The parts that pcap and pcapng share: numbers in both byte orders, the place of a frame, and
//! the reasons for which no frame follows.
//!
//! Rule: nothing in this file reads from the input.

use std::io;

use crate::capture::{frame::Frame, input::NEED_MAX};

/// Largest number of captured bytes of a frame. The longest IPv6 packet that Linux builds has fewer
/// bytes: 512 KiB.
pub(super) const CAPTURED_MAX: u32 = 768 << 10;
const _: () = assert!((CAPTURED_MAX as usize) < NEED_MAX);

/// Reason for which there is no next frame; the caller adds the place in the file.
pub(super) enum Stop {
    End,
    Cut,
    Damaged(&'static str),
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// The next frame: its place among the bytes that are ready, and its properties.
pub(super) struct Placed {
    /// Bytes of the record before the frame: headers of the file format.
    pub before: usize,
    /// Number of captured bytes of the frame.
    pub captured: usize,
    /// Bytes of the whole record.
    pub record: usize,
    /// The properties of the frame, without its bytes.
    pub frame: Frame<'static>,
}

/// Byte order of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// Reads two bytes at `at`.
    ///
    /// # Panics
    /// Panics if `bytes` has fewer than `at + 2` bytes.
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let pair = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(pair),
            Self::Big => u16::from_be_bytes(pair),
        }
    }

    /// Reads four bytes at `at`.
    ///
    /// # Panics
    /// Panics if `bytes` has fewer than `at + 4` bytes.
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let four = *bytes[at..].first_chunk().expect("the caller has the bytes");
        match self {
            Self::Little => u32::from_le_bytes(four),
            Self::Big => u32::from_be_bytes(four),
        }
    }

    /// Reads eight bytes; `None` if `bytes` has fewer than eight.
    pub fn u64(self, bytes: &[u8]) -> Option<u64> {
        let eight = *bytes.first_chunk()?;
        Some(match self {
            Self::Little => u64::from_le_bytes(eight),
            Self::Big => u64::from_be_bytes(eight),
        })
    }
}
