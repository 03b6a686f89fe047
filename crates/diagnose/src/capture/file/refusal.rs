//! Files that cannot be read as a capture, and the advice for each.
//!
//! Rule: the message says what the user can do, if anything.

use std::{fmt, io};

/// Reason for which a file cannot be read at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file is empty.
    Empty,
    /// The first bytes belong to no format that this crate reads. At most 16 of them are kept.
    NotACapture(Vec<u8>),
    /// A pcap file whose version is not 2.
    Version {
        /// Major version in the file.
        major: u16,
        /// Minor version in the file.
        minor: u16,
    },
    /// The file's header is cut or contradicts itself.
    Header(&'static str),
    /// The bytes cannot be read or decompressed.
    Read(io::Error),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the file is empty: the capturing program failed or has not written its buffer yet; tcpdump -U writes each packet at once"),
            Self::NotACapture(first) => write!(f, "not a capture that fullpipe can read: {}", named(first)),
            Self::Version { major, minor } => {
                write!(f, "the file has the pcap version {major}.{minor}, but fullpipe reads only 2.x")
            }
            Self::Header(why) => write!(f, "the header of the capture is damaged: {why}"),
            Self::Read(error) => write!(f, "cannot read: {error}"),
        }
    }
}

impl std::error::Error for CaptureError {}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Header("the compressed file ends too early"),
            _ => Self::Read(error),
        }
    }
}

/// Returns the format of a file with these first bytes, and the advice for such a file.
fn named(first: &[u8]) -> String {
    const EXPECTED: &str = "expected pcap or pcapng, uncompressed or compressed with gzip or zstd";
    let known: [(&[u8], &str); 6] = [
        (
            b"snoop\0",
            "a snoop file; convert it: editcap -F pcapng OLD NEW",
        ),
        (
            b"BZh",
            "a bzip2 file; unpack it: bunzip2 -c FILE | fullpipe why -",
        ),
        (
            b"\xfd7zXZ",
            "an xz file; unpack it: xz -dc FILE | fullpipe why -",
        ),
        (
            b"\x04\x22\x4d\x18",
            "an lz4 file; unpack it: lz4 -dc FILE | fullpipe why -",
        ),
        (b"PK\x03\x04", "a zip file; unpack it first"),
        (b"%PDF", "a PDF file"),
    ];
    if let Some((_, name)) = known.iter().find(|(magic, _)| first.starts_with(magic)) {
        return format!("{name}; {EXPECTED}");
    }
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if first.len() >= 4 && first.iter().all(is_text) {
        return format!(
            "a text file; capture with tcpdump -w FILE, which writes packets and not text; {EXPECTED}"
        );
    }
    let bytes: Vec<_> = first
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!(
        "a file that begins with the bytes {}; {EXPECTED}",
        bytes.join(" ")
    )
}
