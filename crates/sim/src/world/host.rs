//! A host: a stack, a device, and the applications' connections.
//!
//! Rule: a host works only when something wakes it: a frame, a timer of its
//! stack or of an application. It then works until nothing is left to do at
//! this time, as a machine does whose processor takes no time. What is different
//! where it takes time is in `processor.rs`.

use std::net::SocketAddr;

use fullpipe::{
    Config, ConnectOptions, ConnectionId, ListenOptions, ListenerId, SocketEvent, Stack, TcpError,
    turn,
};
use fullpipe_pool::Instant;
use rustc_hash::FxHashMap;

use super::account::ReceiverLoad;
use super::{HostId, LinkId, SERVER_PORT, World, WorldEvent, address_of};
use crate::app::NextRun;
use crate::cpu::Cpu;
use crate::device::SimDevice;
use crate::event_queue::Wakeup;
use crate::failure::WorldFailure;
use crate::flow::{EndId, FlowId, Side, Stage};
use crate::link::Direction;
use crate::pcapng::TapId;
use crate::socket::EndSocket;

/// A machine of the world.
#[derive(Debug)]
pub(super) struct Host {
    pub stack: Stack,
    pub device: SimDevice,
    /// Where its work takes time.
    pub cpu: Option<Cpu>,
    pub config: Config,
    pub link: LinkId,
    /// The way from here.
    pub direction: Direction,
    pub wakeup: Wakeup,
    /// For what the device holds for merging.
    pub interrupt: Wakeup,
    pub tap: Option<TapId>,
    /// The ends whose connections live here. Only looked up.
    ends: FxHashMap<ConnectionId, EndId>,
    listener: Option<ListenerId>,
    /// When it last sent something that is no TCP segment.
    pub last_sent_other: Option<Instant>,
    /// Where it receives datagrams.
    pub receiver: Option<ReceiverLoad>,
    /// Wake-ups by its own timers since anything came of one.
    pub idle_wakes: u32,
    /// Steps until memory is looked at again.
    pub verify_in: u32,
}

impl Host {
    pub fn new(
        stack: Stack,
        device: SimDevice,
        config: Config,
        link: LinkId,
        direction: Direction,
    ) -> Self {
        Self {
            stack,
            device,
            cpu: None,
            config,
            link,
            direction,
            wakeup: Wakeup::default(),
            interrupt: Wakeup::default(),
            tap: None,
            ends: FxHashMap::default(),
            listener: None,
            last_sent_other: None,
            receiver: None,
            idle_wakes: 0,
            verify_in: 0,
        }
    }
}

impl Host {
    /// Whether the stack waits for its device, and need not any more.
    pub fn is_relieved(&self) -> bool {
        let device = &self.device;
        let has_room = device.was_refused() && device.has_room();
        has_room || (device.has_news() && self.stack.waits_for_device())
    }

    /// Whether it answered SYNs that it does not remember.
    pub fn made_cookies(&self) -> bool {
        self.stack.counters().mib.tcp_syncookies_sent > 0
    }

    /// Listens at `own`, once for all conversations.
    pub fn listen(&mut self, own: SocketAddr) {
        if self.listener.is_none() {
            match self.stack.tcp_listen(own, ListenOptions::default()) {
                Ok(listener) => self.listener = Some(listener),
                Err(error) => panic!("{own}: {error}"),
            }
        }
    }
}

impl World {
    /// Opens the connection of `flow`.
    pub(super) fn start(&mut self, flow: FlowId) -> Result<(), WorldFailure> {
        let conversation = &self.flows[flow.0];
        let [client, server] = [&conversation.ends[0], &conversation.ends[1]];
        let (host, remote) = (
            client.host,
            SocketAddr::new(address_of(server.host), SERVER_PORT),
        );
        let stack = &mut self.hosts[host.0].stack;
        match stack.tcp_connect(remote, None, ConnectOptions::default(), self.now) {
            Ok(id) => {
                let ends = stack.tcp_ends(id);
                let ends = ends.map_err(|error| self.refused(host, "tcp_ends", error))?;
                let end = EndId {
                    flow,
                    side: Side::Client,
                };
                self.tuples.insert(ends, flow);
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

    /// Lets a host do everything there is to do at this time.
    pub(super) fn work(&mut self, id: HostId) -> Result<(), WorldFailure> {
        if self.hosts[id.0].cpu.is_some() {
            return self.process(id);
        }
        loop {
            let host = &mut self.hosts[id.0];
            let waiting = host.device.waiting();
            let turned = turn(&mut host.stack, &mut host.device, self.now);
            self.watch_made(id, waiting)?;
            self.put_on_link(id)?;
            let served = self.serve_events(id)?;
            let host = &mut self.hosts[id.0];
            let relieved = host.is_relieved();
            if host.device.has_room() {
                host.device.forget_refusal();
            }
            if !(served || relieved || turned.more_work) {
                break;
            }
            self.count_step(id)?;
        }
        self.rest(id)
    }

    /// The host has done what it could: it is woken by its own timers next.
    pub(super) fn rest(&mut self, id: HostId) -> Result<(), WorldFailure> {
        self.verify_host(id)?;
        let host = &mut self.hosts[id.0];
        // A busy processor looks at the stack's timers when it is free.
        let busy = host.cpu.as_ref().is_some_and(|cpu| cpu.is_busy(self.now));
        let due = host.stack.next_timeout().filter(|_| !busy);
        let due = due.map(|due| due.max(self.now));
        if let Some(at) = host.wakeup.set(due) {
            self.events.add(at, WorldEvent::Host(id));
        }
        let due = host.device.next_interrupt();
        if let Some(at) = host.interrupt.set(due) {
            self.events.add(at.max(self.now), WorldEvent::Interrupt(id));
        }
        Ok(())
    }

    /// Runs the applications that the stack has news for. Returns whether any
    /// ran.
    fn serve_events(&mut self, id: HostId) -> Result<bool, WorldFailure> {
        let mut served = false;
        while self.serve_event(id)? {
            served = true;
        }
        Ok(served)
    }

    /// Runs the application that the stack has the next news for. Returns whether
    /// there was any.
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
            let own = SocketAddr::new(address_of(id), SERVER_PORT);
            let end = self.tuples.get(&(remote, own)).map(|&flow| EndId {
                flow,
                side: Side::Server,
            });
            let fresh = end.filter(|&end| self.end_mut(end).stage == Stage::Waiting);
            let Some(end) = fresh else {
                if self.hosts[id.0].made_cookies() {
                    // A late duplicate of an ACK proves its cookie again.
                    let reset = self.hosts[id.0].stack.tcp_abort(connection, self.now);
                    reset.map_err(|error| self.refused(id, "tcp_abort", error))?;
                    continue;
                }
                let finding = format!("a connection from {remote} was accepted that nobody opened");
                return Err(self.failure(format!("host {}", id.0), finding));
            };
            self.hosts[id.0].ends.insert(connection, end);
            self.end_mut(end).connection = Some(connection);
            self.run_end(end)?;
            self.reset_rest(end.flow)?;
        }
    }

    /// The failure that a stack refused a call which cannot be refused.
    pub(super) fn refused(&self, host: HostId, call: &str, error: TcpError) -> WorldFailure {
        self.failure(
            format!("host {}", host.0),
            format!("{call} was refused: {error}"),
        )
    }

    /// Whether the application at `end` has a connection to work with. It is
    /// told apart here from one that never came to be.
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
            self.let_go(end, Stage::Broken(reason))?;
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
            Some(stage @ Stage::Broken(_)) => return self.let_go(end, stage),
            Some(stage) => self.settle(end, stage)?,
            None => self.wake_end(end, next),
        }
        Ok(())
    }

    /// The connection at `end` has ended under its application: takes its last
    /// measurements and gives it back.
    fn let_go(&mut self, end: EndId, stage: Stage) -> Result<(), WorldFailure> {
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

    /// Puts the application at `end` on the event queue.
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

    /// Nothing more happens at `end`.
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
