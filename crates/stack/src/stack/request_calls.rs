//! Decisions about SYNs and datagrams that the application makes in place of the stack.
//!
//! Rule: a request is one entry of the table of handshakes, so requests need no table of their own.
//! A request without a decision ends after a time (knob `stack.request_timeout`). No call sends:
//! answers leave in the next `transmit`.

use core::net::SocketAddr;

use fullpipe_pool::Instant;
use fullpipe_wire::{Protocol, UnreachableCode};

use super::{ListenerId, Refusal, RequestId, Stack, TcpRequest};
use crate::{error::TcpError, icmp::RefusedPacket, tcp::Decision};

impl Stack {
    /// Returns the oldest SYN of a deferred listener
    /// ([`ListenOptions::deferred`](crate::ListenOptions::deferred)) that this call has not
    /// returned yet; `None` if there is none. The peer gets no answer until
    /// [`tcp_admit`](Self::tcp_admit) or [`tcp_refuse`](Self::tcp_refuse) is called. Without either
    /// call, the request ends after the time of the knob `stack.request_timeout`.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`] if the listener is closed, or
    /// [`AddressRemoved`](TcpError::AddressRemoved) if its address was removed.
    pub fn tcp_next_request(
        &mut self,
        listener: ListenerId,
        now: Instant,
    ) -> Result<Option<TcpRequest>, TcpError> {
        let socket = self.tcp.listeners.get(listener.0);
        if socket.ok_or(TcpError::NoSuchHandle)?.removed {
            return Err(TcpError::AddressRemoved);
        }
        let (tcp, mut host) = self.tcp_and_host(now);
        let request = tcp.take_request(listener.0, &mut host);
        Ok(request.map(|(key, tuple)| TcpRequest {
            id: RequestId(key),
            local: tuple.local(),
            remote: tuple.remote(),
        }))
    }

    /// Answers a SYN with a SYN-ACK. The connection can be [accepted](Self::tcp_accept) when its
    /// handshake is complete.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`] if the request has ended: the peer gave up, the
    /// application took too long, or the listener is closed.
    pub fn tcp_admit(&mut self, request: RequestId, now: Instant) -> Result<(), TcpError> {
        let (tcp, mut host) = self.tcp_and_host(now);
        match tcp.decide(request.0, Decision::Accept, &mut host) {
            Some(_) => Ok(()),
            None => Err(TcpError::NoSuchHandle),
        }
    }

    /// Refuses a SYN. The limits for resets do not apply; the limits for ICMP errors do.
    ///
    /// # Errors
    /// Returns [`TcpError::NoSuchHandle`] if the request has ended.
    pub fn tcp_refuse(
        &mut self,
        request: RequestId,
        refusal: Refusal,
        now: Instant,
    ) -> Result<(), TcpError> {
        let (tcp, mut host) = self.tcp_and_host(now);
        let decision = match refusal {
            Refusal::Port => Decision::Reset,
            Refusal::Host | Refusal::Network | Refusal::Silent => Decision::Pending,
        };
        let refused = tcp.decide(request.0, decision, &mut host);
        let (tuple, irs, station) = refused.ok_or(TcpError::NoSuchHandle)?;
        let packet = RefusedPacket {
            protocol: Protocol::Tcp,
            from: tuple.remote(),
            to: tuple.local(),
            third_word: irs.0,
            station: Some(station.mac),
        };
        if let Some(code) = unreachable_code(refusal).filter(|_| refusal != Refusal::Port) {
            self.interfaces[station.interface.index()]
                .errors
                .report_refused(&packet, code, now, &mut self.counters);
        }
        Ok(())
    }

    /// Refuses a datagram that came from `from` to `to`, with an ICMP error within the rate limits
    /// of ICMP errors (knobs `icmp.errors…`).
    pub fn udp_refuse(&mut self, from: SocketAddr, to: SocketAddr, refusal: Refusal, now: Instant) {
        let packet = RefusedPacket {
            protocol: Protocol::Udp,
            from,
            to,
            // Length and checksum of a datagram without payload.
            third_word: 8 << 16,
            station: None,
        };
        self.report_refused(&packet, refusal, now);
    }

    /// Refuses an echo request that a socket received ([`udp_bind_echo`](Self::udp_bind_echo)) from
    /// `from`, whose port is the identifier, to `to`, whose port is the sequence number. The peer gets an ICMP
    /// error within the rate limits of ICMP errors (knobs `icmp.errors…`).
    pub fn echo_refuse(
        &mut self,
        from: SocketAddr,
        to: SocketAddr,
        refusal: Refusal,
        now: Instant,
    ) {
        // The eight bytes that the error quotes: type and code in place of the source port, then the
        // checksum, which is not known any more, identifier and sequence number.
        let (protocol, kind) = match to {
            SocketAddr::V4(_) => (Protocol::Icmp, 8 << 8),
            SocketAddr::V6(_) => (Protocol::Icmpv6, 128 << 8),
        };
        let packet = RefusedPacket {
            protocol,
            from: SocketAddr::new(from.ip(), kind),
            to: SocketAddr::new(to.ip(), 0),
            third_word: u32::from(from.port()) << 16 | u32::from(to.port()),
            station: None,
        };
        self.report_refused(&packet, refusal, now);
    }

    fn report_refused(&mut self, packet: &RefusedPacket, refusal: Refusal, now: Instant) {
        if let Some(code) = unreachable_code(refusal) {
            let (to, from) = (packet.to.ip(), packet.from.ip());
            let interface = self.routes.interface_between(to, from);
            let errors = &mut self.interfaces[interface.index()].errors;
            errors.report_refused(packet, code, now, &mut self.counters);
        }
    }
}

const fn unreachable_code(refusal: Refusal) -> Option<UnreachableCode> {
    match refusal {
        Refusal::Port => Some(UnreachableCode::Port),
        Refusal::Host => Some(UnreachableCode::Host),
        Refusal::Network => Some(UnreachableCode::Network),
        Refusal::Silent => None,
    }
}
