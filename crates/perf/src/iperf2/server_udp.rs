//! The server's datagrams: all clients share one socket and are told apart by
//! their address.
//!
//! Rule: one thread reads. A client is known from its first datagram until
//! [`REMEMBERED`] after its last, so that a last datagram sent again is answered
//! again and starts nothing. A client that just falls silent has ended.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, mpsc},
    thread::{self, Scope},
    time::{Duration, Instant},
};

use super::{
    Failure,
    client::print_banner,
    header::{self, ClientHeader, DatagramHeader, REPORT_LEN},
    options::{Rate, ServerOptions, UDP_LENGTH, UDP_RATE},
    pacer::Pacer,
    reporter::{Event, LimitsTold, Reporter, Screen, Summary},
    text::{self, Label},
    traffic::{self, Flow, Kind, Sending, Until},
};
use crate::sockets::{DatagramBatch, Datagrams, SocketOptions, Sockets, is_idle};

/// How long a client is answered after its last datagram.
const REMEMBERED: Duration = Duration::from_secs(3);
/// How long the socket stays open for clients that did not hear the answer,
/// when nobody else will be served.
const LINGER: Duration = Duration::from_millis(600);
/// A client that sends nothing for so long has ended without saying so.
const SILENCE: Duration = Duration::from_secs(5);
/// How often, and in what distance, the last datagram of a reversed test is sent.
const LAST_TIMES: u32 = 3;
const LAST_GAP: Duration = Duration::from_millis(20);

/// Datagrams received with one call.
const BATCH: usize = 64;

/// What a client is doing.
enum State {
    Receiving {
        flow: Arc<Flow>,
        heard: Instant,
    },
    Reversed,
    Ended {
        report: Box<[u8; REPORT_LEN]>,
        at: Instant,
    },
}

/// Serves datagrams; see [`run_server`](super::run_server).
pub fn run<S: Sockets>(
    sockets: &S,
    options: &ServerOptions,
    socket_options: &SocketOptions,
    until: &Until,
    screen: &mut Screen<'_>,
) -> Result<Summary, Failure> {
    let refused =
        |error| Failure::Sockets(format!("listener bind failed on {}", options.local), error);
    let socket = sockets
        .datagrams(options.local, socket_options)
        .map_err(refused)?;
    let port = socket.local_addr().map_err(refused)?.port();
    let size = socket.receive_buffer().map_err(refused)?;
    let lines = [
        format!("Server listening on UDP port {port}"),
        text::buffer_size("UDP buffer size", size, options.window),
    ];
    print_banner(screen, &lines).map_err(Failure::Output)?;

    let (tell, events) = mpsc::channel();
    let socket = &socket;
    thread::scope(|scope| {
        scope.spawn(move || {
            Clients {
                socket,
                towards: |peer| {
                    let ip = match options.local.ip() {
                        ip if ip.is_unspecified() => sockets.local_towards(peer).ip(),
                        ip => ip,
                    };
                    SocketAddr::new(ip, port)
                },
                options,
                until,
                tell,
                states: HashMap::new(),
                served: 0,
            }
            .serve(scope);
        });
        Reporter::new(screen, options.interval)
            .run(&events)
            .map_err(Failure::Output)
    })
}

struct Clients<'scope, D, A> {
    socket: &'scope D,
    /// Our address as a client knows it.
    towards: A,
    options: &'scope ServerOptions,
    until: &'scope Until,
    tell: mpsc::Sender<Event>,
    states: HashMap<SocketAddr, State>,
    served: u32,
}

impl<'scope, D: Datagrams, A: Fn(SocketAddr) -> SocketAddr> Clients<'scope, D, A> {
    fn serve(mut self, scope: &'scope Scope<'scope, '_>) {
        let mut batch = DatagramBatch::new(BATCH);
        let mut swept = Instant::now();
        while !self.until.over() && !self.all_served() {
            match self.socket.receive_batch(&mut batch) {
                Ok(()) => {
                    for (datagram, from) in batch.iter() {
                        self.on_datagram(datagram, from, scope);
                    }
                }
                Err(error) if is_idle(&error) => {}
                Err(error) => {
                    self.tell(Event::Complaint(format!("read failed: {error}")));
                    break;
                }
            }
            if swept.elapsed() > crate::stop::POLL {
                swept = Instant::now();
                self.sweep(swept);
            }
        }
        for state in std::mem::take(&mut self.states).into_values() {
            if let State::Receiving { flow, heard } = state {
                self.tell(Event::Ended(flow.id, heard - flow.start, LimitsTold::None));
            }
        }
    }

    fn tell(&self, event: Event) {
        // The reporter ends only after all who could tell it something.
        let _ = self.tell.send(event);
    }

    fn wants_more(&self) -> bool {
        self.options
            .connections
            .is_none_or(|wanted| self.served < wanted)
    }

    fn all_served(&self) -> bool {
        !self.wants_more()
            && self.states.values().all(|state| match state {
                State::Receiving { .. } => false,
                State::Reversed => true,
                State::Ended { at, .. } => at.elapsed() > LINGER,
            })
    }

    /// Ends those who fell silent, forgets those who ended.
    fn sweep(&mut self, now: Instant) {
        let mut silent = Vec::new();
        self.states.retain(|_, state| match state {
            State::Receiving { flow, heard } if now - *heard > SILENCE => {
                silent.push((flow.id, *heard - flow.start));
                false
            }
            State::Ended { at, .. } => now - *at < REMEMBERED,
            State::Receiving { .. } | State::Reversed => true,
        });
        for (id, end) in silent {
            self.tell(Event::Ended(id, end, LimitsTold::None));
        }
    }

    fn on_datagram(&mut self, datagram: &[u8], from: SocketAddr, scope: &'scope Scope<'scope, '_>) {
        let id = DatagramHeader::parse(datagram).map_or(0, |header| header.id);
        match self.states.get_mut(&from) {
            // A new test from the same port begins with number one.
            Some(State::Ended { .. } | State::Reversed) if id == 1 => {
                self.begin(datagram, from, scope)
            }
            None if id >= 0 => self.begin(datagram, from, scope),
            Some(State::Receiving { flow, heard }) => {
                *heard = Instant::now();
                let flow = Arc::clone(flow);
                if traffic::count_datagram(&flow, datagram, traffic::wall_clock()) {
                    self.end(&flow, from);
                }
            }
            Some(State::Ended { report, .. }) => {
                if id < 0 {
                    // Lost again, it will be asked for again.
                    let _ = self.socket.send_to(&report[..], from);
                }
            }
            Some(State::Reversed) | None => {}
        }
    }

    fn begin(&mut self, datagram: &[u8], from: SocketAddr, scope: &'scope Scope<'scope, '_>) {
        let header = header::client_header_of_datagram(datagram);
        let reverse = header.filter(|header| header.reverse);
        if reverse.is_some() && matches!(self.states.get(&from), Some(State::Reversed)) {
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
            Kind::DatagramsSent
        } else {
            Kind::DatagramsReceived
        };
        let flow = Arc::new(Flow::new(self.served, kind, false, Instant::now()));
        let notes: &[&str] = if reverse.is_some() { &["reverse"] } else { &[] };
        self.tell(Event::Line(text::connected(
            label,
            (self.towards)(from),
            from,
            notes,
            None,
        )));
        self.tell(Event::Started(Arc::clone(&flow), from.ip()));
        match reverse {
            Some(header) => {
                self.states.insert(from, State::Reversed);
                let sender = Reversed {
                    socket: self.socket,
                    options: self.options,
                    until: self.until,
                    tell: self.tell.clone(),
                };
                scope.spawn(move || sender.send(&header, from, &flow));
            }
            None => {
                traffic::count_datagram(&flow, datagram, traffic::wall_clock());
                self.states.insert(
                    from,
                    State::Receiving {
                        heard: flow.start,
                        flow,
                    },
                );
            }
        }
    }

    fn end(&mut self, flow: &Flow, from: SocketAddr) {
        let end = flow.start.elapsed();
        let report = Box::new(header::write_report(&flow.tally().whole(end)));
        // Lost, it will be asked for again.
        let _ = self.socket.send_to(&report[..], from);
        self.states.insert(
            from,
            State::Ended {
                report,
                at: Instant::now(),
            },
        );
        self.tell(Event::Ended(flow.id, end, LimitsTold::None));
    }
}

/// A client that is sent to.
struct Reversed<'scope, D> {
    socket: &'scope D,
    options: &'scope ServerOptions,
    until: &'scope Until,
    tell: mpsc::Sender<Event>,
}

impl<D: Datagrams> Reversed<'_, D> {
    fn send(self, header: &ClientHeader, to: SocketAddr, flow: &Flow) {
        let rate = header.rate.unwrap_or(Rate::Bits(UDP_RATE));
        let length = match header.length {
            0 => self.options.length.unwrap_or(UDP_LENGTH),
            length => length as usize,
        };
        let sending = Sending {
            amount: header.amount,
            pacer: Pacer::new(Some(rate), flow.start),
            length: length.clamp(header::DATAGRAM_LEN, 65_507),
        };
        let sent = traffic::send_datagrams(self.socket, to, flow, None, sending, self.until);
        match sent {
            Ok(last) => {
                // Nothing acknowledges it: it is said more than once.
                for time in 0..LAST_TIMES {
                    if time > 0 {
                        thread::sleep(LAST_GAP);
                    }
                    let _ = self.socket.send_to(&last, to);
                }
            }
            Err(error) => {
                let _ = self.tell.send(Event::Complaint(format!(
                    "[{:>3}] write failed: {error}",
                    flow.id
                )));
            }
        }
        let _ = self.tell.send(Event::Ended(
            flow.id,
            flow.start.elapsed(),
            LimitsTold::None,
        ));
    }
}
