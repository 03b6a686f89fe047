//! `fullpipe forward`: carries the flows of a TUN device through kernel sockets or a proxy.
//!
//! Rule: a wrong request is refused before the device is opened, and privileges are given up before
//! the first packet is read. `fullpipe-netstack` carries the flows; this file prints about them.

mod report;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use fullpipe_host::{
    DeviceOptions, HostDevice, Namespace, become_user, forbid_new_privileges, raise_file_limit,
};
use fullpipe_lab::layout::Layout;
use fullpipe_netstack::{
    EchoRequests, FlowLimits, NetstackBuilder,
    forward::{EchoSockets, FlowTable, Forwarder, Via},
};
use fullpipe_perf::Stop;

use crate::{
    arguments::{EchoTreatment, ForwardArguments},
    failure::Failure,
    output::{Terminal, print},
    watch::metrics::{self, MetricsRequest},
};

/// Time between two reports of `--limits`.
const EVERY: Duration = Duration::from_secs(1);
/// Longest time until an interrupt is noticed.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest time in which the resets of the open flows leave at the end.
const GOODBYE: Duration = Duration::from_millis(500);
/// Files that the command has open besides the sockets of flows, roughly.
const OWN_FILES: u64 = 32;

/// Runs the subcommand.
pub fn run(arguments: &ForwardArguments, terminal: &Terminal) -> Result<(), Failure> {
    let builder = builder(arguments)?;
    if arguments.user.is_some() {
        // Before the first thread is started, so that every thread inherits it.
        forbid_new_privileges().map_err(Failure::failed)?;
    }
    let echo = echo(arguments, terminal)?;
    let device = open(arguments)?;
    let (requests, asked) = mpsc::channel();
    if let Some(address) = arguments.prometheus {
        metrics::serve(address, requests)?;
    }
    if let Some(user) = &arguments.user {
        become_user(user).map_err(Failure::failed)?;
    }
    let stop = Stop::on_interrupt()?;
    let files = raise_file_limit()?;
    if !terminal.quiet && files < most_files(arguments) {
        eprintln!(
            "warning: this process may open {files} files. With all flows open it needs {}; until a \
             file is free, further flows get no answer. Allow more files (ulimit -Hn), or lower --flows",
            most_files(arguments)
        );
    }
    if !terminal.quiet && !limits(arguments).leaves_memory() {
        eprintln!(
            "warning: --memory has less than 8 KiB for each of {} flows: idle flows may take all of it, and \
             further flows then get no answer. Raise --memory, or lower --flows",
            arguments.flows
        );
    }
    let table = Arc::new(FlowTable::default());
    let carrier = start(arguments, builder, device, echo, Arc::clone(&table))?;
    if !terminal.quiet {
        let name = &arguments.device.name;
        eprintln!("forwarding the flows of {name}; Ctrl-C ends the command");
    }
    let ended = watch(arguments, terminal.layout, &table, &asked, &carrier, &stop);
    if !(arguments.json && arguments.limits) {
        print(&report::totals(&table.totals(), arguments.json))?;
    }
    ended?;
    match carrier.is_finished() {
        true => match carrier.join() {
            Ok(Err(why)) => Err(Failure::Failed(why)),
            Ok(Ok(())) | Err(_) => Err(Failure::failed(
                "the thread that carries the flows has ended unexpectedly",
            )),
        },
        // The process ends, and the system closes the device and every socket.
        false => {
            table.reset_flows(GOODBYE);
            Ok(())
        }
    }
}

/// Number of files that are open if every flow is open: a socket for each flow and, for UDP through
/// SOCKS5, the stream to the proxy. An HTTP proxy carries no UDP.
fn most_files(arguments: &ForwardArguments) -> u64 {
    let of_each = match arguments.via {
        Via::Http(_) => 1,
        Via::Direct => 2,
        Via::Socks5(_) => 3,
    };
    u64::from(arguments.flows) * of_each + OWN_FILES
}

/// The bounds of all flows that the flags describe.
fn limits(arguments: &ForwardArguments) -> FlowLimits {
    FlowLimits {
        tcp_flows: arguments.flows,
        udp_flows: arguments.flows as usize,
        memory: arguments.memory.0,
        udp_idle: arguments.udp_idle,
        ..FlowLimits::default()
    }
}

/// The netstack that the flags describe.
fn builder(arguments: &ForwardArguments) -> Result<NetstackBuilder, Failure> {
    let mut builder = NetstackBuilder::default()
        .limits(limits(arguments))
        .inspectable();
    for setting in &arguments.settings {
        builder = builder.set(&setting.name, &setting.value);
    }
    builder.check().map_err(Failure::Usage)?;
    Ok(builder)
}

/// The treatment of echo requests, with the sockets that it needs.
enum Echo {
    Pass(Box<EchoSockets>),
    Answer,
    Drop,
}

/// The treatment of echo requests that the flags describe. Opens sockets, for which this process may
/// have the privileges only now.
fn echo(arguments: &ForwardArguments, terminal: &Terminal) -> Result<Echo, Failure> {
    let is_direct = arguments.via == Via::Direct;
    let chosen = match (arguments.echo, is_direct) {
        (Some(EchoTreatment::Pass), false) => {
            let why = "--echo pass needs --via direct: a proxy carries no echo requests";
            return Err(Failure::Usage(why.to_string()));
        }
        (Some(chosen), _) => chosen,
        (None, true) => EchoTreatment::Pass,
        (None, false) => EchoTreatment::Answer,
    };
    match chosen {
        EchoTreatment::Answer => return Ok(Echo::Answer),
        EchoTreatment::Drop => return Ok(Echo::Drop),
        EchoTreatment::Pass => {}
    }
    let error = match EchoSockets::open(arguments.bind_device.as_deref()) {
        Ok(sockets) => return Ok(Echo::Pass(Box::new(sockets))),
        Err(error) => error,
    };
    let why = format!(
        "opening a socket for echo requests: {error}. A user without CAP_NET_RAW needs a group within \
         the sysctl net.ipv4.ping_group_range"
    );
    if arguments.echo.is_some() {
        return Err(Failure::Failed(why));
    }
    if !terminal.quiet {
        eprintln!("warning: {why}. Echo requests are answered here (--echo answer)");
    }
    Ok(Echo::Answer)
}

/// Treats echo requests until the stack stops.
async fn treat(echo: Echo, mut requests: EchoRequests) -> std::io::Result<()> {
    if let Echo::Pass(sockets) = echo {
        return sockets.pass(requests).await;
    }
    loop {
        // A request that is dropped gets no answer.
        drop(requests.next().await?);
    }
}

/// Opens the device, in its namespace.
fn open(arguments: &ForwardArguments) -> Result<Box<dyn HostDevice>, Failure> {
    let options = DeviceOptions {
        mtu: arguments.mtu,
        host_address: arguments.host_address,
        ..DeviceOptions::new(arguments.device.clone())
    };
    let Some(name) = &arguments.netns else {
        return options.open().map_err(Failure::failed);
    };
    let path = match name.components().count() {
        1 => PathBuf::from("/run/netns").join(name),
        _ => name.clone(),
    };
    let namespace = Namespace::open(&path).map_err(Failure::failed)?;
    let opened = namespace.enter(|| options.open());
    opened
        .map_err(|error| {
            Failure::failed(format!(
                "entering the network namespace {}: {error}",
                path.display()
            ))
        })?
        .map_err(Failure::failed)
}

/// Starts the thread that carries the flows. The thread ends only with an error.
fn start(
    arguments: &ForwardArguments,
    builder: NetstackBuilder,
    device: Box<dyn HostDevice>,
    echo: Echo,
    table: Arc<FlowTable>,
) -> Result<JoinHandle<Result<(), String>>, Failure> {
    let forwarder = Forwarder {
        bind_device: arguments.bind_device.clone(),
        connect_timeout: arguments.connect_timeout,
        tcp_idle: arguments.tcp_idle,
        ..Forwarder::new(arguments.via.clone())
    };
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let carry = move || {
        executor.block_on(async {
            if let Echo::Answer = echo {
                let (tcp, udp) = builder.start(device)?;
                return forwarder.run(tcp, udp, table).await;
            }
            let (tcp, udp, requests) = builder.start_with_echo(device)?;
            let treated = treat(echo, requests);
            tokio::select! {
                ended = forwarder.run(tcp, udp, table) => ended,
                ended = treated => ended,
            }
        })
    };
    let thread = thread::Builder::new().name("forwarder".to_string());
    let failed = |error: std::io::Error| error.to_string();
    Ok(thread.spawn(move || carry().map_err(failed))?)
}

/// Prints reports and answers requests for metrics until the time is up, the user interrupts, or
/// the forwarder ends.
fn watch(
    arguments: &ForwardArguments,
    layout: Layout,
    table: &FlowTable,
    asked: &Receiver<MetricsRequest>,
    carrier: &JoinHandle<Result<(), String>>,
    stop: &Stop,
) -> Result<(), Failure> {
    let began = Instant::now();
    let mut next = began + EVERY;
    while !carrier.is_finished() && !stop.is_raised() {
        if arguments.time.is_some_and(|time| began.elapsed() >= time) {
            break;
        }
        match asked.recv_timeout(PAUSE) {
            // The client may be gone.
            Ok(request) => {
                let metrics = report::metrics(&table.reports(), &table.totals());
                drop(request.send(metrics));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => thread::sleep(PAUSE),
        }
        if arguments.limits && Instant::now() >= next {
            next += EVERY;
            print(&report::limits(
                &table.reports(),
                &table.totals(),
                arguments.json,
                layout,
            ))?;
        }
    }
    Ok(())
}
