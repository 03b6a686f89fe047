//! Tests of connections through proxies; a test acts as the proxy.

use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::net::TcpListener;

use super::*;

const TARGET: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7)), 443);

/// Connects through a proxy that expects the given requests in order and sends the answer to each.
async fn connected(
    scheme: &str,
    script: &'static [(&'static [u8], &'static [u8])],
) -> io::Result<TcpStream> {
    let proxy = TcpListener::bind("127.0.0.1:0").await?;
    let via = format!("{scheme}{}", proxy.local_addr()?);
    let via: Via = via.parse().expect("a way");
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
async fn first_bytes(scheme: &str, script: &'static [(&'static [u8], &'static [u8])]) -> [u8; 2] {
    let mut stream = connected(scheme, script).await.expect("a tunnel");
    let mut first = [0; 2];
    let read = stream.read_exact(&mut first).await;
    read.expect("the target speaks first");
    first
}

const SOCKS5: &str = "socks5://";
const HTTP: &str = "http://";
const GREETING: (&[u8], &[u8]) = (&[5, 1, 0], &[5, 0]);
const REQUEST: &[u8] = &[5, 1, 0, 1, 198, 51, 100, 7, 1, 187];
const CONNECT: &[u8] = b"CONNECT 198.51.100.7:443 HTTP/1.1\r\nHost: 198.51.100.7:443\r\n\r\n";

#[tokio::test(flavor = "current_thread")]
async fn a_socks_proxy_is_asked_for_the_target_and_nothing_of_the_target_is_lost() {
    const SCRIPT: &[(&[u8], &[u8])] = &[
        GREETING,
        (REQUEST, &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0, b'h', b'i']),
    ];
    assert_eq!(first_bytes(SOCKS5, SCRIPT).await, *b"hi");
}

#[tokio::test(flavor = "current_thread")]
async fn an_http_proxy_is_asked_for_the_target_and_nothing_of_the_target_is_lost() {
    const SCRIPT: &[(&[u8], &[u8])] = &[(CONNECT, b"HTTP/1.1 200 OK\r\nVia: x\r\n\r\nhi")];
    assert_eq!(first_bytes(HTTP, SCRIPT).await, *b"hi");
}

#[tokio::test(flavor = "current_thread")]
async fn a_refusal_of_a_proxy_is_the_error_of_the_target() {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, TimedOut};
    const REFUSED: &[(&[u8], &[u8])] = &[GREETING, (REQUEST, &[5, 5, 0, 1, 0, 0, 0, 0, 0, 0])];
    const NO_HOST: &[(&[u8], &[u8])] = &[GREETING, (REQUEST, &[5, 4, 0, 1, 0, 0, 0, 0, 0, 0])];
    const PASSWORD: &[(&[u8], &[u8])] = &[(&[5, 1, 0], &[5, 255])];
    const BAD_GATEWAY: &[(&[u8], &[u8])] = &[(CONNECT, b"HTTP/1.1 502 Bad Gateway\r\n\r\n")];
    const TIMEOUT: &[(&[u8], &[u8])] = &[(CONNECT, b"HTTP/1.1 504 Gateway Timeout\r\n\r\n")];
    for (scheme, script, expected) in [
        (SOCKS5, REFUSED, ConnectionRefused),
        (SOCKS5, NO_HOST, HostUnreachable),
        (SOCKS5, PASSWORD, ConnectionRefused),
        (HTTP, BAD_GATEWAY, ConnectionRefused),
        (HTTP, TIMEOUT, TimedOut),
    ] {
        let refused = connected(scheme, script).await.expect_err("it is refused");
        assert_eq!(refused.kind(), expected);
    }
}

#[test]
fn the_ways_are_read_as_people_write_them() {
    let proxy = Proxy::from(SocketAddr::from(([127, 0, 0, 1], 1080)));
    let proxy6 = Proxy::from(SocketAddr::from((Ipv6Addr::LOCALHOST, 1080)));
    for (text, expected) in [
        ("direct", Some(Via::Direct)),
        ("socks5://127.0.0.1:1080", Some(Via::Socks5(proxy.clone()))),
        ("socks5://[::1]:1080", Some(Via::Socks5(proxy6))),
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

#[tokio::test(flavor = "current_thread")]
async fn a_proxy_gets_the_name_and_the_password() {
    const LOGIN: &[(&[u8], &[u8])] = &[
        (&[5, 2, 0, 2], &[5, 2]),
        (b"\x01\x02me\x03p@s", &[1, 0]),
        (REQUEST, &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0, b'h', b'i']),
    ];
    assert_eq!(first_bytes("socks5://me:p%40s@", LOGIN).await, *b"hi");
    // RFC 7617 §2: the user `Aladdin` with the password `open sesame`.
    const BASIC: &[(&[u8], &[u8])] = &[(
        b"CONNECT 198.51.100.7:443 HTTP/1.1\r\nHost: 198.51.100.7:443\r\n\
          Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nhi",
    )];
    let scheme = "http://Aladdin:open%20sesame@";
    assert_eq!(first_bytes(scheme, BASIC).await, *b"hi");
}

#[tokio::test(flavor = "current_thread")]
async fn a_refused_password_is_a_refused_connection() {
    const REFUSED: &[(&[u8], &[u8])] = &[(&[5, 2, 0, 2], &[5, 2]), (b"\x01\x02me\x02no", &[1, 1])];
    const WANTED: &[(&[u8], &[u8])] = &[(CONNECT, b"HTTP/1.1 407 Who are you\r\n\r\n")];
    for (scheme, script) in [("socks5://me:no@", REFUSED), (HTTP, WANTED)] {
        let refused = connected(scheme, script).await.expect_err("it is refused");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}

#[test]
fn a_password_is_not_printed_and_not_longer_than_socks_can_carry() {
    let via: Via = "socks5://me:secret@127.0.0.1:1".parse().expect("a way");
    let printed = format!("{via:?}");
    assert!(
        printed.contains("me") && !printed.contains("secret"),
        "{printed}"
    );
    let long = format!("http://me:{}@127.0.0.1:1", "x".repeat(256));
    let refused = long.parse::<Via>().expect_err("it is too long").to_string();
    assert!(refused.contains("longer than 255 bytes"), "{refused}");
}
