//! The client: one test against one server.
//!
//! Rule: all streams are connected before the first byte moves, so that they
//! share their start. Lines are left to the reporter.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use super::{
    Failure,
    header::{self, CLIENT_LEN, ClientHeader, DATAGRAM_LEN},
    options::{ClientOptions, Rate, UDP_RATE},
    pacer::{Pacer, gap},
    reporter::{Event, LimitsTold, Reporter, Screen, Summary},
    text::{self, Label},
    traffic::{self, Expected, Flow, Kind, Sending, Until},
};
use crate::{
    Stop,
    sockets::{DatagramBatch, Datagrams, SocketOptions, Sockets, Stream, is_idle},
};

/// How often the last datagram is sent.
const LAST_TRIES: u32 = 10;
/// How long an answer to it is waited for.
const LAST_WAIT: Duration = Duration::from_millis(250);
/// How long a reversed UDP test may be silent, beyond its own time.
const SILENCE: Duration = Duration::from_secs(2);
/// Datagrams received with one call.
const BATCH: usize = 64;
/// Largest payload of a datagram over IPv4.
const DATAGRAM_MAX: usize = 65_507;

/// Runs a test and prints it.
///
/// # Errors
/// See [`Failure`]. What goes wrong after the test began is printed as a
/// complaint, and counted in the summary.
pub fn run_client<S: Sockets>(
    sockets: &S,
    options: &ClientOptions,
    stop: &Stop,
    screen: &mut Screen<'_>,
) -> Result<Summary, Failure> {
    check(options)?;
    let until = Until {
        stop: stop.clone(),
        deadline: None,
    };
    let socket_options = SocketOptions {
        buffer: options.window,
        no_delay: options.no_delay,
    };
    if options.udp {
        run_udp(sockets, options, &socket_options, &until, screen)
    } else {
        run_tcp(sockets, options, &socket_options, &until, screen)
    }
}

fn check(options: &ClientOptions) -> Result<(), Failure> {
    let usage = |text: String| Err(Failure::Usage(text));
    if options.parallel == 0 {
        return usage("at least one stream is needed (-P)".into());
    }
    if options.write_length() == 0 {
        return usage("writes of 0 bytes would never end (-l)".into());
    }
    if options.udp && !(DATAGRAM_LEN..=DATAGRAM_MAX).contains(&options.write_length()) {
        return usage(format!(
            "a datagram has {DATAGRAM_LEN} to {DATAGRAM_MAX} bytes (-l)"
        ));
    }
    if options.udp && options.reverse && options.write_length() < DATAGRAM_LEN + CLIENT_LEN {
        let least = DATAGRAM_LEN + CLIENT_LEN;
        return usage(format!(
            "a reversed test needs datagrams of {least} bytes to say so (-l)"
        ));
    }
    if !options.udp && matches!(options.rate, Some(Rate::Packets(_))) {
        return usage("a rate in pps needs datagrams (-u)".into());
    }
    Ok(())
}

fn header(options: &ClientOptions) -> ClientHeader {
    ClientHeader {
        streams: options.parallel,
        port: options.remote.port(),
        length: options.length.map_or(0, |length| length as u32),
        window: options.window.unwrap_or(0),
        amount: options.amount,
        rate: if options.udp {
            Some(udp_rate(options))
        } else {
            options.rate
        },
        reverse: options.reverse,
        wants_ack: false,
        wants_call: false,
    }
}

fn udp_rate(options: &ClientOptions) -> Rate {
    options.rate.unwrap_or(Rate::Bits(UDP_RATE))
}

fn banner(screen: &mut Screen<'_>, lines: &[String]) -> Result<(), Failure> {
    print_banner(screen, lines).map_err(Failure::Output)
}

/// Prints lines between two rules.
pub fn print_banner(screen: &mut Screen<'_>, lines: &[String]) -> io::Result<()> {
    writeln!(screen.out, "{}", text::RULE)?;
    for line in lines {
        writeln!(screen.out, "{line}")?;
    }
    writeln!(screen.out, "{}", text::RULE)?;
    screen.out.flush()
}

fn notes(options: &ClientOptions) -> &'static [&'static str] {
    if options.reverse { &["reverse"] } else { &[] }
}

/// Runs one thread for each socket, and the reporter on this one.
fn run_streams<T: Send>(
    sockets: Vec<T>,
    options: &ClientOptions,
    kind: Kind,
    screen: &mut Screen<'_>,
    body: impl Fn(T, Arc<Flow>, &mpsc::Sender<Event>) + Sync,
) -> Result<Summary, Failure> {
    let (tell, events) = mpsc::channel();
    let start = Instant::now();
    thread::scope(|scope| {
        for (socket, id) in sockets.into_iter().zip(1..) {
            let flow = Arc::new(Flow::new(id, kind, options.reverse, start));
            let (tell, body) = (tell.clone(), &body);
            // Told here, so that all have started before any has ended.
            let _ = tell.send(Event::Started(Arc::clone(&flow), options.remote.ip()));
            scope.spawn(move || body(socket, flow, &tell));
        }
        drop(tell);
        Reporter::new(screen, options.interval)
            .run(&events)
            .map_err(Failure::Output)
    })
}

fn run_tcp<S: Sockets>(
    sockets: &S,
    options: &ClientOptions,
    socket_options: &SocketOptions,
    until: &Until,
    screen: &mut Screen<'_>,
) -> Result<Summary, Failure> {
    let refused = |error| Failure::Sockets("tcp connect failed".into(), error);
    let size = sockets
        .stream_send_buffer(socket_options)
        .map_err(refused)?;
    banner(
        screen,
        &[
            format!(
                "Client connecting to {}, TCP port {}",
                options.host,
                options.remote.port()
            ),
            text::buffer_size("TCP window size", size, options.window),
        ],
    )?;
    let mut streams = Vec::new();
    for id in 1..=options.parallel {
        let stream = sockets
            .connect(options.remote, socket_options)
            .map_err(refused)?;
        let local = stream.local_addr().map_err(refused)?;
        let label = Label::Stream { id, reverse: false };
        let line = text::connected(
            label,
            local,
            options.remote,
            notes(options),
            stream.opening().as_ref(),
        );
        writeln!(screen.out, "{line}").map_err(Failure::Output)?;
        streams.push(stream);
    }
    run_streams(
        streams,
        options,
        Kind::Bytes,
        screen,
        |stream, flow, tell| {
            let done = if options.reverse {
                receive(&stream, options, &flow, until)
            } else {
                send(&stream, options, &flow, until)
            };
            let end = flow.start.elapsed();
            if let Err(complaint) = done {
                let _ = tell.send(Event::Complaint(complaint));
            }
            let limits = limits_told(&stream, options.reverse);
            let _ = tell.send(Event::Ended(flow.id, end, limits));
        },
    )
}

fn send(
    stream: &impl Stream,
    options: &ClientOptions,
    flow: &Flow,
    until: &Until,
) -> Result<(), String> {
    let sending = Sending {
        amount: options.amount,
        pacer: Pacer::new(options.rate, flow.start),
        length: options.write_length(),
    };
    traffic::send_stream(stream, flow, Some(&header(options)), sending, until)
        .map_err(|error| format!("write failed: {error}"))?;
    // Only the server's end tells that everything has arrived.
    traffic::drain(stream, options.patience, until)
        .map_err(|error| format!("close failed: {error}"))
}

fn receive(
    stream: &impl Stream,
    options: &ClientOptions,
    flow: &Flow,
    until: &Until,
) -> Result<(), String> {
    let expected = Expected {
        amount: options.amount,
        patience: options.patience,
    };
    request_reverse(stream, options, until)
        .and_then(|()| {
            let length = options.write_length();
            traffic::receive_stream(stream, flow, length, Some(expected), until)
        })
        .map_err(|error| format!("read failed: {error}"))
}

fn request_reverse(stream: &impl Stream, options: &ClientOptions, until: &Until) -> io::Result<()> {
    let mut head = [0; CLIENT_LEN];
    header(options).write_tcp(&mut head);
    let mut left = &head[..];
    while !left.is_empty() && !until.over() {
        match stream.write(left) {
            Ok(written) => left = &left[written..],
            Err(error) if is_idle(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The side of a stream's limits that matters for the way its data went.
pub fn limits_told(stream: &impl Stream, received: bool) -> LimitsTold {
    match stream.limits() {
        None => LimitsTold::Unknown,
        Some(limits) if received => LimitsTold::Times("receiver", limits.receiver),
        Some(limits) => LimitsTold::Times("sender", limits.sender),
    }
}

fn run_udp<S: Sockets>(
    sockets: &S,
    options: &ClientOptions,
    socket_options: &SocketOptions,
    until: &Until,
    screen: &mut Screen<'_>,
) -> Result<Summary, Failure> {
    let refused = |error| Failure::Sockets("udp socket failed".into(), error);
    let local = sockets.local_towards(options.remote);
    let sockets = (0..options.parallel)
        .map(|_| sockets.datagrams(local, socket_options))
        .collect::<io::Result<Vec<_>>>()
        .map_err(refused)?;
    let size = match sockets.first() {
        Some(socket) if options.reverse => socket.receive_buffer(),
        Some(socket) => socket.send_buffer(),
        None => Ok(0),
    };
    let length = options.write_length();
    banner(
        screen,
        &[
            format!(
                "Client connecting to {}, UDP port {}",
                options.host,
                options.remote.port()
            ),
            text::datagram_pacing(length, gap(udp_rate(options), length)),
            text::buffer_size("UDP buffer size", size.map_err(refused)?, options.window),
        ],
    )?;
    for (socket, id) in sockets.iter().zip(1..) {
        let local = socket.local_addr().map_err(refused)?;
        let label = Label::Stream { id, reverse: false };
        let line = text::connected(label, local, options.remote, notes(options), None);
        writeln!(screen.out, "{line}").map_err(Failure::Output)?;
    }
    let kind = if options.reverse {
        Kind::DatagramsReceived
    } else {
        Kind::DatagramsSent
    };
    run_streams(sockets, options, kind, screen, |socket, flow, tell| {
        if options.reverse {
            receive_reversed(&socket, options, &flow, until, tell);
        } else {
            send_udp(&socket, options, &flow, until, tell);
        }
    })
}

fn send_udp(
    socket: &impl Datagrams,
    options: &ClientOptions,
    flow: &Flow,
    until: &Until,
    tell: &mpsc::Sender<Event>,
) {
    let sending = Sending {
        amount: options.amount,
        pacer: Pacer::new(Some(udp_rate(options)), flow.start),
        length: options.write_length(),
    };
    let sent = traffic::send_datagrams(
        socket,
        options.remote,
        flow,
        Some(&header(options)),
        sending,
        until,
    );
    let ended = Event::Ended(flow.id, flow.start.elapsed(), LimitsTold::None);
    match sent {
        Ok(last) => {
            let _ = tell.send(ended);
            let report = ask_for_report(socket, options.remote, &last).ok_or(LAST_TRIES);
            let _ = tell.send(Event::Report(flow.id, report));
        }
        Err(error) => {
            let _ = tell.send(Event::Complaint(format!("write failed: {error}")));
            let _ = tell.send(ended);
        }
    }
}

/// Sends the last datagram until the server answers it with its report.
fn ask_for_report(
    socket: &impl Datagrams,
    server: SocketAddr,
    last: &[u8],
) -> Option<super::tally::Span> {
    let mut buffer = vec![0; 2048];
    for _ in 0..LAST_TRIES {
        // Refused or no room: the next try is in a quarter of a second.
        let _ = socket.send_to(last, server);
        let asked = Instant::now();
        while asked.elapsed() < LAST_WAIT {
            match socket.receive_from(&mut buffer) {
                Ok((len, from)) if from == server => {
                    if let Some(span) = header::parse_report(&buffer[..len]) {
                        return Some(span);
                    }
                }
                Ok(_) => {}
                Err(error) if is_idle(&error) => {}
                Err(_) => thread::sleep(LAST_WAIT.saturating_sub(asked.elapsed())),
            }
        }
    }
    None
}

fn receive_reversed(
    socket: &impl Datagrams,
    options: &ClientOptions,
    flow: &Flow,
    until: &Until,
    tell: &mpsc::Sender<Event>,
) {
    let mut first = traffic::datagram(options.write_length(), Some(&header(options)));
    let mut batch = DatagramBatch::new(BATCH);
    let (mut asked, mut heard) = (None::<Instant>, None::<Instant>);
    let mut tries = 0;
    let mut end = Duration::ZERO;
    while !until.over() {
        let now = Instant::now();
        if heard.is_none() && asked.is_none_or(|asked| now - asked >= LAST_WAIT) {
            if tries == LAST_TRIES {
                let _ = tell.send(Event::Complaint(
                    "read failed: the server sent nothing".into(),
                ));
                break;
            }
            tries += 1;
            asked = Some(now);
            traffic::number(&mut first, 1);
            let _ = socket.send_to(&first, options.remote);
        }
        match socket.receive_batch(&mut batch) {
            Ok(()) => {
                let mut ours = batch.iter().filter(|(_, from)| *from == options.remote);
                if ours.any(|(datagram, _)| {
                    heard = Some(Instant::now());
                    end = flow.start.elapsed();
                    traffic::count_datagram(flow, datagram, traffic::wall_clock())
                }) {
                    break;
                }
            }
            Err(error) if is_idle(&error) => {
                if heard.is_some_and(|heard| heard.elapsed() > SILENCE) {
                    break;
                }
            }
            Err(error) => {
                let _ = tell.send(Event::Complaint(format!("read failed: {error}")));
                break;
            }
        }
    }
    let _ = tell.send(Event::Ended(flow.id, end, LimitsTold::None));
}
