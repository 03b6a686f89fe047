//! A part of a frame: its captured bytes, and its original length.
//!
//! Rule: a header is read only if all of it was captured. Otherwise the reason says whether
//! the snap length was too short or the packet contradicts itself.

/// Reason for which a frame has no segment. Each reason has a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skipped {
    /// The type of the link header is not read.
    LinkType,
    /// Not TCP over IPv4 or IPv6.
    NotTcp,
    /// A fragment other than the first, which has no TCP header.
    Fragment,
    /// The captured bytes end inside the headers.
    HeaderCut,
    /// The headers contradict each other, or a length exceeds the frame.
    Malformed,
}

/// A packet, from one of its headers to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    /// Captured bytes, at most `len`.
    pub bytes: &'a [u8],
    /// Length of the packet before the capture cut it.
    pub len: u32,
}

impl<'a> Packet<'a> {
    /// Splits off a header of `N` bytes.
    pub(super) fn split<const N: usize>(self) -> Result<(&'a [u8; N], Self), Skipped> {
        if (self.len as usize) < N {
            return Err(Skipped::Malformed);
        }
        match self.bytes.split_first_chunk() {
            Some((header, bytes)) => {
                let len = self.len - N as u32;
                Ok((header, Self { bytes, len }))
            }
            None => Err(Skipped::HeaderCut),
        }
    }

    /// Removes the first `len` bytes. Some or all of them may be missing in the capture.
    pub(super) fn without(self, len: u32) -> Result<Self, Skipped> {
        match self.len.checked_sub(len) {
            Some(rest) => Ok(Self {
                bytes: self.bytes.get(len as usize..).unwrap_or_default(),
                len: rest,
            }),
            None => Err(Skipped::Malformed),
        }
    }

    /// Removes everything after `len` bytes, such as the padding of a short frame.
    pub(super) fn cut_to(self, len: u32) -> Self {
        let captured = self.bytes.len().min(len as usize);
        Self {
            bytes: &self.bytes[..captured],
            len,
        }
    }
}
