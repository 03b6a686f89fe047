//! One operation on a socket that is tried again until it succeeds: as a future, or by a thread
//! that blocks.
//!
//! Rule: the attempt and the registration of the waker happen under one lock, so no event
//! is missed between them. A wait that is dropped leaves no waker behind.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant as Moment},
};

use fullpipe::{Instant, Stack};

use crate::{
    driver::Driver,
    wakers::{Handle, Interest, WaiterKey},
};

/// Tries `attempt` once. If the attempt returns `None`, registers `waker` under `key`.
///
/// # Errors
/// Becomes ready with an error if the runtime has stopped.
pub(crate) fn poll_once<R>(
    driver: &Driver,
    (handle, interest): (Handle, Interest),
    key: &mut Option<WaiterKey>,
    waker: &Waker,
    attempt: impl FnOnce(&mut Stack, Instant) -> Option<R>,
) -> Poll<io::Result<R>> {
    let mut core = driver.lock();
    let now = driver.now();
    let attempted = attempt(&mut core.stack, now);
    core.transmit(now, false);
    let outcome = match attempted {
        Some(outcome) => Poll::Ready(Ok(outcome)),
        None => match driver.check(&core) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        },
    };
    let replaced = if outcome.is_pending() {
        let key = *key.get_or_insert_with(|| core.wakers.new_key());
        core.wakers.register(handle, interest, key, waker)
    } else {
        key.take()
            .and_then(|key| core.wakers.remove(handle, interest, key))
    };
    driver.settle(core, now);
    drop(replaced); // without the lock
    outcome
}

/// A future that is ready when its attempt on a socket returns a value.
pub(crate) struct Wait<'a, F> {
    driver: &'a Driver,
    on: (Handle, Interest),
    /// Set while a waker is registered.
    key: Option<WaiterKey>,
    attempt: F,
}

impl<'a, F> Wait<'a, F> {
    /// Creates the wait until `attempt` returns a value.
    pub(crate) fn new<R>(driver: &'a Driver, handle: Handle, interest: Interest, attempt: F) -> Self
    where
        F: FnMut(&mut Stack, Instant) -> Option<R>,
    {
        Self {
            driver,
            on: (handle, interest),
            key: None,
            attempt,
        }
    }

    /// Blocks this thread until the attempt returns a value, for at most `timeout` (`None` is no
    /// limit).
    ///
    /// # Errors
    /// Returns `WouldBlock` after the timeout, as sockets of the kernel report it; another error if
    /// the runtime has stopped.
    pub(crate) fn block<R>(mut self, timeout: Option<Duration>) -> io::Result<R>
    where
        F: FnMut(&mut Stack, Instant) -> Option<R>,
    {
        let deadline = timeout.and_then(|timeout| Moment::now().checked_add(timeout));
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        loop {
            if let Poll::Ready(outcome) = self.poll(&waker) {
                return outcome;
            }
            match deadline.map(|deadline| deadline.saturating_duration_since(Moment::now())) {
                None => thread::park(),
                Some(Duration::ZERO) => return Err(io::ErrorKind::WouldBlock.into()),
                Some(left) => thread::park_timeout(left),
            }
        }
    }

    fn poll<R>(&mut self, waker: &Waker) -> Poll<io::Result<R>>
    where
        F: FnMut(&mut Stack, Instant) -> Option<R>,
    {
        poll_once(
            self.driver,
            self.on,
            &mut self.key,
            waker,
            &mut self.attempt,
        )
    }
}

impl<R, F> Future for Wait<'_, F>
where
    F: FnMut(&mut Stack, Instant) -> Option<R> + Unpin,
{
    type Output = io::Result<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<R>> {
        Self::poll(&mut self, context.waker())
    }
}

impl<F> Drop for Wait<'_, F> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let (handle, interest) = self.on;
            let removed = self.driver.lock().wakers.remove(handle, interest, key);
            drop(removed); // without the lock
        }
    }
}

/// Wakes a blocked thread.
pub(crate) struct Unpark(pub(crate) Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests;
