//! Cutting a datagram that is larger than the device's packets. RFC 791 §2.3.
//!
//! Rule: a datagram is cut while it is sent, straight from where it is kept,
//! so fragments need no memory of their own. This file only says where to cut.

/// One fragment of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Where it begins in the datagram's payload, in bytes; a multiple of 8.
    pub(crate) offset: u16,
    /// Bytes of the payload in it.
    pub(crate) len: u16,
    /// Whether another one follows.
    pub(crate) more: bool,
}

/// Where to cut one datagram, piece by piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragmenter {
    payload_len: u16,
    /// Bytes in every piece but the last.
    step: u16,
    offset: u16,
    /// What all pieces carry in their header.
    pub(crate) identification: u16,
}

impl Fragmenter {
    /// Cuts `payload_len` bytes into pieces of at most `most` bytes.
    ///
    /// # Panics
    /// If `most` is below 8: nothing would ever be sent.
    pub(crate) fn new(payload_len: u16, most: usize, identification: u16) -> Self {
        assert!(
            most >= 8,
            "packets with room for {most} bytes cannot carry fragments"
        );
        let step = (most.min(usize::from(u16::MAX)) & !7) as u16;
        Self {
            payload_len,
            step,
            offset: 0,
            identification,
        }
    }
}

impl Iterator for Fragmenter {
    type Item = Fragment;

    fn next(&mut self) -> Option<Fragment> {
        let left = self.payload_len - self.offset;
        let piece = Fragment {
            offset: self.offset,
            len: left.min(self.step),
            more: left > self.step,
        };
        self.offset += piece.len;
        (piece.len > 0).then_some(piece)
    }
}
