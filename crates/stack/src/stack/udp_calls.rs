//! The application's UDP calls.
//!
//! Rule: no call blocks and none sends; a queued datagram leaves in the next
//! [`transmit`](Stack::transmit).

use core::net::{IpAddr, SocketAddr};

use super::Stack;
use crate::{
    icmp::PathError,
    udp::{PushOutcome, UdpError, UdpId, UdpInfo, UdpReady, UdpReceived},
};

impl Stack {
    /// Opens a socket bound to `local`. The unspecified address stands for every address
    /// of this host, and port 0 for a free port.
    ///
    /// # Errors
    /// Returns [`UdpError::AddressNotOurs`], [`AddressInUse`](UdpError::AddressInUse),
    /// [`NoFreePort`](UdpError::NoFreePort) or
    /// [`TooManySockets`](UdpError::TooManySockets).
    pub fn udp_bind(&mut self, local: SocketAddr) -> Result<UdpId, UdpError> {
        self.udp.bind(local, &self.routes)
    }

    /// Opens a socket that receives the datagrams to `ip` for which no other socket is bound,
    /// whatever their port. The unspecified address stands for every address of this host, or, with
    /// the knob `ip.accept_any`, for every address that a host can have. [`UdpReceived::to`] is the
    /// original destination, and [`udp_send_from`](Self::udp_send_from) can answer from that
    /// address.
    ///
    /// # Errors
    /// Returns [`UdpError::AddressNotOurs`], [`AddressInUse`](UdpError::AddressInUse) or
    /// [`TooManySockets`](UdpError::TooManySockets).
    pub fn udp_bind_all_ports(&mut self, ip: IpAddr) -> Result<UdpId, UdpError> {
        self.udp.bind_all_ports(ip, &self.routes)
    }

    /// Opens a socket that receives the echo requests of the IP version of `ip` in place of the
    /// stack, which answers none of them while the socket is open. With the knob `ip.accept_any`,
    /// these are requests to every address. A request is a datagram whose payload is the data of the
    /// request: the port of [`UdpReceived::from`](crate::UdpReceived::from) is its identifier, the
    /// port of [`UdpReceived::to`](crate::UdpReceived::to) its sequence number.
    /// [`udp_send_from`](Self::udp_send_from) with both addresses exchanged sends the reply, and
    /// [`echo_refuse`](Self::echo_refuse) an error. RFC 792, RFC 4443 §4.
    ///
    /// # Errors
    /// Returns [`UdpError::AddressInUse`] if there is such a socket, or
    /// [`TooManySockets`](UdpError::TooManySockets).
    pub fn udp_bind_echo(&mut self, ip: IpAddr) -> Result<UdpId, UdpError> {
        self.udp.bind_echo(ip)
    }

    /// Queues a datagram for `to`. Returns false, and queues nothing, if the send queue
    /// or packet memory is full; [`SocketEvent::Udp`](crate::SocketEvent::Udp) reports
    /// when there is room again.
    ///
    /// # Errors
    /// Returns [`UdpError::NoSuchSocket`], [`AddressRemoved`](UdpError::AddressRemoved),
    /// [`BadDestination`](UdpError::BadDestination), or [`TooLong`](UdpError::TooLong) for a
    /// datagram that does not fit into an empty queue.
    pub fn udp_send(
        &mut self,
        id: UdpId,
        to: SocketAddr,
        payload: &[u8],
    ) -> Result<bool, UdpError> {
        self.send_datagram(id, (None, to), payload)
    }

    /// Queues a datagram for `to` like [`udp_send`](Self::udp_send), but with the source `from`,
    /// which must be an address and port that the socket is bound to.
    ///
    /// # Errors
    /// Returns the errors of `udp_send`, and [`UdpError::BadSource`].
    pub fn udp_send_from(
        &mut self,
        id: UdpId,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
    ) -> Result<bool, UdpError> {
        self.send_datagram(id, (Some(from), to), payload)
    }

    /// Queues a datagram. A socket that is refused packet memory waits for an offer, even if it
    /// queues a smaller datagram before: another task may wait with the larger one.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn send_datagram(
        &mut self,
        id: UdpId,
        ends: (Option<SocketAddr>, SocketAddr),
        payload: &[u8],
    ) -> Result<bool, UdpError> {
        let (pool, counters) = (&mut self.pool, &mut self.counters);
        let outcome = self
            .udp
            .send(id, ends, payload, &self.routes, pool, counters)?;
        if outcome == PushOutcome::NoMemory {
            let waiters = &mut self.tcp.memory_waiters;
            waiters.file_udp(id.index(), true, pool);
        }
        Ok(outcome == PushOutcome::Queued)
    }

    /// Removes the oldest received datagram and copies its payload to `out`; `None` if no
    /// datagram waits. Bytes that do not fit are lost; [`UdpReceived::len`] is the full
    /// length.
    ///
    /// # Errors
    /// Returns [`UdpError::NoSuchSocket`]; or [`AddressRemoved`](UdpError::AddressRemoved) if the
    /// socket's address was removed and all datagrams have been read.
    pub fn udp_receive(
        &mut self,
        id: UdpId,
        out: &mut [u8],
    ) -> Result<Option<UdpReceived>, UdpError> {
        self.udp.receive(id, out, &mut self.pool)
    }

    /// Returns the address and port that the socket is bound to.
    ///
    /// # Errors
    /// Returns [`UdpError::NoSuchSocket`].
    pub fn udp_local(&self, id: UdpId) -> Result<SocketAddr, UdpError> {
        self.udp.local(id)
    }

    /// Returns the readiness of the socket: readable, writable or both.
    ///
    /// # Errors
    /// Returns [`UdpError::NoSuchSocket`].
    pub fn udp_ready(&self, id: UdpId) -> Result<UdpReady, UdpError> {
        let waits = self.tcp.memory_waiters.has_udp(id.index());
        self.udp.ready(id, waits)
    }

    /// Returns the datagrams and bytes in the socket's queues, and the number of
    /// datagrams that it dropped.
    ///
    /// # Errors
    /// Returns [`UdpError::NoSuchSocket`].
    pub fn udp_info(&self, id: UdpId) -> Result<UdpInfo, UdpError> {
        self.udp.info(id)
    }

    /// Removes and returns the last error that the network reported about a datagram of
    /// this socket, with the datagram's destination. RFC 1122 §4.1.3.3.
    ///
    /// # Errors
    /// Returns [`UdpError::NoSuchSocket`].
    pub fn udp_take_error(
        &mut self,
        id: UdpId,
    ) -> Result<Option<(SocketAddr, PathError)>, UdpError> {
        self.udp.take_error(id)
    }

    /// Closes the socket. Queued datagrams are still sent; unread datagrams are lost.
    ///
    /// # Errors
    /// Returns [`UdpError::NoSuchSocket`].
    pub fn udp_close(&mut self, id: UdpId) -> Result<(), UdpError> {
        self.udp.close(id, &mut self.pool)?;
        let waiters = &mut self.tcp.memory_waiters;
        waiters.file_udp(id.index(), false, &self.pool);
        self.events.forget_udp(id.0.index);
        Ok(())
    }
}
