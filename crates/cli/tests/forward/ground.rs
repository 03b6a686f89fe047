//! The place of a test: targets in the namespace of the test's process, clients in a second
//! namespace, and the program `fullpipe forward` between them.
//!
//! Rule: every wait has a limit, [`PATIENCE`]. The program and the clients' namespace end with
//! [`Forwarder`].

use std::{
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use fullpipe_host::Namespace;

/// Longest wait.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// The targets' addresses, which the clients reach through the device only.
pub const TARGETS: [&str; 2] = ["198.51.100.7", "2001:db8::7"];

/// Runs `ip` with these arguments.
pub fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    let status = status.expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments}");
}

/// Runs the program `fullpipe` with these arguments.
pub fn fullpipe(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    let output = command.args(arguments.split(' ')).output();
    output.expect("the program starts")
}

/// Waits until `is_done` returns true.
pub fn wait_until(what: &str, mut is_done: impl FnMut() -> bool) {
    let limit = Instant::now() + PATIENCE;
    while !is_done() {
        assert!(Instant::now() < limit, "{what}: not in time");
        thread::sleep(Duration::from_millis(50));
    }
}

/// The name of the clients' namespace.
pub fn clients() -> String {
    format!("fp-fwd-{}", std::process::id())
}

/// Gives this namespace the targets' addresses.
pub fn add_targets() {
    ip("addr add 198.51.100.7/32 dev lo");
    ip("-6 addr add 2001:db8::7/128 dev lo");
}

/// Returns `port` of a target.
pub fn target(address: &str, port: u16) -> SocketAddr {
    let address: IpAddr = address.parse().expect("an address");
    SocketAddr::new(address, port)
}

/// Serves each connection to `address` with `serve`, each on a thread of its own.
pub fn serve(address: SocketAddr, serve: fn(TcpStream)) {
    let listener = TcpListener::bind(address).expect("a free port");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
}

/// Returns `len` bytes in which the position determines every byte.
pub fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 4_093 % 251) as u8).collect()
}

/// Connects to `address` with limits for every wait.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address, PATIENCE).expect("it is forwarded");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// A running `fullpipe forward`, with the namespace of its clients.
pub struct Forwarder(pub Child);

impl Forwarder {
    /// Starts the program with these flags, without its standard output.
    pub fn start(flags: &str) -> Self {
        Self::start_with(flags, Stdio::null())
    }

    /// Starts the program with these flags, and gives its namespace of clients an address and a
    /// default route of each family.
    pub fn start_with(flags: &str, stdout: Stdio) -> Self {
        let clients = clients();
        let _ = Command::new("ip").args(["netns", "del", &clients]).output();
        ip(&format!("netns add {clients}"));
        ip(&format!("-n {clients} link set lo up"));
        let forward = format!("forward --dev tun:fpfwd --netns {clients} --host-addr 10.9.0.1/24");
        let child = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
            .args(forward.split(' '))
            .args(flags.split(' ').filter(|flag| !flag.is_empty()))
            .stdout(stdout)
            .spawn()
            .expect("the program starts");
        let forwarder = Self(child);
        let asks = format!("addr {}", forwarder.0.id());
        wait_until(flags, || fullpipe(&asks).status.success());
        ip(&format!("-n {clients} route add default dev fpfwd"));
        ip(&format!(
            "-n {clients} -6 addr add fd88::1/64 dev fpfwd nodad"
        ));
        ip(&format!("-n {clients} -6 route add default dev fpfwd"));
        forwarder
    }

    /// Runs `inside` in the clients' namespace.
    pub fn as_client<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> R {
        let file = Path::new("/run/netns").join(clients());
        let namespace = Namespace::open(&file).expect("root may open it");
        namespace.enter(inside).expect("root may enter")
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = Command::new("ip")
            .args(["netns", "del", &clients()])
            .status();
    }
}
