//! The applications of a row (a scenario of an experiment): each connection has a writing and a
//! reading thread.
//!
//! Rule: the receiving thread decides which bytes count, by the time at which a read returned.
//! Once a connection is open, its threads check for the end of the row at least every
//! [`POLL`](fullpipe_perf::POLL).

use std::{
    io,
    net::{SocketAddr, TcpStream},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use fullpipe_perf::sockets::Stream;
use fullpipe_scenario::experiment::{FlowPlan, Stop as FlowStop};
use fullpipe_sim::app::ReadPlan;

use crate::sockets::{AppStream, Listening, Unconnected, is_wait};

/// Largest number of bytes of a read, as in the simulator's readers.
const READ_SIZE: usize = 16 << 10;
/// Largest number of bytes of a single write call.
const WRITE_MAX: usize = 1 << 20;

/// The clock of a row, and the signal for its end.
pub struct RowClock {
    epoch: Instant,
    /// True once every thread must end.
    pub over: AtomicBool,
    /// Time before which bytes do not count, in nanoseconds since the row's start.
    pub omit_ns: u64,
}

impl RowClock {
    /// Creates a clock that starts now.
    pub fn start(omit: Duration) -> Self {
        Self {
            epoch: Instant::now(),
            over: AtomicBool::new(false),
            omit_ns: omit.as_nanos() as u64,
        }
    }

    /// Nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Returns true once every thread must end.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Sleeps until `at_ns`. Returns false if the row ends earlier.
    fn sleep_until(&self, at_ns: u64) -> bool {
        loop {
            if self.is_over() {
                return false;
            }
            let left = at_ns.saturating_sub(self.now_ns());
            if left == 0 {
                return true;
            }
            thread::sleep(Duration::from_nanos(left).min(fullpipe_perf::POLL));
        }
    }
}

/// Progress of a connection, shared by its two threads. Times are nanoseconds since the row's
/// start; 0 stands for "not yet".
#[derive(Default)]
pub struct Progress {
    /// Time at which the client called connect.
    pub began_ns: AtomicU64,
    /// Time after which bytes do not count.
    pub ends_ns: AtomicU64,
    /// All bytes read.
    pub read: AtomicU64,
    /// Bytes read within the measured time.
    pub counted: AtomicU64,
    /// Time of the first byte that was read.
    pub first_ns: AtomicU64,
    /// Time of the last byte that was read.
    pub last_ns: AtomicU64,
    /// True once all payload has arrived, the flow's duration is over, or the connection was
    /// dropped.
    pub is_done: AtomicBool,
    failure: Mutex<Option<io::Error>>,
}

impl Progress {
    /// The error that dropped the connection.
    pub fn failure(&self) -> Option<String> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map(ToString::to_string)
    }

    /// Ends the connection with `error`, if neither the connection nor the row has ended yet.
    pub fn fail(&self, clock: &RowClock, error: io::Error) {
        if !clock.is_over() && !self.is_done.load(Ordering::Acquire) {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
            self.is_done.store(true, Ordering::Release);
        }
    }

    fn note_read(&self, clock: &RowClock, bytes: u64) {
        let now = clock.now_ns();
        let ends = self.ends_ns.load(Ordering::Acquire);
        self.read.fetch_add(bytes, Ordering::AcqRel);
        if ends > 0 && now > ends {
            return;
        }
        if now >= clock.omit_ns {
            self.counted.fetch_add(bytes, Ordering::AcqRel);
        }
        let _ = self
            .first_ns
            .compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire);
        self.last_ns.store(now, Ordering::Release);
    }
}

/// A connection before it is opened.
pub struct Connection<'a> {
    /// The flow to which the connection belongs.
    pub flow: &'a FlowPlan,
    /// The socket that will connect.
    pub opener: Unconnected,
    /// The listening socket to which `opener` connects.
    pub listening: Listening,
    /// Address of the listening socket.
    pub service: SocketAddr,
    /// Progress of the connection.
    pub progress: &'a Progress,
}

impl Connection<'_> {
    /// Runs both applications until the transfer or the row is over. Returns the sockets without
    /// closing them, because the caller may still query the kernel about them.
    pub fn run(self, clock: &RowClock, connect_within: Duration) -> Vec<TcpStream> {
        let Self {
            flow,
            opener,
            listening,
            service,
            progress,
        } = self;
        if !clock.sleep_until(flow.start.as_nanos()) {
            return Vec::new();
        }
        let asks = flow.question().is_some();
        thread::scope(|scope| {
            let accepted = scope.spawn(|| {
                let stream = accept(&listening, clock)?;
                let Some(stream) = stream else {
                    return Ok(None);
                };
                let ran = match asks {
                    true => write_all(&stream, flow, clock, progress),
                    false => read_all(&stream, flow, clock, progress),
                };
                ran.map(|()| Some(stream))
            });
            progress
                .began_ns
                .store(clock.now_ns().max(1), Ordering::Release);
            let opened = opener.connect(service, connect_within).and_then(|stream| {
                match asks {
                    true => {
                        ask(&stream, flow, clock)?;
                        read_all(&stream, flow, clock, progress)?;
                    }
                    false => write_all(&stream, flow, clock, progress)?,
                }
                Ok(Some(stream))
            });
            let accepted = accepted
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let mut streams = Vec::new();
            for ended in [opened, accepted] {
                match ended {
                    Ok(stream) => streams.extend(stream),
                    Err(error) => progress.fail(clock, error),
                }
            }
            streams
        })
    }
}

/// Accepts the connection; `None` if the row ends first.
fn accept(listening: &Listening, clock: &RowClock) -> io::Result<Option<TcpStream>> {
    while !clock.is_over() {
        if let Some(stream) = listening.accept()? {
            return Ok(Some(stream));
        }
    }
    Ok(None)
}

/// Writes the request.
fn ask(stream: &impl Stream, flow: &FlowPlan, clock: &RowClock) -> io::Result<()> {
    let bytes = flow.question().map_or(0, |(bytes, _)| bytes);
    let question = vec![b'?'; WRITE_MAX.min(bytes as usize)];
    let mut left = bytes as usize;
    while left > 0 {
        let part = left.min(question.len());
        if !put(stream, &question[..part], clock)? {
            return Ok(());
        }
        left -= part;
    }
    Ok(())
}

/// Writes the payload of the flow. If the flow has a request, first reads the request and waits for
/// the think time.
pub fn write_all(
    stream: &impl AppStream,
    flow: &FlowPlan,
    clock: &RowClock,
    progress: &Progress,
) -> io::Result<()> {
    let established = clock.now_ns();
    if let Some((bytes, think)) = flow.question()
        && !(hear(stream, bytes, clock)? && clock.sleep_until(clock.now_ns() + think.as_nanos()))
    {
        return Ok(());
    }
    let (ends, mut left) = match flow.stop {
        FlowStop::After(length) => (established + length.as_nanos(), u64::MAX),
        FlowStop::Bytes(bytes) => (u64::MAX, bytes),
    };
    if ends < u64::MAX {
        progress.ends_ns.store(ends, Ordering::Release);
    }
    if flow.is_no_push() {
        stream.cork(true)?;
    }
    let payload = vec![b'x'; (flow.write as usize).clamp(1, WRITE_MAX)];
    while left > 0 && clock.now_ns() < ends {
        let mut rest = left.min(flow.write.into());
        left -= rest;
        while rest > 0 {
            let part = rest.min(payload.len() as u64);
            if !put(stream, &payload[..part as usize], clock)? {
                return Ok(());
            }
            rest -= part;
        }
        let pause = flow.pause();
        if !pause.is_zero() && left > 0 && !clock.sleep_until(clock.now_ns() + pause.as_nanos()) {
            return Ok(());
        }
    }
    if flow.is_no_push() {
        stream.cork(false)?;
    }
    stream.shutdown_write()
}

/// Writes all of `bytes`. Returns false if the row ends first.
fn put(stream: &impl Stream, mut bytes: &[u8], clock: &RowClock) -> io::Result<bool> {
    while !bytes.is_empty() {
        if clock.is_over() {
            return Ok(false);
        }
        match stream.write(bytes) {
            Ok(taken) => bytes = &bytes[taken..],
            Err(error) if is_wait(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Reads a request of `bytes` bytes. Returns false if the row or the stream ends first.
fn hear(stream: &impl Stream, bytes: u64, clock: &RowClock) -> io::Result<bool> {
    let mut buffer = [0; READ_SIZE];
    let mut left = bytes;
    while left > 0 {
        if clock.is_over() {
            return Ok(false);
        }
        let most = left.min(READ_SIZE as u64) as usize;
        match stream.read(&mut buffer[..most]) {
            Ok(0) => return Ok(false),
            Ok(read) => left -= read as u64,
            Err(error) if is_wait(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Reads the payload at the pace of the flow's plan, until all payload has arrived, or until the
/// flow or the row ends.
pub fn read_all(
    stream: &impl AppStream,
    flow: &FlowPlan,
    clock: &RowClock,
    progress: &Progress,
) -> io::Result<()> {
    let started = clock.now_ns();
    let expected = match flow.stop {
        FlowStop::Bytes(bytes) => bytes,
        FlowStop::After(_) => u64::MAX,
    };
    let plan = flow.read_plan();
    let mut buffer = vec![0; READ_SIZE];
    // Bytes that the reader may still read before its pause.
    let mut allowed = allowance(&plan);
    while !clock.is_over() {
        let ends = progress.ends_ns.load(Ordering::Acquire);
        if ends > 0 && clock.now_ns() >= ends {
            break;
        }
        if let ReadPlan::Stalls(stalls) = &plan {
            let age = clock.now_ns() - started;
            let inside = |(begin, length): &&(fullpipe_pool::Duration, fullpipe_pool::Duration)| {
                begin.as_nanos() <= age && age < (*begin + *length).as_nanos()
            };
            if let Some((begin, length)) = stalls.iter().find(inside) {
                clock.sleep_until(started + (*begin + *length).as_nanos());
                continue;
            }
        }
        let most = allowed.min(READ_SIZE as u64) as usize;
        match stream.read(&mut buffer[..most]) {
            Ok(0) => break,
            Ok(read) => {
                progress.note_read(clock, read as u64);
                allowed -= read as u64;
            }
            Err(error) if is_wait(&error) => continue,
            Err(error) => return Err(error),
        }
        if progress.read.load(Ordering::Acquire) >= expected {
            break;
        }
        if let ReadPlan::Rate { every, .. } = plan
            && (allowed == 0 || !stream.has_unread())
        {
            clock.sleep_until(clock.now_ns() + every.as_nanos());
            allowed = allowance(&plan);
        }
    }
    progress.is_done.store(true, Ordering::Release);
    Ok(())
}

/// Bytes that a reader reads before it pauses.
fn allowance(plan: &ReadPlan) -> u64 {
    match plan {
        ReadPlan::Rate { bytes, .. } => *bytes,
        ReadPlan::Eager | ReadPlan::Stalls(_) => u64::MAX,
    }
}
