//! The resolver of a runtime, and the wakers of threads and tasks that wait for names.
//!
//! Rule: `fullpipe-dns` decides. This file works under the driver's lock and makes no system call.

use std::{net::IpAddr, task::Waker};

use fullpipe::{Instant, Stack};
use fullpipe_dns::{Names, Resolver, Settings};

/// The lookups of a runtime and its connections to names, and the wakers of those who wait for an
/// outcome.
#[derive(Debug)]
pub(crate) struct NameHolder {
    pub(crate) names: Names,
    /// DNS servers given to the builder. If empty, the servers come from DHCP and from routers.
    pub(crate) given: Vec<IpAddr>,
    waiting: Vec<Waker>,
    /// True if a lookup or a connection has an outcome, and its waiter has not been woken yet.
    pub(crate) has_outcome: bool,
}

impl NameHolder {
    pub(crate) const fn new(given: Vec<IpAddr>, secret: [u8; 16]) -> Self {
        let settings = Settings::DEFAULT;
        Self {
            names: Names::new(Resolver::new(settings, secret)),
            given,
            waiting: Vec::new(),
            has_outcome: false,
        }
    }

    /// Does the work that is due for lookups and connections.
    pub(crate) fn drive(&mut self, stack: &mut Stack, now: Instant) {
        if !self.names.is_idle() {
            self.has_outcome |= self.names.drive(stack, now);
        }
    }

    /// Returns the time at which [`drive`](Self::drive) is due.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.names.next_timeout()
    }

    /// Removes the wakers if a lookup or a connection has an outcome, and adds them to `out`.
    pub(crate) fn take_ready(&mut self, out: &mut Vec<Waker>) {
        if std::mem::take(&mut self.has_outcome) {
            self.take_all(out);
        }
    }

    /// Removes all wakers and adds them to `out`.
    pub(crate) fn take_all(&mut self, out: &mut Vec<Waker>) {
        out.append(&mut self.waiting);
    }

    /// Registers a waker that is called when a lookup or a connection has an outcome.
    pub(crate) fn wait(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|known| known.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }
}
