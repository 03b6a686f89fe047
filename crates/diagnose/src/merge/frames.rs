//! Turns the segments of a log into frames at one end of a path. A tap is the place of a capture.
//!
//! Rule: a segment that an offload joined is cut into pieces of the MSS, as they are on the wire.
//! At most [`FRAMES`] frames are made; later segments are left out.

use std::collections::HashMap;

use fullpipe_wire::{Ecn, TcpFlags};

use crate::{
    capture::End,
    inferred::{FrameKind, SeenFrame, WORDS},
    observe::{Noted, NotedSack, SegmentLog},
};

/// Bytes of Ethernet, IPv4 and TCP headers with timestamps.
const HEADERS: u32 = 66;
/// Largest number of frames made from a log.
const FRAMES: usize = 1 << 19;

/// The rules by which segments become frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cutting {
    /// For each end, the payload of a piece; 0 if no segment is cut.
    pub mss: [u32; 2],
    /// True if frames are recognised without the TCP options, because a capture lacks some.
    pub is_without_options: bool,
}

/// The frames that `from` sent, in the order of time. `at` returns the time of a segment in
/// nanoseconds.
pub fn frames(
    log: &SegmentLog,
    from: End,
    cutting: Cutting,
    at: &dyn Fn(&Noted) -> u64,
) -> Vec<SeenFrame> {
    let mss = cutting.mss[from.index()];
    let mut all = Vec::new();
    let mut sacks = log.sacks();
    for (place, segment) in log.segments().iter().enumerate() {
        let count = sacks.partition_point(|block| (block.place as usize) <= place);
        let (own, rest) = sacks.split_at(count);
        sacks = rest;
        if segment.from != from || all.len() >= FRAMES {
            continue;
        }
        let at_ns = at(segment);
        let mut done = 0;
        loop {
            let left = segment.payload - done;
            let len = if mss == 0 { left } else { left.min(mss) };
            let seq = segment.seq.wrapping_add(done);
            all.push(match cutting.is_without_options {
                true => piece(at_ns, &segment.without_timestamps(), seq, len, &[]),
                false => piece(at_ns, segment, seq, len, own),
            });
            done += len;
            if done >= segment.payload {
                break;
            }
        }
    }
    // Sort the frames, because `at` may return decreasing times.
    all.sort_by_key(|frame| frame.at_ns);
    all
}

/// A frame with `len` bytes of payload from `seq` on, cut from a segment that passed the tap at
/// `at_ns`. Payload is recognised by its sequence number and the sender's timestamp, because
/// offloads join and split segments. A segment without payload is recognised by its header and its
/// `sacks`.
fn piece(at_ns: u64, segment: &Noted, seq: u32, len: u32, sacks: &[NotedSack]) -> SeenFrame {
    let pair = |one: u32, other: u32| u64::from(one) << 32 | u64::from(other);
    let stamp = |stamp: Option<u32>| stamp.map_or(0, |stamp| 1 << 32 | u64::from(stamp));
    let mut words = [0; WORDS];
    words[0] = pair(seq, len);
    words[1] = stamp(segment.tsval);
    words[2] = segment.from.index() as u64;
    let kind = match (len, TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST) {
        (0, ends) if segment.flags.intersects(ends) => FrameKind::Other,
        (0, _) => FrameKind::PureAck,
        _ => FrameKind::Payload,
    };
    if len == 0 {
        words[3] = pair(segment.ack, segment.flags.bits().into());
        words[4] = stamp(segment.tsecr);
        words[5] = segment.window.into();
        for (word, block) in words[6..].iter_mut().zip(sacks) {
            *word = pair(block.left, block.right);
        }
    }
    let mut frame = SeenFrame::recognised(at_ns, kind, words);
    frame.len = len + HEADERS;
    frame.ack = segment.ack;
    frame.is_marked = segment.ecn == Ecn::Ce;
    frame
}

/// First sequence number and payload in bytes of a frame that [`frames`] made; `None` without
/// payload.
pub fn payload(frame: &SeenFrame) -> Option<(u32, u32)> {
    let (words, _) = frame.key();
    let is_payload = frame.kind == FrameKind::Payload;
    is_payload.then_some(((words[0] >> 32) as u32, words[0] as u32))
}

/// Returns the times at both taps of each frame that occurs once in `first` and once in `second`.
pub fn common(first: &[SeenFrame], second: &[SeenFrame]) -> Vec<(u64, u64)> {
    let mut seen: HashMap<_, [(u32, u64); 2]> = HashMap::new();
    for (tap, frames) in [first, second].into_iter().enumerate() {
        for frame in frames {
            let entry = &mut seen.entry(frame.key()).or_default()[tap];
            *entry = (entry.0 + 1, frame.at_ns);
        }
    }
    let alone = seen.into_values().filter_map(|[first, second]| {
        (first.0 == 1 && second.0 == 1).then_some((first.1, second.1))
    });
    alone.collect()
}
