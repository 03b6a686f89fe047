//! The application's UDP calls.
//!
//! Rule: as for TCP: no call waits and none sends.

use core::net::SocketAddr;

use super::Stack;
use crate::{
    icmp::PathError,
    udp::{UdpError, UdpId, UdpInfo, UdpReady, UdpReceived},
};

impl Stack {
    /// Opens a socket that receives what is sent to `local`. An unspecified
    /// address is every address of this host, port 0 a free one.
    ///
    /// # Errors
    /// The address is not ours or in use, or every port or socket is.
    pub fn udp_bind(&mut self, local: SocketAddr) -> Result<UdpId, UdpError> {
        self.udp.bind(local)
    }

    /// Queues a datagram. False: no room now; an event tells when there is.
    ///
    /// # Errors
    /// No such socket, a destination that cannot be sent to, or a datagram that
    /// no queue could ever hold.
    pub fn udp_send(&mut self, id: UdpId, to: SocketAddr, text: &[u8]) -> Result<bool, UdpError> {
        self.udp
            .send(id, to, text, &mut self.pool, &mut self.counters)
    }

    /// Takes the datagram that waited longest; what does not fit in `out` is
    /// lost. `None`: none waits.
    ///
    /// # Errors
    /// No such socket.
    pub fn udp_receive(
        &mut self,
        id: UdpId,
        out: &mut [u8],
    ) -> Result<Option<UdpReceived>, UdpError> {
        self.udp.receive(id, out, &mut self.pool)
    }

    /// What the socket is bound to.
    ///
    /// # Errors
    /// No such socket.
    pub fn udp_local(&self, id: UdpId) -> Result<SocketAddr, UdpError> {
        self.udp.local(id)
    }

    /// What the socket is ready for.
    ///
    /// # Errors
    /// No such socket.
    pub fn udp_ready(&self, id: UdpId) -> Result<UdpReady, UdpError> {
        self.udp.ready(id)
    }

    /// How full the socket's queues are, and what it lost.
    ///
    /// # Errors
    /// No such socket.
    pub fn udp_info(&self, id: UdpId) -> Result<UdpInfo, UdpError> {
        self.udp.info(id)
    }

    /// What the network last reported about a datagram of this socket, and to
    /// whom that was; asking forgets it.
    ///
    /// # Errors
    /// No such socket.
    pub fn udp_take_error(
        &mut self,
        id: UdpId,
    ) -> Result<Option<(SocketAddr, PathError)>, UdpError> {
        self.udp.take_error(id)
    }

    /// Closes the socket. What was queued is still sent; what was not read is
    /// lost.
    ///
    /// # Errors
    /// No such socket.
    pub fn udp_close(&mut self, id: UdpId) -> Result<(), UdpError> {
        self.udp.close(id, &mut self.pool)?;
        self.events.forget_udp(id.0.index);
        Ok(())
    }
}
