//! Long work outside the GIL.
//!
//! Rule: the work runs on a thread of its own. The calling thread waits without the GIL; a few
//! times a second it takes the GIL, runs Python's signal handlers and reports progress. If a signal
//! handler or the progress function raises an exception, such as KeyboardInterrupt, the work ends
//! early, and the exception is raised afterwards.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use pyo3::prelude::*;

/// Time between two checks for signals and progress.
const TICK: Duration = Duration::from_millis(50);

/// State that the work and the waiting thread share.
#[derive(Default)]
pub struct Control {
    is_over: AtomicBool,
    /// The share of the work that is finished, as the bits of an `f64`.
    share: AtomicU64,
}

impl Control {
    /// Stores the finished share, from 0 to 1. Returns `Break` if the work must end.
    pub fn advance(&self, share: f64) -> ControlFlow<()> {
        self.share.store(share.to_bits(), Ordering::Relaxed);
        match self.is_over() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Returns true if the work must end.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// The `progress` argument of a function.
struct Reporter<'py>(Option<Bound<'py, PyAny>>);

impl<'py> Reporter<'py> {
    fn new(py: Python<'py>, progress: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let Some(progress) = progress else {
            return Ok(Self(None));
        };
        let made = py.import("fullpipe.progress")?;
        let made = made.call_method1("reporter", (progress,))?;
        Ok(Self((!made.is_none()).then_some(made)))
    }

    fn report(&self, share: f64) -> PyResult<()> {
        match &self.0 {
            Some(call) => call.call1((share,)).map(drop),
            None => Ok(()),
        }
    }
}

/// Runs `job` on another thread, without the GIL, and returns its result. `progress` is None, True
/// for a tqdm bar, or a function of the finished share.
pub fn work<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&Control) -> T + Send,
) -> PyResult<T> {
    let reporter = Reporter::new(py, progress)?;
    let control = Control::default();
    let is_done = AtomicBool::new(false);
    let waiting = thread::current();
    let result = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let done = Done(&is_done, &waiting);
            let result = job(&control);
            drop(done);
            result
        });
        let mut ended = Ok(());
        while !is_done.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(TICK));
            let share = f64::from_bits(control.share.load(Ordering::Relaxed));
            if ended.is_ok() {
                ended = py.check_signals().and_then(|()| reporter.report(share));
                if ended.is_err() {
                    control.is_over.store(true, Ordering::Relaxed);
                }
            }
        }
        let result = py.detach(|| worker.join());
        ended.map(|()| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    reporter.report(1.0)?;
    Ok(result)
}

/// Wakes the waiting thread when it is dropped, also after a panic.
struct Done<'a>(&'a AtomicBool, &'a thread::Thread);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.unpark();
    }
}
