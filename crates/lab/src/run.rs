//! Runs an experiment: one world a row, in virtual time.
//!
//! Rule: every row has the same seed and a world of its own, so rows differ
//! only by what the file says and may run side by side; the result does not
//! depend on how many do. What the figures mean is said elsewhere.

use std::{
    fmt, fs,
    io::{self, BufWriter},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::{
    Facts, FlowId, Goal, HostId, LinkId, Seed, Stage, World, WorldFailure,
    app::{Amount, ReadPlan, WritePlan, WriteSize},
    link::Direction,
};

use crate::{
    experiment::{Experiment, Row, Setup, Stop},
    measured::{Measured, Outcome},
    report::{Limits, Report, RowReport},
    shares::Shares,
    verdict::{self, Evidence},
};

/// How an experiment is run.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// Seed of every world.
    pub seed: u64,
    /// An existing folder for one capture a row.
    pub captures: Option<&'a Path>,
    /// Told now and then, from any thread, how far a row has come: its place,
    /// and the share of its work from 0 to 1.
    pub progress: &'a (dyn Fn(usize, f64) + Sync),
}

/// Why there is no result.
#[derive(Debug)]
pub enum RunError {
    /// A checker found something: the stack is wrong.
    World {
        /// In which row.
        row: String,
        /// What.
        failure: WorldFailure,
    },
    /// A capture could not be written.
    Capture {
        /// Which.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::World { row, failure } => write!(f, "row `{row}`: {failure}"),
            Self::Capture { file, error } => write!(f, "{}: {error}", file.display()),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs every row of `experiment`, as many at a time as there are processors.
///
/// # Errors
/// The first row's, in the order of the file, that came to no result. No
/// capture of such a row is left behind.
pub fn run(experiment: &Experiment, options: &RunOptions<'_>) -> Result<Report, RunError> {
    let rows = &experiment.rows;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = rows.get(place) else {
                return done;
            };
            done.push((place, run_row(&experiment.name, place, row, options)));
        }
    };
    let workers = thread::available_parallelism().map_or(1, |count| count.get().min(rows.len()));
    let mut results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    results.sort_by_key(|(place, _)| *place);
    let ran = results
        .into_iter()
        .map(|(_, result)| result)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(report(experiment, options.seed, ran))
}

/// A row that has run.
struct Ran {
    measured: Measured,
    limits: Limits,
    peer_window: u64,
    cwnd: u64,
}

fn report(experiment: &Experiment, seed: u64, mut ran: Vec<Ran>) -> Report {
    let baseline = experiment.rows.iter().position(|row| row.baseline);
    if let Some(goodput) = baseline.map(|place| ran[place].measured.goodput_mbps) {
        for row in &mut ran {
            let share = row.measured.goodput_mbps / goodput;
            row.measured.goodput_of_baseline = (goodput > 0.0).then_some(share);
        }
    }
    let rows = experiment.rows.iter().zip(ran);
    Report {
        experiment: experiment.name.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        seed,
        overrides: Vec::new(),
        rows: rows.map(|(row, ran)| row_report(row, ran)).collect(),
    }
}

fn row_report(row: &Row, ran: Ran) -> RowReport {
    let Ran {
        measured,
        limits,
        peer_window,
        cwnd,
    } = ran;
    let evidence = Evidence {
        setup: &row.setup,
        measured: &measured,
        limits: &limits,
        peer_window,
        cwnd,
    };
    RowReport {
        label: row.label.clone(),
        published: row.published.clone(),
        verdict: verdict::sentence(&evidence),
        measured,
        limits,
        fitted: row.fitted.clone(),
        baseline: row.baseline,
        note: row.note.clone(),
    }
}

fn run_row(
    experiment: &str,
    place: usize,
    row: &Row,
    options: &RunOptions<'_>,
) -> Result<Ran, RunError> {
    let mut scene = Scene::build(&row.setup, options.seed);
    let capture = options
        .captures
        .map(|folder| CaptureFile::new(folder, experiment, place));
    if let Some(capture) = &capture {
        capture
            .start(&mut scene)
            .map_err(|error| capture.failed(error))?;
    }
    let reached = scene
        .play(&row.setup, &|share| (options.progress)(place, share))
        .map_err(|failure| RunError::World {
            row: row.label.clone(),
            failure,
        })?;
    if let Some(capture) = capture {
        capture.finish(&mut scene.world)?;
    }
    Ok(scene.ran(&row.setup, reached))
}

/// A row's world and where in it the transfer is.
struct Scene {
    world: World,
    link: LinkId,
    hosts: Vec<HostId>,
    flow: FlowId,
}

impl Scene {
    fn build(setup: &Setup, seed: u64) -> Self {
        let mut world = World::new(Seed(seed));
        let plan = setup.path();
        let link = world.link(plan.link());
        // The link's first end is the first host plugged in.
        let mut ends: Vec<_> = plan
            .between
            .iter()
            .map(|&place| {
                let host = &setup.hosts[place];
                (
                    place,
                    world.host_with(&link, host.config.clone(), host.device_queue as usize),
                )
            })
            .collect();
        ends.sort_by_key(|(place, _)| *place);
        let hosts: Vec<_> = ends.into_iter().map(|(_, host)| host).collect();
        let amount = match setup.workload.stop {
            Stop::After(length) => Amount::For(length),
            Stop::Bytes(bytes) => Amount::Bytes(bytes),
        };
        let size = WriteSize::Fixed(u64::from(setup.workload.write));
        let plan = WritePlan {
            amount,
            size,
            pause: Duration::ZERO,
        };
        let (from, to) = (hosts[setup.workload.from], hosts[setup.workload.to]);
        let flow = world.send_planned(from, to, plan, ReadPlan::Eager);
        Self {
            world,
            link,
            hosts,
            flow,
        }
    }

    /// Runs until the transfer is over or given up; returns whether it is over.
    fn play(&mut self, setup: &Setup, progress: &dyn Fn(f64)) -> Result<bool, WorldFailure> {
        let workload = &setup.workload;
        let (give_up, slice) = match workload.stop {
            Stop::After(length) => (length + workload.give_up, length / 100),
            Stop::Bytes(_) => (workload.give_up, Duration::from_millis(100)),
        };
        let end = Instant::ZERO + give_up;
        while !self.world.is_reached(Goal::Done(self.flow)) {
            let now = self.world.now();
            if now >= end {
                return Ok(false);
            }
            let slice = slice.max(Duration::from_millis(1));
            self.world
                .try_run_for(if now + slice > end { end - now } else { slice })?;
            progress(
                match workload.stop {
                    Stop::After(length) => {
                        now.since(Instant::ZERO).as_secs_f64() / length.as_secs_f64()
                    }
                    Stop::Bytes(bytes) => self.world.facts(self.flow).bytes as f64 / bytes as f64,
                }
                .min(1.0),
            );
        }
        Ok(true)
    }

    fn ran(mut self, setup: &Setup, reached: bool) -> Ran {
        let facts = self.world.facts(self.flow);
        let Self {
            world, link, hosts, ..
        } = &self;
        let subject = world.stack(hosts[setup.subject]).pool();
        let sender = world.stack(hosts[setup.workload.from]);
        let (mib, tcp) = (&sender.counters().mib, sender.tcp_counters());
        let outcome = outcome(&facts, reached);
        // A time that nothing was read in is still the time that was given.
        let elapsed = match (outcome, setup.workload.stop) {
            (Outcome::Complete, _) => facts.elapsed,
            (Outcome::Stalled | Outcome::Dropped, Stop::After(length)) => length,
            (Outcome::Stalled | Outcome::Dropped, Stop::Bytes(_)) => {
                world.now().since(Instant::ZERO)
            }
        };
        let elapsed_s = elapsed.as_secs_f64();
        let info = facts.client.info.as_deref();
        let busy = Direction::ALL.map(|direction| {
            world
                .link_engine(*link)
                .counters(direction)
                .busy
                .as_secs_f64()
        });
        let busy_s = busy_time(busy, setup.path().link().radio.is_some());
        let measured = Measured {
            outcome,
            goodput_mbps: rate_mbps(facts.bytes, elapsed_s),
            elapsed_s,
            delivered_bytes: facts.bytes,
            data_segments: facts.client.data_segments,
            full_sized_share: facts.full_sized_share,
            segment_bytes: info.map_or(0, |info| u64::from(info.mss)),
            peak_pool_bytes: u64::from(subject.peak_blocks()) * u64::from(subject.block_size()),
            retransmitted_segments: facts.retransmissions,
            timeouts: u64::from(facts.timeouts),
            srtt_ms: info.map_or(0.0, |info| info.srtt.as_secs_f64() * 1e3),
            link_busy_share: if elapsed_s > 0.0 {
                (busy_s / elapsed_s).min(1.0)
            } else {
                0.0
            },
            ip_in_receives: mib.ip_in_receives,
            ip_out_requests: mib.ip_out_requests,
            tcp_out_segs: tcp.out_segs,
            ip_ext_out_octets: mib.ip_ext_out_octets,
            goodput_of_baseline: None,
        };
        let limits = Limits {
            sender: Shares::of(
                facts
                    .client
                    .limits()
                    .into_iter()
                    .map(|(limit, _, time)| (limit.name(), time)),
            ),
            receiver: Shares::of(
                facts
                    .server
                    .receive_limits()
                    .into_iter()
                    .map(|(limit, _, time)| (limit.name(), time)),
            ),
        };
        Ran {
            measured,
            limits,
            peer_window: info.map_or(0, |info| u64::from(info.max_snd_wnd)),
            cwnd: info.map_or(0, |info| u64::from(info.cwnd)),
        }
    }
}

/// A transfer that ended has stalled all the same when nothing was ever read:
/// the writer's time was up, and that was all.
fn outcome(facts: &Facts, reached: bool) -> Outcome {
    let dropped = |stage: Stage| match stage {
        Stage::Broken(_) | Stage::NoRoom => true,
        Stage::Waiting | Stage::Open | Stage::Finished | Stage::Left | Stage::Vanished => false,
    };
    if dropped(facts.client.stage) || dropped(facts.server.stage) {
        Outcome::Dropped
    } else if reached && facts.bytes > 0 {
        Outcome::Complete
    } else {
        Outcome::Stalled
    }
}

/// How long the wire was in use: both directions share a radio's air; of a
/// wire, the direction in more use counts.
fn busy_time([forward, back]: [f64; 2], is_shared: bool) -> f64 {
    if is_shared {
        forward + back
    } else {
        forward.max(back)
    }
}

fn rate_mbps(bytes: u64, secs: f64) -> f64 {
    if secs > 0.0 {
        bytes as f64 * 8.0 / secs / 1e6
    } else {
        0.0
    }
}

/// A row's capture, under another name until it is whole.
struct CaptureFile {
    part: PathBuf,
    whole: PathBuf,
    kept: bool,
}

impl CaptureFile {
    fn new(folder: &Path, experiment: &str, place: usize) -> Self {
        let name = format!("{experiment}-{}.pcapng", place + 1);
        Self {
            part: folder.join(format!(".{name}.part")),
            whole: folder.join(name),
            kept: false,
        }
    }

    fn start(&self, scene: &mut Scene) -> io::Result<()> {
        let file = BufWriter::with_capacity(1 << 18, fs::File::create(&self.part)?);
        scene.world.capture(Box::new(file))?;
        scene.world.tap_link(scene.link, "link")
    }

    fn finish(mut self, world: &mut World) -> Result<(), RunError> {
        world
            .finish_capture()
            .and_then(|()| fs::rename(&self.part, &self.whole))
            .map_err(|error| self.failed(error))?;
        self.kept = true;
        Ok(())
    }

    fn failed(&self, error: io::Error) -> RunError {
        RunError::Capture {
            file: self.whole.clone(),
            error,
        }
    }
}

impl Drop for CaptureFile {
    fn drop(&mut self) {
        if !self.kept {
            // It may never have been there; then nothing is left behind either.
            let _ = fs::remove_file(&self.part);
        }
    }
}
