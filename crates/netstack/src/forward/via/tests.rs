//! Tests of connections through proxies; a test acts as the proxy.

use std::net::Ipv4Addr;

use tokio::net::TcpListener;

use super::*;

const TARGET: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7)), 443);

/// Connects through a proxy that expects the given requests in order and sends the answer to each.
async fn connected(
    make: fn(SocketAddr) -> Via,
    script: &'static [(&'static [u8], &'static [u8])],
) -> io::Result<TcpStream> {
    let proxy = TcpListener::bind("127.0.0.1:0").await?;
    let via = make(proxy.local_addr()?);
    let played = tokio::spawn(async move {
        let (mut stream, _) = proxy.accept().await.expect("a client");
        for (expected, answer) in script {
            let mut request = vec![0; expected.len()];
            stream.read_exact(&mut request).await.expect("a request");
            assert_eq!(&request, expected);
            stream.write_all(answer).await.expect("it is open");
        }
        stream
    });
    let stream = via.connect(TARGET, None).await?;
    drop(played.await);
    Ok(stream)
}

/// Connects as `connected` does, and returns the first two bytes of the target.
async fn first_bytes(
    make: fn(SocketAddr) -> Via,
    script: &'static [(&'static [u8], &'static [u8])],
) -> [u8; 2] {
    let mut stream = connected(make, script).await.expect("a tunnel");
    let mut first = [0; 2];
    let read = stream.read_exact(&mut first).await;
    read.expect("the target speaks first");
    first
}

const GREETING: (&[u8], &[u8]) = (&[5, 1, 0], &[5, 0]);
const REQUEST: &[u8] = &[5, 1, 0, 1, 198, 51, 100, 7, 1, 187];
const CONNECT: &[u8] = b"CONNECT 198.51.100.7:443 HTTP/1.1\r\nHost: 198.51.100.7:443\r\n\r\n";

#[tokio::test(flavor = "current_thread")]
async fn a_socks_proxy_is_asked_for_the_target_and_nothing_of_the_target_is_lost() {
    const SCRIPT: &[(&[u8], &[u8])] = &[
        GREETING,
        (REQUEST, &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0, b'h', b'i']),
    ];
    assert_eq!(first_bytes(Via::Socks5, SCRIPT).await, *b"hi");
}

#[tokio::test(flavor = "current_thread")]
async fn an_http_proxy_is_asked_for_the_target_and_nothing_of_the_target_is_lost() {
    const SCRIPT: &[(&[u8], &[u8])] = &[(CONNECT, b"HTTP/1.1 200 OK\r\nVia: x\r\n\r\nhi")];
    assert_eq!(first_bytes(Via::Http, SCRIPT).await, *b"hi");
}

#[tokio::test(flavor = "current_thread")]
async fn a_refusal_of_a_proxy_is_the_error_of_the_target() {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, TimedOut};
    const REFUSED: &[(&[u8], &[u8])] = &[GREETING, (REQUEST, &[5, 5, 0, 1, 0, 0, 0, 0, 0, 0])];
    const NO_HOST: &[(&[u8], &[u8])] = &[GREETING, (REQUEST, &[5, 4, 0, 1, 0, 0, 0, 0, 0, 0])];
    const PASSWORD: &[(&[u8], &[u8])] = &[(&[5, 1, 0], &[5, 255])];
    const BAD_GATEWAY: &[(&[u8], &[u8])] = &[(CONNECT, b"HTTP/1.1 502 Bad Gateway\r\n\r\n")];
    const TIMEOUT: &[(&[u8], &[u8])] = &[(CONNECT, b"HTTP/1.1 504 Gateway Timeout\r\n\r\n")];
    for (make, script, expected) in [
        (Via::Socks5 as fn(_) -> _, REFUSED, ConnectionRefused),
        (Via::Socks5, NO_HOST, HostUnreachable),
        (Via::Socks5, PASSWORD, ConnectionRefused),
        (Via::Http, BAD_GATEWAY, ConnectionRefused),
        (Via::Http, TIMEOUT, TimedOut),
    ] {
        let refused = connected(make, script).await.expect_err("it is refused");
        assert_eq!(refused.kind(), expected);
    }
}

#[test]
fn the_ways_are_read_as_people_write_them() {
    let proxy = SocketAddr::from(([127, 0, 0, 1], 1080));
    for (text, expected) in [
        ("direct", Some(Via::Direct)),
        ("socks5://127.0.0.1:1080", Some(Via::Socks5(proxy))),
        ("http://127.0.0.1:1080/", Some(Via::Http(proxy))),
        ("http://127.0.0.1", None),
        ("ftp://127.0.0.1:21", None),
        ("127.0.0.1:1080", None),
    ] {
        assert_eq!(text.parse().ok(), expected, "{text}");
    }
}

#[test]
fn a_datagram_of_a_socks_relay_is_unwrapped() {
    let mut datagram = vec![0, 0, 0];
    push_address(&mut datagram, TARGET);
    datagram.extend(b"payload");
    assert_eq!(without_header(&datagram), Some(b"payload".as_slice()));
    datagram[2] = 1; // a fragment
    assert_eq!(without_header(&datagram), None);
    assert_eq!(without_header(&[0, 0, 0, 1, 9]), None);
}
