//! The resolver of a runtime, and those who wait for names.
//!
//! Rule: `fullpipe-dns` decides. This file works under the driver's lock and makes no system call.

use std::{net::IpAddr, task::Waker};

use fullpipe::{Instant, Stack};
use fullpipe_dns::{Names, Resolver, Settings};

/// The names of a runtime, and those who wait for them.
#[derive(Debug)]
pub(crate) struct NameHolder {
    pub(crate) names: Names,
    /// Servers of the builder; empty if DHCP and routers name them.
    pub(crate) given: Vec<IpAddr>,
    waiting: Vec<Waker>,
    /// A lookup or a connection has an outcome that nobody was woken for.
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

    /// Does what is due.
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
