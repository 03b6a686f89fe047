//! A host's work: its stack, its device and the applications on its connections.
//!
//! Rule: a host works only when it is woken: by a frame, or by a timer of its stack or of an
//! application. The host then works until nothing is left to do at this time, like a machine whose
//! processor takes no time. `processor.rs` handles hosts whose processor takes time.

use fullpipe::{ConnectOptions, ListenerId, SocketEvent, TcpError, Turn, turn};

use super::network::{World, WorldEvent};
use crate::app::NextRun;
use crate::failure::WorldFailure;
use crate::flow::{EndId, Flow, FlowId, Side, Stage};
use crate::ids::HostId;
use crate::segment::Tuple;
use crate::socket::EndSocket;

impl World {
    /// Opens the connection of `flow`.
    pub(super) fn start(&mut self, flow: FlowId) -> Result<(), WorldFailure> {
        let Flow { ends, server, .. } = &self.flows[flow.0];
        let (host, remote) = (ends[0].host, *server);
        let stack = &mut self.hosts[host.0].stack;
        match stack.tcp_connect(remote, None, ConnectOptions::default(), self.now) {
            Ok(id) => {
                let ends = stack.tcp_ends(id);
                let ends = ends.map_err(|error| self.refused(host, "tcp_ends", error))?;
                let end = EndId {
                    flow,
                    side: Side::Client,
                };
                let (src, dst) = ends;
                let tuple = Tuple::of(src, dst);
                self.tuples.insert(tuple, end);
                let server = EndId {
                    side: Side::Server,
                    ..end
                };
                self.tuples.insert(tuple.reversed(), server);
                self.hosts[host.0].ends.insert(id, end);
                self.end_mut(end).connection = Some(id);
                self.work(host)
            }
            Err(_) => self.settle(
                EndId {
                    flow,
                    side: Side::Client,
                },
                Stage::NoRoom,
            ),
        }
    }

    /// Makes a host do all the work that is due at this time.
    pub(super) fn work(&mut self, id: HostId) -> Result<(), WorldFailure> {
        if self.hosts[id.0].cpu.is_some() {
            return self.process(id);
        }
        loop {
            let turned = self.turn(id)?;
            self.put_on_link(id)?;
            let served = self.serve_events(id)?;
            let host = &mut self.hosts[id.0];
            let relieved = host.is_relieved();
            for port in host.ports() {
                let device = host.device_at(port);
                if device.has_room() {
                    device.forget_refusal();
                }
            }
            if !(served || relieved || turned.more_work) {
                break;
            }
            self.count_step(id)?;
        }
        self.rest(id)
    }

    /// Runs a turn of the host's stack with each device, and checks the frames that it makes.
    pub(super) fn turn(&mut self, id: HostId) -> Result<Turn, WorldFailure> {
        let mut turned = self.turn_at(id, 0)?;
        for port in self.hosts[id.0].ports().skip(1) {
            turned.more_work |= self.turn_at(id, port)?.more_work;
        }
        Ok(turned)
    }

    /// Runs a turn of the host's stack with the device at `port`.
    fn turn_at(&mut self, id: HostId, port: usize) -> Result<Turn, WorldFailure> {
        let (stack, device) = self.hosts[id.0].stack_and_device(port);
        let waiting = device.waiting();
        // Lend the world's buffers to the device, because frames move from host to host and take
        // their buffers along.
        device.exchange_spare(&mut self.spare);
        let turned = turn(stack, device, self.now);
        device.exchange_spare(&mut self.spare);
        self.watch_made(id, port, waiting)?;
        Ok(turned)
    }

    /// Ends the host's work and schedules its next wake-up by its timers.
    pub(super) fn rest(&mut self, id: HostId) -> Result<(), WorldFailure> {
        self.verify_host(id)?;
        let host = &mut self.hosts[id.0];
        // Ignore the stack's timers while the processor is busy: the stack runs again when the
        // processor becomes free.
        let busy = host.cpu.as_ref().is_some_and(|cpu| cpu.is_busy(self.now));
        let due = host.stack.next_timeout().filter(|_| !busy);
        let due = due.map(|due| due.max(self.now));
        if let Some(at) = host.wakeup.set(due) {
            self.events.add(at, WorldEvent::Host(id));
        }
        for port in host.ports() {
            let due = host.device_at(port).next_interrupt();
            if let Some(at) = host.interrupt_at(port).set(due) {
                let interrupt = WorldEvent::Interrupt(id, port);
                self.events.add(at.max(self.now), interrupt);
            }
        }
        Ok(())
    }

    /// Runs the applications for which the stack has events. Returns true if an application ran.
    fn serve_events(&mut self, id: HostId) -> Result<bool, WorldFailure> {
        let mut served = false;
        while self.serve_event(id)? {
            served = true;
        }
        Ok(served)
    }

    /// Runs the application of the stack's next event. Returns true if there was an
    /// event.
    pub(super) fn serve_event(&mut self, id: HostId) -> Result<bool, WorldFailure> {
        let Some(event) = self.hosts[id.0].stack.next_event() else {
            return Ok(false);
        };
        match event {
            SocketEvent::Tcp(connection) => {
                if let Some(&end) = self.hosts[id.0].ends.get(&connection) {
                    self.run_end(end)?;
                }
            }
            SocketEvent::Accept(listener) => self.accept(id, listener)?,
            SocketEvent::Udp(socket) => self.serve_datagrams(id, socket)?,
        }
        Ok(true)
    }

    fn accept(&mut self, id: HostId, listener: ListenerId) -> Result<(), WorldFailure> {
        loop {
            let accepted = self.hosts[id.0].stack.tcp_accept(listener, self.now);
            let accepted = accepted.map_err(|error| self.refused(id, "tcp_accept", error))?;
            let Some((connection, remote)) = accepted else {
                return Ok(());
            };
            let ends = self.hosts[id.0].stack.tcp_ends(connection);
            let (own, _) = ends.map_err(|error| self.refused(id, "tcp_ends", error))?;
            let end = self.tuples.get(&Tuple::of(own, remote)).copied();
            let end = end.filter(|end| end.side == Side::Server);
            let fresh = end.filter(|&end| self.end_mut(end).stage == Stage::Waiting);
            let Some(end) = fresh else {
                if self.hosts[id.0].made_cookies() {
                    // Reset the connection, which a late duplicate of an ACK with a SYN cookie has
                    // opened again.
                    let reset = self.hosts[id.0].stack.tcp_abort(connection, self.now);
                    reset.map_err(|error| self.refused(id, "tcp_abort", error))?;
                    continue;
                }
                let finding =
                    format!("a connection from {remote} was accepted that no client opened");
                return Err(self.failure(format!("host {}", id.0), finding));
            };
            self.hosts[id.0].ends.insert(connection, end);
            self.end_mut(end).connection = Some(connection);
            self.run_end(end)?;
            self.reset_rest(end.flow)?;
        }
    }

    /// Returns the failure of a call that the stack must not refuse.
    pub(super) fn refused(&self, host: HostId, call: &str, error: TcpError) -> WorldFailure {
        self.failure(
            format!("host {}", host.0),
            format!("{call} was refused: {error}"),
        )
    }

    /// Returns true if the application at `end` has an established connection. If the
    /// connection ended without being established, ends the flow at this end.
    fn is_open(&mut self, end: EndId) -> Result<bool, WorldFailure> {
        let now = self.now;
        let own = self.end_mut(end);
        let (host, stage) = (own.host, own.stage);
        let Some(id) = own.connection.filter(|_| !stage.is_settled()) else {
            return Ok(false);
        };
        if stage == Stage::Open {
            return Ok(true);
        }
        let ready = self.hosts[host.0].stack.tcp_ready(id, now);
        let ready = ready.map_err(|error| self.refused(host, "tcp_ready", error))?;
        if let Some(reason) = ready.closed {
            self.release(end, Stage::Broken(reason))?;
            return Ok(false);
        }
        if ready.connected {
            self.end_mut(end).stage = Stage::Open;
            self.watch.progress(now);
        }
        Ok(ready.connected)
    }

    /// Runs the application at `end`, if its connection is established.
    pub(super) fn run_end(&mut self, end: EndId) -> Result<(), WorldFailure> {
        if !self.is_open(end)? {
            return Ok(());
        }
        let [client, server] = &mut self.flows[end.flow.0].ends;
        let (own, peer) = match end.side {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let Some(id) = own.connection else {
            return Ok(());
        };
        let stack = &mut self.hosts[own.host.0].stack;
        let Some(mut app) = own.app.take() else {
            return Ok(());
        };
        let mut socket = EndSocket {
            stack,
            id,
            now: self.now,
            own: &mut own.ledger,
            peer: &peer.ledger,
            scratch: &mut self.scratch,
            outcome: None,
            info: None,
            read_all: false,
            finding: None,
            progress: 0,
            verifies_all: self.checks.cover_frame(self.frames),
        };
        let next = app.run(&mut socket);
        let EndSocket {
            outcome,
            info,
            finding,
            progress,
            ..
        } = socket;
        own.app = Some(app);
        if own.info.is_none() {
            own.info = info;
        }
        if progress > 0 {
            self.watch.progress(self.now);
        }
        if let Some(finding) = finding {
            return Err(self.failure(self.place_of(end), finding));
        }
        match outcome {
            Some(stage @ Stage::Broken(_)) => return self.release(end, stage),
            Some(stage) => self.settle(end, stage)?,
            None => self.wake_end(end, next),
        }
        Ok(())
    }

    /// Settles (finishes) an end whose connection ended before the application closed it: stores
    /// the connection's `Info` and releases the connection.
    fn release(&mut self, end: EndId, stage: Stage) -> Result<(), WorldFailure> {
        let now = self.now;
        let own = self.end_mut(end);
        let host = own.host;
        if let Some(id) = own.connection {
            let stack = &mut self.hosts[host.0].stack;
            let info = stack.tcp_info(id, now);
            let closed = stack.tcp_close(id, now);
            let info = closed
                .and(info)
                .map_err(|error| self.refused(host, "a close", error))?;
            self.end_mut(end).info = Some(Box::new(info));
        }
        self.settle(end, stage)
    }

    /// Schedules the application's next run.
    fn wake_end(&mut self, end: EndId, next: NextRun) {
        let now = self.now;
        let own = self.end_mut(end);
        let due = match next {
            NextRun::At(at) => Some(at.max(now)),
            NextRun::OnEvent | NextRun::Done => None,
        };
        if let Some(at) = own.wakeup.set(due) {
            self.events.add(at, WorldEvent::End(end));
        }
    }

    /// Marks `end` as settled: nothing more happens there.
    pub(super) fn settle(&mut self, end: EndId, stage: Stage) -> Result<(), WorldFailure> {
        let now = self.now;
        let own = self.end_mut(end);
        own.stage = stage;
        own.settled.get_or_insert(now);
        if let Some(id) = own.connection {
            let host = own.host;
            self.hosts[host.0].ends.remove(&id);
        }
        self.watch.progress(now);
        let flow = &mut self.flows[end.flow.0];
        if flow.finished.is_none() && flow.is_done() {
            flow.finished = Some(now);
            self.done += 1;
        }
        self.reset_rest(end.flow)
    }

    pub(super) fn end_mut(&mut self, end: EndId) -> &mut crate::flow::FlowEnd {
        &mut self.flows[end.flow.0].ends[end.side.index()]
    }
}
