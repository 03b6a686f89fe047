//! fullpipe with its default configuration, except for the buffer sizes of the case.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use fullpipe::{
    Config, ConnectOptions, ConnectionId, Instant, Interface, ListenOptions, ListenerId,
    MacAddress, UdpId,
    device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta},
    turn,
};

use crate::{
    link::Link,
    stack::{End, MTU, Read, Setup, Stack},
};

const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
const PORT: u16 = 7;
/// Number of connections for each port of the server.
const PER_PORT: u32 = 10_000;
/// Share of the pool that windows may promise while most connections are idle.
const OVERCOMMIT_PERCENT: u32 = 100_000;
const PLAIN: Capabilities = Capabilities::plain(Medium::Ip, MTU);

/// The two queues of a link, as one host sees them.
struct Port<'a> {
    incoming: &'a mut Link,
    outgoing: &'a mut Link,
}

impl Device for Port<'_> {
    fn capabilities(&self) -> Capabilities {
        PLAIN
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        let frame = self.incoming.receive()?;
        Some(Received {
            frame,
            meta: RxMeta::default(),
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        self.outgoing.lend(len)
    }

    fn send(&mut self, len: usize, _: TxMeta) {
        self.outgoing.send(len);
    }
}

/// Two hosts with fullpipe.
pub struct Fullpipe {
    client: fullpipe::Stack,
    server: fullpipe::Stack,
    to_server: Link,
    to_client: Link,
    /// The server's listeners, one for every [`PER_PORT`] connections.
    listeners: Vec<ListenerId>,
    /// Number of connections opened so far.
    opened: u64,
    client_udp: UdpId,
    server_udp: UdpId,
    now: Instant,
}

fn config(setup: Setup) -> Config {
    let mut config = Config::default();
    let bytes = u32::try_from(setup.buffer).expect("a buffer of less than 4 GiB");
    config.tcp.send_buffer = bytes;
    config.tcp.receive_buffer = bytes;
    // Provide memory for both buffers of each connection, and as much again for everything else.
    let blocks = setup.active * (4 * bytes / config.pool.block_size);
    config.pool.blocks = config.pool.blocks.max(blocks);
    if setup.connections > setup.active {
        // Overcommit the pool, because the windows of all idle connections together exceed it.
        config.pool.block_size = 256;
        config.pool.overcommit_percent = OVERCOMMIT_PERCENT;
        // A window that begins in the middle of a block needs one block more.
        let window = u64::from(bytes / config.pool.block_size) + 2;
        let windows = u64::from(setup.connections) * window;
        let backed = windows * 100 / u64::from(OVERCOMMIT_PERCENT);
        let backed = u32::try_from(backed).expect("a pool of less than 1 TiB");
        config.pool.blocks = config.pool.blocks.max(backed + blocks);
        // Let the idle connections rest.
        config.stack.busy_connections = (2 * setup.active).max(16);
    }
    config.stack.listeners = config
        .stack
        .listeners
        .max(setup.connections.div_ceil(PER_PORT));
    config.stack.connections = config.stack.connections.max(setup.connections + 1);
    config
}

fn host(end: End, config: &Config) -> fullpipe::Stack {
    let interface = Interface {
        mac: MacAddress::UNSPECIFIED,
        address: IpAddr::V4(ADDRESSES[end as usize]),
        prefix_len: 24,
        gateway: None,
        capabilities: PLAIN,
    };
    fullpipe::Stack::new(config, interface, [end as u8; 16]).expect("a sound configuration")
}

/// Returns the address of the server's listener with this index; index 0 is also the address of the
/// server's UDP socket.
fn server_address(index: usize) -> SocketAddr {
    SocketAddr::from((ADDRESSES[End::Server as usize], PORT + index as u16))
}

impl Fullpipe {
    fn host(&mut self, end: End) -> &mut fullpipe::Stack {
        match end {
            End::Client => &mut self.client,
            End::Server => &mut self.server,
        }
    }

    /// Index of the listener for a new connection. The listeners take turns, each for [`PER_PORT`]
    /// connections.
    fn listener(&self) -> usize {
        (self.opened / u64::from(PER_PORT)) as usize % self.listeners.len()
    }
}

impl Stack for Fullpipe {
    type Stream = ConnectionId;

    fn new(setup: Setup) -> Self {
        let config = config(setup);
        let mut client = host(End::Client, &config);
        let mut server = host(End::Server, &config);
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let listeners = 0..setup.connections.div_ceil(PER_PORT) as usize;
        let mut listen = |index| {
            let options = ListenOptions::default();
            let listener = server.tcp_listen(server_address(index), options);
            listener.expect("a free port")
        };
        Self {
            listeners: listeners.map(&mut listen).collect(),
            opened: 0,
            client_udp: client.udp_bind(any).expect("a free port"),
            server_udp: server.udp_bind(server_address(0)).expect("a free port"),
            client,
            server,
            to_server: Link::new(),
            to_client: Link::new(),
            now: Instant::ZERO,
        }
    }

    fn connect(&mut self) -> ConnectionId {
        let remote = server_address(self.listener());
        self.client
            .tcp_connect(remote, None, ConnectOptions::default(), self.now)
            .expect("a free port")
    }

    fn accept(&mut self) -> Option<ConnectionId> {
        let listener = self.listeners[self.listener()];
        let accepted = self.server.tcp_accept(listener, self.now);
        let (id, _) = accepted.expect("a listener")?;
        self.opened += 1;
        Some(id)
    }

    fn write(&mut self, end: End, stream: ConnectionId, payload: &[u8]) -> usize {
        let now = self.now;
        self.host(end)
            .tcp_write(stream, payload, now)
            .expect("an open connection")
    }

    fn read(&mut self, end: End, stream: ConnectionId, out: &mut [u8]) -> Read {
        let now = self.now;
        match self.host(end).tcp_read(stream, out, now) {
            Ok(fullpipe::Read::Data(count)) => Read::Data(count),
            Ok(fullpipe::Read::Empty) => Read::Empty,
            Ok(fullpipe::Read::End) => Read::Closed,
            Err(error) => panic!("reading: {error}"),
        }
    }

    fn close(&mut self, end: End, stream: ConnectionId) {
        let now = self.now;
        self.host(end)
            .tcp_close(stream, now)
            .expect("an open connection");
    }

    fn send_datagram(&mut self, payload: &[u8]) -> bool {
        self.client
            .udp_send(self.client_udp, server_address(0), payload)
            .expect("a datagram that fits")
    }

    fn receive_datagram(&mut self, out: &mut [u8]) -> Option<usize> {
        let received = self.server.udp_receive(self.server_udp, out);
        received
            .expect("an open socket")
            .map(|datagram| datagram.len)
    }

    fn turn(&mut self, end: End, now: Duration) -> bool {
        self.now = Instant::ZERO + now.into();
        let (to_server, to_client) = (&mut self.to_server, &mut self.to_client);
        let (stack, incoming, outgoing) = match end {
            End::Client => (&mut self.client, to_client, to_server),
            End::Server => (&mut self.server, to_server, to_client),
        };
        let mut port = Port { incoming, outgoing };
        let turned = turn(stack, &mut port, self.now);
        turned.received + turned.sent > 0
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        let client = self.client.next_timeout();
        let next = client.into_iter().chain(self.server.next_timeout()).min()?;
        Some(next.since(Instant::ZERO).into())
    }
}
