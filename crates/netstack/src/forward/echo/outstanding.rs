//! Echo requests that wait for their replies.
//!
//! Rule: a request waits until its reply is taken or its time is over, and no longer. The number of
//! waiting requests is bounded. The clock is an argument.

use std::{
    collections::{BTreeSet, HashMap},
    net::IpAddr,
    time::{Duration, Instant},
};

/// Requests by the sequence number under which they were sent.
pub(super) struct Outstanding<T> {
    waiting: HashMap<u16, Waiting<T>>,
    /// The time at which each waiting request expires, and its number.
    order: BTreeSet<(Instant, u16)>,
    next: u16,
    most: usize,
    timeout: Duration,
}

struct Waiting<T> {
    destination: IpAddr,
    until: Instant,
    request: T,
}

impl<T> Outstanding<T> {
    /// Creates a table of at most `most` requests, fewer than there are numbers, which wait for
    /// `timeout`.
    pub fn new(most: usize, timeout: Duration) -> Self {
        Self {
            waiting: HashMap::new(),
            order: BTreeSet::new(),
            next: 0,
            most,
            timeout,
        }
    }

    /// Adds a request to `destination`, and returns its sequence number. Returns `None`, and drops the
    /// request, if too many wait.
    pub fn add(&mut self, destination: IpAddr, request: T, now: Instant) -> Option<u16> {
        self.expire(now);
        if self.waiting.len() >= self.most {
            return None;
        }
        while self.waiting.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let (seq, until) = (self.next, now + self.timeout);
        self.next = self.next.wrapping_add(1);
        let waiting = Waiting {
            destination,
            until,
            request,
        };
        self.waiting.insert(seq, waiting);
        self.order.insert((until, seq));
        Some(seq)
    }

    /// Removes and returns the request with this number, if it was sent to `destination` and
    /// `is_answered` returns true.
    pub fn take_if(
        &mut self,
        seq: u16,
        destination: IpAddr,
        is_answered: impl FnOnce(&T) -> bool,
    ) -> Option<T> {
        let waiting = self.waiting.get(&seq)?;
        if waiting.destination != destination || !is_answered(&waiting.request) {
            return None;
        }
        let waiting = self.waiting.remove(&seq)?;
        self.order.remove(&(waiting.until, seq));
        Some(waiting.request)
    }

    /// Returns the time at which the next request expires.
    pub fn expiry(&self) -> Option<Instant> {
        self.order.first().map(|(until, _)| *until)
    }

    /// Drops the requests whose time is over at `now`.
    pub fn expire(&mut self, now: Instant) {
        while let Some(&(until, seq)) = self.order.first()
            && until <= now
        {
            self.order.remove(&(until, seq));
            self.waiting.remove(&seq);
        }
    }
}
