//! One step of a world (a simulated network): the next event, and everything that the event causes
//! at its time.
//!
//! Rule: an event is handled completely before the next event is taken. Then the next wake-up of
//! every host and link involved is scheduled.

use super::network::{Node, World, WorldEvent};
use crate::cpu::AppTask;
use crate::failure::WorldFailure;
use crate::ids::{HostId, LinkId};
use crate::link::Direction;

impl World {
    /// Handles the next event. Returns false when there is none.
    pub(super) fn step(&mut self) -> Result<bool, WorldFailure> {
        let Some((at, event)) = self.events.take() else {
            return Ok(false);
        };
        self.watch.passed(self.now, at);
        self.now = at;
        self.steps += 1;
        match event {
            WorldEvent::Link(link) => {
                if self.cables[link.0].wakeup.fired(at) {
                    self.move_link(link)?;
                }
            }
            WorldEvent::Host(host) => {
                if self.hosts[host.0].wakeup.fired(at) {
                    self.count_wake(host)?;
                    self.work(host)?;
                }
            }
            WorldEvent::Interrupt(host, port) => {
                if self.hosts[host.0].interrupt_at(port).fired(at) {
                    self.hosts[host.0].device_at(port).interrupt(at);
                    self.work(host)?;
                }
            }
            WorldEvent::Poke(host) => self.work(host)?,
            WorldEvent::End(end) => {
                if self.end_mut(end).wakeup.fired(at) {
                    let host = self.end_mut(end).host;
                    self.hosts[host.0].idle_wakes = 0;
                    match &mut self.hosts[host.0].cpu {
                        Some(cpu) => cpu.wait(AppTask::End(end)),
                        None => self.run_end(end)?,
                    }
                    self.work(host)?;
                }
            }
            WorldEvent::Datagrams(id) => {
                if self.datagrams[id.0].wakeup.fired(at) {
                    self.datagrams_due(id)?;
                }
            }
            WorldEvent::Start(flow) => self.start(flow)?,
            WorldEvent::Release(host, port, frame) => {
                let (link, direction) = self.hosts[host.0].wire_at(port);
                self.offer(link, direction, frame);
            }
            WorldEvent::Lose(host, family) => self.lose_address(host, family)?,
            WorldEvent::Regain(host, family) => self.regain_address(host, family)?,
        }
        self.watch_datagrams();
        self.inspect_if_due()?;
        Ok(true)
    }

    /// Delivers the frames that have arrived over `link`. If the link has become free, lets the
    /// hosts at its ends send.
    fn move_link(&mut self, link: LinkId) -> Result<(), WorldFailure> {
        let mut touched: [Option<HostId>; 2] = [None; 2];
        while let Some(delivery) = self.cables[link.0].engine.take(self.now) {
            let to = delivery.direction.reverse();
            match self.cables[link.0].ends[to.index()] {
                Some(Node::Host(host, port)) => {
                    self.deliver(host, port, delivery.frame);
                    touched[to.index()] = Some(host);
                }
                Some(Node::Switch(switch)) => self.forward(switch, link, delivery.frame),
                None => {}
            }
        }
        for direction in Direction::ALL {
            let Some(Node::Host(host, _)) = self.cables[link.0].ends[direction.index()] else {
                continue;
            };
            let relieved = self.put_on_link(host)?;
            if relieved || touched[direction.index()] == Some(host) {
                self.work(host)?;
            }
        }
        self.schedule_link(link);
        Ok(())
    }

    /// Schedules the next event of `link`.
    pub(super) fn schedule_link(&mut self, link: LinkId) {
        let cable = &mut self.cables[link.0];
        if let Some(at) = cable.wakeup.set(cable.engine.next_event()) {
            self.events.add(at.max(self.now), WorldEvent::Link(link));
        }
    }
}
