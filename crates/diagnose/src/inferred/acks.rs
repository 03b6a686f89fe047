//! The path of acknowledgments: losses, thinning and compression.
//!
//! Rule: only segments that carry nothing but an acknowledgment are counted.

use super::frames::FrameKind;
use super::matching::Matched;

/// An ACK counts as compressed if the path divided its distance in time from the previous ACK by
/// more than this number.
const COMPRESSED: u64 = 4;

/// The acknowledgments of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckPath {
    /// Pure acknowledgments sent.
    pub sent: u64,
    /// Pure acknowledgments that arrived.
    pub arrived: u64,
    /// Pure acknowledgments whose distance in time from the previous one shrank to less than a
    /// quarter on the path. The payload that they release leaves in bursts.
    pub compressed: u64,
    /// Mean number of bytes that an arriving acknowledgment newly acknowledges; 0 if none arrived.
    pub bytes_each: f64,
}

impl AckPath {
    /// Counts the acknowledgments of `matched`.
    pub fn of(matched: &Matched<'_>) -> Self {
        let mut path = Self::default();
        let mut before: Option<(u64, u64)> = None;
        let mut highest: Option<u32> = None;
        let mut bytes = 0;
        for (place, frame) in matched.sent.iter().enumerate() {
            if frame.kind != FrameKind::PureAck {
                continue;
            }
            path.sent += 1;
            let Some(arrived) = matched.arrived(place) else {
                continue;
            };
            path.arrived += 1;
            if let Some((sent_ns, arrived_ns)) = before {
                let apart_ns = frame.at_ns - sent_ns;
                let left_ns = arrived.at_ns.saturating_sub(arrived_ns);
                path.compressed += u64::from(left_ns * COMPRESSED < apart_ns);
            }
            before = Some((frame.at_ns, arrived.at_ns));
            let newly = highest.map_or(0, |highest| frame.ack.wrapping_sub(highest));
            if newly < 1 << 31 {
                bytes += u64::from(newly);
                highest = Some(frame.ack);
            }
        }
        if path.arrived > 0 {
            path.bytes_each = bytes as f64 / path.arrived as f64;
        }
        path
    }
}
