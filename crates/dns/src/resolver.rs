//! The stub resolver: questions in, queries to servers and answers out.
//!
//! Rule: an answer counts only if it comes from the server that was asked, arrives at the socket
//! that sent the query, and has the id and the question of the query. Everything else is counted
//! and changes nothing, except that a query with too many forged answers continues over TCP. RFC
//! 5452.
//!
//! The id and the source port of a query are unpredictable: 32 bits together. Queries do not mix
//! small and capital letters (0x20): forwarders in home routers and old servers answer such queries
//! with other letters or not at all. The change to TCP after a few forged answers limits what
//! guesses can achieve.

mod attempt;

use std::{
    collections::VecDeque,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use fullpipe::Instant;

use crate::{
    answer::{Answer, Family},
    cache::Cache,
    error::LookupError,
    message::{Query, Reading, Rejection},
    name::DnsName,
};
use attempt::{Attempt, Ids};
pub use attempt::{AttemptId, Transmit, Transport};

/// Largest number of servers that are used.
const SERVERS_MAX: usize = 6;
/// Number of forged answers to a query after which the query continues over TCP.
const FORGED_MAX: u32 = 8;
/// Time that an answer over TCP may take, in microseconds.
const TCP_TIMEOUT_US: u64 = 5_000_000;

/// Settings of a [`Resolver`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Time in which a server should answer, in microseconds; doubled for each round through the
    /// servers. A later answer still counts while the lookup is under way.
    pub timeout_us: u64,
    /// Rounds through the servers. RFC 1035 §7.2 and resolv.conf(5) call them attempts.
    pub rounds: u32,
    /// Largest number of queries that are sent for a lookup.
    pub attempts_max: u32,
    /// Largest number of lookups at a time. Callers with the same question share one lookup.
    pub lookups_max: usize,
    /// Largest number of programs that wait for the same lookup.
    pub waiting_max: usize,
    /// Largest number of answers in the cache; 0 switches the cache off.
    pub cache_max: usize,
}

impl Settings {
    /// The default settings.
    pub const DEFAULT: Self = Self {
        timeout_us: 1_000_000,
        rounds: 3,
        attempts_max: 6,
        lookups_max: 32,
        waiting_max: 64,
        cache_max: 256,
    };
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Identifies a question that was asked with [`Resolver::query`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueryId(u64);

/// Counters of a [`Resolver`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResolverCounters {
    /// Queries sent, over UDP and TCP.
    pub sent: u64,
    /// Questions answered without a query: from the cache, or about this host's own name
    /// (localhost).
    pub from_cache: u64,
    /// Messages at a socket that no query uses any more.
    pub closed_socket: u64,
    /// Messages from an address or a port other than the server's.
    pub wrong_server: u64,
    /// Messages with an id other than the query's.
    pub wrong_id: u64,
    /// Messages with a question other than the query's, and messages that are no answers.
    pub wrong_question: u64,
    /// Messages shorter than a header.
    pub malformed: u64,
    /// Queries that continued over TCP because the answer was truncated.
    pub truncated: u64,
    /// Queries that continued over TCP because of forged answers.
    pub forged: u64,
}

/// A question that is being asked.
#[derive(Debug)]
struct Lookup {
    question: (DnsName, Family),
    /// The name that the servers are asked for: the question's, or the end of its aliases.
    name: DnsName,
    aliases: u32,
    /// Shortest time to live of the aliases.
    ttl_s: u32,
    waiting: Vec<QueryId>,
    attempts: Vec<Attempt>,
    /// Queries sent for `name`.
    sent: u32,
    /// Number of times that the lookup went on to the next server. A query that only changes the
    /// transport is not counted.
    turns: u32,
    has_edns: bool,
    /// Forged answers since the last change of the name.
    forged: u32,
    has_failed: bool,
    /// Time at which the next query is due.
    due: Instant,
}

/// A stub resolver.
#[derive(Debug)]
pub struct Resolver {
    settings: Settings,
    ids: Ids,
    servers: Vec<SocketAddr>,
    lookups: Vec<Lookup>,
    cache: Cache,
    transmits: VecDeque<Transmit>,
    answers: VecDeque<(QueryId, Result<Answer, LookupError>)>,
    last_query: u64,
    counters: ResolverCounters,
}

impl Resolver {
    /// Creates a resolver without servers. The ids of its queries derive from `secret`, which no
    /// other host may know.
    pub const fn new(settings: Settings, secret: [u8; 16]) -> Self {
        Self {
            ids: Ids::new(secret),
            servers: Vec::new(),
            lookups: Vec::new(),
            cache: Cache::new(settings.cache_max),
            transmits: VecDeque::new(),
            answers: VecDeque::new(),
            last_query: 0,
            counters: ResolverCounters {
                sent: 0,
                from_cache: 0,
                closed_socket: 0,
                wrong_server: 0,
                wrong_id: 0,
                wrong_question: 0,
                malformed: 0,
                truncated: 0,
                forged: 0,
            },
            settings,
        }
    }

    /// Sets the servers, in the order in which they are asked; those beyond six are ignored. If the
    /// servers differ from the present ones, the cache is emptied: another network may have other
    /// names.
    pub fn set_servers(&mut self, servers: impl IntoIterator<Item = SocketAddr>) {
        let mut new: Vec<SocketAddr> = Vec::new();
        for server in servers {
            if new.len() < SERVERS_MAX && !new.contains(&server) {
                new.push(server);
            }
        }
        if new != self.servers {
            self.servers = new;
            self.cache.clear();
        }
    }

    /// Returns the servers, in the order in which they are asked.
    pub fn servers(&self) -> &[SocketAddr] {
        &self.servers
    }

    /// Returns the counters.
    pub const fn counters(&self) -> &ResolverCounters {
        &self.counters
    }

    /// Returns the number of answers in the cache.
    pub fn cached(&self) -> usize {
        self.cache.len()
    }

    /// Asks for the addresses of `name`. [`poll_answer`](Self::poll_answer) returns the outcome, at
    /// once if the cache has it. The same question from two callers is sent once (RFC 5452 §5).
    ///
    /// # Errors
    /// Returns [`LookupError::NoServer`] or [`LookupError::TooManyLookups`].
    pub fn query(
        &mut self,
        name: &DnsName,
        family: Family,
        now: Instant,
    ) -> Result<QueryId, LookupError> {
        let question = (name.clone(), family);
        let known = match name.is_localhost() {
            true => Some(Ok(loopback(family))),
            false => self.cache.get(&question, now),
        };
        let id = QueryId(self.last_query + 1);
        if let Some(outcome) = known {
            if self.answers.len() >= self.settings.waiting_max * self.settings.lookups_max {
                return Err(LookupError::TooManyLookups);
            }
            self.counters.from_cache += 1;
            self.answers.push_back((id, outcome));
        } else {
            self.join_or_begin(question, id, now)?;
        }
        self.last_query = id.0;
        Ok(id)
    }

    fn join_or_begin(
        &mut self,
        question: (DnsName, Family),
        id: QueryId,
        now: Instant,
    ) -> Result<(), LookupError> {
        let mut lookups = self.lookups.iter_mut();
        if let Some(same) = lookups.find(|lookup| lookup.question == question) {
            if same.waiting.len() >= self.settings.waiting_max {
                return Err(LookupError::TooManyLookups);
            }
            same.waiting.push(id);
            return Ok(());
        }
        if self.servers.is_empty() {
            return Err(LookupError::NoServer);
        }
        if self.lookups.len() >= self.settings.lookups_max {
            return Err(LookupError::TooManyLookups);
        }
        self.lookups.push(Lookup {
            name: question.0.clone(),
            question,
            aliases: 0,
            ttl_s: u32::MAX,
            waiting: vec![id],
            attempts: Vec::new(),
            sent: 0,
            turns: 0,
            has_edns: true,
            forged: 0,
            has_failed: false,
            due: now,
        });
        self.on_timeout(now);
        Ok(())
    }

    /// Ends the interest in a question. A lookup for which nobody waits any more ends.
    pub fn cancel(&mut self, id: QueryId) {
        self.answers.retain(|(answered, _)| *answered != id);
        for lookup in &mut self.lookups {
            lookup.waiting.retain(|waiting| *waiting != id);
        }
        self.lookups.retain(|lookup| !lookup.waiting.is_empty());
    }

    /// Sends the queries that are due, and ends the lookups that no server has answered.
    pub fn on_timeout(&mut self, now: Instant) {
        let mut at = 0;
        while at < self.lookups.len() {
            if self.lookups[at].due <= now && !self.send_next(at, now) {
                let error = match self.lookups[at].has_failed {
                    true => LookupError::ServersFailed,
                    false => LookupError::TimedOut,
                };
                self.finish(at, Err(error), (now, now));
            } else {
                at += 1;
            }
        }
    }

    /// Returns the time at which [`on_timeout`](Self::on_timeout) is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.lookups.iter().map(|lookup| lookup.due).min()
    }

    /// Returns the next query to send. The query must be sent from a new socket with a random port,
    /// which stays open while [`is_open`](Self::is_open) is true.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        while let Some(next) = self.transmits.pop_front() {
            if self.is_open(next.attempt) {
                self.counters.sent += 1;
                return Some(next);
            }
        }
        None
    }

    /// Returns the next outcome, with the question to which it belongs.
    pub fn poll_answer(&mut self) -> Option<(QueryId, Result<Answer, LookupError>)> {
        self.answers.pop_front()
    }

    /// Returns true while the socket of `attempt` can receive an answer.
    pub fn is_open(&self, attempt: AttemptId) -> bool {
        self.place_of(attempt).is_some()
    }

    /// Processes a datagram that arrived from `from` at the socket of `attempt`.
    pub fn on_datagram(&mut self, id: AttemptId, from: SocketAddr, bytes: &[u8], now: Instant) {
        self.on_message(id, from, bytes, now);
    }

    /// Processes a message that arrived on the connection of `attempt`, without the two bytes of
    /// its length. RFC 7766 §8.
    pub fn on_tcp_message(&mut self, id: AttemptId, bytes: &[u8], now: Instant) {
        let Some((at, place)) = self.place_of(id) else {
            self.counters.closed_socket += 1;
            return;
        };
        let server = self.lookups[at].attempts[place].server;
        if !self.on_message(id, server, bytes, now) {
            self.on_failure(id, now);
        }
    }

    /// Ends `attempt`: its server is unreachable, or the connection ended. The next server is asked
    /// at once, unless the lookup has a newer attempt.
    pub fn on_failure(&mut self, id: AttemptId, now: Instant) {
        if let Some((at, place)) = self.place_of(id) {
            let lookup = &mut self.lookups[at];
            let is_last = place + 1 == lookup.attempts.len();
            lookup.attempts.remove(place);
            if is_last {
                lookup.due = now;
                self.on_timeout(now);
            }
        }
    }

    /// Processes a message. Returns true if it answers the attempt's query.
    fn on_message(&mut self, id: AttemptId, from: SocketAddr, bytes: &[u8], now: Instant) -> bool {
        let Some((at, place)) = self.place_of(id) else {
            self.counters.closed_socket += 1;
            return false;
        };
        let lookup = &self.lookups[at];
        let attempt = &lookup.attempts[place];
        if attempt.server != from {
            self.counters.wrong_server += 1;
            return false;
        }
        let question = (&lookup.name, lookup.question.1);
        match attempt.query.read_answer(bytes, question, lookup.aliases) {
            Ok(reading) => self.apply(reading, (at, place), now),
            Err(rejection) => {
                self.reject(rejection, (at, place), now);
                return false;
            }
        }
        true
    }

    fn reject(&mut self, rejection: Rejection, (at, place): (usize, usize), now: Instant) {
        match rejection {
            Rejection::Malformed => self.counters.malformed += 1,
            Rejection::WrongId => self.counters.wrong_id += 1,
            Rejection::WrongQuestion => self.counters.wrong_question += 1,
        }
        let lookup = &mut self.lookups[at];
        let attempt = &lookup.attempts[place];
        if attempt.transport == Transport::Udp {
            lookup.forged += 1;
            if lookup.forged == FORGED_MAX {
                let server = attempt.server;
                self.counters.forged += 1;
                self.continue_over_tcp(at, server, now);
            }
        }
    }

    fn apply(&mut self, reading: Reading, (at, place): (usize, usize), now: Instant) {
        let after =
            |ttl_s: u32| now + fullpipe::Duration::from_micros(u64::from(ttl_s) * 1_000_000);
        let lookup = &mut self.lookups[at];
        let attempt = &lookup.attempts[place];
        let (server, transport) = (attempt.server, attempt.transport);
        let cap = lookup.ttl_s;
        match reading {
            Reading::Addresses(addresses, ttl_s) => {
                let valid_until = after(ttl_s.min(cap));
                let answer = Answer {
                    addresses,
                    valid_until,
                };
                self.finish(at, Ok(answer), (now, valid_until));
            }
            Reading::NoSuchName(ttl_s) => {
                let ends = after(ttl_s.min(cap));
                self.finish(at, Err(LookupError::NoSuchName), (now, ends));
            }
            Reading::NoAddress(ttl_s) => {
                let ends = after(ttl_s.min(cap));
                self.finish(at, Err(LookupError::NoAddress), (now, ends));
            }
            Reading::TooManyAliases => {
                self.finish(at, Err(LookupError::TooManyAliases), (now, now));
            }
            Reading::Alias(name, aliases, ttl_s) => {
                lookup.continue_with(name, aliases, ttl_s.min(cap), now);
                self.on_timeout(now);
            }
            Reading::Truncated if transport == Transport::Udp => {
                self.counters.truncated += 1;
                self.continue_over_tcp(at, server, now);
            }
            Reading::WithoutEdns => {
                lookup.has_edns = false;
                lookup.attempts.remove(place);
                self.send(at, (server, transport), now);
            }
            Reading::Truncated | Reading::ServerFailed => {
                lookup.has_failed = true;
                let attempt = lookup.attempts[place].id;
                self.on_failure(attempt, now);
            }
        }
    }

    /// Closes the sockets of a lookup, and asks `server` over TCP.
    fn continue_over_tcp(&mut self, at: usize, server: SocketAddr, now: Instant) {
        self.lookups[at].attempts.clear();
        self.send(at, (server, Transport::Tcp), now);
    }

    /// Asks the next server. Returns false if every server was asked as often as allowed.
    fn send_next(&mut self, at: usize, now: Instant) -> bool {
        let lookup = &mut self.lookups[at];
        let servers = self.servers.len() as u32;
        let turn = lookup.turns;
        if servers == 0 || turn / servers >= self.settings.rounds {
            return false;
        }
        if lookup.sent >= self.settings.attempts_max {
            return false;
        }
        lookup.turns += 1;
        let server = self.servers[(turn % servers) as usize];
        let transport = match lookup.forged >= FORGED_MAX {
            true => Transport::Tcp,
            false => Transport::Udp,
        };
        self.send(at, (server, transport), now);
        true
    }

    fn send(&mut self, at: usize, (server, transport): (SocketAddr, Transport), now: Instant) {
        let (attempt, id) = self.ids.next();
        let lookup = &mut self.lookups[at];
        let servers = (self.servers.len() as u32).max(1);
        let round = lookup.turns.saturating_sub(1) / servers;
        let wait_us = match transport {
            Transport::Udp => self.settings.timeout_us << round.min(6),
            Transport::Tcp => TCP_TIMEOUT_US,
        };
        lookup.due = now + fullpipe::Duration::from_micros(wait_us);
        lookup.sent += 1;
        let query = Query::new(id, &lookup.name, lookup.question.1, lookup.has_edns);
        self.transmits.push_back(Transmit {
            attempt,
            server,
            transport,
            payload: transport.framed(&query.bytes),
        });
        lookup.attempts.push(Attempt {
            id: attempt,
            server,
            transport,
            query,
        });
    }

    fn finish(
        &mut self,
        at: usize,
        outcome: Result<Answer, LookupError>,
        (now, ends): (Instant, Instant),
    ) {
        let lookup = self.lookups.swap_remove(at);
        for waiting in lookup.waiting {
            self.answers.push_back((waiting, outcome.clone()));
        }
        self.cache.insert(lookup.question, outcome, (now, ends));
    }

    /// Returns the lookup of an attempt, and the attempt's place in it.
    fn place_of(&self, id: AttemptId) -> Option<(usize, usize)> {
        self.lookups.iter().enumerate().find_map(|(at, lookup)| {
            let mut attempts = lookup.attempts.iter();
            Some((at, attempts.position(|attempt| attempt.id == id)?))
        })
    }
}

impl Lookup {
    /// Continues with the end of the aliases that a server has named.
    fn continue_with(&mut self, name: DnsName, aliases: u32, ttl_s: u32, now: Instant) {
        self.name = name;
        self.aliases = aliases;
        self.ttl_s = ttl_s;
        self.attempts.clear();
        self.sent = 0;
        self.turns = 0;
        self.due = now;
    }
}

/// Returns the address of this host itself.
fn loopback(family: Family) -> Answer {
    let address = match family {
        Family::V6 => IpAddr::from(Ipv6Addr::LOCALHOST),
        Family::V4 => IpAddr::from(Ipv4Addr::LOCALHOST),
    };
    Answer {
        addresses: vec![address],
        valid_until: Instant::from_nanos(u64::MAX),
    }
}
