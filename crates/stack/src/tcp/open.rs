//! The application's opens and closes of connections and listeners.
//!
//! Rule: a call succeeds, or returns the reason and opens nothing. A connect without a free slot
//! may abort an orphan, a connection whose application has closed it.

use core::net::{IpAddr, SocketAddr};

use fullpipe_tcp::{ActiveOpen, Connection, Tuning};

use super::{Attachment, FourTuple, HostContext, Owner, TcpLayer, listener::ListeningSocket};
use crate::{
    error::OpenError, interface_id::InterfaceId, ip::StoredEnd, slab::Key, stack::ListenOptions,
};

impl TcpLayer {
    /// Opens a listener at `local`, which is an address of this host.
    pub(crate) fn listen(
        &mut self,
        local: SocketAddr,
        options: ListenOptions,
        tuning: Tuning,
    ) -> Result<Key, OpenError> {
        let ListenOptions {
            backlog,
            tuning: _,
            all_ports,
            deferred,
        } = options;
        if all_ports != (local.port() == 0) {
            return Err(OpenError::NoPort);
        }
        if self.listeners.at_address(local).is_some() {
            return Err(OpenError::AddressInUse);
        }
        let backlog = backlog.unwrap_or(self.backlog).max(1);
        self.listeners
            .add(ListeningSocket {
                local: StoredEnd::new(local),
                backlog,
                tuning,
                deferred,
                removed: false,
            })
            .ok_or(OpenError::TooManyListeners)
    }

    /// Closes a listener and resets the connections in its backlog. Handshakes in
    /// progress end with their next segment or timeout.
    pub(crate) fn unlisten(&mut self, index: u32, host: &mut HostContext<'_>) {
        while let Some(connection) = self.listeners.take(index) {
            self.slots[connection].attachment = Attachment::Orphan;
            self.run(connection, host, |connection, env| connection.abort(env));
        }
        self.listeners.remove(index);
        host.events.forget_accept(index);
    }

    /// Removes and returns the connection that waited longest in the backlog of listener `index`.
    pub(crate) fn accept(&mut self, index: u32, host: &mut HostContext<'_>) -> Option<u32> {
        let connection = self.listeners.take(index)?;
        self.slots[connection].attachment = Attachment::Application;
        // Report a change of the connection, because payload or a FIN may have arrived before the
        // accept.
        host.events.tcp(connection);
        Some(connection)
    }

    /// Opens a connection from `local` to `remote`, which sends by `interface`. If every slot is in use an orphan may be
    /// aborted, so that a later attempt finds room. Local port 0 stands for an ephemeral port.
    pub(crate) fn connect(
        &mut self,
        (local, remote): (SocketAddr, SocketAddr),
        interface: InterfaceId,
        tuning: Tuning,
        mss_limit: u16,
        host: &mut HostContext<'_>,
    ) -> Result<u32, OpenError> {
        if self.slots.is_full() {
            self.abort_orphan_for_slot(host);
            return Err(OpenError::TooManyConnections);
        }
        let port = match local.port() {
            0 => self
                .choose_port(local.ip(), remote)
                .ok_or(OpenError::NoFreePort)?,
            port => port,
        };
        let tuple = FourTuple::new(SocketAddr::new(local.ip(), port), remote);
        let hash = self.hash(&tuple);
        if self.owner(&tuple, hash).is_some() {
            return Err(OpenError::AddressInUse);
        }
        let open = ActiveOpen {
            iss: self.initial_numbers.sequence(&tuple, host.now),
            mss_limit,
            timestamp_offset: self.initial_numbers.timestamp_offset(&tuple),
            tuning,
        };
        let at = (tuple, hash, interface);
        let index = self.add_connection(at, Attachment::Application, host, |env| {
            Connection::connect(open, env)
        });
        self.add_owner(hash, Owner::Connection(index));
        self.run(index, host, |_, _| ());
        Ok(index)
    }

    /// Chooses an ephemeral port whose four-tuple is not in use.
    fn choose_port(&mut self, local_ip: IpAddr, remote: SocketAddr) -> Option<u16> {
        let mut search = self.ports.search(local_ip, remote.ip(), remote.port());
        let free = search.find(|port| {
            let local = SocketAddr::new(local_ip, *port);
            let tuple = FourTuple::new(local, remote);
            self.listeners.at_port(local).is_none()
                && self.owner(&tuple, self.hash(&tuple)).is_none()
        });
        self.ports.searched(search);
        free
    }

    /// Closes connection `index` for the application: with a reset if `abort`,
    /// otherwise as BSD's `close` does.
    pub(crate) fn let_go(&mut self, index: u32, abort: bool, host: &mut HostContext<'_>) {
        self.slots[index].attachment = Attachment::Orphan;
        host.events.forget_tcp(index);
        self.run(index, host, |connection, env| {
            if abort {
                connection.abort(env)
            } else {
                connection.close(env)
            }
        });
        if let Some(oldest) = self.orphans.surplus() {
            self.abort_orphan(oldest, host);
        }
    }
}
