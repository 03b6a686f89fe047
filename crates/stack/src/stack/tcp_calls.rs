//! The application's TCP calls.
//!
//! Rule: no call blocks and none sends; segments that a call makes due leave in
//! the next [`transmit`](Stack::transmit). A full or an empty buffer is an
//! outcome, not an error.

use core::net::{IpAddr, SocketAddr};

use fullpipe_pool::Instant;
use fullpipe_tcp::{Connection, Env, Info, Read, Ready, SettingError, SocketOption, Tuning};

use super::{ConnectOptions, ConnectionId, ListenOptions, ListenerId, Stack, mss_limit};
use crate::{
    describe::Description,
    error::{OpenError, TcpError},
    interface_id::InterfaceId,
    ip::Route,
    tcp::{Attachment, ConnectionSlot},
};

impl Stack {
    /// Listens at `local`. The unspecified address stands for every address of this host, or, with
    /// the knob `ip.accept_any`, for every address that a host can have. RFC 9293 §3.9.1.1.
    ///
    /// [`SocketEvent::Accept`](crate::SocketEvent::Accept) reports a connection
    /// to be [accepted](Self::tcp_accept).
    ///
    /// # Errors
    /// Returns [`OpenError::AddressNotOurs`], [`AddressInUse`](OpenError::AddressInUse),
    /// [`NoPort`](OpenError::NoPort), [`Setting`](OpenError::Setting) or
    /// [`TooManyListeners`](OpenError::TooManyListeners).
    pub fn tcp_listen(
        &mut self,
        local: SocketAddr,
        options: ListenOptions,
    ) -> Result<ListenerId, OpenError> {
        if !local.ip().is_unspecified() {
            self.check_ours(local)?;
        }
        let tuning = self.tuning(options.tuning)?;
        self.tcp.listen(local, options, tuning).map(ListenerId)
    }

    /// Accepts the connection that has waited longest in `listener`, and returns its id
    /// and its peer's address; `None` if none waits. The connection's handshake is
    /// complete, and payload may have arrived.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`] if the listener is closed, or
    /// [`AddressRemoved`](TcpError::AddressRemoved) if its address was removed.
    pub fn tcp_accept(
        &mut self,
        listener: ListenerId,
        now: Instant,
    ) -> Result<Option<(ConnectionId, SocketAddr)>, TcpError> {
        let socket = self.tcp.listeners.get(listener.0);
        let removed = socket.ok_or(TcpError::NoSuchHandle)?.removed;
        let (tcp, mut host) = self.tcp_and_host(now);
        let accepted = tcp.accept(listener.0.index, &mut host);
        if removed && accepted.is_none() {
            return Err(TcpError::AddressRemoved);
        }
        Ok(accepted.map(|index| {
            (
                ConnectionId(tcp.key(index)),
                tcp.slots[index].tuple.remote(),
            )
        }))
    }

    /// Returns the number of connections that wait to be [accepted](Self::tcp_accept).
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`] if the listener is closed.
    pub fn tcp_backlog(&self, listener: ListenerId) -> Result<u32, TcpError> {
        let listening = self.tcp.listeners.get(listener.0);
        listening.ok_or(TcpError::NoSuchHandle)?;
        Ok(self.tcp.listeners.waiting(listener.0.index))
    }

    /// Closes a listener and resets the connections that wait in it. Accepted connections
    /// stay open.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`] if the listener is closed already.
    pub fn tcp_close_listener(
        &mut self,
        listener: ListenerId,
        now: Instant,
    ) -> Result<(), TcpError> {
        self.tcp
            .listeners
            .get(listener.0)
            .ok_or(TcpError::NoSuchHandle)?;
        let (tcp, mut host) = self.tcp_and_host(now);
        tcp.unlisten(listener.0.index, &mut host);
        Ok(())
    }

    /// Opens a connection to `remote` from `local`. If `local` is `None` or has port 0, the stack
    /// chooses the port (RFC 6056). If `local` is `None` or unspecified, the stack chooses the
    /// address as [`Routes::source`](crate::Routes::source) does. The SYN leaves in the next
    /// `transmit`.
    ///
    /// [`SocketEvent::Tcp`](crate::SocketEvent::Tcp) reports the end of the handshake;
    /// [`tcp_ready`](Self::tcp_ready) then has `connected` or `closed`. Until then a
    /// write accepts 0 bytes.
    ///
    /// # Errors
    /// Returns [`OpenError::AddressNotOurs`], [`AddressInUse`](OpenError::AddressInUse),
    /// [`NoPort`](OpenError::NoPort), [`NoFreePort`](OpenError::NoFreePort),
    /// [`NoRoute`](OpenError::NoRoute), [`Setting`](OpenError::Setting) or
    /// [`TooManyConnections`](OpenError::TooManyConnections).
    pub fn tcp_connect(
        &mut self,
        remote: SocketAddr,
        local: Option<SocketAddr>,
        options: ConnectOptions,
        now: Instant,
    ) -> Result<ConnectionId, OpenError> {
        let asked = local.filter(|local| !local.ip().is_unspecified());
        asked.map_or(Ok(()), |local| self.check_ours(local))?;
        if asked.is_some_and(|local| local.is_ipv4() != remote.is_ipv4()) {
            return Err(OpenError::NoRoute);
        }
        if remote.port() == 0 {
            return Err(OpenError::NoPort);
        }
        let (interface, source) = self.source_for(asked, remote.ip())?;
        let port = local.map_or(0, |local| local.port());
        let local = asked.unwrap_or(SocketAddr::new(source, port));
        let sender = &self.interfaces[interface.index()].sender;
        let mss_limit = mss_limit(sender, remote.ip()).min(u16::MAX - 60);
        let tuning = self.tuning(options.tuning)?;
        let (tcp, mut host) = self.tcp_and_host(now);
        let index = tcp.connect((local, remote), interface, tuning, mss_limit, &mut host)?;
        Ok(ConnectionId(tcp.key(index)))
    }

    /// Copies as much of `payload` into the send buffer as there is room for, and returns the
    /// number of bytes. The send buffer and free packet memory bound that number. With the knob
    /// `tcp.write_atomic` the call copies all of `payload` or nothing.
    ///
    /// 0 is not an error: the buffer is full, or the handshake is not complete.
    /// [`SocketEvent::Tcp`](crate::SocketEvent::Tcp) reports when there is room again.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`], [`TcpError::Shutdown`] after
    /// [`tcp_shutdown`](Self::tcp_shutdown), or [`TcpError::Ended`].
    pub fn tcp_write(
        &mut self,
        id: ConnectionId,
        payload: &[u8],
        now: Instant,
    ) -> Result<usize, TcpError> {
        Ok(self.call(id, now, |connection, env| connection.write(payload, env))??)
    }

    /// Writes like [`tcp_write`](Self::tcp_write), without a copy. `fill` gets the free
    /// slices of the send buffer one by one, and returns the number of bytes that it
    /// wrote to each. After a slice that is not filled completely, the call ends.
    ///
    /// # Errors
    /// Returns the errors of `tcp_write`.
    pub fn tcp_write_with(
        &mut self,
        id: ConnectionId,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
        now: Instant,
    ) -> Result<usize, TcpError> {
        Ok(self.call(id, now, |connection, env| connection.write_with(fill, env))??)
    }

    /// Copies received payload into `out` and frees its memory, which may open the
    /// receive window.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`]; or [`TcpError::Ended`] if the connection ended
    /// by a reset, a timeout or an error and all payload has been read.
    pub fn tcp_read(
        &mut self,
        id: ConnectionId,
        out: &mut [u8],
        now: Instant,
    ) -> Result<Read, TcpError> {
        if let Some(nothing) = self.reads_nothing(id, out.len(), now)? {
            return nothing;
        }
        Ok(self.call(id, now, |connection, env| connection.read(out, env))??)
    }

    /// Reads like [`tcp_read`](Self::tcp_read), without a copy. `take` gets the received
    /// slices one by one, and returns the number of bytes that it consumed of each. After
    /// a slice that is not consumed completely, the call ends.
    ///
    /// # Errors
    /// Returns the errors of `tcp_read`.
    pub fn tcp_read_with(
        &mut self,
        id: ConnectionId,
        take: &mut dyn FnMut(&[u8]) -> usize,
        now: Instant,
    ) -> Result<Read, TcpError> {
        Ok(self.call(id, now, |connection, env| connection.read_with(take, env))??)
    }

    /// Copies received payload into `out` and leaves it unread: `MSG_PEEK`.
    ///
    /// # Errors
    /// Returns the errors of [`tcp_read`](Self::tcp_read).
    pub fn tcp_peek(
        &mut self,
        id: ConnectionId,
        out: &mut [u8],
        now: Instant,
    ) -> Result<Read, TcpError> {
        Ok(self.look(id, now, |connection, env| connection.peek(out, env))??)
    }

    /// Closes the receiving direction, as `SHUT_RD` of BSD does. Unread payload is discarded,
    /// reads return [`Read::End`], and payload that arrives later is acknowledged and discarded.
    /// The peer does not learn of the call, because no TCP segment reports it.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`].
    pub fn tcp_shutdown_read(&mut self, id: ConnectionId, now: Instant) -> Result<(), TcpError> {
        self.call(id, now, |connection, env| connection.shutdown_read(env))
    }

    /// Closes the sending direction: a FIN follows the payload already written. Reading
    /// stays possible. RFC 9293 §3.6.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`].
    pub fn tcp_shutdown(&mut self, id: ConnectionId, now: Instant) -> Result<(), TcpError> {
        self.call(id, now, |connection, env| connection.shutdown(env))
    }

    /// Closes the connection as BSD's `close` does. Payload already written is still delivered: the
    /// connection becomes an orphan, which the stack finishes without the application (knobs
    /// `stack.orphans` and `tcp.orphan_retries`). If received payload is unread, the peer gets a
    /// reset instead (RFC 2525 §2.17). The id is refused afterwards.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`].
    pub fn tcp_close(&mut self, id: ConnectionId, now: Instant) -> Result<(), TcpError> {
        self.let_go(id, false, now)
    }

    /// Aborts the connection with a reset. The id is refused afterwards.
    /// RFC 9293 §3.9.1.5.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`].
    pub fn tcp_abort(&mut self, id: ConnectionId, now: Instant) -> Result<(), TcpError> {
        self.let_go(id, true, now)
    }

    /// Sets an option of one open connection. A knob sets the default of all connections;
    /// [`Tuning`] sets the options of a socket when it is opened. [`Info::tuning`] has the
    /// present settings.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`], or [`TcpError::Setting`] for a value out of range.
    pub fn tcp_set(
        &mut self,
        id: ConnectionId,
        option: SocketOption,
        now: Instant,
    ) -> Result<(), TcpError> {
        Ok(self.call(id, now, |connection, env| connection.set(option, env))??)
    }

    /// Returns the readiness of the connection: connected, readable, writable or closed.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`].
    pub fn tcp_ready(&mut self, id: ConnectionId, now: Instant) -> Result<Ready, TcpError> {
        self.look(id, now, |connection, env| connection.ready(env))
    }

    /// Returns the variables of the connection, and the time and bytes charged to each
    /// limit, as of `now`.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`].
    pub fn tcp_info(&mut self, id: ConnectionId, now: Instant) -> Result<Info, TcpError> {
        self.look(id, now, |connection, env| connection.info(env))
    }

    /// Describes the connection in lines of text: each bound with its value and its knob,
    /// and the time charged to each limit.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`].
    pub fn describe(&mut self, id: ConnectionId, now: Instant) -> Result<Description, TcpError> {
        let (local, remote) = self.tcp_ends(id)?;
        let info = self.tcp_info(id, now)?;
        Ok(Description::new(
            local,
            remote,
            info,
            &self.tcp.host_state.config,
            &self.pool,
        ))
    }

    /// Returns the connection's local and remote address.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`].
    pub fn tcp_ends(&self, id: ConnectionId) -> Result<(SocketAddr, SocketAddr), TcpError> {
        let tuple = self.slot(id)?.tuple;
        Ok((tuple.local(), tuple.remote()))
    }

    /// Returns the number of orphans: connections that the application has closed and that still
    /// deliver payload or close. Connections in TIME-WAIT are not counted.
    pub fn tcp_orphans(&self) -> u32 {
        self.tcp.orphan_count()
    }

    /// Returns the number of connections in slots, of handshakes in progress, and of
    /// connections in TIME-WAIT that have left their slots.
    pub fn tcp_counts(&self) -> (u32, u32, u32) {
        let (handshakes, time_waits) = self.tcp.lesser_counts();
        (self.tcp.slots.len(), handshakes, time_waits)
    }

    /// Returns the connection of `id`, unless the application has closed it.
    fn slot(&self, id: ConnectionId) -> Result<&ConnectionSlot, TcpError> {
        let slot = self
            .tcp
            .slots
            .get(id.0)
            .filter(|slot| slot.attachment == Attachment::Application);
        slot.ok_or(TcpError::NoSuchHandle)
    }

    fn call<R>(
        &mut self,
        id: ConnectionId,
        now: Instant,
        call: impl FnOnce(&mut Connection, &mut Env<'_>) -> R,
    ) -> Result<R, TcpError> {
        self.slot(id)?;
        let (tcp, mut host) = self.tcp_and_host(now);
        Ok(tcp.run(id.0.index, &mut host, call))
    }

    /// Returns the result of a read of `asked` bytes if there is no payload to read. The read then
    /// changes no queue. Returns `None` if there may be payload.
    fn reads_nothing(
        &mut self,
        id: ConnectionId,
        asked: usize,
        now: Instant,
    ) -> Result<Option<Result<Read, TcpError>>, TcpError> {
        let place = &self.slot(id)?.place;
        let look = |connection: &Connection| connection.reads_nothing(asked);
        let nothing = self.tcp.residence.look(place, look);
        if nothing.is_some() {
            let (tcp, host) = self.tcp_and_host(now);
            tcp.note_memory(id.0.index, &host);
        }
        Ok(nothing.map(|read| Ok(read?)))
    }

    /// Calls a method that does not change the connection.
    fn look<R>(
        &mut self,
        id: ConnectionId,
        now: Instant,
        look: impl FnOnce(&Connection, &Env<'_>) -> R,
    ) -> Result<R, TcpError> {
        self.slot(id)?;
        let (tcp, mut host) = self.tcp_and_host(now);
        Ok(tcp.look(id.0.index, &mut host, look))
    }

    fn let_go(&mut self, id: ConnectionId, abort: bool, now: Instant) -> Result<(), TcpError> {
        self.slot(id)?;
        let (tcp, mut host) = self.tcp_and_host(now);
        tcp.let_go(id.0.index, abort, &mut host);
        Ok(())
    }

    /// Returns the interface and the source address of a connection to `remote`; `asked` is the
    /// address that the application asked for. `remote` must be the address of one other host.
    fn source_for(
        &self,
        asked: Option<SocketAddr>,
        remote: IpAddr,
    ) -> Result<(InterfaceId, IpAddr), OpenError> {
        let interface = match asked {
            Some(local) => self.routes.interface_between(local.ip(), remote),
            None => self.routes.interface_to(remote),
        };
        let source = self.routes.source_on(interface, remote);
        match self.routes.lookup_on(interface, remote) {
            Some(Route::Neighbour(_)) => source
                .map(|source| (interface, source))
                .ok_or(OpenError::NoRoute),
            Some(Route::Broadcast | Route::Multicast(_)) | None => Err(OpenError::NoRoute),
        }
    }

    fn check_ours(&self, local: SocketAddr) -> Result<(), OpenError> {
        if self.routes.can_bind(local.ip()) {
            Ok(())
        } else {
            Err(OpenError::AddressNotOurs)
        }
    }

    /// Checks the settings of a socket, as the call that opens the socket does.
    ///
    /// # Errors
    /// Returns the error of the first setting that is refused.
    pub fn check_tuning(&self, tuning: &Tuning) -> Result<(), SettingError> {
        tuning.check(&self.tcp.host_state.congestion)
    }

    /// Returns the settings of a socket: `asked` after a check, or the values of the knobs.
    fn tuning(&self, asked: Option<Tuning>) -> Result<Tuning, SettingError> {
        let host = &self.tcp.host_state;
        let Some(tuning) = asked else {
            return Ok(Tuning::from_config(&host.config));
        };
        tuning.check(&host.congestion)?;
        Ok(tuning)
    }
}
