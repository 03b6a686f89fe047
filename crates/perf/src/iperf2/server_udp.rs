//! The UDP side of the iperf server: all clients share one socket and are
//! distinguished by their address.
//!
//! Rule: one thread reads the socket. The state of an ended test is kept for [`FORGET_AFTER`]: a
//! retransmitted last datagram is then answered again, and a late datagram does not start a new
//! test. A client that is silent for [`SILENCE`] has ended its test. Each reversed test
//! sends from its own thread until its amount is sent or the client sends a last datagram; at most
//! [`MOST_REVERSED`] reversed tests run at a time.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, OnceLock, mpsc},
    thread::{self, Scope},
    time::{Duration, Instant},
};

use super::{
    Failure,
    header::{self, ClientHeader, DatagramHeader, REPORT_LEN},
    joined,
    options::{Rate, ServerOptions, UDP_LENGTH, UDP_RATE},
    pacer::WritePacer,
    reporter::{ReportEvent, ReportedLimits, Reporter, Screen, Summary},
    text::{self, Label},
    traffic::{self, Flow, SendPlan, StopCondition, StreamKind},
};
use crate::{
    Stop,
    sockets::{DatagramBatch, DatagramSocket, SocketOptions, Sockets, would_block},
};

/// Time for which the state of an ended test is kept.
const FORGET_AFTER: Duration = Duration::from_secs(3);
/// Time for which the socket stays open after the last test, to answer a
/// retransmitted last datagram again.
const LINGER: Duration = Duration::from_millis(600);
/// Silence of a client after which its test is over.
const SILENCE: Duration = Duration::from_secs(5);
/// Number of times that the server sends the last datagram of a reversed test. The datagram is
/// repeated because nothing acknowledges it.
const LAST_COPIES: u32 = 3;
/// Time between two copies of the last datagram.
const LAST_GAP: Duration = Duration::from_millis(20);

/// Largest number of reversed tests whose state is kept; further requests are ignored. The number
/// is bounded because anyone can send requests, from any address.
const MOST_REVERSED: usize = 256;

/// Largest number of datagrams received with one call.
const BATCH: usize = 64;

/// State of a client's test.
enum ClientState {
    Receiving {
        flow: Arc<Flow>,
        last_arrival: Instant,
    },
    Reversed {
        /// Raised by the client's last datagram.
        end: Stop,
        /// Time at which the test's sender ended.
        ended_at: Arc<OnceLock<Instant>>,
    },
    Ended {
        report: Box<[u8; REPORT_LEN]>,
        at: Instant,
    },
}

/// Serves UDP clients; see [`run_server`](super::run_server).
pub fn run<S: Sockets>(
    sockets: &S,
    options: &ServerOptions,
    socket_options: &SocketOptions,
    until: &StopCondition,
    screen: &mut Screen<'_>,
) -> Result<Summary, Failure> {
    let refused = |error| Failure::bind(options.local, error);
    let socket = sockets
        .datagram_socket(options.local, socket_options)
        .map_err(refused)?;
    let port = socket.local_addr().map_err(refused)?.port();
    let size = socket.receive_buffer().map_err(refused)?;
    let lines = [
        text::listening("UDP", port),
        text::buffer_size("UDP buffer size", size, options.window),
    ];
    screen.print_banner(&lines).map_err(Failure::Output)?;

    let (reporter, events) = mpsc::channel();
    let socket = &socket;
    thread::scope(|scope| {
        let receiving = scope.spawn(move || {
            UdpServer {
                socket,
                local_address_for: |peer| {
                    let ip = match options.local.ip() {
                        ip if ip.is_unspecified() => sockets.source_address_for(peer).ip(),
                        ip => ip,
                    };
                    SocketAddr::new(ip, port)
                },
                options,
                until,
                reporter,
                states: HashMap::new(),
                served: 0,
            }
            .serve(scope)
        });
        let summary = Reporter::new(screen, options.interval)
            .run(&events)
            .map_err(Failure::Output)?;
        joined(receiving).map(|()| summary)
    })
}

struct UdpServer<'scope, D, A> {
    socket: &'scope D,
    /// Returns the server's address as a client sees it.
    local_address_for: A,
    options: &'scope ServerOptions,
    until: &'scope StopCondition,
    reporter: mpsc::Sender<ReportEvent>,
    states: HashMap<SocketAddr, ClientState>,
    served: u32,
}

impl<'scope, D: DatagramSocket, A: Fn(SocketAddr) -> SocketAddr> UdpServer<'scope, D, A> {
    /// Serves until the stop condition in `self.until` is met, or until the server has served the
    /// requested number of tests.
    ///
    /// # Errors
    /// Returns the error of the socket.
    fn serve(mut self, scope: &'scope Scope<'scope, '_>) -> Result<(), Failure> {
        let mut ended = Ok(());
        let mut batch = DatagramBatch::new(BATCH);
        let mut last_expiry = Instant::now();
        while !self.until.is_met() && !self.all_served() {
            match self.socket.receive_batch(&mut batch) {
                Ok(()) => {
                    for (datagram, from) in batch.iter() {
                        self.on_datagram(datagram, from, scope);
                    }
                }
                Err(error) if would_block(&error) => {}
                Err(error) => {
                    ended = Err(Failure::Sockets("read failed".into(), error));
                    break;
                }
            }
            if last_expiry.elapsed() > crate::stop::POLL {
                last_expiry = Instant::now();
                self.expire(last_expiry);
            }
        }
        for state in std::mem::take(&mut self.states).into_values() {
            if let ClientState::Receiving { flow, last_arrival } = state {
                self.report(ReportEvent::Ended(
                    flow.id,
                    last_arrival - flow.start,
                    ReportedLimits::None,
                ));
            }
        }
        ended
    }

    fn report(&self, event: ReportEvent) {
        // The call cannot fail: the reporter outlives every sender.
        let _ = self.reporter.send(event);
    }

    fn wants_more(&self) -> bool {
        self.options
            .connections
            .is_none_or(|wanted| self.served < wanted)
    }

    fn all_served(&self) -> bool {
        !self.wants_more()
            && self.states.values().all(|state| match state {
                ClientState::Receiving { .. } => false,
                ClientState::Reversed { .. } => true,
                ClientState::Ended { at, .. } => at.elapsed() > LINGER,
            })
    }

    /// Ends the tests of silent clients, and removes the state of clients whose test
    /// ended long enough ago.
    fn expire(&mut self, now: Instant) {
        let mut silent = Vec::new();
        self.states.retain(|_, state| match state {
            ClientState::Receiving { flow, last_arrival } if now - *last_arrival > SILENCE => {
                silent.push((flow.id, *last_arrival - flow.start));
                false
            }
            ClientState::Ended { at, .. } => now - *at < FORGET_AFTER,
            ClientState::Reversed { ended_at, .. } => ended_at
                .get()
                .is_none_or(|at| now.saturating_duration_since(*at) < FORGET_AFTER),
            ClientState::Receiving { .. } => true,
        });
        for (id, end) in silent {
            self.report(ReportEvent::Ended(id, end, ReportedLimits::None));
        }
    }

    fn on_datagram(&mut self, datagram: &[u8], from: SocketAddr, scope: &'scope Scope<'scope, '_>) {
        let id = DatagramHeader::parse(datagram).map_or(0, |header| header.id);
        match self.states.get_mut(&from) {
            // A datagram with number 1 starts a new test from the same port; `begin` ignores the
            // repeated request of a reversed test.
            Some(ClientState::Ended { .. } | ClientState::Reversed { .. }) if id == 1 => {
                self.begin(datagram, from, scope)
            }
            None if id >= 0 => self.begin(datagram, from, scope),
            Some(ClientState::Receiving { flow, last_arrival }) => {
                *last_arrival = Instant::now();
                let flow = Arc::clone(flow);
                if traffic::count_datagram(&flow, datagram, traffic::wall_clock()) {
                    self.end(&flow, from);
                }
            }
            Some(ClientState::Ended { report, .. }) => {
                if id < 0 {
                    // Ignore an error: without a report, the client sends its last datagram again.
                    let _ = self.socket.send_to(&report[..], from);
                }
            }
            Some(ClientState::Reversed { end, .. }) if id < 0 => end.raise(),
            Some(ClientState::Reversed { .. }) | None => {}
        }
    }

    fn begin(&mut self, datagram: &[u8], from: SocketAddr, scope: &'scope Scope<'scope, '_>) {
        let header = header::client_header_of_datagram(datagram);
        let reverse = header.filter(|header| header.reverse);
        if reverse.is_some() && !self.may_reverse(from) {
            return;
        }
        if !self.wants_more() {
            return;
        }
        self.served += 1;
        let label = Label::Stream {
            id: self.served,
            reverse: false,
        };
        let kind = if reverse.is_some() {
            StreamKind::DatagramsSent
        } else {
            StreamKind::DatagramsReceived
        };
        let flow = Arc::new(Flow::new(self.served, kind, false, Instant::now()));
        let notes: &[&str] = if reverse.is_some() { &["reverse"] } else { &[] };
        self.report(ReportEvent::Line(text::connected(
            label,
            (self.local_address_for)(from),
            from,
            notes,
            None,
        )));
        self.report(ReportEvent::Started(Arc::clone(&flow), from.ip()));
        match reverse {
            Some(header) => {
                let (end, ended_at) = (Stop::new(), Arc::default());
                let sender = ReversedSender {
                    socket: self.socket,
                    options: self.options,
                    until: StopCondition {
                        ended_by_peer: Some(end.clone()),
                        ..self.until.clone()
                    },
                    ended_at: Arc::clone(&ended_at),
                    reporter: self.reporter.clone(),
                };
                self.states
                    .insert(from, ClientState::Reversed { end, ended_at });
                scope.spawn(move || sender.send(&header, from, &flow));
            }
            None => {
                traffic::count_datagram(&flow, datagram, traffic::wall_clock());
                self.states.insert(
                    from,
                    ClientState::Receiving {
                        last_arrival: flow.start,
                        flow,
                    },
                );
            }
        }
    }

    /// Returns true if a reversed test of `from` may begin: `from` has no reversed test, and fewer
    /// than [`MOST_REVERSED`] reversed tests are known.
    fn may_reverse(&self, from: SocketAddr) -> bool {
        let is_reversed = |state: &ClientState| matches!(state, ClientState::Reversed { .. });
        !self.states.get(&from).is_some_and(is_reversed)
            && self
                .states
                .values()
                .filter(|state| is_reversed(state))
                .count()
                < MOST_REVERSED
    }

    fn end(&mut self, flow: &Flow, from: SocketAddr) {
        let end = flow.start.elapsed();
        let report = Box::new(header::report_bytes(&flow.tally().whole(end)));
        // Ignore an error: without a report, the client sends its last datagram again.
        let _ = self.socket.send_to(&report[..], from);
        self.states.insert(
            from,
            ClientState::Ended {
                report,
                at: Instant::now(),
            },
        );
        self.report(ReportEvent::Ended(flow.id, end, ReportedLimits::None));
    }
}

/// The sender of one reversed test.
struct ReversedSender<'scope, D> {
    socket: &'scope D,
    options: &'scope ServerOptions,
    until: StopCondition,
    ended_at: Arc<OnceLock<Instant>>,
    reporter: mpsc::Sender<ReportEvent>,
}

impl<D: DatagramSocket> ReversedSender<'_, D> {
    fn send(self, header: &ClientHeader, to: SocketAddr, flow: &Flow) {
        let rate = header.rate.unwrap_or(Rate::Bits(UDP_RATE));
        let length = match header.length {
            0 => self.options.length.unwrap_or(UDP_LENGTH),
            length => length as usize,
        };
        let plan = SendPlan {
            amount: header.amount,
            pacer: WritePacer::new(Some(rate), flow.start),
            length: length.clamp(header::DATAGRAM_LEN, 65_507),
        };
        let sent = traffic::send_datagrams(self.socket, to, flow, None, plan, &self.until);
        match sent {
            Ok(last) => {
                for time in 0..LAST_COPIES {
                    if time > 0 {
                        thread::sleep(LAST_GAP);
                    }
                    let _ = self.socket.send_to(&last, to);
                }
            }
            Err(error) => {
                let _ = self.reporter.send(ReportEvent::Error(format!(
                    "[{:>3}] write failed: {error}",
                    flow.id
                )));
            }
        }
        let _ = self.reporter.send(ReportEvent::Ended(
            flow.id,
            flow.start.elapsed(),
            ReportedLimits::None,
        ));
        self.ended_at.get_or_init(Instant::now);
    }
}

#[cfg(test)]
mod tests;
