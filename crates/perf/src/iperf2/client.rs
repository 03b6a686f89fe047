//! The iperf client: one test against one server.
//!
//! Rule: all streams are connected before the first byte is sent, so that they have the
//! same start time. After that only the reporter prints.

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
    pacer::WritePacer,
    reporter::{ReportEvent, ReportedLimits, Reporter, Screen, Summary},
    text::{self, Label},
    traffic::{self, ExpectedEnd, Flow, SendPlan, StopCondition, StreamKind},
};
use crate::{
    Stop,
    sockets::{DatagramBatch, DatagramSocket, SocketOptions, Sockets, Stream, would_block},
};

/// Largest number of times that a UDP client sends an unanswered datagram. The datagram is the
/// last datagram, which the server's report answers, or the first datagram of a reversed test.
const LAST_TRIES: u32 = 10;
/// Time to wait for the server's answer before the unanswered datagram is sent again.
const LAST_WAIT: Duration = Duration::from_millis(250);
/// Time without a datagram from the server after which a reversed UDP test is over.
const SILENCE: Duration = Duration::from_secs(2);
/// Largest number of datagrams received with one call.
const BATCH: usize = 64;
/// Largest payload of a UDP datagram over IPv4, in bytes.
const DATAGRAM_MAX: usize = 65_507;

/// Runs a test and prints its results.
///
/// # Errors
/// See [`Failure`]. An error after the test has started is printed and counted
/// in [`Summary::errors`].
pub fn run_client<S: Sockets>(
    sockets: &S,
    options: &ClientOptions,
    stop: &Stop,
    screen: &mut Screen<'_>,
) -> Result<Summary, Failure> {
    check(options)?;
    let until = StopCondition {
        stop: stop.clone(),
        deadline: None,
        ended_by_peer: None,
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
            "a datagram must have {DATAGRAM_LEN} to {DATAGRAM_MAX} bytes (-l)"
        ));
    }
    if options.udp && options.reverse && options.write_length() < DATAGRAM_LEN + CLIENT_LEN {
        let least = DATAGRAM_LEN + CLIENT_LEN;
        return usage(format!(
            "a reversed UDP test needs datagrams of at least {least} bytes for its header (-l)"
        ));
    }
    if !options.udp && matches!(options.rate, Some(Rate::Packets(_))) {
        return usage("a rate in packets per second (pps) needs UDP (-u)".into());
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
        wants_dual_test: false,
    }
}

fn udp_rate(options: &ClientOptions) -> Rate {
    options.rate.unwrap_or(Rate::Bits(UDP_RATE))
}

fn notes(options: &ClientOptions) -> &'static [&'static str] {
    if options.reverse { &["reverse"] } else { &[] }
}

/// Runs `body` in a thread for each socket, and the reporter in this thread.
fn run_streams<T: Send>(
    sockets: Vec<T>,
    options: &ClientOptions,
    kind: StreamKind,
    screen: &mut Screen<'_>,
    body: impl Fn(T, Arc<Flow>, &mpsc::Sender<ReportEvent>) + Sync,
) -> Result<Summary, Failure> {
    let (reporter, events) = mpsc::channel();
    let start = Instant::now();
    let flow = |(_, id): (&T, u32)| Arc::new(Flow::new(id, kind, options.reverse, start));
    let flows: Vec<_> = sockets.iter().zip(1..).map(flow).collect();
    // Send every `Started` before any thread starts. Otherwise a thread could send `Ended` before
    // the last `Started`, and the reporter would print the sum of an incomplete group.
    for flow in &flows {
        let _ = reporter.send(ReportEvent::Started(Arc::clone(flow), options.remote.ip()));
    }
    thread::scope(|scope| {
        for (socket, flow) in sockets.into_iter().zip(flows) {
            let (reporter, body) = (reporter.clone(), &body);
            scope.spawn(move || body(socket, flow, &reporter));
        }
        drop(reporter);
        Reporter::new(screen, options.interval)
            .run(&events)
            .map_err(Failure::Output)
    })
}

fn run_tcp<S: Sockets>(
    sockets: &S,
    options: &ClientOptions,
    socket_options: &SocketOptions,
    until: &StopCondition,
    screen: &mut Screen<'_>,
) -> Result<Summary, Failure> {
    let refused = |error| Failure::Sockets("tcp connect failed".into(), error);
    let size = sockets
        .stream_send_buffer(socket_options)
        .map_err(refused)?;
    let lines = [
        text::connecting(&options.host, "TCP", options.remote.port()),
        text::buffer_size("TCP window size", size, options.window),
    ];
    screen.print_banner(&lines).map_err(Failure::Output)?;
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
            stream.handshake_info().as_ref(),
        );
        writeln!(screen.out, "{line}").map_err(Failure::Output)?;
        streams.push(stream);
    }
    run_streams(
        streams,
        options,
        StreamKind::Bytes,
        screen,
        |stream, flow, reporter| {
            let done = if options.reverse {
                receive(&stream, options, &flow, until)
            } else {
                send(&stream, options, &flow, until)
            };
            let end = flow.start.elapsed();
            if let Err(complaint) = done {
                let _ = reporter.send(ReportEvent::Error(complaint));
            }
            let limits = ReportedLimits::of(&stream, options.reverse);
            let _ = reporter.send(ReportEvent::Ended(flow.id, end, limits));
        },
    )
}

fn send(
    stream: &impl Stream,
    options: &ClientOptions,
    flow: &Flow,
    until: &StopCondition,
) -> Result<(), String> {
    let plan = SendPlan {
        amount: options.amount,
        pacer: WritePacer::new(options.rate, flow.start),
        length: options.write_length(),
    };
    traffic::send_stream(stream, flow, Some(&header(options)), plan, until)
        .map_err(|error| format!("write failed: {error}"))?;
    // The server closes its direction once it has read everything.
    traffic::drain(stream, options.silence_timeout, until)
        .map_err(|error| format!("close failed: {error}"))
}

fn receive(
    stream: &impl Stream,
    options: &ClientOptions,
    flow: &Flow,
    until: &StopCondition,
) -> Result<(), String> {
    let expected = ExpectedEnd {
        amount: options.amount,
        silence_timeout: options.silence_timeout,
    };
    request_reverse(stream, options, until)
        .and_then(|()| {
            let length = options.write_length();
            traffic::receive_stream(stream, flow, length, Some(expected), until)
        })
        .map_err(|error| format!("read failed: {error}"))
}

fn request_reverse(
    stream: &impl Stream,
    options: &ClientOptions,
    until: &StopCondition,
) -> io::Result<()> {
    let mut head = [0; CLIENT_LEN];
    header(options).write_tcp(&mut head);
    let mut left = &head[..];
    while !left.is_empty() && !until.is_met() {
        match stream.write(left) {
            Ok(written) => left = &left[written..],
            Err(error) if would_block(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn run_udp<S: Sockets>(
    sockets: &S,
    options: &ClientOptions,
    socket_options: &SocketOptions,
    until: &StopCondition,
    screen: &mut Screen<'_>,
) -> Result<Summary, Failure> {
    let refused = |error| Failure::Sockets("udp socket failed".into(), error);
    let local = sockets.source_address_for(options.remote);
    let sockets = (0..options.parallel)
        .map(|_| sockets.datagram_socket(local, socket_options))
        .collect::<io::Result<Vec<_>>>()
        .map_err(refused)?;
    let size = match sockets.first() {
        Some(socket) if options.reverse => socket.receive_buffer(),
        Some(socket) => socket.send_buffer(),
        None => Ok(0),
    };
    let length = options.write_length();
    let lines = [
        text::connecting(&options.host, "UDP", options.remote.port()),
        text::datagram_pacing(length, udp_rate(options).time_of(length)),
        text::buffer_size("UDP buffer size", size.map_err(refused)?, options.window),
    ];
    screen.print_banner(&lines).map_err(Failure::Output)?;
    for (socket, id) in sockets.iter().zip(1..) {
        let local = socket.local_addr().map_err(refused)?;
        let label = Label::Stream { id, reverse: false };
        let line = text::connected(label, local, options.remote, notes(options), None);
        writeln!(screen.out, "{line}").map_err(Failure::Output)?;
    }
    let kind = if options.reverse {
        StreamKind::DatagramsReceived
    } else {
        StreamKind::DatagramsSent
    };
    run_streams(sockets, options, kind, screen, |socket, flow, reporter| {
        if options.reverse {
            receive_reversed(&socket, options, &flow, until, reporter);
        } else {
            send_udp(&socket, options, &flow, until, reporter);
        }
    })
}

fn send_udp(
    socket: &impl DatagramSocket,
    options: &ClientOptions,
    flow: &Flow,
    until: &StopCondition,
    reporter: &mpsc::Sender<ReportEvent>,
) {
    let plan = SendPlan {
        amount: options.amount,
        pacer: WritePacer::new(Some(udp_rate(options)), flow.start),
        length: options.write_length(),
    };
    let sent = traffic::send_datagrams(
        socket,
        options.remote,
        flow,
        Some(&header(options)),
        plan,
        until,
    );
    let ended = ReportEvent::Ended(flow.id, flow.start.elapsed(), ReportedLimits::None);
    match sent {
        Ok(last) => {
            let _ = reporter.send(ended);
            let report = ask_for_report(socket, options.remote, &last).ok_or(LAST_TRIES);
            let _ = reporter.send(ReportEvent::Report(flow.id, report));
        }
        Err(error) => {
            let _ = reporter.send(ReportEvent::Error(format!("write failed: {error}")));
            let _ = reporter.send(ended);
        }
    }
}

/// Sends the last datagram until the server answers with its report.
fn ask_for_report(
    socket: &impl DatagramSocket,
    server: SocketAddr,
    last: &[u8],
) -> Option<super::tally::Span> {
    let mut buffer = vec![0; 2048];
    for _ in 0..LAST_TRIES {
        // Ignore an error: the loop sends the datagram again after [`LAST_WAIT`].
        let _ = socket.send_to(last, server);
        let last_try = Instant::now();
        while last_try.elapsed() < LAST_WAIT {
            match socket.receive_from(&mut buffer) {
                Ok((len, from)) if from == server => {
                    if let Some(span) = header::parse_report(&buffer[..len]) {
                        return Some(span);
                    }
                }
                Ok(_) => {}
                Err(error) if would_block(&error) => {}
                Err(_) => thread::sleep(LAST_WAIT.saturating_sub(last_try.elapsed())),
            }
        }
    }
    None
}

fn receive_reversed(
    socket: &impl DatagramSocket,
    options: &ClientOptions,
    flow: &Flow,
    until: &StopCondition,
    reporter: &mpsc::Sender<ReportEvent>,
) {
    let mut first = traffic::datagram(options.write_length(), Some(&header(options)));
    let mut batch = DatagramBatch::new(BATCH);
    let (mut last_try, mut last_arrival) = (None::<Instant>, None::<Instant>);
    let mut tries = 0;
    let mut end = Duration::ZERO;
    while !until.is_met() {
        let now = Instant::now();
        if last_arrival.is_none() && last_try.is_none_or(|last_try| now - last_try >= LAST_WAIT) {
            if tries == LAST_TRIES {
                let _ = reporter.send(ReportEvent::Error(
                    "read failed: the server sent nothing".into(),
                ));
                break;
            }
            tries += 1;
            last_try = Some(now);
            traffic::number(&mut first, 1);
            let _ = socket.send_to(&first, options.remote);
        }
        match socket.receive_batch(&mut batch) {
            Ok(()) => {
                let mut ours = batch.iter().filter(|(_, from)| *from == options.remote);
                if ours.any(|(datagram, _)| {
                    last_arrival = Some(Instant::now());
                    end = flow.start.elapsed();
                    traffic::count_datagram(flow, datagram, traffic::wall_clock())
                }) {
                    break;
                }
            }
            Err(error) if would_block(&error) => {
                if last_arrival.is_some_and(|last_arrival| last_arrival.elapsed() > SILENCE) {
                    break;
                }
            }
            Err(error) => {
                let _ = reporter.send(ReportEvent::Error(format!("read failed: {error}")));
                break;
            }
        }
    }
    let _ = reporter.send(ReportEvent::Ended(flow.id, end, ReportedLimits::None));
}
