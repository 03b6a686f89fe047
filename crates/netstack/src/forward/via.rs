//! Reaches a target: by a kernel socket, a SOCKS5 proxy (RFC 1928) or an HTTP proxy (CONNECT, RFC
//! 9110 §9.3.6).
//!
//! Rule: a proxy's refusal becomes the error that the target itself would have caused. Bytes after
//! the proxy's answer are not read here, because the target sent them.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    str::FromStr,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream, UdpSocket},
};

use super::any_for;

/// Longest answer of an HTTP proxy, in bytes.
const ANSWER_MAX: usize = 8 << 10;
/// Length of the SOCKS5 header of a datagram if the header has an IPv4 address. RFC 1928 §7.
pub(super) const SOCKS_HEADER: usize = 10;

/// The means by which targets are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Kernel sockets.
    Direct,
    /// The SOCKS5 proxy at this address, without a password.
    Socks5(SocketAddr),
    /// The HTTP proxy at this address, with CONNECT, which carries no UDP.
    Http(SocketAddr),
}

/// The error for a text that names no [`Via`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViaError(String);

impl fmt::Display for ViaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ViaError {}

impl FromStr for Via {
    type Err = ViaError;

    /// Reads `direct`, `socks5://HOST:PORT` or `http://HOST:PORT`. A name is looked up once.
    fn from_str(text: &str) -> Result<Self, ViaError> {
        let expected =
            || ViaError("expected direct, socks5://HOST:PORT or http://HOST:PORT".to_string());
        if text == "direct" {
            return Ok(Self::Direct);
        }
        let (scheme, rest) = text.split_once("://").ok_or_else(expected)?;
        let host = rest.trim_end_matches('/');
        let make: fn(SocketAddr) -> Self = match scheme {
            "socks5" => Self::Socks5,
            "http" => Self::Http,
            _ => return Err(expected()),
        };
        let mut found = host
            .to_socket_addrs()
            .map_err(|error| ViaError(format!("{host}: {error}")))?;
        let address = found.find(SocketAddr::is_ipv4);
        address.map(make).ok_or_else(|| {
            ViaError(format!(
                "the proxy {host} has no IPv4 address; give a proxy with one"
            ))
        })
    }
}

impl Via {
    /// Opens a stream to `target`.
    ///
    /// # Errors
    /// Returns the error of the target, of the proxy or of the kernel.
    pub(super) async fn connect(
        self,
        target: SocketAddr,
        device: Option<&str>,
    ) -> io::Result<TcpStream> {
        let to = match self {
            Self::Direct => target,
            Self::Socks5(proxy) | Self::Http(proxy) => proxy,
        };
        let socket = match to {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        socket.bind_device(device.map(str::as_bytes))?;
        let mut stream = socket.connect(to).await?;
        // Nagle's algorithm would only delay the flow: a relay writes all that it has at once.
        stream.set_nodelay(true)?;
        match self {
            Self::Direct => {}
            Self::Socks5(_) => drop(socks(&mut stream, SOCKS_CONNECT, target).await?),
            Self::Http(_) => http_connect(&mut stream, target).await?,
        }
        Ok(stream)
    }

    /// Opens a socket for datagrams to `target`, or to the relay that a SOCKS5 proxy opens for
    /// them. With a proxy, the stream to the proxy is returned too: the relay exists only as long
    /// as the stream.
    ///
    /// # Errors
    /// Returns `Unsupported` for a proxy that carries no datagrams; otherwise the error of the
    /// proxy or of the kernel.
    pub(super) async fn datagrams(
        self,
        target: SocketAddr,
        device: Option<&str>,
    ) -> io::Result<(UdpSocket, Option<TcpStream>)> {
        let (to, keeper) = match self {
            Self::Direct => (target, None),
            Self::Socks5(proxy) => {
                let mut stream = TcpStream::connect(proxy).await?;
                let relay = socks(&mut stream, SOCKS_ASSOCIATE, any_for(target)).await?;
                let relay = match relay.ip().is_unspecified() {
                    true => SocketAddr::new(proxy.ip(), relay.port()),
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
    pub(super) const fn has_datagram_header(self) -> bool {
        matches!(self, Self::Socks5(_))
    }
}

const SOCKS_CONNECT: u8 = 1;
const SOCKS_ASSOCIATE: u8 = 3;
const SOCKS_IPV4: u8 = 1;
const SOCKS_NAME: u8 = 3;
const SOCKS_IPV6: u8 = 4;

/// Sends one request to a SOCKS5 proxy and returns the address in its answer. RFC 1928 §3 to §6.
async fn socks(stream: &mut TcpStream, command: u8, target: SocketAddr) -> io::Result<SocketAddr> {
    stream.write_all(&[5, 1, 0]).await?;
    let mut choice = [0; 2];
    stream.read_exact(&mut choice).await?;
    if choice != [5, 0] {
        return Err(refused(
            "the SOCKS5 proxy does not accept clients without a password",
        ));
    }
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
async fn http_connect(stream: &mut TcpStream, target: SocketAddr) -> io::Result<()> {
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
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
        Some(_) => Err(refused("the HTTP proxy refused the connection")),
        None => Err(refused("the HTTP proxy's answer is malformed")),
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionRefused, why)
}

#[cfg(test)]
mod tests;
