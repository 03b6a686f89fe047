//! A rate limit for answers to unknown hosts. Each source has an account, which stores when that
//! source may get its next answer.
//!
//! Rule: an answer is charged only to the address that it is sent to; for IPv6, to the address's
//! /64. An attacker who sends packets with another host's forged address therefore cannot learn
//! from the answers to its own packets how many of the forged packets were answered (CVE-2016-5696,
//! CVE-2020-25705). The exception is a forged address in the attacker's own /64. Accounts are
//! independent; only their number is limited. A new source is assigned a random account, and gets
//! no answer if that account is in use. A new source therefore takes an answer from another source
//! only if both are assigned the same account. This file sends nothing.

use alloc::vec::Vec;
use core::net::IpAddr;

use fullpipe_pool::{Duration, Instant};

use crate::{
    hash_index::HashIndex,
    ip::StoredIp,
    secret::{HashInput, Secret},
    sources::source_of,
};

#[cfg(test)]
mod tests;

/// Largest number of accounts, whatever the rates.
pub(crate) const MOST_ACCOUNTS: u32 = 65_535;

/// The rates of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rates {
    /// Answers per second to all sources together, bursts excluded; 0 allows none.
    pub(crate) per_second: u32,
    /// Answers per second to one source; 0 allows none.
    pub(crate) per_source: u32,
    /// Answers to one source at once, at least 1.
    pub(crate) burst: u32,
}

/// The account of one source (GCRA).
#[derive(Clone, Copy, Debug)]
struct Account {
    ip: StoredIp,
    /// Due time of the next answer if answers were evenly spaced. From that time on, the source may
    /// get a full burst of answers again, like a source that was never seen. The account may
    /// therefore be given to another source.
    due: Instant,
}

/// The accounts of all sources.
#[derive(Debug)]
pub(crate) struct SourceLimit {
    accounts: Vec<Option<Account>>,
    by_ip: HashIndex,
    /// Time between two answers to one source; `None` if no answer is allowed.
    interval: Option<Duration>,
    /// Longest time by which an answer may precede its due time.
    slack: Duration,
    secret: Secret,
    drawn: u64,
}

impl SourceLimit {
    /// Allocates as many accounts as `rates.per_second` allows for.
    pub(crate) fn new(rates: Rates, secret: &Secret) -> Self {
        let Rates {
            per_second,
            per_source,
            burst,
        } = rates;
        let interval =
            (per_second > 0 && per_source > 0).then(|| Duration::from_secs(1) / per_source);
        let accounts = per_second
            .div_ceil(per_source.max(1))
            .clamp(1, MOST_ACCOUNTS);
        Self {
            accounts: alloc::vec![None; accounts as usize],
            by_ip: HashIndex::new(accounts, secret.derive(b"accounts")),
            interval,
            slack: interval.unwrap_or(Duration::ZERO) * burst.saturating_sub(1),
            secret: secret.derive(b"choices"),
            drawn: 0,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.accounts) + self.by_ip.heap_bytes()
    }

    /// Returns true if an answer to `ip` is allowed now, and then counts the answer. IPv6 addresses
    /// of one prefix of 64 bits share one account.
    pub(crate) fn allow(&mut self, ip: IpAddr, now: Instant) -> bool {
        let ip = source_of(ip);
        let Some(interval) = self.interval else {
            return false;
        };
        let hash = self.hash(ip);
        let has_ip =
            |index: u32| self.accounts[index as usize].is_some_and(|own| own.ip.get() == ip);
        let (index, due) = match self.by_ip.find(hash, has_ip) {
            Some(index) => {
                let due = self.accounts[index as usize].map_or(now, |own| own.due);
                if now < due - self.slack {
                    return false;
                }
                (index, due)
            }
            None => match self.open(hash, now) {
                Some(index) => (index, now),
                None => return false,
            },
        };
        self.accounts[index as usize] = Some(Account {
            ip: StoredIp::new(ip),
            due: due.max(now) + interval,
        });
        true
    }

    /// Returns false with probability `taken / of`. A shared queue calls this for each answer: if
    /// the queue refused answers only when full, a refusal would tell a peer that others have
    /// filled the queue.
    pub(crate) fn has_luck(&mut self, taken: usize, of: usize) -> bool {
        taken == 0 || self.draw(of as u32) >= taken as u32
    }

    /// Returns the index of an account for a new source with `hash`; `None` if the chosen account
    /// is in use.
    fn open(&mut self, hash: u32, now: Instant) -> Option<u32> {
        let index = self.draw(self.accounts.len() as u32);
        if let Some(old) = self.accounts[index as usize] {
            if old.due > now {
                return None;
            }
            self.by_ip.remove(self.hash(old.ip.get()), index);
        }
        self.by_ip.insert(hash, index);
        Some(index)
    }

    /// Returns a number below `bound` that no peer can predict; 0 if `bound` is 0.
    fn draw(&mut self, bound: u32) -> u32 {
        self.drawn = self.drawn.wrapping_add(1);
        let random = self.secret.prf(&self.drawn.to_be_bytes()) >> 32;
        ((random * u64::from(bound)) >> 32) as u32
    }

    fn hash(&self, ip: IpAddr) -> u32 {
        let mut bytes = HashInput::new();
        bytes.push_ip(ip);
        self.by_ip.hash(bytes.as_slice())
    }
}
