//! Reaches a target: by a kernel socket, a SOCKS5 proxy (RFC 1928) or an HTTP proxy (CONNECT, RFC
//! 9110 §9.3.6).
//!
//! Rule: a proxy's refusal becomes the error that the target itself would have caused. Bytes after
//! the proxy's answer are not read here, because the target sent them.

mod error;
mod proxy;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream, UdpSocket},
};

pub use error::ViaError;
pub use proxy::{Login, Proxy};

/// Longest answer of an HTTP proxy, in bytes.
const ANSWER_MAX: usize = 8 << 10;
/// Length of the SOCKS5 header of a datagram if the header has an IPv4 address. RFC 1928 §7.
const SOCKS_HEADER: usize = 10;
/// Length of this header if it has an IPv6 address.
pub(super) const SOCKS_HEADER_MAX: usize = SOCKS_HEADER + 12;

/// The means by which targets are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    /// Kernel sockets.
    Direct,
    /// This SOCKS5 proxy.
    Socks5(Proxy),
    /// This HTTP proxy, with CONNECT, which carries no UDP.
    Http(Proxy),
}

impl FromStr for Via {
    type Err = ViaError;

    /// Reads `direct`, `socks5://HOST:PORT` or `http://HOST:PORT`. `USER:PASSWORD@` may stand before
    /// the host. A name is looked up once.
    fn from_str(text: &str) -> Result<Self, ViaError> {
        let expected = || {
            ViaError(
                "expected direct, socks5://HOST:PORT or http://HOST:PORT, or \
                 USER:PASSWORD@HOST:PORT after the //"
                    .to_string(),
            )
        };
        if text == "direct" {
            return Ok(Self::Direct);
        }
        let (scheme, rest) = text.split_once("://").ok_or_else(expected)?;
        let make: fn(Proxy) -> Self = match scheme {
            "socks5" => Self::Socks5,
            "http" => Self::Http,
            _ => return Err(expected()),
        };
        Proxy::parse(rest.trim_end_matches('/')).map(make)
    }
}

impl Via {
    /// Opens a stream to `target`.
    ///
    /// # Errors
    /// Returns the error of the target, of the proxy or of the kernel.
    pub(super) async fn connect(
        &self,
        target: SocketAddr,
        device: Option<&str>,
    ) -> io::Result<TcpStream> {
        match self {
            Self::Direct => stream_to(target, device).await,
            Self::Socks5(proxy) => {
                let mut stream = stream_to(proxy.address, device).await?;
                let login = proxy.login.as_ref();
                socks(&mut stream, login, SOCKS_CONNECT, target).await?;
                Ok(stream)
            }
            Self::Http(proxy) => {
                let mut stream = stream_to(proxy.address, device).await?;
                http_connect(&mut stream, proxy.login.as_ref(), target).await?;
                Ok(stream)
            }
        }
    }

    /// Opens a socket for datagrams to `target`, or to the relay that a SOCKS5 proxy opens for
    /// them. With a proxy, the stream to the proxy is returned too: the relay exists only as long
    /// as the stream.
    ///
    /// # Errors
    /// Returns `Unsupported` for a proxy that carries no datagrams; otherwise the error of the
    /// proxy or of the kernel.
    pub(super) async fn datagrams(
        &self,
        target: SocketAddr,
        device: Option<&str>,
    ) -> io::Result<(UdpSocket, Option<TcpStream>)> {
        let (to, keeper) = match self {
            Self::Direct => (target, None),
            Self::Socks5(proxy) => {
                let mut stream = stream_to(proxy.address, device).await?;
                let login = proxy.login.as_ref();
                let relay = socks(&mut stream, login, SOCKS_ASSOCIATE, any_for(target)).await?;
                let relay = match relay.ip().is_unspecified() {
                    true => SocketAddr::new(proxy.address.ip(), relay.port()),
                    false => relay,
                };
                (relay, Some(stream))
            }
            Self::Http(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        let socket = UdpSocket::bind(any_for(to)).await?;
        socket.bind_device(device.map(str::as_bytes))?;
        socket.connect(to).await?;
        Ok((socket, keeper))
    }

    /// Returns true if each datagram begins with a SOCKS5 header.
    pub(super) const fn has_datagram_header(&self) -> bool {
        matches!(self, Self::Socks5(_))
    }
}

/// Opens a stream to `to` through the interface `device`, if one is given.
async fn stream_to(to: SocketAddr, device: Option<&str>) -> io::Result<TcpStream> {
    let socket = match to {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.bind_device(device.map(str::as_bytes))?;
    let stream = socket.connect(to).await?;
    // Nagle's algorithm would only delay the flow: a relay writes all that it has at once.
    stream.set_nodelay(true)?;
    Ok(stream)
}

const SOCKS_CONNECT: u8 = 1;
const SOCKS_ASSOCIATE: u8 = 3;
/// Use of the proxy without a login.
const SOCKS_OPEN: u8 = 0;
/// Login with a name and a password. RFC 1929.
const SOCKS_PASSWORD: u8 = 2;
const SOCKS_IPV4: u8 = 1;
const SOCKS_NAME: u8 = 3;
const SOCKS_IPV6: u8 = 4;

/// Greets a SOCKS5 proxy, with a name and a password if there is a `login`. RFC 1928 §3, RFC 1929.
async fn socks_greet(stream: &mut TcpStream, login: Option<&Login>) -> io::Result<()> {
    let offer: &[u8] = match login {
        Some(_) => &[5, 2, SOCKS_OPEN, SOCKS_PASSWORD],
        None => &[5, 1, SOCKS_OPEN],
    };
    stream.write_all(offer).await?;
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await?;
    match (answer, login) {
        ([5, SOCKS_OPEN], _) => return Ok(()),
        ([5, SOCKS_PASSWORD], Some(login)) => {
            stream.write_all(&login.socks_request()).await?;
            stream.read_exact(&mut answer).await?;
        }
        (_, Some(_)) => return Err(refused("the SOCKS5 proxy accepts no password")),
        (_, None) => return Err(refused("the SOCKS5 proxy wants a user name and a password")),
    }
    match answer[1] {
        0 => Ok(()),
        _ => Err(refused(
            "the SOCKS5 proxy refused the user name or the password",
        )),
    }
}

/// Sends one request to a SOCKS5 proxy and returns the address in its answer. RFC 1928 §3 to §6.
async fn socks(
    stream: &mut TcpStream,
    login: Option<&Login>,
    command: u8,
    target: SocketAddr,
) -> io::Result<SocketAddr> {
    socks_greet(stream, login).await?;
    let mut request = vec![5, command, 0];
    push_address(&mut request, target);
    stream.write_all(&request).await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    match head[1] {
        0 => {}
        3 => return Err(io::ErrorKind::NetworkUnreachable.into()),
        4 => return Err(io::ErrorKind::HostUnreachable.into()),
        5 => return Err(io::ErrorKind::ConnectionRefused.into()),
        6 => return Err(io::ErrorKind::TimedOut.into()),
        _ => return Err(refused("the SOCKS5 proxy refused the request")),
    }
    let mut address = [0; 18];
    let ip = match head[3] {
        SOCKS_IPV4 => {
            let [a, b, c, d, ..] = read_into(stream, &mut address, 6).await?;
            IpAddr::from([a, b, c, d])
        }
        SOCKS_IPV6 => {
            let bytes = read_into(stream, &mut address, 18).await?;
            IpAddr::from(*bytes.first_chunk::<16>().expect("it has 18 bytes"))
        }
        SOCKS_NAME => {
            let len = usize::from(stream.read_u8().await?);
            stream.read_exact(&mut vec![0; len + 2]).await?;
            return Ok(any_for(target));
        }
        _ => {
            return Err(refused(
                "the SOCKS5 proxy's answer has an unknown type of address",
            ));
        }
    };
    let port_at = if ip.is_ipv4() { 4 } else { 16 };
    let port = u16::from_be_bytes([address[port_at], address[port_at + 1]]);
    Ok(SocketAddr::new(ip, port))
}

async fn read_into(
    stream: &mut TcpStream,
    address: &mut [u8; 18],
    len: usize,
) -> io::Result<[u8; 18]> {
    stream.read_exact(&mut address[..len]).await?;
    Ok(*address)
}

/// Appends an address in the format of SOCKS5.
pub(super) fn push_address(out: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.push(SOCKS_IPV4);
            out.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(SOCKS_IPV6);
            out.extend(ip.octets());
        }
    }
    out.extend(address.port().to_be_bytes());
}

/// Returns the payload of a datagram from a SOCKS5 relay; `None` if it is a fragment or malformed.
pub(super) fn without_header(datagram: &[u8]) -> Option<&[u8]> {
    match datagram {
        [_, _, 0, SOCKS_IPV4, ..] => datagram.get(SOCKS_HEADER..),
        [_, _, 0, SOCKS_IPV6, ..] => datagram.get(SOCKS_HEADER + 12..),
        _ => None,
    }
}

/// Asks an HTTP proxy for a tunnel. RFC 9110 §9.3.6.
async fn http_connect(
    stream: &mut TcpStream,
    login: Option<&Login>,
    target: SocketAddr,
) -> io::Result<()> {
    let login = login.map_or_else(String::new, Login::http_field);
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{login}\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() == ANSWER_MAX {
            return Err(refused(&format!(
                "the HTTP proxy's answer to CONNECT is longer than {ANSWER_MAX} bytes"
            )));
        }
        // Read single bytes, because the bytes after the answer come from the target.
        answer.push(stream.read_u8().await?);
    }
    let status = answer.split(|byte| *byte == b' ').nth(1);
    match status {
        Some([b'2', _, _]) => Ok(()),
        Some(b"504") => Err(io::ErrorKind::TimedOut.into()),
        Some(b"407") => Err(refused(
            "the HTTP proxy wants a user name and a password, or refused those that it got",
        )),
        Some(_) => Err(refused("the HTTP proxy refused the connection")),
        None => Err(refused("the HTTP proxy's answer is malformed")),
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionRefused, why)
}

/// Returns the unspecified address of the family of `to`, with port 0.
fn any_for(to: SocketAddr) -> SocketAddr {
    match to {
        SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
    }
}

#[cfg(test)]
mod tests;
