//! Names over the sockets of a stack: lookups, and connections to names.
//!
//! Rule: the resolver and the connector decide, and this file carries out their decisions. The code
//! works on a stack under the caller's lock, never waits, and is called again after each frame and
//! at [`Names::next_timeout`].

use std::{
    collections::BTreeMap,
    fmt,
    net::{IpAddr, SocketAddr},
};

use fullpipe::{CloseReason, ConnectOptions, ConnectionId, Instant, OpenError, Stack};

use crate::{
    answer::{Answer, Family},
    connector::{Action, Connector},
    error::LookupError,
    name::DnsName,
    order::by_preference,
    resolver::{QueryId, Resolver},
    sockets::Sockets,
};

/// A lookup or a connection that was begun with [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RaceId(u64);

/// Reason for which a name leads to no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceError {
    /// The lookup has no address.
    Lookup(LookupError),
    /// The stack refused the last attempt.
    Open(OpenError),
    /// The last attempt ended.
    Closed(CloseReason),
}

impl fmt::Display for RaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lookup(error) => error.fmt(f),
            Self::Open(error) => write!(f, "no address of the name can be reached: {error}"),
            Self::Closed(reason) => {
                let why = reason.describe();
                write!(f, "no address of the name accepts a connection: {why}")
            }
        }
    }
}

impl std::error::Error for RaceError {}

/// Outcome of a race: of a lookup, or of attempts to connect to the addresses of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The addresses of the name, the best first.
    Addresses(Vec<IpAddr>),
    /// The connection that was established first.
    Connected(ConnectionId),
}

/// One name that is looked up or connected to.
#[derive(Debug)]
struct Race {
    /// The port, and the options of connections; `None` if only addresses are wanted.
    connect: Option<(u16, ConnectOptions)>,
    questions: Vec<(QueryId, Family)>,
    connector: Connector,
    attempts: Vec<(IpAddr, ConnectionId)>,
    addresses: Vec<IpAddr>,
    error: Option<RaceError>,
    outcome: Option<Result<Finish, RaceError>>,
}

/// Lookups and connections by name in one stack.
#[derive(Debug)]
pub struct Names {
    resolver: Resolver,
    sockets: Sockets,
    races: BTreeMap<RaceId, Race>,
    last: u64,
}

impl Names {
    /// Creates an instance over `resolver`.
    pub const fn new(resolver: Resolver) -> Self {
        Self {
            resolver,
            sockets: Sockets::new(),
            races: BTreeMap::new(),
            last: 0,
        }
    }

    /// Returns the resolver, for its servers and counters.
    pub const fn resolver(&self) -> &Resolver {
        &self.resolver
    }

    /// Returns the resolver, to set its servers.
    pub const fn resolver_mut(&mut self) -> &mut Resolver {
        &mut self.resolver
    }

    /// Begins to look up the addresses of `name`, of each family of which the stack has an address.
    ///
    /// # Errors
    /// Returns [`LookupError::NoServer`] or [`LookupError::TooManyLookups`].
    pub fn lookup(
        &mut self,
        name: &DnsName,
        stack: &mut Stack,
        now: Instant,
    ) -> Result<RaceId, LookupError> {
        self.begin(name, None, stack, now)
    }

    /// Begins to connect to port `port` of `name`. RFC 8305.
    ///
    /// # Errors
    /// Returns [`LookupError::NoServer`] or [`LookupError::TooManyLookups`].
    pub fn connect(
        &mut self,
        name: &DnsName,
        (port, options): (u16, ConnectOptions),
        stack: &mut Stack,
        now: Instant,
    ) -> Result<RaceId, LookupError> {
        self.begin(name, Some((port, options)), stack, now)
    }

    fn begin(
        &mut self,
        name: &DnsName,
        connect: Option<(u16, ConnectOptions)>,
        stack: &mut Stack,
        now: Instant,
    ) -> Result<RaceId, LookupError> {
        let mut questions = Vec::new();
        for family in families(stack) {
            match self.resolver.query(name, family, now) {
                Ok(id) => questions.push((id, family)),
                Err(error) => {
                    let asked = questions.into_iter();
                    asked.for_each(|(id, _)| self.resolver.cancel(id));
                    return Err(error);
                }
            }
        }
        self.last += 1;
        let id = RaceId(self.last);
        let race = Race {
            connect,
            connector: Connector::new(questions.iter().map(|(_, family)| *family)),
            questions,
            attempts: Vec::new(),
            addresses: Vec::new(),
            error: None,
            outcome: None,
        };
        self.races.insert(id, race);
        self.drive(stack, now);
        Ok(id)
    }

    /// Returns true if nothing is under way, so that [`drive`](Self::drive) has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.races.is_empty() && self.sockets.is_empty()
    }

    /// Does what is due: reads answers, sends queries, opens and aborts connections. Returns true
    /// if a race (a lookup or a connection) has an outcome.
    pub fn drive(&mut self, stack: &mut Stack, now: Instant) -> bool {
        self.sockets.read(&mut self.resolver, stack, now);
        self.resolver.on_timeout(now);
        self.sockets.write(&mut self.resolver, stack, now);
        while let Some((question, outcome)) = self.resolver.poll_answer() {
            let asked = |race: &&mut Race| race.questions.iter().any(|(id, _)| *id == question);
            if let Some(race) = self.races.values_mut().find(asked) {
                race.on_answer(question, outcome, (stack, now));
            }
        }
        let mut has_outcome = false;
        for race in self.races.values_mut() {
            race.advance(stack, now);
            has_outcome |= race.outcome.is_some();
            if race.outcome.is_some() {
                // Nobody waits for the answers that are missing.
                race.questions
                    .drain(..)
                    .for_each(|(id, _)| self.resolver.cancel(id));
            }
        }
        self.sockets.write(&mut self.resolver, stack, now);
        has_outcome
    }

    /// Returns the time at which [`drive`](Self::drive) is due, if no frame arrives earlier.
    pub fn next_timeout(&self) -> Option<Instant> {
        let racing = self.races.values().filter(|race| race.outcome.is_none());
        let races = racing.filter_map(|race| race.connector_timeout());
        races.chain(self.resolver.next_timeout()).min()
    }

    /// Removes and returns the outcome of a race; `None` while it is under way.
    pub fn take(&mut self, id: RaceId) -> Option<Result<Finish, RaceError>> {
        self.races.get(&id)?.outcome.as_ref()?;
        self.races.remove(&id)?.outcome
    }

    /// Ends a race and aborts its connections.
    pub fn cancel(&mut self, id: RaceId, stack: &mut Stack, now: Instant) {
        let Some(race) = self.races.remove(&id) else {
            return;
        };
        for (question, _) in race.questions {
            self.resolver.cancel(question);
        }
        let won = match race.outcome {
            Some(Ok(Finish::Connected(id))) => Some(id),
            Some(_) | None => None,
        };
        let attempts = race.attempts.into_iter().map(|(_, id)| id);
        for connection in attempts.chain(won) {
            // If the stack no longer has the connection, there is nothing to abort.
            let _ = stack.tcp_abort(connection, now);
            let _ = stack.tcp_close(connection, now);
        }
        self.sockets.write(&mut self.resolver, stack, now);
    }
}

impl Race {
    fn connector_timeout(&self) -> Option<Instant> {
        self.connect.and_then(|_| self.connector.next_timeout())
    }

    /// Adds the addresses of a family.
    fn on_answer(
        &mut self,
        question: QueryId,
        outcome: Result<Answer, LookupError>,
        (stack, now): (&Stack, Instant),
    ) {
        let Some(at) = self.questions.iter().position(|(id, _)| *id == question) else {
            return;
        };
        let (_, family) = self.questions.swap_remove(at);
        let addresses = match outcome {
            Ok(answer) => answer.addresses,
            Err(error) => {
                self.note(RaceError::Lookup(error));
                Vec::new()
            }
        };
        let source = |destination| stack.routes().source(destination);
        self.addresses.extend_from_slice(&addresses);
        self.connector.on_addresses(family, &addresses, source, now);
    }

    /// Keeps the most specific error. The error of an attempt replaces any earlier error; the error
    /// of a lookup replaces only [`LookupError::NoAddress`].
    fn note(&mut self, error: RaceError) {
        let is_weak = |error: &RaceError| *error == RaceError::Lookup(LookupError::NoAddress);
        let is_lookup = |error: &RaceError| matches!(error, RaceError::Lookup(_));
        match &self.error {
            Some(known) if !is_weak(known) && is_lookup(&error) => {}
            Some(_) | None => self.error = Some(error),
        }
    }

    fn advance(&mut self, stack: &mut Stack, now: Instant) {
        if self.outcome.is_some() {
            return;
        }
        let Some((port, options)) = self.connect else {
            if self.questions.is_empty() {
                by_preference(&mut self.addresses, |ip| stack.routes().source(ip));
                self.outcome = Some(match self.addresses.is_empty() {
                    true => Err(self.last_error()),
                    false => Ok(Finish::Addresses(std::mem::take(&mut self.addresses))),
                });
            }
            return;
        };
        self.check_attempts(stack, now);
        while let Some(action) = self.connector.poll_action(now) {
            match action {
                Action::Open(address) => {
                    let remote = SocketAddr::new(address, port);
                    match stack.tcp_connect(remote, None, options, now) {
                        Ok(id) => self.attempts.push((address, id)),
                        Err(error) => {
                            self.note(RaceError::Open(error));
                            self.connector.on_failed(address, now);
                        }
                    }
                }
                Action::Abort(address) => {
                    for (_, id) in self.attempts.extract_if(.., |(to, _)| *to == address) {
                        // If the stack no longer has the connection, there is nothing to abort.
                        let _ = stack.tcp_abort(id, now);
                        let _ = stack.tcp_close(id, now);
                    }
                }
            }
        }
        if self.connector.has_failed() {
            self.outcome = Some(Err(self.last_error()));
        }
    }

    /// Reports attempts that are established or have ended to the connector.
    fn check_attempts(&mut self, stack: &mut Stack, now: Instant) {
        for (address, id) in std::mem::take(&mut self.attempts) {
            let closed = match stack.tcp_ready(id, now) {
                Ok(ready) if ready.closed.is_none() => {
                    if ready.connected && self.connector.winner().is_none() {
                        self.connector.on_established(address);
                        self.outcome = Some(Ok(Finish::Connected(id)));
                    } else {
                        self.attempts.push((address, id));
                    }
                    continue;
                }
                Ok(ready) => ready.closed.unwrap_or(CloseReason::Aborted),
                Err(_) => CloseReason::Aborted,
            };
            let _ = stack.tcp_close(id, now);
            self.note(RaceError::Closed(closed));
            self.connector.on_failed(address, now);
        }
    }

    fn last_error(&self) -> RaceError {
        self.error
            .unwrap_or(RaceError::Lookup(LookupError::NoAddress))
    }
}

/// Returns the families of which the stack has an address that is valid beyond its link, AAAA first
/// (RFC 8305 §3); both families if the stack has no such address.
fn families(stack: &Stack) -> Vec<Family> {
    let has = |family: Family| {
        stack.addresses().any(|own| match own.address {
            ip if ip.is_loopback() => false,
            IpAddr::V4(_) => family == Family::V4,
            IpAddr::V6(ip) => family == Family::V6 && !ip.is_unicast_link_local(),
        })
    };
    let both = [Family::V6, Family::V4];
    match both.map(has) {
        [true, false] => vec![Family::V6],
        [false, true] => vec![Family::V4],
        [true, true] | [false, false] => both.to_vec(),
    }
}
