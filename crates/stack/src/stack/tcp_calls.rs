//! The application's TCP calls.
//!
//! Rule: no call waits and none sends; what it changed leaves in the next
//! [`transmit`](Stack::transmit). A full buffer and an empty one are outcomes.

use core::net::SocketAddr;

use fullpipe_pool::Instant;
use fullpipe_tcp::{Connection, Env, Info, Read, Ready, SocketOption, Tuning};

use super::{ConnectOptions, ConnectionId, ListenOptions, ListenerId, Stack};
use crate::{
    describe::Description,
    error::{OpenError, TcpError},
    tcp::{Attachment, ConnectionSlot},
};

impl Stack {
    /// Listens at `local`; an unspecified address is every address of this host.
    ///
    /// # Errors
    /// The address is not ours or in use, has no port, or every listener is in
    /// use.
    pub fn tcp_listen(
        &mut self,
        local: SocketAddr,
        options: ListenOptions,
    ) -> Result<ListenerId, OpenError> {
        if !local.ip().is_unspecified() {
            self.check_ours(local)?;
        }
        let tuning = self.tuning(options.tuning);
        self.tcp
            .listen(local, options.backlog, tuning)
            .map(ListenerId)
    }

    /// The connection that waited longest to be accepted, and its peer; `None`
    /// when none waits.
    ///
    /// # Errors
    /// No such listener.
    pub fn tcp_accept(
        &mut self,
        listener: ListenerId,
        now: Instant,
    ) -> Result<Option<(ConnectionId, SocketAddr)>, TcpError> {
        self.tcp
            .listeners
            .get(listener.0)
            .ok_or(TcpError::NoSuchHandle)?;
        let (tcp, mut host) = self.tcp_and_host(now);
        let accepted = tcp.accept(listener.0.index, &mut host);
        Ok(accepted.map(|index| {
            (
                ConnectionId(tcp.key(index)),
                tcp.slots[index].tuple.remote(),
            )
        }))
    }

    /// Stops to listen. Connections that were not accepted are reset.
    ///
    /// # Errors
    /// No such listener.
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

    /// Opens a connection to `remote`. `local`: which address and port to use;
    /// port 0, or `None`, lets the stack choose. Events tell when it is
    /// connected; text may be written before.
    ///
    /// # Errors
    /// [`OpenError`] says which address, route or place is missing.
    pub fn tcp_connect(
        &mut self,
        remote: SocketAddr,
        local: Option<SocketAddr>,
        options: ConnectOptions,
        now: Instant,
    ) -> Result<ConnectionId, OpenError> {
        let mut local = local.unwrap_or(SocketAddr::new(self.interface.address, 0));
        if local.ip().is_unspecified() {
            local.set_ip(self.interface.address);
        }
        self.check_ours(local)?;
        if remote.port() == 0 {
            return Err(OpenError::NoPort);
        }
        if !self.is_reachable(remote.ip()) {
            return Err(OpenError::NoRoute);
        }
        let (tuning, mss_limit) = (self.tuning(options.tuning), self.mss_limit(remote.ip()));
        let (tcp, mut host) = self.tcp_and_host(now);
        let index = tcp.connect(local, remote, tuning, mss_limit, &mut host)?;
        Ok(ConnectionId(tcp.key(index)))
    }

    /// Takes as much of `text` as there is room for; returns how much that was.
    /// 0: no room now. An event tells when there is some again.
    ///
    /// # Errors
    /// No such connection, this direction is closed, or the connection ended.
    pub fn tcp_write(
        &mut self,
        id: ConnectionId,
        text: &[u8],
        now: Instant,
    ) -> Result<usize, TcpError> {
        Ok(self.call(id, now, |connection, env| connection.write(text, env))??)
    }

    /// Like [`tcp_write`](Self::tcp_write), but `fill` writes in place, slice
    /// by slice, and returns how many bytes of each slice it wrote.
    ///
    /// # Errors
    /// As for `tcp_write`.
    pub fn tcp_write_with(
        &mut self,
        id: ConnectionId,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
        now: Instant,
    ) -> Result<usize, TcpError> {
        Ok(self.call(id, now, |connection, env| connection.write_with(fill, env))??)
    }

    /// Copies received text into `out`.
    ///
    /// # Errors
    /// No such connection, or it ended other than in order and everything that
    /// had arrived was read.
    pub fn tcp_read(
        &mut self,
        id: ConnectionId,
        out: &mut [u8],
        now: Instant,
    ) -> Result<Read, TcpError> {
        Ok(self.call(id, now, |connection, env| connection.read(out, env))??)
    }

    /// Hands received text to `take`, slice by slice, in place; `take` returns
    /// how many bytes of each slice it took.
    ///
    /// # Errors
    /// As for [`tcp_read`](Self::tcp_read).
    pub fn tcp_read_with(
        &mut self,
        id: ConnectionId,
        take: &mut dyn FnMut(&[u8]) -> usize,
        now: Instant,
    ) -> Result<Read, TcpError> {
        Ok(self.call(id, now, |connection, env| connection.read_with(take, env))??)
    }

    /// Closes this direction: the peer reads the end after what was written.
    ///
    /// # Errors
    /// No such connection.
    pub fn tcp_shutdown(&mut self, id: ConnectionId, now: Instant) -> Result<(), TcpError> {
        self.call(id, now, |connection, env| connection.shutdown(env))
    }

    /// Lets go of the connection, as BSD's `close` does: what was written is
    /// still delivered, and unread text is lost, of which a reset tells the
    /// peer. The id is of no use afterwards.
    ///
    /// # Errors
    /// No such connection.
    pub fn tcp_close(&mut self, id: ConnectionId, now: Instant) -> Result<(), TcpError> {
        self.let_go(id, false, now)
    }

    /// Ends the connection at once, with a reset. The id is of no use
    /// afterwards.
    ///
    /// # Errors
    /// No such connection.
    pub fn tcp_abort(&mut self, id: ConnectionId, now: Instant) -> Result<(), TcpError> {
        self.let_go(id, true, now)
    }

    /// Changes a setting of one connection.
    ///
    /// # Errors
    /// No such connection.
    pub fn tcp_set(
        &mut self,
        id: ConnectionId,
        option: SocketOption,
        now: Instant,
    ) -> Result<(), TcpError> {
        self.call(id, now, |connection, env| connection.set(option, env))
    }

    /// What the connection is ready for.
    ///
    /// # Errors
    /// No such connection.
    pub fn tcp_ready(&mut self, id: ConnectionId, now: Instant) -> Result<Ready, TcpError> {
        self.look(id, now, |connection, env| connection.ready(env))
    }

    /// Everything there is to know of the connection.
    ///
    /// # Errors
    /// No such connection.
    pub fn tcp_info(&mut self, id: ConnectionId, now: Instant) -> Result<Info, TcpError> {
        self.look(id, now, |connection, env| connection.info(env))
    }

    /// What bounds this connection to what, in lines for people.
    ///
    /// # Errors
    /// No such connection.
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

    /// The connection's two addresses: ours, then the peer's.
    ///
    /// # Errors
    /// No such connection.
    pub fn tcp_ends(&self, id: ConnectionId) -> Result<(SocketAddr, SocketAddr), TcpError> {
        let tuple = self.slot(id)?.tuple;
        Ok((tuple.local(), tuple.remote()))
    }

    /// Connections whose application has closed them and that finish alone,
    /// those in TIME-WAIT not counted.
    pub fn tcp_orphans(&self) -> u32 {
        self.tcp.orphan_count()
    }

    /// Connections in slots, handshakes under way, and connections in
    /// TIME-WAIT that nobody holds.
    pub fn tcp_counts(&self) -> (u32, u32, u32) {
        let (handshakes, time_waits) = self.tcp.lesser_counts();
        (self.tcp.slots.len(), handshakes, time_waits)
    }

    /// The connection that `id` names, if the application still holds it.
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

    /// Looks at a connection without changing it.
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

    fn check_ours(&self, local: SocketAddr) -> Result<(), OpenError> {
        let ours = local.ip() == self.interface.address;
        if ours {
            Ok(())
        } else {
            Err(OpenError::AddressNotOurs)
        }
    }

    fn tuning(&self, asked: Option<Tuning>) -> Tuning {
        asked.unwrap_or_else(|| Tuning::from_config(&self.tcp.host_state.config))
    }
}
