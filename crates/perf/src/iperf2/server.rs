//! The iperf server, with a thread for each TCP connection.
//!
//! Rule: the server copes with clients that send no header or become silent, and serves several
//! clients at a time. A client's header selects the direction, the length and the rate of its
//! test. UDP is in `server_udp`.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, mpsc},
    thread,
    time::Instant,
};

use super::{
    Failure,
    header::{self, CLIENT_LEN, ClientHeader},
    joined,
    options::{ServerOptions, TCP_LENGTH},
    pacer::WritePacer,
    reporter::{ReportEvent, ReportedLimits, Reporter, Screen, Summary},
    server_udp,
    text::{self, Label},
    traffic::{self, ExpectedEnd, Flow, SendPlan, StopCondition, StreamKind},
};
use crate::{
    Stop,
    sockets::{SocketOptions, Sockets, Stream, StreamListener, would_block},
};

/// Largest write that a client may request, in bytes.
const LENGTH_MAX: usize = 16 << 20;

/// Serves clients and prints their results, until `stop` is raised,
/// [`ServerOptions::time`] is over or [`ServerOptions::connections`] clients were served.
///
/// # Errors
/// See [`Failure`]. An error of one client is printed and counted in
/// [`Summary::errors`].
pub fn run_server<S: Sockets>(
    sockets: &S,
    options: &ServerOptions,
    stop: &Stop,
    screen: &mut Screen<'_>,
) -> Result<Summary, Failure> {
    if options.connections == Some(0) {
        return Err(Failure::Usage(
            "at least one connection is needed (-P)".into(),
        ));
    }
    if options.length == Some(0) {
        return Err(Failure::Usage(
            "reads of 0 bytes would never end (-l)".into(),
        ));
    }
    let deadline = options.time.map(|time| Instant::now() + time);
    let until = StopCondition {
        stop: stop.clone(),
        deadline,
        ended_by_peer: None,
    };
    let socket_options = SocketOptions {
        buffer: options.window,
        no_delay: false,
    };
    if options.udp {
        server_udp::run(sockets, options, &socket_options, &until, screen)
    } else {
        run_tcp(sockets, options, &socket_options, &until, screen)
    }
}

fn run_tcp<S: Sockets>(
    sockets: &S,
    options: &ServerOptions,
    socket_options: &SocketOptions,
    until: &StopCondition,
    screen: &mut Screen<'_>,
) -> Result<Summary, Failure> {
    let refused = |error| Failure::bind(options.local, error);
    let listener = sockets
        .listen(options.local, socket_options)
        .map_err(refused)?;
    let port = listener.local_addr().map_err(refused)?.port();
    let size = listener.receive_buffer().map_err(refused)?;
    let lines = [
        text::listening("TCP", port),
        text::buffer_size("TCP window size", size, options.window),
    ];
    screen.print_banner(&lines).map_err(Failure::Output)?;

    let (reporter, events) = mpsc::channel();
    thread::scope(|scope| {
        let accepting = scope.spawn(move || {
            let mut id = 0;
            while !until.is_met() && options.connections.is_none_or(|wanted| id < wanted) {
                match listener.accept() {
                    Ok(stream) => {
                        id += 1;
                        let reporter = reporter.clone();
                        scope.spawn(move || serve(&stream, id, options, until, &reporter));
                    }
                    Err(error) if would_block(&error) => {}
                    Err(error) => return Err(Failure::Sockets("accept failed".into(), error)),
                }
            }
            Ok(())
        });
        let summary = Reporter::new(screen, options.interval)
            .run(&events)
            .map_err(Failure::Output)?;
        joined(accepting).map(|()| summary)
    })
}

fn serve(
    stream: &impl Stream,
    id: u32,
    options: &ServerOptions,
    until: &StopCondition,
    reporter: &mpsc::Sender<ReportEvent>,
) {
    let served = stream
        .peer_addr()
        .and_then(|peer| Ok((stream.local_addr()?, peer)))
        .and_then(|(local, peer)| {
            Connection {
                stream,
                id,
                local,
                peer,
                options,
                until,
                reporter,
            }
            .serve()
        });
    if let Err(error) = served {
        let _ = reporter.send(ReportEvent::Error(format!("[{id:>3}] {error}")));
    }
}

/// One connection being served.
struct Connection<'a, S: Stream> {
    stream: &'a S,
    id: u32,
    local: SocketAddr,
    peer: SocketAddr,
    options: &'a ServerOptions,
    until: &'a StopCondition,
    reporter: &'a mpsc::Sender<ReportEvent>,
}

impl<S: Stream> Connection<'_, S> {
    fn serve(&self) -> io::Result<()> {
        let mut head = Vec::with_capacity(CLIENT_LEN);
        let ended = self.read_head(&mut head)?;
        let header = ClientHeader::parse(&head);
        let reverse = header.is_some_and(|header| header.reverse);
        let flow = self.start(reverse);
        if header.is_some_and(|header| header.wants_dual_test) {
            self.report(ReportEvent::Error(format!(
                "[{:>3}] the client asks this server to open a connection back (-d, -r), which is not implemented",
                self.id
            )));
        }
        if header.is_some_and(|header| header.wants_ack) {
            self.stream.write(&header::acknowledgement())?;
        }
        let done = match header {
            Some(header) if reverse => self.send(&flow, &header),
            Some(_) | None => {
                flow.count(|tally| tally.moved(head.len()));
                if ended {
                    Ok(())
                } else {
                    self.receive(&flow, header.as_ref())
                }
            }
        };
        self.report(ReportEvent::Ended(
            self.id,
            flow.start.elapsed(),
            ReportedLimits::of(self.stream, !reverse),
        ));
        let named = |what: &str, error: io::Error| {
            io::Error::new(error.kind(), format!("{what} failed: {error}"))
        };
        if !reverse {
            return done.map_err(|error| named("read", error));
        }
        done.map_err(|error| named("write", error))?;
        traffic::drain(self.stream, self.options.silence_timeout, self.until)
            .map_err(|error| named("close", error))
    }

    fn report(&self, event: ReportEvent) {
        // The call cannot fail: the reporter outlives every sender.
        let _ = self.reporter.send(event);
    }

    /// Reads the client's header into `head`; if the stream has no header, reads its first bytes.
    /// Returns true if the stream ended, or the server must end, before these bytes arrived.
    fn read_head(&self, head: &mut Vec<u8>) -> io::Result<bool> {
        let mut buffer = [0; CLIENT_LEN];
        while !self.until.is_met() {
            let missing = ClientHeader::bytes_needed(head).saturating_sub(head.len());
            if missing == 0 {
                return Ok(false);
            }
            match self.stream.read(&mut buffer[..missing]) {
                Ok(0) => return Ok(true),
                Ok(read) => head.extend_from_slice(&buffer[..read]),
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn start(&self, reverse: bool) -> Arc<Flow> {
        let flow = Arc::new(Flow::new(self.id, StreamKind::Bytes, false, Instant::now()));
        let label = Label::Stream {
            id: self.id,
            reverse: false,
        };
        let notes: &[&str] = if reverse { &["reverse"] } else { &[] };
        let handshake = self.stream.handshake_info();
        self.report(ReportEvent::Line(text::connected(
            label,
            self.local,
            self.peer,
            notes,
            handshake.as_ref(),
        )));
        self.report(ReportEvent::Started(Arc::clone(&flow), self.peer.ip()));
        flow
    }

    fn receive(&self, flow: &Flow, header: Option<&ClientHeader>) -> io::Result<()> {
        let length = self.options.length.unwrap_or(TCP_LENGTH);
        let expected = header.map(|header| ExpectedEnd {
            amount: header.amount,
            silence_timeout: self.options.silence_timeout,
        });
        traffic::receive_stream(self.stream, flow, length, expected, self.until)
    }

    fn send(&self, flow: &Flow, header: &ClientHeader) -> io::Result<()> {
        let length = match header.length {
            0 => self.options.length.unwrap_or(TCP_LENGTH),
            length => (length as usize).min(LENGTH_MAX),
        };
        let plan = SendPlan {
            amount: header.amount,
            pacer: WritePacer::new(header.rate, flow.start),
            length,
        };
        traffic::send_stream(self.stream, flow, None, plan, self.until)
    }
}
