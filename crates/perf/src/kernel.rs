//! Implementation of the socket traits for the kernel's sockets.
//!
//! Rule: the sockets are blocking, with timeouts that are set once, when the
//! socket is opened. Nothing here is specific to iperf.

use std::{
    io,
    net::{IpAddr, SocketAddr, TcpStream, UdpSocket},
};

use fullpipe_host::kernel;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::{
    sockets::{
        DatagramSocket, HandshakeInfo, Limits, SocketOptions, Sockets, Stream, StreamListener,
    },
    stop::POLL,
};

/// The sockets of the kernel's stack.
#[derive(Clone, Debug, Default)]
pub struct KernelSockets {
    /// Congestion control of TCP sockets, by the kernel's name (`cubic`);
    /// `None` keeps the kernel's default.
    pub congestion: Option<String>,
}

/// A listener on the kernel's stack.
#[derive(Debug)]
pub struct KernelListener(Socket);

fn socket(address: SocketAddr, kind: Type, options: &SocketOptions) -> io::Result<Socket> {
    let protocol = if kind == Type::STREAM {
        Protocol::TCP
    } else {
        Protocol::UDP
    };
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    if let Some(bytes) = options.buffer {
        socket.set_send_buffer_size(bytes as usize)?;
        socket.set_recv_buffer_size(bytes as usize)?;
    }
    if options.no_delay && kind == Type::STREAM {
        socket.set_tcp_nodelay(true)?;
    }
    socket.set_read_timeout(Some(POLL))?;
    Ok(socket)
}

impl KernelSockets {
    fn stream(&self, address: SocketAddr, options: &SocketOptions) -> io::Result<Socket> {
        let socket = socket(address, Type::STREAM, options)?;
        if let Some(name) = &self.congestion {
            socket
                .set_tcp_congestion(name.as_bytes())
                .map_err(|error| {
                    let why = format!("the kernel has no congestion control `{name}`: {error}");
                    io::Error::new(error.kind(), why)
                })?;
        }
        Ok(socket)
    }
}

fn address(address: &SockAddr) -> io::Result<SocketAddr> {
    address.as_socket().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "the socket has no internet address",
        )
    })
}

impl Sockets for KernelSockets {
    type Stream = TcpStream;
    type Listener = KernelListener;
    type DatagramSocket = UdpSocket;

    fn connect(&self, remote: SocketAddr, options: &SocketOptions) -> io::Result<TcpStream> {
        let socket = self.stream(remote, options)?;
        socket.connect(&remote.into())?;
        // Set the write timeout after connect(2), because it would also limit the
        // handshake.
        socket.set_write_timeout(Some(POLL))?;
        Ok(socket.into())
    }

    fn listen(&self, local: SocketAddr, options: &SocketOptions) -> io::Result<KernelListener> {
        let socket = self.stream(local, options)?;
        socket.set_reuse_address(true)?;
        socket.bind(&local.into())?;
        socket.listen(128)?;
        Ok(KernelListener(socket))
    }

    fn datagram_socket(&self, local: SocketAddr, options: &SocketOptions) -> io::Result<UdpSocket> {
        let socket = socket(local, Type::DGRAM, options)?;
        socket.set_write_timeout(Some(POLL))?;
        socket.bind(&local.into())?;
        Ok(socket.into())
    }

    fn source_address_for(&self, remote: SocketAddr) -> SocketAddr {
        // Connecting a UDP socket makes the kernel choose the source address. If that
        // fails, the first packet of the test reports the error.
        let unspecified: IpAddr = match remote {
            SocketAddr::V4(_) => IpAddr::from([0; 4]),
            SocketAddr::V6(_) => IpAddr::from([0; 16]),
        };
        UdpSocket::bind((unspecified, 0))
            .and_then(|probe| probe.connect(remote).and_then(|()| probe.local_addr()))
            .map_or(SocketAddr::new(unspecified, 0), |local| {
                SocketAddr::new(local.ip(), 0)
            })
    }

    fn stream_send_buffer(&self, options: &SocketOptions) -> io::Result<u64> {
        let any = SocketAddr::from(([0; 4], 0));
        Ok(socket(any, Type::STREAM, options)?.send_buffer_size()? as u64)
    }
}

impl StreamListener for KernelListener {
    type Stream = TcpStream;

    fn accept(&self) -> io::Result<TcpStream> {
        let (socket, _) = self.0.accept()?;
        socket.set_read_timeout(Some(POLL))?;
        socket.set_write_timeout(Some(POLL))?;
        Ok(socket.into())
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        address(&self.0.local_addr()?)
    }

    fn receive_buffer(&self) -> io::Result<u64> {
        Ok(self.0.recv_buffer_size()? as u64)
    }
}

impl Stream for TcpStream {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        io::Read::read(&mut &*self, buffer)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut &*self, bytes)
    }

    fn shutdown_write(&self) -> io::Result<()> {
        self.shutdown(std::net::Shutdown::Write)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Self::local_addr(self)
    }

    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Self::peer_addr(self)
    }

    fn handshake_info(&self) -> Option<HandshakeInfo> {
        let info = kernel::tcp_info(self).ok()?;
        Some(HandshakeInfo {
            initial_window: u64::from(info.cwnd_segments) * u64::from(info.mss),
            mss: info.mss,
            rtt: info.rtt,
        })
    }

    fn limits(&self) -> Option<Limits> {
        None
    }
}

impl DatagramSocket for UdpSocket {
    fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()> {
        Self::send_to(self, bytes, to).map(drop)
    }

    fn receive_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.recv_from(buffer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Self::local_addr(self)
    }

    fn send_buffer(&self) -> io::Result<u64> {
        Ok(socket2::SockRef::from(self).send_buffer_size()? as u64)
    }

    fn receive_buffer(&self) -> io::Result<u64> {
        Ok(socket2::SockRef::from(self).recv_buffer_size()? as u64)
    }
}
