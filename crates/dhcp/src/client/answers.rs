//! The answers of servers, by state.
//!
//! Rule: each state names the answers that it accepts; all others change nothing.

use std::net::Ipv4Addr;

use fullpipe::{Instant, MacAddress};

use super::{Client, Event, Grant, Loss, PROBES, State};
use crate::{
    lease::{Lease, server_of},
    message::{Answer, AnswerKind},
    retry::Exchange,
};

impl Client {
    /// Processes an answer for this client. Returns false if the answer was ignored.
    pub(super) fn on_answer(
        &mut self,
        answer: &Answer<'_>,
        station: MacAddress,
        now: Instant,
    ) -> bool {
        match &self.state {
            State::Selecting { exchange } if exchange.xid == answer.xid => {
                answer.kind == AnswerKind::Offer && self.on_offer(answer, now)
            }
            State::Requesting {
                exchange,
                server,
                address,
            } if exchange.xid == answer.xid && server_of(&answer.options) == Some(*server) => {
                self.on_first_decision(answer, *address, (exchange.since, station), now)
            }
            State::Rebooting { exchange, address } if exchange.xid == answer.xid => {
                self.on_first_decision(answer, *address, (exchange.since, station), now)
            }
            State::Renewing { grant, exchange }
                if exchange.xid == answer.xid
                    && server_of(&answer.options) == Some(grant.lease.server) =>
            {
                self.on_later_decision(answer, exchange.since, station, now)
            }
            State::Rebinding { exchange, .. } if exchange.xid == answer.xid => {
                self.on_later_decision(answer, exchange.since, station, now)
            }
            State::Init { .. }
            | State::Selecting { .. }
            | State::Requesting { .. }
            | State::Rebooting { .. }
            | State::Probing { .. }
            | State::Bound { .. }
            | State::Renewing { .. }
            | State::Rebinding { .. }
            | State::Stopped => false,
        }
    }

    /// Accepts the first usable offer. If a server's last offer led to no lease, its next offer is
    /// usable only after the second DHCPDISCOVER.
    fn on_offer(&mut self, answer: &Answer<'_>, now: Instant) -> bool {
        let State::Selecting { exchange } = &self.state else {
            return false;
        };
        let Some(offer) = Lease::of(answer.address, &answer.options, now) else {
            return false;
        };
        if self.failed_server == Some(offer.server) && exchange.sent < 2 {
            return false;
        }
        let exchange = Exchange {
            since: now,
            sent: 0,
            next: now,
            ..*exchange
        };
        self.state = State::Requesting {
            exchange,
            server: offer.server,
            address: offer.address,
        };
        true
    }

    /// Processes the answer to the request for `address`, which this host does not have yet.
    fn on_first_decision(
        &mut self,
        answer: &Answer<'_>,
        address: Ipv4Addr,
        (since, station): (Instant, MacAddress),
        now: Instant,
    ) -> bool {
        match answer.kind {
            AnswerKind::Offer => false,
            AnswerKind::Nak => match server_of(&answer.options) {
                Some(server) => {
                    self.failed_server = Some(server);
                    self.restart(now);
                    true
                }
                None => false,
            },
            AnswerKind::Ack => match Lease::of(answer.address, &answer.options, since) {
                Some(lease) if lease.address == address => {
                    self.state = State::Probing {
                        grant: Grant { lease, station },
                        left: PROBES,
                        next: now,
                    };
                    true
                }
                Some(_) | None => false,
            },
        }
    }

    /// Processes the answer to the request for a longer lease.
    fn on_later_decision(
        &mut self,
        answer: &Answer<'_>,
        since: Instant,
        station: MacAddress,
        now: Instant,
    ) -> bool {
        let Some(old) = self.lease() else {
            return false;
        };
        match answer.kind {
            AnswerKind::Offer => false,
            AnswerKind::Nak if server_of(&answer.options).is_none() => false,
            AnswerKind::Nak => {
                self.event(Event::Lost(Loss::Refused));
                self.restart(now);
                true
            }
            AnswerKind::Ack => match Lease::of(answer.address, &answer.options, since) {
                Some(lease)
                    if lease.address == old.address && lease.prefix_len == old.prefix_len =>
                {
                    self.event(Event::Renewed(lease.clone()));
                    self.state = State::Bound {
                        grant: Grant { lease, station },
                    };
                    true
                }
                Some(_) | None => false,
            },
        }
    }
}
