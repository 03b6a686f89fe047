//! Turns frames into segments. Frames that are not segments are counted by reason.
//!
//! Rule: every frame is counted once: as a segment, or under the reason for which it is not a
//! segment.

use super::{
    clock::{Clock, TimeCounters},
    duplicates::Duplicates,
    frame::Frame,
    icmp::{self, ReturnedSegment},
    ip,
    link::{self, Network},
    link_type::LinkType,
    packet::Skipped,
    segment::{FlowKey, Segment},
    tcp,
};

/// Largest number of link header types that are remembered as unread.
const LINKS_MAX: usize = 8;

/// Counts of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureCounters {
    /// Frames.
    pub frames: u64,
    /// Bytes of the frames, before the capture cut them.
    pub bytes: u64,
    /// Captured bytes of the frames.
    pub captured_bytes: u64,
    /// Frames that are TCP segments and not duplicates.
    pub segments: u64,
    /// Frames that are not TCP over IPv4 or IPv6.
    pub not_tcp: u64,
    /// Fragments of IP packets after the first.
    pub fragments: u64,
    /// Frames whose headers were cut by the snap length.
    pub header_cut: u64,
    /// Frames whose headers contradict themselves or the frame's length.
    pub malformed: u64,
    /// Frames dropped as copies of frames captured before.
    pub duplicates: u64,
    /// Frames with a link header of a type that this crate does not read.
    pub other_links: u64,
    /// Segments with options that were cut or are malformed.
    pub options_cut: u64,
    /// Segments in packets whose IP length is 0 or comes from a jumbo option: packets of more than
    /// 65,535 bytes, or packets that the interface cuts into smaller ones.
    pub big_packets: u64,
    /// Packets that the capturing system reports as dropped.
    pub dropped: u64,
    /// Largest number of captured bytes of a frame that was cut; 0 if no frame was cut.
    pub snap_len: u32,
    /// Unusual times.
    pub times: TimeCounters,
    /// Unit of the times in nanoseconds, if it is a millisecond or more.
    pub time_unit_ns: Option<i64>,
    /// Time of the first frame, in nanoseconds since the Unix epoch.
    pub began_ns: i64,
    /// Time of the last frame.
    pub ended_ns: i64,
    /// Types of link headers that this crate does not read; only the first few are remembered.
    pub unread_links: Vec<LinkType>,
}

/// Reads the headers of frames, one after another.
pub struct Dissector {
    counters: CaptureCounters,
    clock: Clock,
    duplicates: Duplicates,
    returned: Option<(FlowKey, ReturnedSegment)>,
}

impl Default for Dissector {
    fn default() -> Self {
        Self::new()
    }
}

impl Dissector {
    /// A dissector for the frames of one capture.
    pub fn new() -> Self {
        Self {
            counters: CaptureCounters::default(),
            clock: Clock::new(),
            duplicates: Duplicates::new(),
            returned: None,
        }
    }

    /// Takes the next frame and returns its segment; `None` for a copy of an earlier frame, and for
    /// a frame without a segment.
    pub fn on_frame(&mut self, frame: &Frame<'_>) -> Option<(FlowKey, Segment)> {
        let at_ns = self.clock.time(frame.at_ns);
        let counters = &mut self.counters;
        if counters.frames == 0 {
            counters.began_ns = at_ns;
        }
        counters.frames += 1;
        counters.bytes += u64::from(frame.original_len);
        let captured = frame.bytes.len() as u32;
        counters.captured_bytes += u64::from(captured);
        if captured < frame.original_len {
            counters.snap_len = counters.snap_len.max(captured);
        }
        self.returned = None;
        match self.segment(frame, at_ns) {
            Ok(found) => found,
            Err(skipped) => {
                self.count(skipped, frame.link);
                if skipped == Skipped::NotTcp
                    && let Ok((network, packet, _)) = link::packet(frame)
                {
                    self.returned = icmp::error(network, packet, at_ns);
                }
                None
            }
        }
    }

    /// Takes the segment that the last frame, an ICMP error, returned, and its connection.
    pub const fn take_returned(&mut self) -> Option<(FlowKey, ReturnedSegment)> {
        self.returned.take()
    }

    fn segment(
        &mut self,
        frame: &Frame<'_>,
        at_ns: i64,
    ) -> Result<Option<(FlowKey, Segment)>, Skipped> {
        let (network, packet, passage) = link::packet(frame)?;
        let ip = match network {
            Network::Ipv4 => ip::ipv4(packet)?,
            Network::Ipv6 => ip::ipv6(packet)?,
        };
        let (key, segment, fingerprint) = tcp::segment(&ip)?;
        let counters = &mut self.counters;
        if self.duplicates.is_copy(fingerprint, at_ns) {
            counters.duplicates += 1;
            return Ok(None);
        }
        counters.segments += 1;
        counters.options_cut += u64::from(segment.options_cut);
        counters.big_packets += u64::from(ip.is_big);
        let segment = Segment {
            at_ns,
            frame_len: frame.original_len,
            passage,
            ..segment
        };
        Ok(Some((key, segment)))
    }

    #[cold]
    fn count(&mut self, skipped: Skipped, link: LinkType) {
        let counters = &mut self.counters;
        let counter = match skipped {
            Skipped::LinkType => {
                let known = &mut counters.unread_links;
                if known.len() < LINKS_MAX && !known.contains(&link) {
                    known.push(link);
                }
                &mut counters.other_links
            }
            Skipped::NotTcp => &mut counters.not_tcp,
            Skipped::Fragment => &mut counters.fragments,
            Skipped::HeaderCut => &mut counters.header_cut,
            Skipped::Malformed => &mut counters.malformed,
        };
        *counter += 1;
    }

    /// Time of the last frame, in nanoseconds since the Unix epoch.
    pub fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// The counts so far, without the packets that the capturing system dropped.
    pub fn counters(&self) -> CaptureCounters {
        CaptureCounters {
            times: self.clock.counters(),
            time_unit_ns: self.clock.unit_ns(),
            ended_ns: self.clock.now_ns(),
            ..self.counters.clone()
        }
    }
}
