//! What the hosts' processors and receive rings have to do with it.
//!
//! Rule: what a frame costs is as the file says, how busy a processor was and what
//! a ring lost is as it was measured. A reader's calls are left out of bounds: a busy
//! host makes fewer of them for as many bytes.

use fullpipe_sim::{Cost, CpuModel};

use super::{binding::underway, buffers::Buffer, evidence::Evidence};
use crate::{
    experiment::{HostPlan, Setup},
    measured::HostMeasured,
};

/// Bytes of a frame without text.
const HEADERS: usize = 14 + 20 + 32;
/// A processor that was at work for this share of the time while the transfer was
/// underway does no more.
const BUSY: f64 = 0.9;

/// Seconds that a segment of `segment` bytes, and its part of an acknowledgment,
/// cost the slower of both ends; nothing where work takes no time.
pub fn segment_s(setup: &Setup, segment: f64) -> f64 {
    let flow = setup.flow();
    let (sender, receiver) = (&setup.hosts[flow.from], &setup.hosts[flow.to]);
    let (from, to) = (&sender.cpu, &receiver.cpu);
    let frame = segment as usize + HEADERS;
    let every = f64::from(receiver.config.tcp.ack_every);
    // A writer is woken for a third of the buffer.
    let calls = (segment * 3.0 / Buffer::sending(sender).text() as f64).min(1.0);
    let sending = seconds(&from.send, frame)
        + seconds(&from.receive, HEADERS) / every
        + from.call.as_secs_f64() * calls;
    let receiving = seconds(&to.receive, frame) + seconds(&to.send, HEADERS) / every;
    sending.max(receiving)
}

/// Seconds that both processors add to a round trip of a full segment.
pub fn round_trip_s(setup: &Setup, segment: f64) -> f64 {
    let flow = setup.flow();
    let [sender, receiver]: [&CpuModel; 2] =
        [flow.from, flow.to].map(|place| &setup.hosts[place].cpu);
    let frame = segment as usize + HEADERS;
    seconds(&sender.send, frame)
        + seconds(&receiver.receive, frame)
        + seconds(&receiver.send, HEADERS)
        + seconds(&sender.receive, HEADERS)
}

/// The end whose processor was at work all the time, and for what share of it.
pub fn busiest<'a>(evidence: &Evidence<'a>) -> Option<(&'a HostPlan, f64)> {
    [evidence.sender(), evidence.receiver()]
        .into_iter()
        .filter_map(|host| Some((host, measured(evidence, host)?.cpu_busy_share?)))
        .filter(|(_, share)| *share >= BUSY * underway(evidence))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Frames that the receiver lost because its ring was full.
pub fn lost_in_ring(evidence: &Evidence<'_>) -> u64 {
    measured(evidence, evidence.receiver()).map_or(0, |host| host.rx_ring_drops)
}

fn measured<'a>(evidence: &Evidence<'a>, host: &HostPlan) -> Option<&'a HostMeasured> {
    let mut hosts = evidence.measured.hosts.iter();
    hosts.find(|measured| measured.host == host.name)
}

fn seconds(cost: &Cost, bytes: usize) -> f64 {
    cost.of(bytes).as_secs_f64()
}
