//! A proxy for tests: SOCKS5 with CONNECT and UDP ASSOCIATE (RFC 1928), and HTTP with CONNECT (RFC
//! 9110 §9.3.6), without passwords.
//!
//! Rule: it counts what it carries, so that a test sees that nothing went past it. A malformed
//! request ends its thread with a panic.

use std::{
    io::{self, Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, UdpSocket},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
};

/// Streams that were connected to a target.
pub static STREAMS: AtomicU64 = AtomicU64::new(0);
/// Datagrams that were carried, in both directions.
pub static DATAGRAMS: AtomicU64 = AtomicU64::new(0);
/// The address and the port of an answer to CONNECT, which have no meaning: 0.0.0.0:0.
const NO_ADDRESS: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Serves one client of SOCKS5.
pub fn socks5(mut client: TcpStream) {
    let [_version, methods] = read(&mut client);
    client
        .read_exact(&mut vec![0; methods.into()])
        .expect("methods");
    client.write_all(&[5, 0]).expect("the client reads");
    let [5, command, 0] = read(&mut client) else {
        panic!("not a request of SOCKS5");
    };
    let to = read_address(&mut client);
    match command {
        1 => match TcpStream::connect(to) {
            Ok(target) => {
                answer(&mut client, 0, &NO_ADDRESS);
                carry(&client, &target);
            }
            Err(_) => answer(&mut client, 5, &NO_ADDRESS),
        },
        3 => {
            let ip = client.local_addr().expect("it is connected").ip();
            let relay = UdpSocket::bind((ip, 0)).expect("a free port");
            let address = written(relay.local_addr().expect("it is bound"));
            answer(&mut client, 0, &address);
            thread::spawn(move || carry_datagrams(&relay));
            // The association lasts as long as the stream. The thread ends with the process.
            let _ = client.read(&mut [0]);
        }
        _ => panic!("unknown command {command}"),
    }
}

/// Serves one client of HTTP.
pub fn http(mut client: TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(read::<1>(&mut client)[0]);
    }
    let request = String::from_utf8(request).expect("a request is text");
    let to = request.strip_prefix("CONNECT ").expect("a tunnel");
    let (to, _) = to.split_once(' ').expect("a version");
    match TcpStream::connect(to) {
        Ok(target) => {
            let answer = b"HTTP/1.1 200 OK\r\n\r\n";
            client.write_all(answer).expect("the client reads");
            carry(&client, &target);
        }
        Err(_) => {
            let answer = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
            client.write_all(answer).expect("the client reads");
        }
    }
}

/// Carries both directions of a stream to their ends.
fn carry(client: &TcpStream, target: &TcpStream) {
    STREAMS.fetch_add(1, Relaxed);
    let copy = |mut from: &TcpStream, mut to: &TcpStream| {
        // A reset ends the direction as its end does.
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    };
    thread::scope(|scope| {
        scope.spawn(|| copy(client, target));
        copy(target, client);
    });
}

/// Carries the datagrams of one association, one answer for each.
fn carry_datagrams(relay: &UdpSocket) {
    let mut datagram = [0; 65_535];
    while let Ok((len, from)) = relay.recv_from(&mut datagram) {
        let mut rest = &datagram[..len];
        assert_eq!(read(&mut rest), [0, 0, 0], "not a fragment");
        let to = read_address(&mut rest);
        let any: IpAddr = match to {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0)).expect("a free port");
        socket.send_to(rest, to).expect("it is routed");
        let (len, of) = socket.recv_from(&mut datagram).expect("an answer");
        let answer = [&[0; 3], written(of).as_slice(), &datagram[..len]].concat();
        DATAGRAMS.fetch_add(2, Relaxed);
        relay.send_to(&answer, from).expect("it is routed");
    }
}

/// Answers a request of SOCKS5. RFC 1928 §6.
fn answer(client: &mut TcpStream, code: u8, address: &[u8]) {
    let answer = [&[5, code, 0], address].concat();
    client.write_all(&answer).expect("the client reads");
}

fn read<const LEN: usize>(from: &mut impl Read) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    from.read_exact(&mut bytes).expect("more bytes");
    bytes
}

fn read_address(from: &mut impl Read) -> SocketAddr {
    let ip: IpAddr = match read(from) {
        [1] => read::<4>(from).into(),
        [4] => read::<16>(from).into(),
        [kind] => panic!("unknown kind of address {kind}"),
    };
    SocketAddr::new(ip, u16::from_be_bytes(read(from)))
}

/// Returns an address in the format of SOCKS5.
fn written(address: SocketAddr) -> Vec<u8> {
    let (kind, ip) = match address.ip() {
        IpAddr::V4(ip) => (1, ip.octets().to_vec()),
        IpAddr::V6(ip) => (4, ip.octets().to_vec()),
    };
    [&[kind], ip.as_slice(), &address.port().to_be_bytes()].concat()
}
