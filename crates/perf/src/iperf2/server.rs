//! The server: whoever connects is served as its header wishes.
//!
//! Rule: a peer is never trusted to send a header, to end, or to be alone. The
//! TCP side is here, one thread a connection; datagrams are in `server_udp`.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, mpsc},
    thread,
    time::Instant,
};

use super::{
    Failure,
    client::{limits_told, print_banner},
    header::{self, CLIENT_LEN, ClientHeader},
    options::{ServerOptions, TCP_LENGTH},
    pacer::Pacer,
    reporter::{Event, Reporter, Screen, Summary},
    server_udp,
    text::{self, Label},
    traffic::{self, Expected, Flow, Kind, Sending, Until},
};
use crate::{
    Stop,
    sockets::{Listener, SocketOptions, Sockets, Stream, is_idle},
};

/// Most bytes of one write that a client may ask for.
const LENGTH_MAX: usize = 16 << 20;

/// Serves until stopped, until the time is over, or until as many clients as
/// wanted were served; prints their tests.
///
/// # Errors
/// See [`Failure`]. What goes wrong with one client is printed as a complaint.
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
    let until = Until {
        stop: stop.clone(),
        deadline,
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
    until: &Until,
    screen: &mut Screen<'_>,
) -> Result<Summary, Failure> {
    let refused =
        |error| Failure::Sockets(format!("listener bind failed on {}", options.local), error);
    let listener = sockets
        .listen(options.local, socket_options)
        .map_err(refused)?;
    let port = listener.local_addr().map_err(refused)?.port();
    let size = listener.receive_buffer().map_err(refused)?;
    let lines = [
        format!("Server listening on TCP port {port}"),
        text::buffer_size("TCP window size", size, options.window),
    ];
    print_banner(screen, &lines).map_err(Failure::Output)?;

    let (tell, events) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut id = 0;
            while !until.over() && options.connections.is_none_or(|wanted| id < wanted) {
                match listener.accept() {
                    Ok(stream) => {
                        id += 1;
                        let tell = tell.clone();
                        scope.spawn(move || serve(&stream, id, options, until, &tell));
                    }
                    Err(error) if is_idle(&error) => {}
                    Err(error) => {
                        let _ = tell.send(Event::Complaint(format!("accept failed: {error}")));
                        break;
                    }
                }
            }
        });
        Reporter::new(screen, options.interval)
            .run(&events)
            .map_err(Failure::Output)
    })
}

fn serve(
    stream: &impl Stream,
    id: u32,
    options: &ServerOptions,
    until: &Until,
    tell: &mpsc::Sender<Event>,
) {
    let served = stream
        .peer_addr()
        .and_then(|peer| Ok((stream.local_addr()?, peer)))
        .and_then(|(local, peer)| {
            Client {
                stream,
                id,
                local,
                peer,
                options,
                until,
                tell,
            }
            .serve()
        });
    if let Err(error) = served {
        let _ = tell.send(Event::Complaint(format!("[{id:>3}] {error}")));
    }
}

/// One connection being served.
struct Client<'a, S: Stream> {
    stream: &'a S,
    id: u32,
    local: SocketAddr,
    peer: SocketAddr,
    options: &'a ServerOptions,
    until: &'a Until,
    tell: &'a mpsc::Sender<Event>,
}

impl<S: Stream> Client<'_, S> {
    fn serve(&self) -> io::Result<()> {
        let mut head = Vec::with_capacity(CLIENT_LEN);
        let ended = self.read_head(&mut head)?;
        let header = ClientHeader::parse(&head);
        let reverse = header.is_some_and(|header| header.reverse);
        let flow = self.start(reverse);
        if header.is_some_and(|header| header.wants_call) {
            self.tell(Event::Complaint(format!(
                "[{:>3}] the client waits to be called back (-d, -r), which is not implemented",
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
        self.tell(Event::Ended(
            self.id,
            flow.start.elapsed(),
            limits_told(self.stream, !reverse),
        ));
        let named = |what: &str, error: io::Error| {
            io::Error::new(error.kind(), format!("{what} failed: {error}"))
        };
        if !reverse {
            return done.map_err(|error| named("read", error));
        }
        done.map_err(|error| named("write", error))?;
        traffic::drain(self.stream, self.options.patience, self.until)
            .map_err(|error| named("close", error))
    }

    fn tell(&self, event: Event) {
        // The reporter ends only after all who could tell it something.
        let _ = self.tell.send(event);
    }

    /// Reads just enough to know whether there is a header, and then all of it.
    /// Returns whether the stream ended there.
    fn read_head(&self, head: &mut Vec<u8>) -> io::Result<bool> {
        let mut buffer = [0; CLIENT_LEN];
        while !self.until.over() {
            let missing = ClientHeader::needed(head).saturating_sub(head.len());
            if missing == 0 {
                return Ok(false);
            }
            match self.stream.read(&mut buffer[..missing]) {
                Ok(0) => return Ok(true),
                Ok(read) => head.extend_from_slice(&buffer[..read]),
                Err(error) if is_idle(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn start(&self, reverse: bool) -> Arc<Flow> {
        let flow = Arc::new(Flow::new(self.id, Kind::Bytes, false, Instant::now()));
        let label = Label::Stream {
            id: self.id,
            reverse: false,
        };
        let notes: &[&str] = if reverse { &["reverse"] } else { &[] };
        let opening = self.stream.opening();
        self.tell(Event::Line(text::connected(
            label,
            self.local,
            self.peer,
            notes,
            opening.as_ref(),
        )));
        self.tell(Event::Started(Arc::clone(&flow), self.peer.ip()));
        flow
    }

    fn receive(&self, flow: &Flow, header: Option<&ClientHeader>) -> io::Result<()> {
        let length = self.options.length.unwrap_or(TCP_LENGTH);
        let expected = header.map(|header| Expected {
            amount: header.amount,
            patience: self.options.patience,
        });
        traffic::receive_stream(self.stream, flow, length, expected, self.until)
    }

    fn send(&self, flow: &Flow, header: &ClientHeader) -> io::Result<()> {
        let length = match header.length {
            0 => self.options.length.unwrap_or(TCP_LENGTH),
            length => (length as usize).min(LENGTH_MAX),
        };
        let sending = Sending {
            amount: header.amount,
            pacer: Pacer::new(header.rate, flow.start),
            length,
        };
        traffic::send_stream(self.stream, flow, None, sending, self.until)
    }
}
