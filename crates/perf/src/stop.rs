//! A flag that asks all threads of a test to end early.
//!
//! Rule: a raised flag is never lowered. The flag does not interrupt calls; each thread checks it
//! at least every [`POLL`].

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Longest time between two checks of the flag.
pub const POLL: Duration = Duration::from_millis(100);

/// A flag that can be raised once. Clones share one flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Returns a flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a flag that Ctrl-C and SIGTERM raise. A second Ctrl-C ends the process
    /// at once, with status 130.
    ///
    /// # Errors
    /// Fails if the operating system refuses the signal handler.
    pub fn on_interrupt() -> io::Result<Self> {
        let stop = Self::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop.0))?;
            signal_hook::flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    /// Raises the flag; all clones see it.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns true once the flag has been raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
