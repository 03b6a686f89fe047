//! Runs one transfer in real time: fullpipe's stack is at one end of a simulated link, and the
//! kernel (in a network namespace) is at the other end.
//!
//! Rule: nothing outlives the transfer. The accounts (time by limit) end before the sockets are
//! closed.

use std::{
    fs::File,
    io,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use fullpipe::{Info, MacAddress, SocketOption};
use fullpipe_diagnose::{account::Times, observe::SeenLimit};
use fullpipe_host::{HostDevice, Namespace, Prefix, Runtime, TcpStream, kernel, run_at_once};
use fullpipe_lab::KernelAccount;
use fullpipe_perf::{
    FullpipeSockets, POLL, Stop,
    live::{LiveEnd, LiveLink},
    sockets::{SocketOptions, Sockets, StreamListener},
};
use fullpipe_scenario::experiment::FlowPlan;

use super::{
    case::{FullpipeEnd, ViewCase},
    pair::PairedDevice,
    viewed::{ReceiverView, Viewed},
};
use crate::{
    follow::{FollowedSockets, Follower},
    hosts::{DEVICE, PREFIX, address, service, side_of},
    plan::KernelPlan,
    recorded,
    run::{KernelError, LinkState, joined, over_link},
    sockets::{AppStream, is_wait, listen, unconnected},
    traffic::{Progress, RowClock, read_all, write_all},
};

/// Longest real time of the transfer.
const TIME: Duration = Duration::from_secs(30);
/// Seed of everything random on the link.
const SEED: u64 = 1;
/// Priority of the applications' threads and of the stack's thread.
const PRIORITY: u8 = 1;
/// Time between two progress checks.
const LOOK: Duration = Duration::from_millis(10);
/// MAC address of fullpipe's end.
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// The two hosts: the kernel's is `side`, fullpipe's is `runtime`.
struct Hosts {
    plan: KernelPlan,
    /// Index of fullpipe's end of the link.
    own: usize,
    side: Namespace,
    runtime: Runtime,
}

/// The goodput of a finished transfer, and what the observers at its ends recorded.
struct Ended {
    mbps: f64,
    info: Info,
    sockets: FollowedSockets,
}

/// Runs the transfer of `case` and writes the frames at fullpipe's end to `file`.
pub fn run(case: &ViewCase, file: Option<File>, stop: &Stop) -> Result<Viewed, KernelError> {
    let plan = KernelPlan::of(&case.setup).map_err(io::Error::other)?;
    let sender = plan.end_of(plan.connections[0].from);
    let own = match case.end {
        FullpipeEnd::Sender => sender,
        FullpipeEnd::Receiver => 1 - sender,
    };
    let (sink, source) = recorded::pipe(file);
    let (hosts, ends) = make(case, plan, own, sink)?;
    let link = LiveLink::asymmetric(ends, hosts.plan.links, SEED, None)?;
    // The closure owns the hosts, so they are dropped after the link has ended; dropping the hosts
    // ends the capture.
    let (ended, seen, _) = over_link(link, source, false, move |state| {
        let ended = transfer(&hosts, case.end, state, stop);
        state.end();
        ended
    })?;
    if stop.is_raised() {
        return Err(KernelError::Interrupted);
    }
    let capture = seen.map_or_else(KernelAccount::default, |seen| {
        KernelAccount::of(seen.observed.account.clone())
    });
    Ok(viewed(case, ended, capture))
}

fn viewed(case: &ViewCase, ended: Ended, capture: KernelAccount) -> Viewed {
    let Ended {
        mbps,
        info,
        sockets,
    } = ended;
    let (sender, receiver) = match case.end {
        FullpipeEnd::Sender => {
            let shares = info.limit.shares(info.at);
            let mut times = Times::default();
            times.add(shares.map(|(limit, time, bytes)| (SeenLimit::from(limit), time, bytes)));
            (times, ReceiverView::of(sockets.receiver()))
        }
        FullpipeEnd::Receiver => {
            let shares = info.receive_limit.shares(info.at);
            let own = shares.map(|(limit, time, _)| (limit, time.as_nanos()));
            let view = ReceiverView::of(own.collect());
            (sockets.senders().limits(), view)
        }
    };
    Viewed {
        number: case.number,
        title: case.title.clone(),
        end: case.end,
        mbps,
        sender: KernelAccount::of(sender),
        capture,
        receiver,
    }
}

/// Creates both hosts, and returns the link's ends. The stack writes its capture to `sink`.
fn make(
    case: &ViewCase,
    plan: KernelPlan,
    own: usize,
    sink: impl io::Write + Send + 'static,
) -> io::Result<(Hosts, [LiveEnd; 2])> {
    let side = Namespace::new()?;
    let (tap, _) = side.enter(|| side_of(&plan, 1 - own))??;
    let mac = side.enter(|| {
        let windows = plan.settings[1 - own].first_windows;
        kernel::add_neighbour(DEVICE, address(own).into(), MAC)?;
        if windows.congestion > 0 || windows.receive > 0 {
            kernel::set_first_windows(DEVICE, address(own), windows)?;
        }
        kernel::mac_address(DEVICE)
    })??;
    debug_assert_ne!(mac, MAC, "both ends have one address");
    let [device, far] = PairedDevice::pair(plan.links[own].mtu)?;
    let host = case
        .setup
        .hosts
        .iter()
        .find(|host| host.name == plan.hosts[own])
        .expect("the plan names the setup's hosts");
    let prefix = Prefix {
        address: address(own).into(),
        len: PREFIX,
    };
    let builder = Runtime::builder(prefix)
        .config(host.config.clone())
        .mac(MacAddress(MAC))
        .capture(sink);
    // Start the stack from a thread with priority, because the stack's thread inherits it. Without
    // priority, the stack might wait for a processor and capture frames too late.
    let runtime = thread::scope(|scope| {
        let starting = scope.spawn(|| {
            let _ = run_at_once(PRIORITY);
            builder.start(device)
        });
        joined(starting)
    });
    let runtime = runtime.map_err(io::Error::other)?;
    let mut devices: [Option<Box<dyn HostDevice>>; 2] = [None, None];
    devices[own] = Some(Box::new(far));
    devices[1 - own] = Some(Box::new(tap));
    let names = plan.hosts.clone();
    let ends = devices.map(|device| device.expect("both ends have one"));
    let mut names = names.into_iter();
    let ends = ends.map(|device| LiveEnd {
        name: names.next().unwrap_or_default(),
        device,
    });
    let hosts = Hosts {
        plan,
        own,
        side,
        runtime,
    };
    Ok((hosts, ends))
}

/// Runs both applications, while a [`Follower`] reads the state of the kernel's socket.
fn transfer(hosts: &Hosts, end: FullpipeEnd, link: &LinkState, stop: &Stop) -> io::Result<Ended> {
    let Hosts {
        plan,
        own,
        side,
        runtime,
    } = hosts;
    let flow = &plan.connections[0];
    let sockets = FullpipeSockets(runtime);
    let options = SocketOptions {
        buffer: None,
        no_delay: !runtime.config().tcp.nagle,
    };
    let settings = &plan.settings[1 - own].socket;
    let follower = Follower::open(side)?;
    let clock = RowClock::start(Duration::ZERO);
    let progress = Progress::default();
    let app = App {
        flow,
        clock: &clock,
        progress: &progress,
    };
    let (stream, sockets) = match end {
        FullpipeEnd::Sender => {
            let listening = listen(side, service(1 - own, 0), settings)?;
            run_both(
                &app,
                follower,
                || stop.is_raised() || link.has_ended(),
                || app.send(|| sockets.connect(service(1 - own, 0), &options)),
                || app.receive(|| listening.accept()),
            )
            .map(|(own, _, sockets)| (own, sockets))
        }
        FullpipeEnd::Receiver => {
            let listening = sockets.listen(service(*own, 0), &options)?;
            let opener = unconnected(side, settings)?;
            run_both(
                &app,
                follower,
                || stop.is_raised() || link.has_ended(),
                || app.send(|| opener.connect(service(*own, 0), TIME)),
                || app.receive(|| waited(listening.accept())),
            )
            .map(|(_, own, sockets)| (own, sockets))
        }
    }?;
    let get = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Acquire);
    let elapsed_s = get(&progress.last_ns).saturating_sub(get(&progress.began_ns)) as f64 / 1e9;
    Ok(Ended {
        mbps: get(&progress.counted) as f64 * 8.0 / 1e6 / elapsed_s.max(1e-9),
        info: stream.info()?,
        sockets,
    })
}

/// The applications of a transfer.
struct App<'a> {
    flow: &'a FlowPlan,
    clock: &'a RowClock,
    progress: &'a Progress,
}

impl App<'_> {
    fn send<S: AppStream>(&self, connect: impl FnOnce() -> io::Result<S>) -> io::Result<S> {
        let began = self.clock.now_ns().max(1);
        self.progress.began_ns.store(began, Ordering::Release);
        let stream = connect()?;
        write_all(&stream, self.flow, self.clock, self.progress)?;
        Ok(stream)
    }

    fn receive<S: AppStream>(&self, accept: impl Fn() -> io::Result<Option<S>>) -> io::Result<S> {
        while !self.clock.is_over() {
            if let Some(stream) = accept()? {
                read_all(&stream, self.flow, self.clock, self.progress)?;
                return Ok(stream);
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

/// Runs the sending and the receiving application until everything has arrived,
/// `is_stopped` returns true, or [`TIME`] is over.
fn run_both<S: Send, R: Send>(
    app: &App<'_>,
    follower: Follower,
    is_stopped: impl Fn() -> bool,
    send: impl FnOnce() -> io::Result<S> + Send,
    receive: impl FnOnce() -> io::Result<R> + Send,
) -> io::Result<(S, R, FollowedSockets)> {
    let watched = AtomicBool::new(false);
    thread::scope(|scope| {
        let following = scope.spawn(|| follower.run(&watched));
        let sending = scope.spawn(|| noted(app, send));
        let receiving = scope.spawn(|| noted(app, receive));
        let is_done = || app.progress.is_done.load(Ordering::Acquire);
        while !is_done() && !is_stopped() && app.clock.now_ns() < TIME.as_nanos() as u64 {
            thread::sleep(LOOK);
        }
        watched.store(true, Ordering::Release);
        let sockets = joined(following);
        app.clock.over.store(true, Ordering::Release);
        let (sent, received) = (joined(sending), joined(receiving));
        Ok((sent?, received?, sockets?))
    })
}

/// Runs an application with priority. If it fails, reports its error to the progress of `app`.
fn noted<S>(app: &App<'_>, run: impl FnOnce() -> io::Result<S>) -> io::Result<S> {
    // Ignore an error: without the privilege for a priority, the application only wakes up later.
    let _ = run_at_once(PRIORITY);
    run().inspect_err(|error| {
        let copy = io::Error::new(error.kind(), error.to_string());
        app.progress.fail(app.clock, copy);
    })
}

/// Returns the accepted connection; `None` if there was none before the timeout.
fn waited(accepted: io::Result<TcpStream>) -> io::Result<Option<TcpStream>> {
    match accepted {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if is_wait(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

impl AppStream for TcpStream {
    fn cork(&self, on: bool) -> io::Result<()> {
        self.set(SocketOption::Cork(on))
    }

    fn has_unread(&self) -> bool {
        self.set_read_timeout(Some(Duration::from_nanos(1)));
        let found = self.peek(&mut [0]).is_ok_and(|count| count > 0);
        self.set_read_timeout(Some(POLL));
        found
    }
}
