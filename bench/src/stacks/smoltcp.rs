//! smoltcp with its default settings, except for the buffer sizes of the case.
//!
//! smoltcp has no listener: each connection needs a socket of its own, so [`Smoltcp::connect`]
//! creates one at each end. A socket in TIME-WAIT is removed at once, because it would occupy its
//! buffers. This saves smoltcp some work.

use std::time::Duration;

use smoltcp::{
    iface::{Config, Interface, SocketHandle, SocketSet},
    phy::{self, Device, DeviceCapabilities, Medium},
    socket::{
        tcp::{self, State},
        udp,
    },
    time::Instant,
    wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Address},
};

use crate::{
    link::Link,
    stack::{End, MTU, Read, Setup, Stack},
};

const ADDRESSES: [Ipv4Address; 2] = [Ipv4Address::new(10, 0, 0, 1), Ipv4Address::new(10, 0, 0, 2)];
const PORT: u16 = 7;
/// First port of the client's connections, and the number of ports.
const CLIENT_PORTS: (u16, u16) = (49_152, 16_384);
/// Size of a UDP socket's queue, in datagrams and in bytes.
const UDP_QUEUE: (usize, usize) = (64, 256 << 10);

/// The two queues of a link, as one host sees them.
struct Port<'a> {
    incoming: &'a mut Link,
    outgoing: &'a mut Link,
    /// Number of frames received and sent.
    frames: usize,
}

struct RxToken<'a>(&'a [u8]);

struct TxToken<'a> {
    link: &'a mut Link,
    frames: &'a mut usize,
}

impl phy::RxToken for RxToken<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

impl phy::TxToken for TxToken<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let frame = self.link.lend(len).expect("the link had room");
        let result = f(frame);
        self.link.send(len);
        *self.frames += 1;
        result
    }
}

impl Device for Port<'_> {
    type RxToken<'a>
        = RxToken<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = TxToken<'a>
    where
        Self: 'a;

    fn receive(&mut self, _: Instant) -> Option<(RxToken<'_>, TxToken<'_>)> {
        if self.outgoing.is_full() {
            return None;
        }
        let frame = self.incoming.receive()?;
        self.frames += 1;
        let answer = TxToken {
            link: self.outgoing,
            frames: &mut self.frames,
        };
        Some((RxToken(frame), answer))
    }

    fn transmit(&mut self, _: Instant) -> Option<TxToken<'_>> {
        (!self.outgoing.is_full()).then_some(TxToken {
            link: self.outgoing,
            frames: &mut self.frames,
        })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }
}

/// One host.
struct Host {
    interface: Interface,
    sockets: SocketSet<'static>,
    udp: SocketHandle,
    /// Sockets that the application has closed and that are not removed yet.
    closing: Vec<SocketHandle>,
}

impl Host {
    fn new(end: End, port: &mut Port<'_>) -> Self {
        let config = Config::new(HardwareAddress::Ip);
        let mut interface = Interface::new(config, port, Instant::ZERO);
        let address = IpCidr::new(ADDRESSES[end as usize].into(), 24);
        interface.update_ip_addrs(|addresses| addresses.push(address).expect("room for one"));
        let queue = || {
            let (datagrams, bytes) = UDP_QUEUE;
            let empty = udp::PacketMetadata::EMPTY;
            udp::PacketBuffer::new(vec![empty; datagrams], vec![0; bytes])
        };
        let mut udp = udp::Socket::new(queue(), queue());
        udp.bind(PORT).expect("a free port");
        let mut sockets = SocketSet::new(Vec::new());
        Self {
            udp: sockets.add(udp),
            interface,
            sockets,
            closing: Vec::new(),
        }
    }

    fn add_socket(&mut self, buffer: usize) -> SocketHandle {
        let buffer = || tcp::SocketBuffer::new(vec![0; buffer]);
        self.sockets.add(tcp::Socket::new(buffer(), buffer()))
    }

    fn turn(&mut self, port: &mut Port<'_>, now: Instant) {
        self.interface.poll(now, port, &mut self.sockets);
        let Self {
            sockets, closing, ..
        } = self;
        closing.retain(|handle| {
            let state = sockets.get::<tcp::Socket<'_>>(*handle).state();
            let ended = matches!(state, State::Closed | State::TimeWait);
            if ended {
                sockets.remove(*handle);
            }
            !ended
        });
    }
}

/// Two hosts with smoltcp.
pub struct Smoltcp {
    client: Host,
    server: Host,
    to_server: Link,
    to_client: Link,
    buffer: usize,
    /// Number of connections opened so far.
    opened: u64,
    /// The server's socket for the connection that is being established.
    listening: Option<SocketHandle>,
}

impl Smoltcp {
    fn host(&mut self, end: End) -> &mut Host {
        match end {
            End::Client => &mut self.client,
            End::Server => &mut self.server,
        }
    }

    fn socket(&mut self, end: End, stream: SocketHandle) -> &mut tcp::Socket<'static> {
        self.host(end).sockets.get_mut(stream)
    }
}

fn time(now: Duration) -> Instant {
    Instant::from_micros(i64::try_from(now.as_micros()).expect("less than 300,000 years"))
}

impl Stack for Smoltcp {
    type Stream = SocketHandle;

    fn new(setup: Setup) -> Self {
        let (mut to_server, mut to_client) = (Link::new(), Link::new());
        let mut port = Port {
            incoming: &mut to_server,
            outgoing: &mut to_client,
            frames: 0,
        };
        Self {
            client: Host::new(End::Client, &mut port),
            server: Host::new(End::Server, &mut port),
            to_server,
            to_client,
            buffer: setup.buffer,
            opened: 0,
            listening: None,
        }
    }

    fn connect(&mut self) -> SocketHandle {
        let listening = self.server.add_socket(self.buffer);
        let server = self.socket(End::Server, listening);
        server.listen(PORT).expect("a new socket");
        self.listening = Some(listening);
        let (first, count) = CLIENT_PORTS;
        let local = first + (self.opened % u64::from(count)) as u16;
        self.opened += 1;
        let handle = self.client.add_socket(self.buffer);
        let Host {
            interface, sockets, ..
        } = &mut self.client;
        let remote = (IpAddress::from(ADDRESSES[End::Server as usize]), PORT);
        sockets
            .get_mut::<tcp::Socket<'_>>(handle)
            .connect(interface.context(), remote, local)
            .expect("a new socket");
        handle
    }

    fn accept(&mut self) -> Option<SocketHandle> {
        let listening = self.listening?;
        let established = self.socket(End::Server, listening).state() == State::Established;
        established.then(|| self.listening.take()).flatten()
    }

    fn write(&mut self, end: End, stream: SocketHandle, payload: &[u8]) -> usize {
        let socket = self.socket(end, stream);
        socket.send_slice(payload).expect("an open connection")
    }

    fn read(&mut self, end: End, stream: SocketHandle, out: &mut [u8]) -> Read {
        match self.socket(end, stream).recv_slice(out) {
            Ok(0) => Read::Empty,
            Ok(count) => Read::Data(count),
            Err(tcp::RecvError::Finished) => Read::Closed,
            Err(error) => panic!("reading: {error}"),
        }
    }

    fn close(&mut self, end: End, stream: SocketHandle) {
        self.socket(end, stream).close();
        self.host(end).closing.push(stream);
    }

    fn send_datagram(&mut self, payload: &[u8]) -> bool {
        let socket = self
            .client
            .sockets
            .get_mut::<udp::Socket<'_>>(self.client.udp);
        let to = (IpAddress::from(ADDRESSES[End::Server as usize]), PORT);
        socket.send_slice(payload, to).is_ok()
    }

    fn receive_datagram(&mut self, out: &mut [u8]) -> Option<usize> {
        let socket = self
            .server
            .sockets
            .get_mut::<udp::Socket<'_>>(self.server.udp);
        socket.recv_slice(out).ok().map(|(count, _)| count)
    }

    fn turn(&mut self, end: End, now: Duration) -> bool {
        let (to_server, to_client) = (&mut self.to_server, &mut self.to_client);
        let (host, incoming, outgoing) = match end {
            End::Client => (&mut self.client, to_client, to_server),
            End::Server => (&mut self.server, to_server, to_client),
        };
        let mut port = Port {
            incoming,
            outgoing,
            frames: 0,
        };
        host.turn(&mut port, time(now));
        port.frames > 0
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        let deadline = |host: &mut Host| {
            let at = host.interface.poll_at(Instant::ZERO, &host.sockets)?;
            Some(Duration::from_micros(at.total_micros().max(0) as u64))
        };
        let client = deadline(&mut self.client);
        client.into_iter().chain(deadline(&mut self.server)).min()
    }
}
