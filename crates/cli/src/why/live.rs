//! A capture on an interface of this machine.
//!
//! Rule: the capture ends when its time is over or when the user presses Ctrl-C. The answer is then
//! printed as for a file. The interface itself is not changed.

use std::time::{Duration, Instant};

use fullpipe_captures::{Capture, Connections};
use fullpipe_diagnose::capture::{
    CaptureCounters, CaptureWarning, Dissector, FlowFilter, FlowLimits, FlowTable, Frame, LinkType,
    Passage,
};
use fullpipe_host::{SniffedPacket, Sniffer};
use fullpipe_perf::Stop;

use crate::failure::Failure;

/// Bytes of each packet that are captured; they are enough for all headers.
const SNAP_LEN: usize = 192;
/// Longest time for reading packets that are still queued after the end of the capture.
const LAST_PACKETS: Duration = Duration::from_secs(1);

/// Captures into `connections` until the time is over or the user stops the capture.
pub fn read(
    interface: &str,
    time: Option<Duration>,
    filter: Option<&FlowFilter>,
    connections: &mut Connections,
    stop: &Stop,
) -> Result<Capture, Failure> {
    let mut sniffer = Sniffer::open(interface).map_err(Failure::failed)?;
    let mut dissector = Dissector::new();
    let mut table = FlowTable::new(FlowLimits::DEFAULT, connections.analysis());
    let began = Instant::now();
    let mut stopped: Option<Instant> = None;
    let mut buffer = [0; SNAP_LEN];
    loop {
        if stop.is_raised() || time.is_some_and(|time| began.elapsed() >= time) {
            stopped.get_or_insert_with(Instant::now);
        }
        let packet = sniffer.next_packet(&mut buffer);
        let packet = packet.map_err(|error| Failure::failed(format!("{interface}: {error}")))?;
        // After the end, go on until no packet is queued, because queued packets arrived before the
        // end.
        if stopped.is_some_and(|at| packet.is_none() || at.elapsed() >= LAST_PACKETS) {
            break;
        }
        let Some(packet) = packet.filter(|packet| packet.is_ip) else {
            continue;
        };
        if let Some((key, segment)) = dissector.on_frame(&frame(&packet, &buffer))
            && filter.is_none_or(|filter| filter.chooses(&key))
        {
            table.on_segment(key, &segment, |flow| connections.add(flow));
        } else if let Some((key, returned)) = dissector.take_returned() {
            table.on_returned(&key, returned);
        }
    }
    table.finish(dissector.now_ns(), |flow| connections.add(flow));
    let counters = CaptureCounters {
        dropped: sniffer.dropped().unwrap_or(0),
        // 0 means that packets are complete, so that unreadable options count as malformed and
        // not as cut. `SNAP_LEN` is enough for all headers, so no header is cut.
        snap_len: 0,
        ..dissector.counters()
    };
    let warnings = CaptureWarning::all(&counters, None);
    Ok(Capture::new(interface, counters, warnings))
}

fn frame<'a>(packet: &SniffedPacket, buffer: &'a [u8]) -> Frame<'a> {
    Frame {
        at_ns: (packet.at_ns != 0).then_some(packet.at_ns),
        link: LinkType::RAW,
        bytes: &buffer[..packet.captured],
        original_len: u32::try_from(packet.len).unwrap_or(u32::MAX),
        passage: match packet.packet_type {
            0..=2 => Some(Passage::Received),
            3 => Some(Passage::Overheard),
            4 => Some(Passage::Sent),
            _ => None,
        },
    }
}
