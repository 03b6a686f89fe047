//! A wish to end a test early, shared by everything that takes part in it.
//!
//! Rule: it goes one way. Nothing is interrupted by it: whoever waits looks at
//! it at least every [`POLL`].

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// The longest wait during which a stop may go unnoticed.
pub const POLL: Duration = Duration::from_millis(100);

/// A flag that can be raised once. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag that Ctrl-C and SIGTERM raise. A second Ctrl-C ends the process
    /// at once, with status 130.
    ///
    /// # Errors
    /// When the operating system refuses the signal handler.
    pub fn on_interrupt() -> io::Result<Self> {
        let stop = Self::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop.0))?;
            signal_hook::flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    /// Asks everything that holds a clone to end.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether the end was asked for.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
