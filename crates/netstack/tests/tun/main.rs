//! Tests of the forwarder with programs in a network namespace whose whole traffic goes through a
//! TUN device. The forwarder carries this traffic through kernel sockets in another namespace.
//!
//! Rule: every test runs in a namespace of its own, in which its servers are, and makes a second
//! namespace for the clients. Both namespaces end with the test's process. Every wait has a limit.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket},
    process::{Command, Output},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use apart::in_network_namespace;
use fullpipe_host::{DeviceOptions, HostDevice, Namespace};
use fullpipe_netstack::{
    NetstackBuilder,
    forward::{FlowTable, Forwarder, Via},
};

/// An address of the servers' namespace, which the clients reach through the device only.
const SERVER: [u8; 4] = [198, 51, 100, 7];
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes of the file that curl fetches.
const FILE: usize = 20 << 20;
/// Number of connections that a test opens and closes.
const FLOWS: usize = 1_000;
/// Threads that open the [`FLOWS`] connections.
const CLIENTS: usize = 10;

fn server(port: u16) -> SocketAddr {
    SocketAddr::from((SERVER, port))
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    assert!(
        status.expect("iproute2 is installed").success(),
        "ip {arguments}"
    );
}

/// Opens a TUN device in the namespace `inside`, and sets the default route of `inside` to it.
fn device(inside: &Namespace) -> Box<dyn HostDevice> {
    let opened = inside.enter(|| {
        ip("link set lo up");
        let spec = "tun:fpfwd".parse().expect("a device");
        let options = DeviceOptions {
            host_address: Some("10.9.0.1/24".parse().expect("an address")),
            ..DeviceOptions::new(spec)
        };
        let device = options.open().expect("root may");
        ip("route add default dev fpfwd");
        device
    });
    opened.expect("root may enter")
}

/// Starts a forwarder in this namespace for the clients in `inside`.
fn forward(inside: &Namespace) -> Arc<FlowTable> {
    let device = device(inside);
    let table = Arc::new(FlowTable::default());
    let listed = Arc::clone(&table);
    thread::spawn(move || {
        let executor = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("an executor");
        let ended = executor.block_on(async {
            let (tcp, udp) = NetstackBuilder::default().start(device)?;
            Forwarder::new(Via::Direct).run(tcp, udp, listed).await
        });
        panic!("the forwarder ended: {ended:?}");
    });
    table
}

/// Serves each connection to `port` with `serve`, one after the other.
fn serve(port: u16, serve: fn(TcpStream)) {
    let listener = TcpListener::bind(server(port)).expect("a free port");
    thread::spawn(move || listener.incoming().flatten().for_each(serve));
}

/// Answers one HTTP request with a file.
fn send_file(mut client: TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut part = [0; 512];
        match client.read(&mut part) {
            Ok(0) | Err(_) => return,
            Ok(read) => request.extend(&part[..read]),
        }
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {FILE}\r\nConnection: close\r\n\r\n");
    let sent = client.write_all(head.as_bytes());
    sent.and_then(|()| client.write_all(&vec![b'x'; FILE]))
        .expect("curl reads");
}

/// Reads to the end, then answers with the number of bytes.
fn count(mut client: TcpStream) {
    let mut all = Vec::new();
    client
        .read_to_end(&mut all)
        .expect("the client ends its direction");
    let answer = all.len().to_string();
    client
        .write_all(answer.as_bytes())
        .expect("the client reads");
}

/// Reads four bytes and writes them back.
fn echo(mut client: TcpStream) {
    let mut bytes = [0; 4];
    let read = client.read_exact(&mut bytes);
    read.and_then(|()| client.write_all(&bytes))
        .expect("the client sends and reads four bytes");
}

fn curl(port: u16) -> Output {
    let url = format!("http://{}/", server(port));
    let output = Command::new("curl")
        .args(["-sS", "--max-time", "20", "-o", "/dev/null"])
        .args(["-w", "%{size_download}", &url])
        .output();
    output.expect("curl is installed")
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect_timeout(&server(port), PATIENCE).expect("it is forwarded");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// The part of the test that runs in the clients' namespace.
fn use_the_network() {
    let fetched = curl(80);
    assert_eq!(String::from_utf8_lossy(&fetched.stdout), FILE.to_string());
    let refused = curl(81);
    assert_eq!(refused.status.code(), Some(7), "{refused:?}"); // could not connect
    let refused = TcpStream::connect_timeout(&server(81), PATIENCE);
    assert_eq!(
        refused.expect_err("nothing listens").kind(),
        ErrorKind::ConnectionRefused
    );

    let mut half = connect(82);
    half.write_all(&[7; 1 << 20]).expect("it is open");
    half.shutdown(Shutdown::Write).expect("it is open");
    let mut answer = String::new();
    half.read_to_string(&mut answer)
        .expect("the other direction is open");
    assert_eq!(answer, (1 << 20).to_string());

    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
        .send_to(b"question", server(53))
        .expect("it is routed");
    let mut answer = [0; 100];
    let (len, from) = socket.recv_from(&mut answer).expect("an answer");
    assert_eq!(
        (&answer[..len], from),
        (b"re: question".as_slice(), server(53))
    );

    // Nothing listens at this port: the first datagram of a connected socket is refused.
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket.connect(server(54)).expect("it is routed");
    socket.send(b"question").expect("it is routed");
    let refused = socket.recv(&mut answer).expect_err("nobody answers");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);

    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                for _ in 0..FLOWS / CLIENTS {
                    let mut stream = connect(84);
                    stream.write_all(b"ping").expect("it is open");
                    let mut back = [0; 4];
                    stream.read_exact(&mut back).expect("an echo");
                    assert_eq!(&back, b"ping");
                }
            });
        }
    });
}

#[test]
#[ignore = "needs root, a TUN device and curl: cargo xtask test"]
fn programs_in_a_namespace_reach_servers_through_the_forwarder() {
    in_network_namespace(
        "programs_in_a_namespace_reach_servers_through_the_forwarder",
        || {
            ip("addr add 198.51.100.7/32 dev lo");
            serve(80, send_file);
            serve(82, count);
            serve(84, echo);
            let dns = UdpSocket::bind(server(53)).expect("a free port");
            thread::spawn(move || {
                let mut question = [0; 100];
                while let Ok((len, from)) = dns.recv_from(&mut question) {
                    let answer = [b"re: ", &question[..len]].concat();
                    dns.send_to(&answer, from).expect("it is routed");
                }
            });
            let inside = Namespace::new().expect("root may");
            let table = forward(&inside);
            inside.enter(use_the_network).expect("root may enter");
            let limit = Instant::now() + PATIENCE;
            while table.totals().tcp_open > 0 {
                assert!(
                    Instant::now() < limit,
                    "flows remain: {:?}",
                    table.reports()
                );
                thread::sleep(Duration::from_millis(50));
            }
            let totals = table.totals();
            assert_eq!(totals.opened, 4 + FLOWS as u64, "{totals:?}");
            assert_eq!(totals.refused, 2, "{totals:?}");
            assert!(totals.down.bytes >= FILE as u64, "{totals:?}");
        },
    );
}

#[test]
#[ignore = "needs root and a TUN device: cargo xtask test"]
fn a_forwarder_that_ends_resets_its_flows() {
    in_network_namespace("a_forwarder_that_ends_resets_its_flows", || {
        ip("addr add 198.51.100.7/32 dev lo");
        // The server reads, and neither answers nor closes.
        serve(85, |mut client| drop(client.read(&mut [0; 1])));
        let inside = Namespace::new().expect("root may");
        let table = forward(&inside);
        let open = || {
            let mut stream = connect(85);
            stream.set_nodelay(true).expect("an option");
            let limit = Instant::now() + PATIENCE;
            while table.totals().tcp_open == 0 {
                assert!(Instant::now() < limit, "the flow is not listed");
                thread::sleep(Duration::from_millis(10));
            }
            table.reset_flows(PATIENCE);
            let ended = stream.read(&mut [0; 1]).expect_err("it is reset");
            assert_eq!(ended.kind(), ErrorKind::ConnectionReset);
        };
        inside.enter(open).expect("root may enter");
    });
}
