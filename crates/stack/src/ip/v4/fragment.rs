//! Fragmentation of a datagram that exceeds the device's MTU, for both versions of IP. RFC 791
//! §2.3, RFC 8200 §4.5.
//!
//! Rule: a datagram is fragmented while it is sent, straight from its queue, so
//! fragments take no memory. This file only computes offsets and lengths.

/// One fragment of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Offset in the datagram's payload in bytes, a multiple of 8.
    pub(crate) offset: u16,
    /// Bytes of payload in the fragment.
    pub(crate) len: u16,
    /// Another fragment follows.
    pub(crate) more: bool,
}

/// The fragments of one datagram, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragmenter {
    payload_len: u16,
    /// Bytes of payload in every fragment but the last.
    step: u16,
    offset: u16,
    /// Identification field of all fragments.
    pub(crate) identification: u32,
}

impl Fragmenter {
    /// Splits `payload_len` bytes into fragments of at most `most` bytes.
    ///
    /// # Panics
    /// Panics if `most` is below 8: no fragment could carry payload.
    pub(crate) fn new(payload_len: u16, most: usize, identification: u32) -> Self {
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
        let fragment = Fragment {
            offset: self.offset,
            len: left.min(self.step),
            more: left > self.step,
        };
        self.offset += fragment.len;
        (fragment.len > 0).then_some(fragment)
    }
}
