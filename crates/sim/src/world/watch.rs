//! Checks the frames that a stack makes and the frames that reach it.
//!
//! Rule: a frame is checked in the turn that made it, before it waits for the link,
//! because the checks depend on what the host knows at that time. `World::checks` decides which
//! frames are checked.

use fullpipe_wire::{Checksum, ChecksumPolicy, EtherType, EthernetHeader, Ipv4Header, Protocol};

use super::network::World;
use crate::check::{pace, rate};
use crate::device::SimDevice;
use crate::failure::WorldFailure;
use crate::flow::{EndId, Side};
use crate::ids::HostId;
use crate::link::{Direction, ETHERNET_HEADER_LEN, LinkModel};
use crate::packet::{IpPacket, Packet, TcpPacket};

/// Payload lengths that one end of a flow has sent in a turn.
struct SentPayload {
    end: EndId,
    payloads: Vec<u32>,
}

impl World {
    /// Notes a segment of `sender` that reaches the other end in `frame`.
    pub(super) fn watch_arrival(&mut self, sender: EndId, frame: &[u8]) {
        if !self.checks.cover_frame(self.frames) {
            return;
        }
        let now = self.now;
        let other = &mut self.flows[sender.flow.0].ends[sender.side.other().index()];
        // A frame that the device keeps for merging, or that waits for a processor, is
        // not known to the stack yet.
        let host = &self.hosts[other.host.0];
        let is_waiting = host.devices().any(SimDevice::merges) || host.cpu.is_some();
        if is_waiting || (self.damages && !is_undamaged(frame)) {
            return;
        }
        if let Some(tcp) = Packet::parse(now, frame).tcp {
            other.repeats.arrived(&tcp, now);
        }
    }

    /// Checks the frames that a host's stack has added to the queue of its device at `port` behind
    /// the first `waiting` frames.
    pub(super) fn watch_made(
        &mut self,
        id: HostId,
        port: usize,
        waiting: usize,
    ) -> Result<(), WorldFailure> {
        if self.hosts[id.0].device_at(port).waiting() == waiting {
            return Ok(());
        }
        if !self.checks.cover_frame(self.frames) {
            self.hosts[id.0].spoke_other = Some(self.now);
            return Ok(());
        }
        // Skip some checks if the stack ever ran out of range records and merged sent ranges: the
        // stack then counts more bytes as in flight than the ACKs show, and the checkers cannot
        // compute this number.
        let (stack, device) = self.hosts[id.0].stack_and_device(port);
        let knows_all = stack.sent_ranges_refused() + stack.sent_ranges_each_refused() == 0;
        let now = self.now;
        let frames = device.made_since(waiting);
        let segments: Vec<Option<TcpPacket>> =
            frames.map(|frame| Packet::parse(now, frame).tcp).collect();
        let mut made: Vec<SentPayload> = Vec::new();
        for segment in segments {
            let Some(tcp) = segment else {
                self.hosts[id.0].spoke_other = Some(now);
                continue;
            };
            let Some(&end) = self.tuples.get(&tcp.fixed().tuple) else {
                continue;
            };
            self.end_mut(end).spoke = Some(now);
            if knows_all {
                let checked = self.end_mut(end).repeats.sent(&tcp, now);
                let judged =
                    checked.map_err(|finding| self.failure(self.place_of(end), finding))?;
                self.judged.repeats |= judged;
            }
            if tcp.payload_len == 0 {
                continue;
            }
            match made.iter_mut().find(|made| made.end == end) {
                Some(made) => made.payloads.push(tcp.payload_len),
                None => made.push(SentPayload {
                    end,
                    payloads: vec![tcp.payload_len],
                }),
            }
        }
        made.iter()
            .try_for_each(|made| self.watch_rates(id, made, knows_all))
    }

    fn watch_rates(
        &mut self,
        id: HostId,
        made: &SentPayload,
        knows_all: bool,
    ) -> Result<(), WorldFailure> {
        let (now, end) = (self.now, made.end);
        let Some(connection) = self.end_mut(end).connection else {
            return Ok(());
        };
        let host = &mut self.hosts[id.0];
        let Ok(info) = host.stack.tcp_info(connection, now) else {
            return Ok(());
        };
        if host.config.tcp.pacing && knows_all {
            let pacing = pace::PacingState {
                now,
                rate: info.pacing_rate,
                mss: info.mss,
                in_flight: info.in_flight,
                sent: info.bytes_sent + info.bytes_retransmitted,
                probes: host.stack.tcp_counters().loss_probes,
            };
            let checked = self.end_mut(end).pace.sent(&made.payloads, pacing);
            checked.map_err(|finding| self.failure(self.place_of(end), finding))?;
            self.judged.pace |= info.pacing_rate < u64::MAX;
        }
        let is_straight = knows_all && info.bytes_retransmitted == 0 && info.timeouts == 0;
        let path = self.bare_path(end).filter(|_| is_straight);
        match path {
            None => self.end_mut(end).is_rate_unbounded = true,
            Some(path) if !self.end_mut(end).is_rate_unbounded => {
                rate::check(info.fastest_sample, path)
                    .map_err(|finding| self.failure(self.place_of(end), finding))?;
                self.judged.rate |= info.fastest_sample.delivered > 0;
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Returns the capacity of the path that payload from `end` takes. Returns `None` if the path
    /// has no rate, or has jitter or reordering, or if the world (the simulated network) has a rule
    /// or a changed link, or if a host has two links. The rates and delays of links between two switches are ignored: they can
    /// only make the path slower.
    fn bare_path(&self, end: EndId) -> Option<rate::PathCapacity> {
        if !self.rules.is_empty() || self.links_changed {
            return None;
        }
        let ends = &self.flows[end.flow.0].ends;
        let [from, to] =
            [end.side, end.side.other()].map(|side: Side| &self.hosts[ends[side.index()].host.0]);
        if from.second.is_some() || to.second.is_some() {
            return None; // the flow may use either link
        }
        let leg = |host: &super::host::Host, away: bool| -> LinkModel {
            let direction = if away {
                host.direction
            } else {
                host.direction.reverse()
            };
            *self.cables[host.link.0].engine.link(direction)
        };
        let one_link = from.link == to.link;
        let forward = [leg(from, true), leg(to, false)];
        let back = [leg(to, true), leg(from, false)];
        let legs = if one_link { 1 } else { 2 };
        let overtakes = |link: &LinkModel| link.jitter_us > 0 || link.reordering.is_some();
        // Any link between switches may be on the path, so no link at all may reorder frames.
        let crossed = Direction::ALL.map(|way| {
            let mut links = self.cables.iter().map(|cable| cable.engine.link(way));
            links.any(overtakes)
        });
        let overtaken = if one_link {
            overtakes(&forward[0])
        } else {
            crossed.contains(&true)
        };
        if overtaken {
            return None;
        }
        let rates = forward[..legs].iter().map(|link| link.rate_bps);
        let rate_bps = rates.filter(|&rate| rate > 0).min()?;
        let both = forward[..legs].iter().chain(&back[..legs]);
        Some(rate::PathCapacity {
            rate_bps,
            round_trip_us: both.map(|link| link.delay_us).sum(),
            frame: (forward[0].mtu + ETHERNET_HEADER_LEN) as u64,
        })
    }
}

/// Returns true if the checksums of IP and TCP are right.
fn is_undamaged(frame: &[u8]) -> bool {
    let Ok((ethernet, packet)) = EthernetHeader::parse(frame) else {
        return false;
    };
    let is_v4 = ethernet.ether_type == EtherType::Ipv4;
    if is_v4 && Ipv4Header::parse(packet, ChecksumPolicy::Verify).is_err() {
        return false;
    }
    let Some(ip) = IpPacket::parse(frame) else {
        return false;
    };
    let mut sum = Checksum::of(ip.payload);
    let len = ip.payload.len() as u32;
    sum.add_pseudo_header(ip.src, ip.dst, Protocol::Tcp.into(), len);
    sum.is_valid()
}
