//! The work of a host whose processor takes time.
//!
//! Rule: the driver has the highest priority, then the stack's sending, then the applications. With
//! `applications_first`, the applications have the highest priority. Work is never interrupted.
//! Between two received frames, the stack sends one frame if it has one, so many received frames in
//! a row do not delay the ACKs. The stack reads a received frame only after the processor time of
//! this frame has passed. A frame that the stack made goes to the link only after the processor
//! time of that frame has passed.

use fullpipe_pool::Duration;

use super::network::{World, WorldEvent};
use crate::cpu::{AppTask, Cpu, CpuModel};
use crate::failure::WorldFailure;
use crate::ids::HostId;

impl World {
    /// Gives `host` a processor whose work takes time from now on. A model without
    /// costs changes nothing.
    pub fn set_cpu(&mut self, host: HostId, model: CpuModel) {
        if !model.is_free() {
            let host = &mut self.hosts[host.0];
            host.cpu = Some(Cpu::new(model));
            host.device.work_by_frame();
        }
    }

    /// Time for which a host's processor has worked; zero without a processor.
    pub fn cpu_busy(&self, host: HostId) -> Duration {
        let cpu = self.hosts[host.0].cpu.as_ref();
        cpu.map_or(Duration::ZERO, |cpu| cpu.busy(self.now))
    }

    /// Frames that a host's full receive ring dropped.
    pub fn ring_drops(&self, host: HostId) -> u64 {
        self.hosts[host.0].device.ring_drops()
    }

    /// Makes a host with a processor do its next work, until the processor is busy or nothing is
    /// left to do.
    pub(super) fn process(&mut self, id: HostId) -> Result<(), WorldFailure> {
        while !self.is_busy(id) {
            let host = &mut self.hosts[id.0];
            host.device.finish_making();
            if host.device.has_room() {
                host.device.forget_refusal();
            }
            self.put_on_link(id)?;
            let host = &mut self.hosts[id.0];
            let is_idle = !host.device.has_handed();
            let first = host.cpu.as_ref().is_some_and(Cpu::applications_first);
            if is_idle && first && self.one_application(id)? {
                self.count_step(id)?;
                continue;
            }
            let host = &mut self.hosts[id.0];
            if is_idle
                && let Some(len) = host.device.hand_up()
                && self.spend(id, |model| model.receive.of(len))
            {
                break;
            }
            let did = self.one_turn(id)? || self.one_application(id)?;
            if !did {
                break;
            }
            self.count_step(id)?;
        }
        self.rest(id)
    }

    fn is_busy(&self, id: HostId) -> bool {
        let cpu = self.hosts[id.0].cpu.as_ref();
        cpu.is_some_and(|cpu| cpu.is_busy(self.now))
    }

    /// Starts work that takes the time `cost`. Returns false if the work costs nothing.
    fn spend(&mut self, id: HostId, cost: impl FnOnce(&CpuModel) -> Duration) -> bool {
        let Some(cpu) = &mut self.hosts[id.0].cpu else {
            return false;
        };
        let cost = cost(&cpu.model);
        if cost.is_zero() {
            return false;
        }
        let free = cpu.begin(self.now, cost);
        self.events.add(free, WorldEvent::Poke(id));
        true
    }

    /// Lets the stack read the frame that the device handed up, and make at most one frame. Returns
    /// true if the stack read or made a frame, or has more work.
    fn one_turn(&mut self, id: HostId) -> Result<bool, WorldFailure> {
        let turned = self.turn(id)?;
        let making = self.hosts[id.0].device.making();
        if let Some(len) = making {
            self.spend(id, |model| model.send.of(len));
        }
        Ok(turned.more_work || turned.received > 0 || making.is_some())
    }

    /// Runs one application. Returns false if no application has anything to do.
    fn one_application(&mut self, id: HostId) -> Result<bool, WorldFailure> {
        let waiting = self.hosts[id.0].cpu.as_mut();
        let served = match waiting.and_then(Cpu::next_task) {
            Some(AppTask::End(end)) => {
                self.run_end(end)?;
                true
            }
            Some(AppTask::Datagrams(datagrams, side)) => {
                self.run_datagrams(datagrams, side)?;
                true
            }
            None => self.serve_event(id)?,
        };
        if served {
            self.spend(id, |model| model.call);
        }
        Ok(served)
    }
}
