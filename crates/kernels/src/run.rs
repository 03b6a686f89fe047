//! Runs one row (a scenario of an experiment) on hosts of this machine's kernel: creates the hosts,
//! runs and measures the row, and removes the hosts afterwards.
//!
//! Rule: the hosts exist only while a row runs. Accounts (time by limit) end before the sockets
//! are closed.

use std::{
    fmt, fs,
    fs::File,
    io, panic,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use fullpipe_diagnose::observe::Followed;
use fullpipe_fit::frames::Captured;
use fullpipe_host::run_at_once;
use fullpipe_lab::{KernelAccount, KernelMeasured, KernelOutcome, KernelRow};
use fullpipe_perf::{
    Stop,
    live::{LiveLink, LiveReport},
};
use fullpipe_scenario::{
    Setup,
    experiment::{FlowPlan, Stop as FlowStop},
};

use crate::{
    follow::{FollowedSenders, Follower},
    hosts::{KernelHosts, service},
    plan::KernelPlan,
    recorded::{self, CaptureSource},
    sockets::{listen, unconnected},
    traffic::{Connection, Progress, RowClock},
};

/// Priority of the application threads; the link's priority is higher.
const PRIORITY: u8 = 1;
/// Time between two progress checks.
const LOOK: Duration = Duration::from_millis(10);
/// Lateness of the link, in microseconds, above which the result mentions it.
pub(crate) const LATE_US: u64 = 1_000;
/// Time between two reports of the link; nobody reads them.
const REPORTS: Duration = Duration::from_secs(60);

/// Options for running a row on kernel hosts.
pub struct KernelOptions<'a> {
    /// Seed of everything random on the link.
    pub seed: u64,
    /// Longest real time that the row may take.
    pub time: Duration,
    /// File for a capture at the first flow's sender.
    pub capture: Option<&'a Path>,
    /// Capture of the frames that pass the two ends of the link.
    pub taps: Option<Captured>,
    /// Ends the row when raised.
    pub stop: &'a Stop,
    /// Called with the finished share of the row, from 0 to 1.
    pub progress: &'a dyn Fn(f64),
}

/// Reason for which a row has no result although kernel hosts could run it.
#[derive(Debug)]
pub enum KernelError {
    /// The system refused an operation.
    Failed(io::Error),
    /// [`KernelOptions::stop`] was raised.
    Interrupted,
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for KernelError {}

impl From<io::Error> for KernelError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Release of this machine's kernel.
pub fn kernel_release() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().to_string()
}

/// Runs `setup` on kernel hosts. A row that kernel hosts cannot run is skipped, with the reasons.
///
/// # Errors
/// Fails if the system refuses an operation, or the user interrupts.
pub fn run_row(setup: &Setup, options: &KernelOptions<'_>) -> Result<KernelRow, KernelError> {
    let plan = match KernelPlan::of(setup) {
        Ok(plan) => plan,
        Err(skipped) => return Ok(KernelRow::Skipped { skipped }),
    };
    let (measured, _) = run_plan(&plan, options, false)?;
    Ok(KernelRow::Ran(Box::new(measured)))
}

/// Runs `plan`. Returns the results, and the largest connection of the capture with its segments.
///
/// # Errors
/// Fails if the system refuses an operation, or the user interrupts.
pub fn run_followed(
    plan: &KernelPlan,
    options: &KernelOptions<'_>,
) -> Result<(KernelMeasured, Option<Followed>), KernelError> {
    run_plan(plan, options, true)
}

/// The results of a finished run.
struct Finished {
    clock: RowClock,
    progress: Vec<Progress>,
    cut: bool,
    senders: FollowedSenders,
}

fn run_plan(
    plan: &KernelPlan,
    options: &KernelOptions<'_>,
    keeps_segments: bool,
) -> Result<(KernelMeasured, Option<Followed>), KernelError> {
    let sender = plan.end_of(plan.connections[0].from);
    let file = options.capture.map(File::create).transpose()?;
    let (sink, source) = recorded::pipe(file);
    let (hosts, ends) = KernelHosts::make(plan, sender, sink)?;
    let taps = options.taps.clone();
    let taps = taps.map(|taps| Box::new(taps) as Box<dyn io::Write + Send>);
    let link = LiveLink::asymmetric(ends, plan.links, options.seed, taps)?;
    let (finished, seen, carried) = over_link(link, source, keeps_segments, |state| {
        transfer(plan, &hosts, sender, state, options)
    })?;
    if options.stop.is_raised() {
        return Err(KernelError::Interrupted);
    }
    let mut measured = measured(plan, &hosts, &finished, seen.as_ref());
    note_link(&mut measured, &carried);
    Ok((measured, seen))
}

/// The state of a link that carries a transfer.
#[derive(Default)]
pub(crate) struct LinkState {
    over: AtomicBool,
    ended: AtomicBool,
}

impl LinkState {
    /// Returns true once the link has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Ends the link, and waits until it has ended. A transfer that owns a device of the link ends
    /// the link before it closes the device, because the link would report the closed device as an
    /// error.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
        while !self.has_ended() {
            thread::sleep(LOOK);
        }
    }
}

/// Runs `transfer` while `link` carries its frames and while the capture in `source` is analysed.
/// Returns the result of `transfer`,
/// the largest connection of the capture, and the link's counts.
///
/// The capture must end with `link` or with `transfer`, because the analysis reads until the
/// capture ends.
///
/// # Errors
/// Returns the error of the system.
pub(crate) fn over_link<T>(
    mut link: LiveLink,
    source: CaptureSource,
    keeps_segments: bool,
    transfer: impl FnOnce(&LinkState) -> io::Result<T>,
) -> io::Result<(T, Option<Followed>, LiveReport)> {
    let state = LinkState::default();
    thread::scope(|scope| {
        let analysis = scope.spawn(|| recorded::largest_connection(source, keeps_segments));
        let carrying = scope.spawn(|| {
            let stop = || state.over.load(Ordering::Acquire);
            let ended = link.run(&stop, REPORTS, &mut |_| ());
            state.ended.store(true, Ordering::Release);
            // If the link itself captures the frames, the capture ends when the link is dropped.
            // The analysis then ends, too.
            drop(link);
            ended
        });
        // Catch a panic, so that the link is also ended after a panic. Otherwise the scope would
        // wait for the link for ever.
        let finished = panic::catch_unwind(panic::AssertUnwindSafe(|| transfer(&state)));
        state.over.store(true, Ordering::Release);
        let carried = joined(carrying);
        let seen = joined(analysis);
        let finished = finished.unwrap_or_else(|panic| panic::resume_unwind(panic))?;
        Ok((finished, seen?, carried?))
    })
}

/// Adds the lateness of the link, and a note for each reason to doubt the result.
fn note_link(measured: &mut KernelMeasured, link: &LiveReport) {
    let late = link
        .directions
        .iter()
        .map(|direction| direction.late.p99_us);
    measured.link_late_p99_us = late.max().unwrap_or(0);
    if measured.link_late_p99_us > LATE_US {
        measured.notes.push(format!(
            "This machine was busy: 1 of 100 frames left the link more than {:.1} ms late, so the path \
             had more delay than the row sets.",
            measured.link_late_p99_us as f64 / 1e3
        ));
    }
    let refused: u64 = link
        .directions
        .iter()
        .map(|direction| direction.refused)
        .sum();
    if refused > 0 {
        measured.notes.push(format!(
            "The kernel refused {refused} frames of the link; they are lost."
        ));
    }
}

pub(crate) fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs all connections. Meanwhile, follows the sockets of the host at the link's end `sender`.
fn transfer(
    plan: &KernelPlan,
    hosts: &KernelHosts,
    sender: usize,
    link: &LinkState,
    options: &KernelOptions<'_>,
) -> io::Result<Finished> {
    let follower = Follower::open(&hosts.sides[sender])?;
    let progress: Vec<_> = plan
        .connections
        .iter()
        .map(|_| Progress::default())
        .collect();
    let mut connections = Vec::new();
    for (number, flow) in plan.connections.iter().enumerate() {
        let [from, to] = [flow.from, flow.to].map(|host| plan.end_of(host));
        let (opener, other) = match flow.question() {
            Some(_) => (to, from),
            None => (from, to),
        };
        let at = service(other, number);
        let socket = |end: usize| &plan.settings[end].socket;
        connections.push(Connection {
            flow,
            listening: listen(&hosts.sides[other], at, socket(other))?,
            opener: unconnected(&hosts.sides[opener], socket(opener))?,
            service: at,
            progress: &progress[number],
        });
    }
    let clock = RowClock::start(plan.omit.into());
    let watched = AtomicBool::new(false);
    let (cut, senders) = thread::scope(|scope| {
        let following = scope.spawn(|| follower.run(&watched));
        let (clock, time) = (&clock, options.time);
        let running: Vec<_> = connections
            .into_iter()
            .map(|connection| {
                scope.spawn(move || {
                    // Without the privilege for a priority, the applications wake up later.
                    let _ = run_at_once(PRIORITY);
                    connection.run(clock, time)
                })
            })
            .collect();
        let cut = wait(plan, clock, &progress, link, options);
        // The accounts (time by limit) end here; the sockets are closed later.
        watched.store(true, Ordering::Release);
        let senders = joined(following);
        clock.over.store(true, Ordering::Release);
        let streams: Vec<_> = running.into_iter().map(joined).collect();
        drop(streams);
        (cut, senders)
    });
    Ok(Finished {
        clock,
        progress,
        cut,
        senders: senders?.senders(),
    })
}

/// Waits until all connections are done, the link has ended, the user interrupts, or the time is
/// over. Returns true if the time limit (`--time`) cut the row.
fn wait(
    plan: &KernelPlan,
    clock: &RowClock,
    progress: &[Progress],
    link: &LinkState,
    options: &KernelOptions<'_>,
) -> bool {
    let own = own_bound(plan);
    let bound = own.min(options.time);
    loop {
        let is_done = |one: &Progress| one.is_done.load(Ordering::Acquire);
        let is_stopped = options.stop.is_raised() || link.has_ended();
        if progress.iter().all(is_done) || is_stopped {
            return false;
        }
        let now = clock.now_ns();
        if Duration::from_nanos(now) >= bound {
            for one in progress.iter().filter(|one| !is_done(one)) {
                // Bytes that are read after this moment do not count.
                one.ends_ns.store(now, Ordering::Release);
            }
            return bound < own;
        }
        let of_time = now as f64 / 1e9 / bound.as_secs_f64();
        (options.progress)(share(plan, progress).max(of_time));
        thread::sleep(LOOK);
    }
}

/// Latest time at which every flow is complete or has given up, if no time limit ends the row
/// earlier.
fn own_bound(plan: &KernelPlan) -> Duration {
    let ends = plan.connections.iter().map(FlowPlan::latest_end);
    ends.max().map_or(Duration::MAX, Duration::from)
}

/// Returns the share of the payload that has arrived, from 0 to 1: the smallest share of all
/// connections. A connection with a duration instead of an amount counts as 0.
fn share(plan: &KernelPlan, progress: &[Progress]) -> f64 {
    let shares = plan.connections.iter().zip(progress).map(|(flow, one)| {
        let read = one.read.load(Ordering::Acquire) as f64;
        match flow.stop {
            FlowStop::Bytes(bytes) => read / bytes as f64,
            FlowStop::After(_) => 0.0,
        }
    });
    shares.fold(1.0, f64::min)
}

fn measured(
    plan: &KernelPlan,
    hosts: &KernelHosts,
    finished: &Finished,
    seen: Option<&Followed>,
) -> KernelMeasured {
    let seen = seen.map(|seen| &seen.observed);
    let Finished {
        clock,
        progress,
        cut,
        senders,
    } = finished;
    let get = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Acquire);
    let failures: Vec<_> = progress.iter().filter_map(Progress::failure).collect();
    let delivered: u64 = progress.iter().map(|one| get(&one.counted)).sum();
    let began = progress.iter().map(|one| get(&one.began_ns)).min();
    let began = began.unwrap_or(0).max(clock.omit_ns);
    let is_cut = *cut;
    let ends = progress.iter().map(|one| match get(&one.ends_ns) {
        0 => get(&one.last_ns),
        ends => ends,
    });
    let elapsed_s = ends.max().unwrap_or(0).saturating_sub(began) as f64 / 1e9;
    let first = &progress[0];
    let transfer_s = plan.connections[0]
        .question()
        .map(|_| get(&first.last_ns).saturating_sub(get(&first.first_ns)) as f64 / 1e9);
    let mut not_applied = plan.not_applied.clone();
    not_applied.extend(hosts.refused.iter().cloned());
    let mut notes = plan.notes.clone();
    notes.extend(
        failures
            .first()
            .map(|why| format!("The connection was dropped: {why}.")),
    );
    if is_cut {
        notes.push(format!(
            "Transfer cut off after {elapsed_s:.0} s of real time (--time)."
        ));
    }
    let sender = plan.end_of(plan.connections[0].from);
    KernelMeasured {
        kernel: kernel_release(),
        congestion_control: plan.settings[sender].socket.congestion.clone(),
        outcome: match (failures.is_empty(), is_cut) {
            (false, _) => KernelOutcome::Dropped,
            (true, true) => KernelOutcome::Cut,
            (true, false) => KernelOutcome::Complete,
        },
        goodput_mbps: if elapsed_s > 0.0 {
            delivered as f64 * 8.0 / 1e6 / elapsed_s
        } else {
            0.0
        },
        elapsed_s,
        transfer_s,
        delivered_bytes: delivered,
        retransmitted_segments: senders.retransmitted(),
        srtt_ms: senders.srtt_ms(),
        link_late_p99_us: 0,
        largest_flight_bytes: seen.map_or(0, |seen| seen.data().largest_flight_bytes),
        by_socket: KernelAccount::of(senders.limits()),
        by_capture: seen.map_or_else(KernelAccount::default, |seen| {
            KernelAccount::of(seen.account.clone())
        }),
        not_applied,
        notes,
    }
}
