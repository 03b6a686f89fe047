//! Reports of the multicast groups that this host listens to, which are the solicited-node groups
//! of its addresses. RFC 3810.
//!
//! Rule: no state is kept for a group: a report lists the groups of the addresses that this host
//! has when the report leaves. Only groups that this host left are kept, until they are reported.
//! Queries cause at most ten reports a second. Reports of MLD version 1 are not sent.

use alloc::vec::Vec;
use core::net::Ipv6Addr;

use fullpipe_pool::{Duration, Instant, Rng};
use fullpipe_wire::{
    ipv6::solicited_node,
    mld::{Query, RecordKind},
};

use crate::ip::addresses::Addresses;

/// Number of times that each change is reported. RFC 3810 §9.1.
const ROBUSTNESS: u32 = 2;
/// Longest time between two reports of a change. RFC 3810 §9.11.
const UNSOLICITED_INTERVAL_MS: u64 = 1_000;
/// Shortest time between two answers to queries.
const ANSWER_INTERVAL: Duration = Duration::from_millis(100);
/// Largest number of groups that are kept after this host left them.
const MOST_LEFT: usize = 8;
/// Largest number of records in one report, so that the report fits into a packet of 1280 bytes.
pub(super) const MOST_RECORDS: usize = 60;

/// The reports that are due.
#[derive(Debug)]
pub(super) struct GroupReports {
    /// Time of the next report of a change, and the number of reports that are still to be sent.
    change: Option<(Instant, u32)>,
    /// Time of the answer to a query.
    answer: Option<Instant>,
    last_answer: Instant,
    left: Vec<Ipv6Addr>,
    /// Number of groups that the present report has listed in earlier packets.
    listed: usize,
}

impl GroupReports {
    /// Returns a state without a due report.
    pub(super) fn new() -> Self {
        Self {
            change: None,
            answer: None,
            last_answer: Instant::ZERO,
            left: Vec::with_capacity(MOST_LEFT),
            listed: 0,
        }
    }

    pub(super) const fn heap_bytes() -> usize {
        MOST_LEFT * size_of::<Ipv6Addr>()
    }

    /// Notes that this host listens to a new group from `at` on.
    pub(super) fn on_join(&mut self, ip: Ipv6Addr, at: Instant) {
        self.left.retain(|left| *left != solicited_node(ip));
        let earlier = self.change.map_or(at, |(due, _)| due.min(at));
        self.change = Some((earlier, ROBUSTNESS));
    }

    /// Notes that this host no longer has the address `ip`.
    pub(super) fn on_leave(&mut self, ip: Ipv6Addr, addresses: &Addresses, now: Instant) {
        let group = solicited_node(ip);
        if addresses.all_v6().any(|own| solicited_node(own) == group) {
            return;
        }
        if self.left.len() < MOST_LEFT && !self.left.contains(&group) {
            self.left.push(group);
        }
        self.change = Some((now, ROBUSTNESS));
    }

    /// Processes a query.
    pub(super) fn on_query(
        &mut self,
        query: &Query,
        addresses: &Addresses,
        rng: &mut Rng,
        now: Instant,
    ) {
        let is_ours = |own| solicited_node(own) == query.group;
        if !query.group.is_unspecified() && !addresses.all_v6().any(is_ours) {
            return;
        }
        let delay_ms = rng.between(0, query.max_response_ms.into());
        let at = now + Duration::from_millis(delay_ms);
        let at = at.max(self.last_answer + ANSWER_INTERVAL);
        self.answer = Some(self.answer.map_or(at, |due| due.min(at)));
    }

    /// Returns the time of the next report.
    pub(super) fn due(&self) -> Option<Instant> {
        let change = self.change.map(|(due, _)| due);
        change.into_iter().chain(self.answer).min()
    }

    /// Passes the records of the report that is due to `take`, at most [`MOST_RECORDS`], and plans
    /// the next report.
    pub(super) fn poll(
        &mut self,
        addresses: &Addresses,
        rng: &mut Rng,
        now: Instant,
        mut take: impl FnMut(RecordKind, Ipv6Addr),
    ) {
        let change = self.change.filter(|(due, _)| *due <= now);
        let kind = match change {
            Some(_) => RecordKind::ChangeToExclude,
            None => RecordKind::IsExclude,
        };
        let mut room = MOST_RECORDS;
        if change.is_some() && self.listed == 0 {
            for group in &self.left {
                take(RecordKind::ChangeToInclude, *group);
                room -= 1;
            }
        }
        let has_more = self.list(addresses, kind, room, take);
        if has_more {
            return;
        }
        self.listed = 0;
        match change {
            Some((_, remaining)) if remaining > 1 => {
                let delay_ms = rng.between(1, UNSOLICITED_INTERVAL_MS);
                self.change = Some((now + Duration::from_millis(delay_ms), remaining - 1));
            }
            Some(_) => {
                self.change = None;
                self.left.clear();
            }
            None => {
                self.answer = None;
                self.last_answer = now;
            }
        }
    }

    /// Passes up to `room` groups, each once, to `take`. Returns true if there are more.
    fn list(
        &mut self,
        addresses: &Addresses,
        kind: RecordKind,
        room: usize,
        mut take: impl FnMut(RecordKind, Ipv6Addr),
    ) -> bool {
        let is_first = |place: usize, group: Ipv6Addr| {
            let mut before = addresses.all_v6().take(place);
            !before.any(|own| solicited_node(own) == group)
        };
        let mut taken = 0;
        for (place, own) in addresses.all_v6().enumerate().skip(self.listed) {
            let group = solicited_node(own);
            if taken == room {
                return true;
            }
            self.listed = place + 1;
            if is_first(place, group) {
                take(kind, group);
                taken += 1;
            }
        }
        false
    }
}
