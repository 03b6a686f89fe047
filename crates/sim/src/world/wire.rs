//! The steps of a frame between a host and its link.
//!
//! Rule: packet rules and checkers see each frame that leaves a host before anything can
//! change the frame. Arriving frames are counted, not checked.
//!
//! Every frame is counted by its fixed fields (`segment.rs`). The whole header is parsed only for
//! rules, for checks and for the options of a SYN.

use fullpipe_wire::TcpFlags;

use super::network::{World, WorldEvent, address_of};
use crate::check::Checks;
use crate::failure::WorldFailure;
use crate::flow::{EndId, Flow, Side, Stage};
use crate::ids::{Family, HostId, LinkId};
use crate::link::Direction;
use crate::packet::Packet;
use crate::pcapng::{CaptureDirection, TapId};
use crate::rule::RuleAction;
use crate::segment::Segment;

impl World {
    /// Puts the host's sent frames on its link, as far as there is room. Returns true if the stack
    /// waited for its device and can now continue.
    #[inline]
    pub(super) fn put_on_link(&mut self, id: HostId) -> Result<bool, WorldFailure> {
        for port in self.hosts[id.0].ports() {
            if self.hosts[id.0].device_at(port).has_sent() {
                self.put_all_on_link(id, port)?;
            }
        }
        Ok(self.hosts[id.0].is_relieved())
    }

    fn put_all_on_link(&mut self, id: HostId, port: usize) -> Result<(), WorldFailure> {
        let (link, direction) = self.hosts[id.0].wire_at(port);
        while self.cables[link.0].engine.has_room(direction) {
            let Some(frame) = self.hosts[id.0].device_at(port).next_sent() else {
                break;
            };
            self.leave(id, port, frame)?;
        }
        Ok(())
    }

    /// Passes a frame that leaves a host to checkers, rules and link.
    fn leave(&mut self, id: HostId, port: usize, frame: Vec<u8>) -> Result<(), WorldFailure> {
        self.frames += 1;
        self.watch.frames_without_progress += 1;
        self.hosts[id.0].idle_wakes = 0;
        let (link, direction) = self.hosts[id.0].wire_at(port);
        self.record(
            self.hosts[id.0].tap,
            Some(CaptureDirection::Outbound),
            &frame,
        );
        let mut fate = self.judge(&frame);
        match Segment::read(&frame) {
            Some(segment) => {
                if !self.watch_segment(&segment, &frame)? {
                    fate = Some(RuleAction::Drop);
                }
            }
            None => self.hosts[id.0].spoke_other = Some(self.now),
        }
        match fate {
            None => self.offer(link, direction, frame),
            Some(RuleAction::Drop) => self.hosts[id.0].device_at(port).recycle(frame),
            Some(RuleAction::Delay(by)) => self
                .events
                .add(self.now + by, WorldEvent::Release(id, port, frame)),
            Some(RuleAction::Duplicate) => {
                self.offer(link, direction, frame.clone());
                self.offer(link, direction, frame);
            }
        }
        Ok(())
    }

    /// Returns the action of the rules on a frame that leaves a host.
    fn judge(&mut self, frame: &[u8]) -> Option<RuleAction> {
        if self.rules.is_empty() {
            return None;
        }
        let packet = Packet::parse(self.now, frame);
        let mut fate = None;
        for rule in &mut self.rules {
            let judged = rule.judge(&packet);
            fate = fate.or(judged);
        }
        fate
    }

    /// Puts a frame on a link.
    pub(super) fn offer(&mut self, link: LinkId, direction: Direction, frame: Vec<u8>) {
        self.record(self.cables[link.0].tap, None, &frame);
        self.cables[link.0].engine.offer(direction, frame, self.now);
        self.schedule_link(link);
    }

    /// Delivers a frame that arrives over a link to a host.
    pub(super) fn deliver(&mut self, host: HostId, port: usize, frame: Vec<u8>) {
        self.record(
            self.hosts[host.0].tap,
            Some(CaptureDirection::Inbound),
            &frame,
        );
        self.hosts[host.0].idle_wakes = 0;
        if !self.hosts[host.0].device_at(port).has_descriptor() {
            return;
        }
        if let Some(segment) = Segment::read(&frame)
            && let Some(&sender) = self.tuples.get(&segment.tuple)
        {
            let arrivals = &mut self.flows[sender.flow.0].arrivals;
            arrivals[sender.side.other().index()].segment(self.now, &segment);
            self.watch_arrival(sender, &frame);
        }
        let is_intact = !self.damages && self.checks != Checks::Whole;
        let now = self.now;
        let device = self.hosts[host.0].device_at(port);
        device.deliver(frame, is_intact, now);
    }

    /// Counts the segment in `frame`, and passes it to the checkers of its flow. Returns false if
    /// the segment must not be sent, because an end of the flow has vanished.
    fn watch_segment(&mut self, segment: &Segment, frame: &[u8]) -> Result<bool, WorldFailure> {
        let Some(&end) = self.tuples.get(&segment.tuple) else {
            return Ok(true);
        };
        let now = self.now;
        let is_checked = self.checks.cover_frame(self.frames);
        let is_parsed = is_checked || segment.has(TcpFlags::SYN);
        let tcp = is_parsed.then(|| Packet::parse(now, frame).tcp).flatten();
        let flow = &mut self.flows[end.flow.0];
        let own = &mut flow.ends[end.side.index()];
        own.spoke = Some(now);
        if let Some(tcp) = tcp.filter(|tcp| tcp.has(TcpFlags::SYN)) {
            own.meter.syn(&tcp.header.options);
        }
        own.meter.segment(now, segment);
        own.ledger.waits.left(own.meter.new_payload, now);
        if flow.ends.iter().any(|end| end.stage == Stage::Vanished) {
            return Ok(false);
        }
        if let Some(last) = flow.last_frame.replace(now)
            && flow.finished.is_none()
        {
            flow.longest_silence = flow.longest_silence.max(now.since(last));
        }
        if let Some(tcp) = tcp.filter(|_| is_checked) {
            if self.hosts[flow.ends[end.side.index()].host.0].made_cookies() {
                flow.watch.may_forget(end.side.index());
            }
            let checked = flow.watch.segment(end.side.index(), &tcp);
            checked.map_err(|finding| self.failure(self.place_of(end), finding))?;
        }
        Ok(true)
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
        let Flow { ends, server, .. } = &self.flows[end.flow.0];
        let host = ends[end.side.index()].host;
        let side = match end.side {
            Side::Client => "client",
            Side::Server => "server",
        };
        format!(
            "flow {}, {side} on host {} ({})",
            end.flow.0,
            host.0,
            address_of(host, Family::of(server.ip()))
        )
    }
}
