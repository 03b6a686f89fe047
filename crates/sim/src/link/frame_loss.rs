//! The reasons for which a link loses a frame, and the number of lost frames by reason.
//!
//! Rule: each lost frame is counted once, by one reason. An impairment that loses frames needs one
//! entry in the table below; accounts and JSON list every entry. Frames with flipped bits are not
//! lost here: the receiver discards them.

/// Declares [`FrameLoss`] from its table.
macro_rules! frame_losses {
    ($( $(#[doc = $doc:literal])+ $reason:ident = $name:literal, $words:literal; )+) => {
        /// The reason for which a link lost a frame.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum FrameLoss {
            $( $(#[doc = $doc])+ $reason, )+
        }

        impl FrameLoss {
            /// Every reason, in declaration order.
            pub const ALL: &'static [Self] = &[$( Self::$reason, )+];

            /// Name in JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$reason => $name, )+
                }
            }

            /// Words between "42 frames were lost" and the name of the link.
            pub const fn words(self) -> &'static str {
                match self {
                    $( Self::$reason => $words, )+
                }
            }
        }
    };
}

frame_losses! {
    /// The frame was lost on the wire, independently of other frames.
    Random = "random", "at random on";
    /// The frame was lost on the wire, by the burst-loss model.
    Burst = "burst", "in bursts on";
    /// The queue was full.
    Queue = "queue", "in the full queue of";
    /// The queue of the token bucket was full. With a short queue the bucket is a policer.
    TokenBucket = "token_bucket", "in the token bucket of";
    /// The queue was longer than the ECN threshold, and the sender does not use ECN.
    EcnThreshold = "ecn_threshold", "above the ECN threshold of";
    /// CoDel dropped the frame, which had waited too long.
    Codel = "codel", "by CoDel on";
    /// The frame was a pure ACK that waited, and a later ACK took its place.
    AckThinning = "ack_thinning", "by ACK thinning on";
    /// The frame was longer than the link's MTU, or than the token bucket's burst.
    TooLong = "too_long", "for exceeding the MTU or the token bucket's burst of";
    /// The packet was longer than the MTU of a hop that answers with an ICMP message.
    PacketTooBig = "packet_too_big", "for exceeding the MTU of a hop of";
    /// The packet was longer than the MTU of a hop that is silent.
    BlackHole = "black_hole", "in the MTU black hole of";
    /// The frame was put on the wire during an outage.
    Outage = "outage", "during an outage of";
    /// The frame was offered while the link was unplugged.
    LinkDown = "link_down", "on the unplugged";
}

/// Lost frames and their bytes, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostFrames {
    frames: [u64; FrameLoss::ALL.len()],
    bytes: [u64; FrameLoss::ALL.len()],
}

impl LostFrames {
    /// Counts a frame of `bytes`.
    pub(super) fn count(&mut self, reason: FrameLoss, bytes: usize) {
        self.frames[reason as usize] += 1;
        self.bytes[reason as usize] += bytes as u64;
    }

    /// Frames lost for `reason`.
    pub const fn frames(&self, reason: FrameLoss) -> u64 {
        self.frames[reason as usize]
    }

    /// Bytes of the frames lost for `reason`, link headers included.
    pub const fn bytes(&self, reason: FrameLoss) -> u64 {
        self.bytes[reason as usize]
    }

    /// Frames lost for any reason.
    pub fn all(&self) -> u64 {
        self.frames.iter().sum()
    }

    /// Each reason with its frames and bytes, in declaration order.
    pub fn iter(&self) -> impl Iterator<Item = (FrameLoss, u64, u64)> + '_ {
        let reasons = FrameLoss::ALL.iter();
        reasons.map(|&reason| (reason, self.frames(reason), self.bytes(reason)))
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (reason, frames, bytes) in other.iter() {
            self.frames[reason as usize] += frames;
            self.bytes[reason as usize] += bytes;
        }
    }
}
