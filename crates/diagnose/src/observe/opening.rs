//! Values that the analysis needs before it divides time: the position of the tap (the place of the
//! capture), the shift of the windows, and the segment size.
//!
//! With a handshake, all of these values are known at the third segment. If the capture lacks the
//! handshake or options of it, the first [`SEGMENTS`] segments are kept, and the values are
//! inferred from these segments.
//!
//! Rule: without SYNs, a shift is inferred only if bytes in flight come close to the window that
//! this shift gives. Otherwise windows are unknown.

use fullpipe_wire::TcpFlags;

use super::{handshake::Handshake, observed::WindowScale};
use crate::{
    capture::{End, Segment},
    facts::unwrap::Unwrap,
};

/// Number of segments that are kept if the handshake was not captured whole.
pub const SEGMENTS: usize = 1_024;

/// An end, as the first segments of the capture show it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeenEnd {
    /// Smallest round-trip time from the tap to this end and back; `None` if it is unknown.
    pub round_trip: Option<u64>,
    /// Shift of the windows that this end advertises.
    pub scale: WindowScale,
    /// Payload of this end's full segments on the wire.
    pub mss: u32,
    pub has_super_segments: bool,
}

/// Returns both ends, by [`End::index`].
pub fn sides(handshake: &Handshake, segments: &[(u64, Segment)]) -> [SeenEnd; 2] {
    let trips = handshake.round_trips();
    End::BOTH.map(|end| {
        let (mss, has_super_segments) = segment_size(end, handshake, segments);
        SeenEnd {
            round_trip: trips[end.index()].or_else(|| reaction(end, segments)),
            scale: scale(end, handshake, segments),
            mss,
            has_super_segments,
        }
    })
}

/// Payload of the full segments of `end`, and true if some segments are longer.
fn segment_size(end: End, handshake: &Handshake, segments: &[(u64, Segment)]) -> (u32, bool) {
    let of_end = segments.iter().filter(|(_, segment)| segment.from == end);
    let lens: Vec<u32> = of_end
        .map(|(_, segment)| segment.payload)
        .filter(|len| *len > 0)
        .collect();
    let offers = End::BOTH.map(|end| handshake.whole_offer(end));
    let peer = offers[end.other().index()].and_then(|offer| offer.mss);
    let timestamps = offers.iter().flatten().all(|offer| offer.timestamps);
    let agreed = peer.map(|mss| u32::from(mss) - if timestamps { 12.min(mss.into()) } else { 0 });
    let longest = lens.iter().copied().max().unwrap_or(0);
    match agreed {
        Some(agreed) => (agreed.max(1), longest > agreed + 12),
        None => {
            // Take the most frequent length, among lengths that a path MTU allows.
            let mut sorted: Vec<u32> = lens.into_iter().filter(|len| *len <= 9_000).collect();
            sorted.sort_unstable();
            let runs = sorted.chunk_by(|a, b| a == b);
            let common = runs.max_by_key(|run| (run.len(), run[0]));
            let common = common.map_or(longest.max(1), |run| run[0]);
            (common.clamp(1, 1_460), longest > 9_000)
        }
    }
}

/// Time from an ACK to the payload of `end` that the ACK may have released: the tenth percentile of
/// these times.
fn reaction(end: End, segments: &[(u64, Segment)]) -> Option<u64> {
    let mut acked: Option<(u64, u32)> = None;
    let mut least: Option<u64> = None;
    let mut trips = Vec::new();
    for (at, segment) in segments {
        if segment.from != end {
            if let Some(ack) = segment.acknowledges()
                && acked.is_none_or(|(_, last)| (ack.wrapping_sub(last) as i32) > 0)
            {
                acked = Some((*at, ack));
            }
        } else if segment.payload > 0
            && let Some((since, _)) = acked.take()
        {
            trips.push(at - since);
        }
    }
    trips.sort_unstable();
    // Take the tenth percentile and not the minimum, because payload that no ACK released may by
    // chance follow an ACK closely.
    if let Some(&low) = trips.get(trips.len() / 10) {
        least = Some(low);
    }
    least
}

/// Returns the shift of the windows of `end`.
fn scale(end: End, handshake: &Handshake, segments: &[(u64, Segment)]) -> WindowScale {
    if let Some(shift) = handshake.shift(end) {
        return WindowScale::Seen(shift);
    }
    let mut sent: Option<Unwrap> = None;
    let (mut max, mut una) = (0, 0);
    // Ratios of bytes in flight to the unscaled window, one for each segment with payload.
    let mut ratios: Vec<f64> = Vec::new();
    let mut window = 0_u64;
    for (_, segment) in segments {
        if segment.flags.contains(TcpFlags::SYN) {
            if !segment.options_cut {
                return WindowScale::Unknown;
            }
            // The window of a SYN is not scaled. RFC 7323 §2.2.
            continue;
        }
        if segment.from == end {
            window = u64::from(segment.window);
            if let (Some(sent), Some(ack)) = (&mut sent, segment.acknowledges()) {
                una = sent.count(ack).max(una);
            }
        } else if segment.payload > 0 {
            let start = segment.seq.wrapping_sub(1 << 20);
            let space = sent.get_or_insert_with(|| Unwrap::new(start));
            max = space
                .count(segment.seq.wrapping_add(segment.payload))
                .max(max);
            if una > 0 && window > 0 {
                ratios.push(max.saturating_sub(una) as f64 / window as f64);
            }
        }
    }
    let largest = ratios.iter().copied().fold(0.0, f64::max);
    let near = ratios
        .iter()
        .filter(|ratio| **ratio > 0.8 * largest)
        .count();
    if near < 8 {
        return WindowScale::Unknown;
    }
    // The payload in flight exceeds a window by little if the window was reduced meanwhile.
    let largest = if largest <= 1.02 {
        largest.min(1.0)
    } else {
        largest
    };
    let shift = largest.log2().ceil().clamp(0.0, 14.0);
    let fills = largest / f64::exp2(shift);
    if fills > 0.8 {
        WindowScale::Inferred(shift as u8)
    } else {
        WindowScale::Unknown
    }
}
