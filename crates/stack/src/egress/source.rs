//! The sources of output, and sets of them.
//!
//! Rule: the order of the sources is the order in which they are polled. Each has one bit.

use crate::link::Asker;

/// The sources of output, in the order in which they are polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputSource {
    Neighbours,
    Errors,
    Echo,
    Resets,
    SynAcks,
    WaitAcks,
    Connections,
    Udp,
}

impl OutputSource {
    const ALL: [Self; 8] = [
        Self::Neighbours,
        Self::Errors,
        Self::Echo,
        Self::Resets,
        Self::SynAcks,
        Self::WaitAcks,
        Self::Connections,
        Self::Udp,
    ];

    /// Returns the source's bit in [`DueSources`].
    const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Returns the kind of sender for which the neighbour cache looks up the next hop of this
    /// source's packets. For packets that answer a frame, the kind does not matter. An ACK in
    /// TIME-WAIT counts as an ACK of a connection, because it is the connection's last segment.
    pub(super) const fn asker(self) -> Asker {
        match self {
            Self::WaitAcks | Self::Connections => Asker::Connection,
            Self::Neighbours
            | Self::Errors
            | Self::Echo
            | Self::Resets
            | Self::SynAcks
            | Self::Udp => Asker::Datagram,
        }
    }
}

/// A set of sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DueSources(u8);

impl DueSources {
    /// Returns this set, with `source` added if `is_due`.
    pub(super) const fn with(self, source: OutputSource, is_due: bool) -> Self {
        match is_due {
            true => Self(self.0 | source.bit()),
            false => self,
        }
    }

    /// Returns true if `source` is in the set and no other is.
    pub(super) const fn is_only(self, source: OutputSource) -> bool {
        self.0 == source.bit()
    }

    /// Removes and returns the source that is polled first.
    pub(super) fn take(&mut self) -> Option<OutputSource> {
        let source = OutputSource::ALL.get(self.0.trailing_zeros() as usize)?;
        self.0 &= !source.bit();
        Some(*source)
    }

    /// Returns the source that is polled first after `last`, with wrap-around.
    #[cfg(feature = "loopback")]
    pub(super) fn first_after(self, last: OutputSource) -> Option<OutputSource> {
        let later = self.0 & !(last.bit() | (last.bit() - 1));
        let from = Self(if later > 0 { later } else { self.0 });
        OutputSource::ALL
            .get(from.0.trailing_zeros() as usize)
            .copied()
    }
}

/// The source of a single packet that was polled last.
#[cfg(feature = "loopback")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastSource(pub(super) OutputSource);

#[cfg(feature = "loopback")]
impl Default for LastSource {
    fn default() -> Self {
        Self(OutputSource::Udp)
    }
}
