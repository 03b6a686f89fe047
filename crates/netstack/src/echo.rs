//! Echo requests (ping), passed on to the program.
//!
//! Rule: the stack answers no request while [`EchoRequests`] exists; the program answers or refuses
//! each one, for example after it has asked the destination. The stack's queue bounds the number of
//! requests that wait; further ones are dropped, and ping shows them as lost.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use fullpipe::Refusal;
use fullpipe_host::{Runtime, tokio::UdpSocket};

use crate::family::EachFamily;

/// Largest data of a request in bytes.
const DATA_MAX: usize = 65_535;

struct EchoShared {
    sockets: EachFamily<UdpSocket>,
    /// Keeps the stack running.
    _runtime: Arc<Runtime>,
}

/// The echo requests of a netstack that passes them on
/// ([`NetstackBuilder::start_with_echo`](crate::NetstackBuilder::start_with_echo)).
pub struct EchoRequests {
    shared: Arc<EchoShared>,
    buffers: [Vec<u8>; 2],
}

impl fmt::Debug for EchoRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EchoRequests").finish_non_exhaustive()
    }
}

impl EchoRequests {
    pub(crate) fn start(runtime: Arc<Runtime>) -> io::Result<Self> {
        let shared = Arc::new(EchoShared {
            sockets: EachFamily::of(|every| UdpSocket::bind_echo(&runtime, every))?,
            _runtime: runtime,
        });
        Ok(Self {
            shared,
            buffers: [vec![0; DATA_MAX], vec![0; DATA_MAX]],
        })
    }

    /// Waits for the next request.
    ///
    /// # Errors
    /// Fails if the stack stopped.
    pub async fn next(&mut self) -> io::Result<EchoRequest> {
        let [v4, v6] = self.shared.sockets.both();
        let [of_v4, of_v6] = &mut self.buffers;
        let (data, from, to) = tokio::select! {
            received = v4.recv_from_to(of_v4) => with_data(received?, of_v4),
            received = v6.recv_from_to(of_v6) => with_data(received?, of_v6),
        };
        Ok(EchoRequest {
            shared: Arc::clone(&self.shared),
            from,
            to,
            data,
        })
    }
}

fn with_data(
    (len, from, to): (usize, SocketAddr, SocketAddr),
    buffer: &[u8],
) -> (Vec<u8>, SocketAddr, SocketAddr) {
    (buffer[..len].to_vec(), from, to)
}

/// An echo request, about which the program decides. A request that is dropped gets no answer.
pub struct EchoRequest {
    shared: Arc<EchoShared>,
    /// The peer, with the identifier as its port.
    from: SocketAddr,
    /// The destination, with the sequence number as its port.
    to: SocketAddr,
    data: Vec<u8>,
}

impl fmt::Debug for EchoRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EchoRequest")
            .field("peer", &self.peer())
            .field("destination", &self.destination())
            .field("identifier", &self.identifier())
            .field("sequence", &self.sequence())
            .finish_non_exhaustive()
    }
}

impl EchoRequest {
    /// Returns the address of the peer that sent the request.
    pub const fn peer(&self) -> IpAddr {
        self.from.ip()
    }

    /// Returns the address that the request was sent to.
    pub const fn destination(&self) -> IpAddr {
        self.to.ip()
    }

    /// Returns the identifier, which is the same in all requests of one run of ping.
    pub const fn identifier(&self) -> u16 {
        self.from.port()
    }

    /// Returns the sequence number.
    pub const fn sequence(&self) -> u16 {
        self.to.port()
    }

    /// Returns the data of the request, which the reply must repeat.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Sends the reply, with the destination of the request as its source. Waits while the stack's
    /// queue is full.
    ///
    /// # Errors
    /// Fails if the data is longer than the stack's queue, or the stack stopped.
    pub async fn answer(self) -> io::Result<()> {
        let socket = self.shared.sockets.of_address(self.to);
        let sent = socket.send_from(&self.data, self.to, self.from);
        sent.await.map(drop)
    }

    /// Refuses the request with an ICMP error, which ping prints.
    pub fn refuse(self, refusal: Refusal) {
        let socket = self.shared.sockets.of_address(self.to);
        socket.refuse_echo(self.from, self.to, refusal);
    }
}
