//! Processors and receive rings of the hosts.
//!
//! Rule: costs are those of the file; busy shares and ring drops are measured. A reader's
//! calls are excluded from bounds and from a receiver's busy share, because a busier
//! receiver makes fewer of them.

use fullpipe_scenario::{
    experiment::{HostPlan, Setup},
    measured::{HostMeasured, Measured},
    path::TIMESTAMPS,
};
use fullpipe_sim::{CpuModel, FrameCost, link::ETHERNET_HEADER_LEN};
use fullpipe_wire::{Ipv4Header, TcpHeader};

use super::{binding::underway, bounds, buffers::Buffer, cause::Cause, evidence::Evidence};

/// Bytes of a frame's headers.
const HEADERS: usize = ETHERNET_HEADER_LEN + Ipv4Header::LEN + TcpHeader::LEN + TIMESTAMPS as usize;
/// A processor that was busy for this share of the time, apart from opening and closing,
/// has no time left.
const BUSY: f64 = 0.9;
/// The same share if a window allows less than the processor could do, so that the rest
/// of the time is charged to the window.
const NEVER_IDLE: f64 = 0.97;
/// Share of the interval between frames that a receiver's calls get even if frames leave
/// less, and share of the cost of frames that a writer's calls may cost.
const CALLS_PART: f64 = 0.05;
/// A writer is woken when the buffer divided by this is free.
const FOR_A_WRITER: f64 = 3.0;
/// Most segments that one call reads.
const MOST_FOR_A_CALL: f64 = 8.0;

/// Seconds that a segment of `segment` bytes, and its part of an ACK, cost the slower of
/// both ends; 0 if work takes no time.
pub fn segment_s(setup: &Setup, segment: f64) -> f64 {
    let [sending, receiving] = segment_at_each_end_s(setup, segment);
    sending.max(receiving)
}

/// The end of the first flow that takes longer for a segment.
pub fn slower_end(setup: &Setup, segment: f64) -> &HostPlan {
    let flow = setup.flow();
    let [sending, receiving] = segment_at_each_end_s(setup, segment);
    let place = if sending >= receiving {
        flow.from
    } else {
        flow.to
    };
    &setup.hosts[place]
}

/// Seconds that a segment, and its part of an acknowledgment, cost the sender and the
/// receiver.
fn segment_at_each_end_s(setup: &Setup, segment: f64) -> [f64; 2] {
    let flow = setup.flow();
    let (sender, receiver) = (&setup.hosts[flow.from], &setup.hosts[flow.to]);
    let (from, to) = (&sender.cpu, &receiver.cpu);
    let frame = segment as usize + HEADERS;
    let every = f64::from(receiver.config.tcp.ack_every);
    let calls = (segment * FOR_A_WRITER / Buffer::sending(sender).text() as f64).min(1.0);
    let sending = seconds(&from.send, frame)
        + seconds(&from.receive, HEADERS) / every
        + from.call.as_secs_f64() * calls;
    let receiving = seconds(&to.receive, frame) + seconds(&to.send, HEADERS) / every;
    [sending, receiving]
}

/// Seconds that both processors add to a round trip of a full segment; the window opens
/// again only after its reader was called.
pub fn round_trip_s(setup: &Setup, segment: f64) -> f64 {
    let flow = setup.flow();
    let [sender, receiver]: [&CpuModel; 2] =
        [flow.from, flow.to].map(|place| &setup.hosts[place].cpu);
    let frame = segment as usize + HEADERS;
    seconds(&sender.send, frame)
        + seconds(&receiver.receive, frame)
        + seconds(&receiver.send, HEADERS)
        + seconds(&sender.receive, HEADERS)
        + receiver.call.as_secs_f64()
}

/// Returns true if work takes no time at either end.
pub fn is_free(setup: &Setup) -> bool {
    let flow = setup.flow();
    let mut ends = [flow.from, flow.to].into_iter();
    ends.all(|place| setup.hosts[place].cpu.is_free())
}

/// Segments that a receiver must read with one call of its application to keep up with
/// one segment every `frame_s`. The window must have room for them in addition to the
/// payload in flight.
pub fn for_a_call(setup: &Setup, segment: f64, frame_s: f64) -> f64 {
    let receiver = &setup.hosts[setup.flow().to].cpu;
    let taken_s = seconds(&receiver.receive, segment as usize + HEADERS);
    let left_s = (frame_s - taken_s).max(frame_s * CALLS_PART);
    let call_s = receiver.call.as_secs_f64();
    if call_s > 0.0 && left_s > 0.0 {
        (call_s / left_s).ceil().clamp(1.0, MOST_FOR_A_CALL)
    } else {
        1.0
    }
}

/// Payload that the send buffer must hold so that calls of its writer cost only a small
/// part of the cost of frames, if the sender's processor is the limit; `None` if they
/// already do.
pub fn text_for_calls(evidence: &Evidence<'_>) -> Option<u64> {
    let sender = evidence.sender();
    busiest(evidence).filter(|(host, _)| host.name == sender.name)?;
    let segment = evidence.segment_bytes() as f64;
    let every = f64::from(evidence.receiver().config.tcp.ack_every);
    let frames_s = seconds(&sender.cpu.send, segment as usize + HEADERS)
        + seconds(&sender.cpu.receive, HEADERS) / every;
    let text = segment * FOR_A_WRITER * sender.cpu.call.as_secs_f64() / (frames_s * CALLS_PART);
    let is_more = text.is_finite() && text > Buffer::sending(sender).text() as f64;
    (is_more && evidence.is_alone()).then_some(text as u64)
}

/// Returns true if a processor is the limit and not `cause`: it was busier than any link
/// and had no time left. If the window behind `cause` allows less than the processor
/// could do, the time in which the processor waited for that window counts as time left.
pub fn is_bound(evidence: &Evidence<'_>, cause: Cause) -> bool {
    let Some((host, _)) = busiest(evidence) else {
        return false;
    };
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let bound = |cause| bounds::of(&bounds, cause).unwrap_or(f64::INFINITY);
    let enough = if bound(cause) * evidence.times() < bound(Cause::Cpu) {
        NEVER_IDLE
    } else {
        BUSY
    };
    let at_work = at_work(evidence, host).unwrap_or(0.0);
    at_work >= enough * underway(evidence) && at_work > evidence.measured.link_busy_share
}

/// The end with the busier processor, and that processor's share of the time, all calls
/// included.
pub fn busiest<'a>(evidence: &Evidence<'a>) -> Option<(&'a HostPlan, f64)> {
    [evidence.sender(), evidence.receiver()]
        .into_iter()
        .filter_map(|host| Some((host, measured(evidence, host)?.cpu_busy_share?)))
        .max_by(|a, b| {
            let of = |host| at_work(evidence, host).unwrap_or(0.0);
            of(a.0).total_cmp(&of(b.0))
        })
}

/// Share of the time that a host's processor spends on work whose amount does not depend
/// on how busy it is.
fn at_work(evidence: &Evidence<'_>, host: &HostPlan) -> Option<f64> {
    let busy = measured(evidence, host)?.cpu_busy_share?;
    if host.name != evidence.receiver().name || host.cpu.call.is_zero() {
        return Some(busy);
    }
    let Measured {
        data_segments,
        delivered_bytes,
        ip_in_receives,
        elapsed_s,
        ..
    } = *evidence.measured;
    // Segments are counted from the start, payload and time without the excluded
    // beginning. A flight that was sent in that beginning is read after it, so segments
    // are multiplied by the share of payload that was read after it.
    let counted = |frames: u64| frames as f64 * evidence.activity.payload_share;
    let active_s = elapsed_s * evidence.activity.share;
    let segments = counted(data_segments);
    if segments <= 0.0 || active_s <= 0.0 {
        return Some(busy);
    }
    let text = (delivered_bytes as f64 / segments) as usize;
    // The senders received ACKs.
    let frames_s = seconds(&host.cpu.receive, text + HEADERS) * segments
        + seconds(&host.cpu.send, HEADERS) * counted(ip_in_receives);
    Some(busy.min(frames_s / active_s))
}

/// Frames that the receiver lost because its ring was full.
pub fn lost_in_ring(evidence: &Evidence<'_>) -> u64 {
    measured(evidence, evidence.receiver()).map_or(0, |host| host.rx_ring_drops)
}

/// The measured values of `host`.
pub fn measured<'a>(evidence: &Evidence<'a>, host: &HostPlan) -> Option<&'a HostMeasured> {
    let mut hosts = evidence.measured.hosts.iter();
    hosts.find(|measured| measured.host == host.name)
}

fn seconds(cost: &FrameCost, bytes: usize) -> f64 {
    cost.of(bytes).as_secs_f64()
}
