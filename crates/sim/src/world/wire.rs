//! The steps of a frame between a host and its link.
//!
//! Rule: packet rules and checkers see each frame that leaves a host before anything can
//! change the frame. Arriving frames are counted, not checked.

use super::network::{World, WorldEvent, address_of};
use crate::failure::WorldFailure;
use crate::flow::{EndId, FlowId, Side, Stage};
use crate::ids::{HostId, LinkId};
use crate::link::Direction;
use crate::packet::{Packet, TcpPacket};
use crate::pcapng::{CaptureDirection, TapId};
use crate::rule::RuleAction;

impl World {
    /// Puts the host's sent frames on its link, as far as there is room. Returns true if the stack
    /// waited for its device and can now continue.
    pub(super) fn put_on_link(&mut self, id: HostId) -> Result<bool, WorldFailure> {
        let (link, direction) = (self.hosts[id.0].link, self.hosts[id.0].direction);
        while self.cables[link.0].engine.has_room(direction) {
            let Some(frame) = self.hosts[id.0].device.next_sent() else {
                break;
            };
            self.leave(id, frame)?;
        }
        Ok(self.hosts[id.0].is_relieved())
    }

    /// Passes a frame that leaves a host to checkers, rules and link.
    fn leave(&mut self, id: HostId, frame: Vec<u8>) -> Result<(), WorldFailure> {
        self.frames += 1;
        self.watch.frames_without_progress += 1;
        self.hosts[id.0].idle_wakes = 0;
        let (link, direction) = (self.hosts[id.0].link, self.hosts[id.0].direction);
        self.record(
            self.hosts[id.0].tap,
            Some(CaptureDirection::Outbound),
            &frame,
        );
        let packet = Packet::parse(self.now, &frame);
        if packet.tcp.is_none() {
            self.hosts[id.0].spoke_other = Some(self.now);
        }
        let mut fate = None;
        for rule in &mut self.rules {
            let judged = rule.judge(&packet);
            fate = fate.or(judged);
        }
        if let Some(tcp) = packet.tcp
            && !self.watch_segment(&tcp)?
        {
            fate = Some(RuleAction::Drop);
        }
        match fate {
            None => self.offer(link, direction, frame),
            Some(RuleAction::Drop) => self.hosts[id.0].device.recycle(frame),
            Some(RuleAction::Delay(by)) => self
                .events
                .add(self.now + by, WorldEvent::Release(id, frame)),
            Some(RuleAction::Duplicate) => {
                self.offer(link, direction, frame.clone());
                self.offer(link, direction, frame);
            }
        }
        Ok(())
    }

    /// Puts a frame on a link.
    pub(super) fn offer(&mut self, link: LinkId, direction: Direction, frame: Vec<u8>) {
        self.record(self.cables[link.0].tap, None, &frame);
        self.cables[link.0].engine.offer(direction, frame, self.now);
        self.schedule_link(link);
    }

    /// Delivers a frame that arrives over a link to a host.
    pub(super) fn deliver(&mut self, host: HostId, frame: Vec<u8>) {
        self.record(
            self.hosts[host.0].tap,
            Some(CaptureDirection::Inbound),
            &frame,
        );
        self.hosts[host.0].idle_wakes = 0;
        if !self.hosts[host.0].device.has_descriptor() {
            return;
        }
        if let Some(tcp) = Packet::parse(self.now, &frame).tcp
            && let Some(sender) = self.end_of(&tcp)
        {
            let arrivals = &mut self.flows[sender.flow.0].arrivals;
            arrivals[sender.side.other().index()].segment(self.now, &tcp);
            self.watch_arrival(sender, &tcp, &frame);
        }
        let now = self.now;
        self.hosts[host.0].device.deliver(frame, now);
    }

    /// Passes a segment to the checkers of its flow. Returns false if an end of the flow
    /// has vanished, so that the segment must not be sent.
    fn watch_segment(&mut self, tcp: &TcpPacket) -> Result<bool, WorldFailure> {
        let Some(end) = self.end_of(tcp) else {
            return Ok(true);
        };
        let now = self.now;
        let flow = &mut self.flows[end.flow.0];
        if self.hosts[flow.ends[end.side.index()].host.0].made_cookies() {
            flow.watch.may_forget(end.side.index());
        }
        let own = &mut flow.ends[end.side.index()];
        own.spoke = Some(now);
        own.meter.segment(now, tcp);
        own.ledger.waits.left(own.meter.new_payload, now);
        if flow.ends.iter().any(|end| end.stage == Stage::Vanished) {
            return Ok(false);
        }
        if let Some(last) = flow.last_frame.replace(now)
            && flow.finished.is_none()
        {
            flow.longest_silence = flow.longest_silence.max(now.since(last));
        }
        let checked = flow.watch.segment(end.side.index(), tcp);
        checked.map_err(|finding| self.failure(self.place_of(end), finding))?;
        Ok(true)
    }

    /// The end that sends the segment.
    pub(super) fn end_of(&self, tcp: &TcpPacket) -> Option<EndId> {
        let of = |flow: &FlowId, side| EndId { flow: *flow, side };
        let from_client = self
            .tuples
            .get(&(tcp.src, tcp.dst))
            .map(|flow| of(flow, Side::Client));
        from_client.or_else(|| {
            self.tuples
                .get(&(tcp.dst, tcp.src))
                .map(|flow| of(flow, Side::Server))
        })
    }

    /// Writes a frame to the capture, if its host or link is tapped.
    pub(super) fn record(
        &mut self,
        tap: Option<TapId>,
        passage: Option<CaptureDirection>,
        frame: &[u8],
    ) {
        if let (Some(tap), Some(capture)) = (tap, &mut self.capture)
            && let Err(error) = capture.frame(tap, self.now, passage, frame)
        {
            self.capture_error.get_or_insert(error);
        }
    }

    /// Returns the name of an end, for failures.
    pub(super) fn place_of(&self, end: EndId) -> String {
        let host = self.flows[end.flow.0].ends[end.side.index()].host;
        let side = match end.side {
            Side::Client => "client",
            Side::Server => "server",
        };
        format!(
            "flow {}, {side} on host {} ({})",
            end.flow.0,
            host.0,
            address_of(host)
        )
    }
}
