//! A TCP client and server and, with the feature `udp`, a UDP echo server, whose flash `cargo xtask footprint` measures.
//!
//! Rule: the program uses the calls that firmware needs, and no formatting, so nearly all of its
//! flash is the stack's. It is linked and never run.
#![no_std]
#![no_main]

#[path = "../board.rs"]
mod board;
#[path = "../port.rs"]
mod port;

use core::{
    mem::ManuallyDrop,
    net::{IpAddr, SocketAddr},
};

#[cfg(feature = "udp")]
use fullpipe::UdpId;
use fullpipe::{
    Config, ConnectionId, Interface, ListenerId, MacAddress, Read, SocketEvent, Stack,
    device::Device, turn,
};
use port::Port;

/// Bytes copied at once between a socket and the program.
const CHUNK: usize = 256;

/// Sockets of the program.
struct Sockets {
    listener: ListenerId,
    client: ConnectionId,
    #[cfg(feature = "udp")]
    echo: UdpId,
}

/// Runs the stack for ever, or returns if a socket can't be opened. The board's reset handler calls
/// it.
fn main() {
    let _ = run();
}

fn run() -> Option<()> {
    let mut port = Port::default();
    let interface = Interface {
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
        address: IpAddr::from([10, 0, 0, 2]),
        prefix_len: 24,
        gateway: Some(IpAddr::from([10, 0, 0, 1])),
        capabilities: port.capabilities(),
    };
    // Firmware never drops its stack.
    let mut stack = ManuallyDrop::new(Stack::new(&config(), interface, port::secret()).ok()?);
    let stack = &mut *stack;
    let any = IpAddr::from([10, 0, 0, 2]);
    let server = SocketAddr::from(([10, 0, 0, 1], 5001));
    let sockets = Sockets {
        listener: stack
            .tcp_listen((any, 80).into(), Default::default())
            .ok()?,
        client: stack
            .tcp_connect(server, None, Default::default(), port::now())
            .ok()?,
        #[cfg(feature = "udp")]
        echo: stack.udp_bind((any, 7).into()).ok()?,
    };
    loop {
        let done = turn(stack, &mut port, port::now());
        while let Some(event) = stack.next_event() {
            on_event(stack, &sockets, event);
        }
        if !done.more_work {
            port::sleep_until(stack.next_timeout());
        }
    }
}

/// Returns a configuration with little memory, as on a small device.
fn config() -> Config {
    let mut config = Config::default();
    config.pool.blocks = 36;
    config.pool.block_size = 196;
    config
}

fn on_event(stack: &mut Stack, sockets: &Sockets, event: SocketEvent) {
    let now = port::now();
    match event {
        SocketEvent::Accept(_) => {
            let _ = stack.tcp_accept(sockets.listener, now);
        }
        SocketEvent::Tcp(id) if id == sockets.client => {
            let _ = stack.tcp_write(id, &[0x55; CHUNK], now);
        }
        SocketEvent::Tcp(id) => echo_stream(stack, id),
        #[cfg(feature = "udp")]
        SocketEvent::Udp(_) => echo_datagram(stack, sockets.echo),
        #[cfg(not(feature = "udp"))]
        SocketEvent::Udp(none) => match none {},
    }
}

/// Writes back all that a connection has received, and closes it after the peer's FIN.
fn echo_stream(stack: &mut Stack, id: ConnectionId) {
    let now = port::now();
    let mut bytes = [0; CHUNK];
    loop {
        match stack.tcp_read(id, &mut bytes, now) {
            Ok(Read::Data(count)) => {
                let _ = stack.tcp_write(id, &bytes[..count], now);
            }
            Ok(Read::Empty) => return,
            Ok(Read::End) | Err(_) => {
                let _ = stack.tcp_close(id, now);
                return;
            }
        }
    }
}

/// Returns one datagram to its sender.
#[cfg(feature = "udp")]
fn echo_datagram(stack: &mut Stack, id: UdpId) {
    let mut bytes = [0; CHUNK];
    if let Ok(Some(received)) = stack.udp_receive(id, &mut bytes) {
        let len = received.len.min(CHUNK);
        let _ = stack.udp_send(id, received.from, &bytes[..len]);
    }
}
