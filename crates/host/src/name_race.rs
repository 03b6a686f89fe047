//! One lookup or one connection to a name, for a thread or a task that waits for it.
//!
//! Rule: the outcome is read, and the waker registered, under one lock. The driver's thread does
//! the rest.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    task::{Context, Poll, Waker},
    thread,
};

use fullpipe::{ConnectOptions, ConnectionId, Instant, Tuning};
use fullpipe_dns::{DnsName, Finish, LookupError, RaceError, RaceId};

use crate::{
    driver::{Core, Driver},
    error_kind::{close_kind, open_error},
    lease::LeaseHolder,
    wait::Unpark,
};

/// Port of DNS servers.
const DNS_PORT: u16 = 53;

impl Core {
    /// Returns the DNS servers: those given to the builder, or otherwise those of the DHCP lease
    /// and of router advertisements.
    pub(crate) fn dns_servers(&self) -> Vec<SocketAddr> {
        let lease = self.lease.as_ref().and_then(LeaseHolder::lease);
        let leased = lease.into_iter().flat_map(|lease| &lease.dns_servers);
        let announced = self.stack.dns_servers().map(IpAddr::V6);
        let found = leased.copied().map(IpAddr::V4).chain(announced);
        let servers: Vec<IpAddr> = match self.names.given.is_empty() {
            true => found.collect(),
            false => self.names.given.clone(),
        };
        let port = |server: IpAddr| SocketAddr::new(server, DNS_PORT);
        servers.into_iter().map(port).collect()
    }

    fn begin_race(
        &mut self,
        name: &DnsName,
        connect: Option<(u16, ConnectOptions)>,
        now: Instant,
    ) -> Result<RaceId, LookupError> {
        let servers = self.dns_servers();
        let names = &mut self.names.names;
        names.resolver_mut().set_servers(servers);
        // The call below does the work that is due for all lookups, so it may give another lookup
        // its outcome. Let the waiters check.
        self.names.has_outcome = true;
        let names = &mut self.names.names;
        match connect {
            Some(connect) => names.connect(name, connect, &mut self.stack, now),
            None => names.lookup(name, &mut self.stack, now),
        }
    }
}

/// A lookup, or a connection to a name, that is under way. Dropping this value cancels the
/// lookup or connection.
pub(crate) struct NameRace {
    driver: Arc<Driver>,
    id: RaceId,
    text: String,
    is_done: bool,
}

impl NameRace {
    /// Begins to look up `name`.
    pub(crate) fn lookup(driver: &Arc<Driver>, name: &str) -> io::Result<Self> {
        Self::begin(driver, name, None)
    }

    /// Begins to connect to `remote`: a name and a port, with a colon between them.
    pub(crate) fn connect(
        driver: &Arc<Driver>,
        remote: &str,
        tuning: Option<Tuning>,
    ) -> io::Result<Self> {
        let parts = remote.rsplit_once(':');
        let target = parts.and_then(|(name, port)| Some((name, port.parse().ok()?)));
        let Some((name, port)) = target else {
            let why = format!("`{remote}` needs a port, for example {remote}:443");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        Self::begin(driver, name, Some((port, ConnectOptions { tuning })))
    }

    fn begin(
        driver: &Arc<Driver>,
        text: &str,
        connect: Option<(u16, ConnectOptions)>,
    ) -> io::Result<Self> {
        let name = text.parse().map_err(|error| {
            let why = format!("`{text}`: {error}");
            io::Error::new(io::ErrorKind::InvalidInput, why)
        })?;
        let begun = driver.call_names(|core, now| core.begin_race(&name, connect, now));
        Ok(Self {
            driver: Arc::clone(driver),
            id: begun.map_err(|error| race_error(text, RaceError::Lookup(error)))?,
            text: text.to_owned(),
            is_done: false,
        })
    }

    /// Becomes ready with the outcome.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Finish>> {
        let mut core = self.driver.lock();
        if let Some(outcome) = core.names.names.take(self.id) {
            drop(core);
            self.is_done = true;
            return Poll::Ready(outcome.map_err(|error| race_error(&self.text, error)));
        }
        if let Err(error) = self.driver.check(&core) {
            return Poll::Ready(Err(error));
        }
        core.names.wait(context.waker());
        Poll::Pending
    }

    /// Becomes ready with the connection.
    #[cfg(feature = "tokio")]
    pub(crate) fn poll_connection(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<ConnectionId>> {
        self.poll(context).map(|outcome| match outcome? {
            Finish::Connected(id) => Ok(id),
            Finish::Addresses(_) => unreachable!("the race is for a connection"),
        })
    }

    fn block(mut self) -> io::Result<Finish> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(outcome) = self.poll(&mut context) {
                return outcome;
            }
            thread::park();
        }
    }

    /// Blocks until there is a connection.
    pub(crate) fn block_for_connection(self) -> io::Result<ConnectionId> {
        match self.block()? {
            Finish::Connected(id) => Ok(id),
            Finish::Addresses(_) => unreachable!("the race is for a connection"),
        }
    }

    /// Blocks until the addresses are known.
    pub(crate) fn block_for_addresses(self) -> io::Result<Vec<IpAddr>> {
        match self.block()? {
            Finish::Addresses(addresses) => Ok(addresses),
            Finish::Connected(_) => unreachable!("the race is for addresses"),
        }
    }
}

impl Drop for NameRace {
    fn drop(&mut self) {
        if !self.is_done {
            self.driver.call_names(|core, now| {
                core.names.names.cancel(self.id, &mut core.stack, now);
            });
        }
    }
}

fn race_error(name: &str, error: RaceError) -> io::Error {
    let kind = match error {
        RaceError::Lookup(LookupError::NoServer) => io::ErrorKind::Unsupported,
        RaceError::Lookup(
            LookupError::NoSuchName | LookupError::NoAddress | LookupError::TooManyAliases,
        ) => io::ErrorKind::NotFound,
        RaceError::Lookup(LookupError::TimedOut) => io::ErrorKind::TimedOut,
        RaceError::Lookup(LookupError::ServersFailed) => io::ErrorKind::Other,
        RaceError::Lookup(LookupError::TooManyLookups) => io::ErrorKind::OutOfMemory,
        RaceError::Open(error) => open_error(error).kind(),
        RaceError::Closed(reason) => close_kind(reason),
    };
    io::Error::new(kind, format!("{name}: {error}"))
}
