//! The place of a test: servers in the namespace of the test's process, clients in a second
//! namespace, and a forwarder between them.
//!
//! Rule: every wait has a limit, [`PATIENCE`]. Both namespaces end with the test's process.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use fullpipe_host::{DeviceOptions, HostDevice, Namespace, Runtime};
use fullpipe_netstack::{
    NetstackBuilder,
    forward::{EchoSockets, FlowTable, Forwarder, Via},
};

/// An address of the servers' namespace, which the clients reach through the device only.
const SERVER: [u8; 4] = [198, 51, 100, 7];
/// The servers' IPv6 address, 2001:db8::7.
const SERVER6: [u16; 8] = [0x2001, 0xdb8, 0, 0, 0, 0, 0, 7];
/// Longest wait.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Name of the TUN device in the clients' namespace.
pub const DEVICE: &str = "fpfwd";

/// Returns the server's address with `port`.
pub fn server(port: u16) -> SocketAddr {
    SocketAddr::from((SERVER, port))
}

/// Returns the server's IPv6 address with `port`.
pub fn server6(port: u16) -> SocketAddr {
    SocketAddr::from((SERVER6, port))
}

/// Runs `ip` with these arguments.
pub fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    assert!(
        status.expect("iproute2 is installed").success(),
        "ip {arguments}"
    );
}

/// Waits until `is_done` returns true.
pub fn wait_until(what: &str, mut is_done: impl FnMut() -> bool) {
    let limit = Instant::now() + PATIENCE;
    while !is_done() {
        assert!(Instant::now() < limit, "{what}: not in time");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A running forwarder and the namespace of its clients.
pub struct Ground {
    /// Namespace of the clients, with the TUN device.
    pub clients: Namespace,
    /// The forwarder's flows.
    pub table: Arc<FlowTable>,
    /// The forwarder's stack.
    pub runtime: Arc<Runtime>,
}

impl Ground {
    /// Gives this namespace the server's addresses, and starts a forwarder for a new namespace of
    /// clients.
    pub fn prepare() -> Self {
        Self::prepare_with(None)
    }

    /// As [`prepare`](Self::prepare), but echo requests are passed on through these sockets.
    pub fn prepare_with(echo: Option<EchoSockets>) -> Self {
        ip("addr add 198.51.100.7/32 dev lo");
        ip("-6 addr add 2001:db8::7/128 dev lo");
        let clients = Namespace::new().expect("root may");
        let device = device(&clients);
        let table = Arc::new(FlowTable::default());
        let listed = Arc::clone(&table);
        let (sender, started) = mpsc::channel();
        thread::spawn(move || {
            let executor = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("an executor");
            let ended = executor.block_on(async {
                let forwarder = Forwarder::new(Via::Direct);
                let builder = NetstackBuilder::default();
                let Some(echo) = echo else {
                    let (tcp, udp) = builder.start(device)?;
                    sender.send(tcp.runtime()).expect("the test waits");
                    return forwarder.run(tcp, udp, listed).await;
                };
                let (tcp, udp, requests) = builder.start_with_echo(device)?;
                sender.send(tcp.runtime()).expect("the test waits");
                tokio::select! {
                    ended = forwarder.run(tcp, udp, listed) => ended,
                    ended = echo.pass(requests) => ended,
                }
            });
            panic!("the forwarder ended: {ended:?}");
        });
        Self {
            clients,
            table,
            runtime: started.recv_timeout(PATIENCE).expect("it starts"),
        }
    }

    /// Runs `inside` in the clients' namespace.
    pub fn as_client<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> R {
        self.clients.enter(inside).expect("root may enter")
    }

    /// Waits until no flow is open and the stack has no connection outside TIME-WAIT.
    pub fn wait_until_no_flow_is_left(&self) {
        wait_until("flows remain", || {
            let counts = self.runtime.with_stack(|stack, _| stack.tcp_counts());
            self.table.totals().tcp_open == 0 && (counts.0, counts.1) == (0, 0)
        });
    }
}

/// Opens a TUN device in the namespace `clients`, and sets the default routes of `clients` to it.
fn device(clients: &Namespace) -> Box<dyn HostDevice> {
    let opened = clients.enter(|| {
        ip("link set lo up");
        let spec = format!("tun:{DEVICE}").parse().expect("a device");
        let options = DeviceOptions {
            host_address: Some("10.9.0.1/24".parse().expect("an address")),
            ..DeviceOptions::new(spec)
        };
        let device = options.open().expect("root may");
        ip(&format!("route add default dev {DEVICE}"));
        ip(&format!("-6 addr add fd88::1/64 dev {DEVICE} nodad"));
        ip(&format!("-6 route add default dev {DEVICE}"));
        device
    });
    opened.expect("root may enter")
}

/// Serves each connection to `port` of both addresses with `serve`, each on a thread of its own.
pub fn serve(port: u16, serve: fn(TcpStream)) {
    for address in [server(port), server6(port)] {
        let listener = TcpListener::bind(address).expect("a free port");
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || serve(stream));
            }
        });
    }
}

/// Connects to `port` of the server.
pub fn connect(port: u16) -> TcpStream {
    connect_to(server(port))
}

/// Connects to `address`.
pub fn connect_to(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address, PATIENCE).expect("it is forwarded");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// Reads the header of an HTTP request. Returns the first line, or `None` after the last request.
pub fn read_request(client: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match client.read(&mut byte) {
            Ok(0) | Err(_) => return None,
            Ok(_) => request.push(byte[0]),
        }
    }
    let text = String::from_utf8_lossy(&request);
    text.lines().next().map(str::to_owned)
}

/// Length after which the payload of [`payload_at`] repeats; a prime number.
const PERIOD: usize = 4_093;
/// Longest part of the payload that is written or read at once.
const PIECE: usize = 64 << 10;

/// Returns `len` bytes of a payload in which the position determines every byte.
fn payload_at(position: usize, len: usize) -> Vec<u8> {
    let range = position..position + len;
    range.map(|at| (at % PERIOD % 251) as u8).collect()
}

/// Sends `len` bytes of the payload.
pub fn send_payload(stream: &mut TcpStream, len: usize) -> io::Result<()> {
    for at in (0..len).step_by(PIECE) {
        stream.write_all(&payload_at(at, PIECE.min(len - at)))?;
    }
    Ok(())
}

/// Receives `len` bytes and compares each with the payload. Calls `at` with the position after
/// each piece.
pub fn receive_payload(
    stream: &mut TcpStream,
    len: usize,
    mut at: impl FnMut(usize),
) -> io::Result<()> {
    for position in (0..len).step_by(PIECE) {
        let mut piece = vec![0; PIECE.min(len - position)];
        stream.read_exact(&mut piece)?;
        assert!(
            piece == payload_at(position, piece.len()),
            "wrong payload after byte {position}"
        );
        at(position + piece.len());
    }
    Ok(())
}

/// A program that is killed when the test ends.
pub struct Running(pub Child);

impl Running {
    /// Starts a program in the namespace of this thread.
    pub fn start(command: &mut Command) -> Self {
        let started = command.spawn();
        Self(started.unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The program may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
