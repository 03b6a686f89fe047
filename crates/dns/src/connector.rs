//! Happy Eyeballs: chooses which address of a name is tried next, and when it is tried. RFC 8305.
//!
//! Rule: the connector only decides. The program opens and aborts connections, and reports
//! addresses and outcomes to the connector. At most one connection is left at the end: the first
//! that was established.

use std::net::IpAddr;

use fullpipe::{Duration, Instant};

use crate::{answer::Family, order::by_preference};

/// Time for which IPv4 addresses wait for IPv6 addresses. RFC 8305 §3.
const RESOLUTION_DELAY: Duration = Duration::from_millis(50);
/// Time between the beginnings of two attempts. RFC 8305 §5.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Largest number of addresses that are tried.
const ADDRESSES_MAX: usize = 32;

/// A step that the program has to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Begin to open a connection to this address.
    Open(IpAddr),
    /// Abort the attempt to this address.
    Abort(IpAddr),
}

/// The attempts to connect to one name.
#[derive(Debug)]
pub struct Connector {
    /// Addresses that were not tried, in the order in which they will be tried.
    untried: Vec<IpAddr>,
    /// Attempts under way.
    open: Vec<IpAddr>,
    /// Addresses known so far, tried or not.
    known: Vec<IpAddr>,
    /// Families whose answer is missing.
    missing: Vec<Family>,
    /// Time until which the first attempt waits for IPv6 addresses.
    resolution_end: Option<Instant>,
    /// Time of the next attempt; `None` before the first attempt.
    next_attempt: Option<Instant>,
    /// Family of the last attempt.
    last: Option<Family>,
    winner: Option<IpAddr>,
}

impl Connector {
    /// Creates a connector that waits for the answers of `families`.
    pub fn new(families: impl IntoIterator<Item = Family>) -> Self {
        Self {
            untried: Vec::new(),
            open: Vec::new(),
            known: Vec::new(),
            missing: families.into_iter().collect(),
            resolution_end: None,
            next_attempt: None,
            last: None,
            winner: None,
        }
    }

    /// Adds the addresses of a family. Pass an empty list if the lookup failed. `source` returns
    /// the source address of packets to an address.
    pub fn on_addresses(
        &mut self,
        family: Family,
        addresses: &[IpAddr],
        source: impl Fn(IpAddr) -> Option<IpAddr>,
        now: Instant,
    ) {
        self.missing.retain(|missing| *missing != family);
        for address in addresses {
            if self.known.len() < ADDRESSES_MAX && !self.known.contains(address) {
                self.known.push(*address);
                self.untried.push(*address);
            }
        }
        by_preference(&mut self.untried, source);
        self.interleave();
        let waits_for_v6 = self.missing.contains(&Family::V6);
        if waits_for_v6 && !self.untried.is_empty() && self.resolution_end.is_none() {
            self.resolution_end = Some(now + RESOLUTION_DELAY);
        }
        if !waits_for_v6 {
            self.resolution_end = Some(now);
        }
    }

    /// Orders the untried addresses so that the families alternate. The best address comes first,
    /// unless its family was tried last. RFC 8305 §4.
    fn interleave(&mut self) {
        let Some(first) = self.untried.first().map(|best| Family::of(*best)) else {
            return;
        };
        let (mut one, mut other): (Vec<_>, Vec<_>) = self
            .untried
            .drain(..)
            .partition(|address| Family::of(*address) == first);
        if self.last == Some(first) && !other.is_empty() {
            std::mem::swap(&mut one, &mut other);
        }
        let (mut one, mut other) = (one.into_iter(), other.into_iter());
        loop {
            let (a, b) = (one.next(), other.next());
            if a.is_none() && b.is_none() {
                return;
            }
            self.untried.extend(a.into_iter().chain(b));
        }
    }

    /// Notes that the attempt to `address` is established. [`poll_action`](Self::poll_action) then
    /// aborts the other attempts.
    pub fn on_established(&mut self, address: IpAddr) {
        self.open.retain(|open| *open != address);
        self.untried.clear();
        self.winner = Some(address);
    }

    /// Ends the attempt to `address`. The next attempt begins at once.
    pub fn on_failed(&mut self, address: IpAddr, now: Instant) {
        self.open.retain(|open| *open != address);
        self.next_attempt = Some(now);
    }

    /// Returns the next action that is due.
    pub fn poll_action(&mut self, now: Instant) -> Option<Action> {
        if self.winner.is_some() {
            return self.open.pop().map(Action::Abort);
        }
        if self.due()? > now {
            return None;
        }
        let address = self.untried.remove(0);
        self.open.push(address);
        self.last = Some(Family::of(address));
        self.next_attempt = Some(now + ATTEMPT_DELAY);
        Some(Action::Open(address))
    }

    /// Returns the time of the next attempt; `None` if no address is left.
    fn due(&self) -> Option<Instant> {
        if self.untried.is_empty() {
            return None;
        }
        self.next_attempt.or(self.resolution_end)
    }

    /// Returns the time at which [`poll_action`](Self::poll_action) may have an action.
    pub fn next_timeout(&self) -> Option<Instant> {
        match self.winner {
            Some(_) => None,
            None => self.due(),
        }
    }

    /// Returns the address whose attempt was established first.
    pub const fn winner(&self) -> Option<IpAddr> {
        self.winner
    }

    /// Returns true if every answer is there, every address was tried, and no attempt succeeded.
    pub fn has_failed(&self) -> bool {
        self.winner.is_none()
            && self.missing.is_empty()
            && self.untried.is_empty()
            && self.open.is_empty()
    }
}
