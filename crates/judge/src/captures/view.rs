//! The three places at which the judge captures a transfer.
//!
//! Rule: the captures at the hosts are taken at their interfaces; the tap on the path differs from
//! case to case.

use fullpipe_fit::frames::TapPlace;

/// The place of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum View {
    /// At the host that sends the payload.
    Sender,
    /// On the path.
    Middle,
    /// At the host that receives the payload.
    Receiver,
}

impl View {
    /// Every place.
    pub const ALL: [Self; 3] = [Self::Sender, Self::Middle, Self::Receiver];

    /// The tap of this place; `middle` is the tap on the path.
    pub const fn tap(self, middle: TapPlace) -> TapPlace {
        match self {
            Self::Sender => TapPlace::SENDER,
            Self::Middle => middle,
            Self::Receiver => TapPlace::RECEIVER,
        }
    }

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Middle => "middle",
            Self::Receiver => "receiver",
        }
    }
}
