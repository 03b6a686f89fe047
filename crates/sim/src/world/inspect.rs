//! Checks a world (a simulated network) while it runs: memory, limits, silence, progress.
//!
//! Rule: the checks take a bounded share of each step. A small pool is checked after every step of
//! its host, a larger pool less often. Every pool is checked at the end of a run. Connections are
//! checked once per virtual second and at the end.

use fullpipe::device::Device;
use fullpipe_pool::{Duration, Holder};

use super::network::{World, WorldEvent};
use crate::check::silence;
use crate::failure::WorldFailure;
use crate::flow::{EndId, Flow, FlowId, Side, Stage};
use crate::ids::HostId;
use crate::soak::WorldSummary;

/// Largest number of rounds of work at one instant of virtual time. A host with more rounds is in
/// an endless loop.
const ROUNDS_AT_ONCE: u32 = 200_000;
/// Largest number of frames without progress. If more frames are sent, two ends answer each other
/// endlessly.
const FRAMES_WITHOUT_PROGRESS: u64 = 50_000;
/// Largest number of wake-ups by the timers of a host's stack during which no frame passes and no
/// application's timer fires. More wake-ups are a failure.
const IDLE_WAKES: u32 = 1_000;
/// Largest number of flows that a failure describes.
const SHOWN: usize = 8;
/// Interval between checks of connections.
const INSPECTION_INTERVAL: Duration = Duration::from_secs(1);

impl World {
    /// Makes a world fail if it is unfinished and makes no progress for `patience`. Call this only
    /// when nothing prevents progress: there are no impairments, links are up, and no reader stalls
    /// for `patience` or longer.
    pub fn set_patience(&mut self, patience: Duration) {
        self.watch.last_progress = self.now;
        self.watch.patience = Some(patience);
    }

    /// Counts a round of a host's work, to detect endless loops.
    pub(super) fn count_step(&mut self, id: HostId) -> Result<(), WorldFailure> {
        self.watch.rounds_now += 1;
        if self.watch.rounds_now > ROUNDS_AT_ONCE {
            return Err(self.host_failure(
                id,
                "the host works in an endless loop: virtual time does not advance",
            ));
        }
        Ok(())
    }

    /// Counts a wake-up by a timer of a host's stack. A frame or the timer of an application resets
    /// the count.
    pub(super) fn count_wake(&mut self, id: HostId) -> Result<(), WorldFailure> {
        let host = &mut self.hosts[id.0];
        host.idle_wakes += 1;
        if host.idle_wakes <= IDLE_WAKES {
            return Ok(());
        }
        let finding = format!(
            "the timers of the stack fired {IDLE_WAKES} times in a row without a frame or an expired application timer in between"
        );
        Err(self.host_failure(id, &finding))
    }

    /// Returns the failure `what` of a host, with the state of its flows.
    fn host_failure(&mut self, id: HostId, what: &str) -> WorldFailure {
        let at_host = |flow: &Flow| flow.ends.iter().any(|end| end.host == id);
        let here: Vec<usize> = (0..self.flows.len())
            .filter(|&number| at_host(&self.flows[number]))
            .collect();
        let first = here.iter().take(SHOWN);
        let shown: Vec<String> = first
            .map(|&number| self.describe_flow(FlowId(number)))
            .collect();
        self.failure(
            format!("host {}", id.0),
            format!("{what}: {}", shown.join("; ")),
        )
    }

    /// Checks a host's memory and connections, if a check is due.
    pub(super) fn verify_host(&mut self, id: HostId) -> Result<(), WorldFailure> {
        let host = &mut self.hosts[id.0];
        let Some(each_step) = self.checks.each_step() else {
            return Ok(());
        };
        if host.verify_in > 0 {
            host.verify_in -= 1;
            return Ok(());
        }
        let size = host.config.pool.blocks + host.config.stack.connections;
        host.verify_in = size / each_step;
        host.stack.verify(self.now);
        Ok(())
    }

    /// Checks everything.
    pub(super) fn verify_all(&mut self) -> Result<(), WorldFailure> {
        if self.checks.each_step().is_some() {
            for host in &self.hosts {
                host.stack.verify(self.now);
            }
        }
        self.inspect()
    }

    /// Checks connections and progress, if a check is due.
    pub(super) fn inspect_if_due(&mut self) -> Result<(), WorldFailure> {
        if self.now < self.watch.next_inspection {
            return Ok(());
        }
        self.watch.next_inspection = self.now + INSPECTION_INTERVAL;
        self.inspect()?;
        if self.watch.frames_without_progress > FRAMES_WITHOUT_PROGRESS {
            return Err(self.unfinished(&format!(
                "{FRAMES_WITHOUT_PROGRESS} frames without progress"
            )));
        }
        let idle = self.now.since(self.watch.last_progress);
        let over = self.watch.patience.is_some_and(|patience| idle > patience);
        if over && self.done < self.flows.len() && !self.reset_unreachable_ends()? {
            return Err(self.unfinished(&format!("no progress for {idle}")));
        }
        Ok(())
    }

    fn inspect(&mut self) -> Result<(), WorldFailure> {
        for number in 0..self.flows.len() {
            for side in Side::ALL {
                let end = EndId {
                    flow: FlowId(number),
                    side,
                };
                self.inspect_end(end)?;
            }
        }
        Ok(())
    }

    fn inspect_end(&mut self, id: EndId) -> Result<(), WorldFailure> {
        let now = self.now;
        let end = &self.flows[id.flow.0].ends[id.side.index()];
        let (Stage::Open, Some(connection)) = (end.stage, end.connection) else {
            return Ok(());
        };
        let host = &mut self.hosts[end.host.0];
        let Ok(info) = host.stack.tcp_info(connection, now) else {
            return Err(self.failure(
                self.place_of(id),
                "the stack does not know this open connection any more",
            ));
        };
        let end = &mut self.flows[id.flow.0].ends[id.side.index()];
        if end.snd_una.replace(info.snd_una) != Some(info.snd_una) {
            end.acked = Some(info.last_received_at);
        }
        // Take the latest of the times below. A write of the application counts, because it gives
        // the connection something to send. A frame without a TCP segment counts, because the host
        // sends no other frames while ARP resolves an address.
        let waits_since = end
            .spoke
            .max(host.spoke_other)
            .max(end.ledger.last_written)
            .max(end.acked);
        let seen = silence::ConnectionView {
            now,
            waits_since: waits_since.unwrap_or(info.born),
            timer: host.stack.next_timeout(),
            is_busy: host.cpu.as_ref().is_some_and(|cpu| cpu.is_busy(now)),
            device_moves: host.devices().any(|device| {
                !device.has_room()
                    || (host.stack.waits_for_device(device.interface()) && device.waiting() > 0)
            }),
        };
        silence::check(&info, &host.config.tcp, &seen)
            .map_err(|finding| self.failure(self.place_of(id), finding))
    }

    /// Resets, from now on, each connection whose peer left before the end of the stream: the peer
    /// closed, reset, vanished or lost its connection. The remaining application would otherwise
    /// wait for ever.
    pub fn reset_abandoned_ends(&mut self) -> Result<(), WorldFailure> {
        self.resets_abandoned = true;
        for number in 0..self.flows.len() {
            self.reset_rest(FlowId(number))?;
        }
        Ok(())
    }

    /// After [`reset_abandoned_ends`](Self::reset_abandoned_ends), resets idle ends whose
    /// connection the peer's stack no longer has. Returns true if an end was reset. An end cannot
    /// detect the loss of its peer's connection in three cases. In the first case, the last segment
    /// of the handshake was lost, and the peer's stack has forgotten the SYN. In the second case,
    /// the peer's application had closed, the peer's stack then aborted the connection, and the
    /// reset was lost. In the third case, the peer's application had closed, and the peer's host
    /// then lost the address of the connection, from which it could not even send a reset.
    pub(super) fn reset_unreachable_ends(&mut self) -> Result<bool, WorldFailure> {
        let mut found = false;
        let ends = (0..self.flows.len()).flat_map(|flow| Side::ALL.map(|side| (flow, side)));
        for (flow, side) in ends {
            let id = EndId {
                flow: FlowId(flow),
                side,
            };
            if self.resets_abandoned && self.is_abandoned(id) {
                found = true;
                self.reset(id)?;
            }
        }
        if found {
            self.watch.progress(self.now);
        }
        Ok(found)
    }

    fn is_abandoned(&mut self, id: EndId) -> bool {
        let now = self.now;
        let ends = &self.flows[id.flow.0].ends;
        let (own, peer) = (&ends[id.side.index()], &ends[id.side.other().index()]);
        let (Stage::Open, Some(connection)) = (own.stage, own.connection) else {
            return false;
        };
        let gives_up = self.hosts[peer.host.0].stack.tcp_counters();
        let is_gone = match peer.stage {
            Stage::Waiting => id.side == Side::Client,
            Stage::Finished => {
                peer.is_cut_off || gives_up.abort_on_timeout + gives_up.abort_on_memory > 0
            }
            Stage::Open | Stage::Left | Stage::Broken(_) | Stage::NoRoom | Stage::Vanished => false,
        };
        let info = self.hosts[own.host.0].stack.tcp_info(connection, now);
        is_gone && info.is_ok_and(|info| info.send_queue == 0)
    }

    /// Resets the open ends of a finished flow.
    pub(super) fn reset_rest(&mut self, id: FlowId) -> Result<(), WorldFailure> {
        if !self.resets_abandoned || self.flows[id.0].finished.is_none() {
            return Ok(());
        }
        for side in Side::ALL {
            self.reset(EndId { flow: id, side })?;
        }
        Ok(())
    }

    /// Resets the connection at `end`, if it has one.
    fn reset(&mut self, end: EndId) -> Result<(), WorldFailure> {
        let now = self.now;
        let own = self.end_mut(end);
        let host = own.host;
        let Some(connection) = own.connection.filter(|_| !own.stage.is_settled()) else {
            return Ok(());
        };
        if let Err(error) = self.hosts[host.0].stack.tcp_abort(connection, now) {
            return Err(self.refused(host, "an abort", error));
        }
        self.events.add(now, WorldEvent::Poke(host));
        self.settle(end, Stage::Left)
    }

    /// Checks that no connection uses memory any more.
    pub(crate) fn check_all_returned(&self) -> Result<(), WorldFailure> {
        for (number, host) in self.hosts.iter().enumerate() {
            let pool = host.stack.pool();
            let (send, receive) = (pool.held(Holder::Send), pool.held(Holder::Receive));
            let promised = pool.promised();
            if send + receive + promised > 0 {
                let finding = format!(
                    "every connection has ended, but {send} blocks are still used for sending, \
                     {receive} for receiving, and {promised} are reserved"
                );
                return Err(self.failure(format!("host {number}"), finding));
            }
        }
        Ok(())
    }

    pub(crate) fn summary(&self) -> WorldSummary {
        let finished = |flow: &&Flow| flow.ends.iter().all(|end| end.stage == Stage::Finished);
        WorldSummary {
            seed: self.seed,
            hosts: self.hosts.len(),
            flows: self.flows.len(),
            finished: self.flows.iter().filter(finished).count(),
            bytes: self
                .flows
                .iter()
                .flat_map(|flow| &flow.ends)
                .map(|end| end.ledger.read)
                .sum(),
            frames: self.frames,
            judged: self.judged,
            steps: self.steps,
            lasted: self.now,
        }
    }

    /// Returns the failure `what` of a world with unfinished flows.
    pub(super) fn unfinished(&mut self, what: &str) -> WorldFailure {
        let all = 0..self.flows.len();
        let open: Vec<usize> = all
            .filter(|&number| self.flows[number].finished.is_none())
            .collect();
        let first = open.iter().take(SHOWN);
        let shown: Vec<String> = first
            .map(|&number| self.describe_flow(FlowId(number)))
            .collect();
        let (count, all) = (open.len(), self.flows.len());
        let memory: Vec<String> = (0..self.hosts.len())
            .map(|host| self.describe_memory(host))
            .collect();
        let finding = format!(
            "{what}; {count} of {all} flows are unfinished: {}; {}",
            shown.join("; "),
            memory.join("; ")
        );
        self.failure("the world".into(), finding)
    }

    /// Describes the use of a host's packet memory by holder (kind of buffer). A lack of memory is
    /// the most frequent reason for a stall.
    fn describe_memory(&self, host: usize) -> String {
        let pool = self.hosts[host].stack.pool();
        let held: Vec<String> = Holder::ALL
            .iter()
            .filter(|&&holder| pool.held(holder) + pool.promised_to(holder) > 0)
            .map(|&holder| {
                let (held, promised) = (pool.held(holder), pool.promised_to(holder));
                format!("{} {held}+{promised}", holder.name())
            })
            .collect();
        format!(
            "host {host}: {} of {} blocks free; blocks used + reserved: {}",
            pool.free_blocks(),
            pool.block_count(),
            held.join(", ")
        )
    }

    fn describe_flow(&mut self, id: FlowId) -> String {
        let sides = Side::ALL.map(|side| {
            let now = self.now;
            let end = &self.flows[id.0].ends[side.index()];
            let ledger = &end.ledger;
            let mut text = format!(
                "{side:?} {:?} wrote {} read {}",
                end.stage, ledger.written, ledger.read
            );
            if let (Stage::Open, Some(connection)) = (end.stage, end.connection) {
                let Ok(info) = self.hosts[end.host.0].stack.tcp_info(connection, now) else {
                    return text;
                };
                text += &format!(
                    " ({}, {} unsent, {} unacknowledged, snd_wnd {}, rcv_wnd {}, {})",
                    info.state.name(),
                    info.unsent,
                    info.send_queue - info.unsent,
                    info.snd_wnd,
                    info.rcv_wnd,
                    info.limit.current().name(),
                );
            }
            text
        });
        format!("flow {}: {}", id.0, sides.join(", "))
    }
}
