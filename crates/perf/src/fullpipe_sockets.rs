//! Implementation of the socket traits for a running fullpipe stack.
//!
//! Rule: these sockets behave like the kernel's, and also report their limits. The caller
//! starts and stops the stack.

use std::{io, net::SocketAddr};

use fullpipe::{Config, Info, ListenOptions, Tuning};
use fullpipe_host::{Runtime, TcpListener, TcpStream, UdpSocket};

use crate::{
    sockets::{
        DatagramBatch, DatagramSocket, HandshakeInfo, LimitTime, Limits, SocketOptions, Sockets,
        Stream, StreamListener,
    },
    stop::POLL,
};

/// The sockets of one stack.
#[derive(Clone, Copy, Debug)]
pub struct FullpipeSockets<'a>(pub &'a Runtime);

/// A listener, and the initial receive buffer of its connections in bytes.
#[derive(Debug)]
pub struct FullpipeListener(TcpListener, u32);

/// A UDP socket, and the stack's buffer sizes in bytes.
#[derive(Debug)]
pub struct FullpipeDatagramSocket {
    socket: UdpSocket,
    send_buffer: u32,
    receive_buffer: u32,
}

/// Number of datagrams that fit into the receive queue in a test: about as many full frames as
/// arrive in 50 ms at 500 Mbit/s. A busy machine may pause the reader for that long.
const RECEIVE_QUEUE: u32 = 2_048;

/// Sets the UDP knobs (settings of the stack) for an iperf test: a receive queue that does not
/// overflow while the scheduler pauses the reader, and buffers of `buffer` bytes (`-w`) if given.
/// Call this before the user's settings are applied.
pub fn configure_udp_for_iperf(config: &mut Config, buffer: Option<u32>) {
    let pool_bytes = config.pool.blocks.saturating_mul(config.pool.block_size);
    config.udp.receive_queue = RECEIVE_QUEUE;
    config.udp.receive_buffer = buffer.unwrap_or(pool_bytes / 2);
    if let Some(bytes) = buffer {
        config.udp.send_buffer = bytes;
    }
}

impl FullpipeSockets<'_> {
    fn tuning(&self, options: &SocketOptions) -> Tuning {
        let mut tuning = Tuning::from_config(&self.0.config().tcp);
        if let Some(bytes) = options.buffer {
            tuning.fix_send_buffer(bytes);
            tuning.fix_receive_buffer(bytes);
        }
        if options.no_delay {
            tuning.nagle = false;
        }
        tuning
    }
}

fn with_timeouts(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(POLL));
    stream.set_write_timeout(Some(POLL));
    stream
}

impl Sockets for FullpipeSockets<'_> {
    type Stream = TcpStream;
    type Listener = FullpipeListener;
    type DatagramSocket = FullpipeDatagramSocket;

    fn connect(&self, remote: SocketAddr, options: &SocketOptions) -> io::Result<TcpStream> {
        TcpStream::connect_with(self.0, remote, Some(self.tuning(options)), None).map(with_timeouts)
    }

    fn listen(&self, local: SocketAddr, options: &SocketOptions) -> io::Result<FullpipeListener> {
        let tuning = self.tuning(options);
        let listen = ListenOptions {
            tuning: Some(tuning),
            ..ListenOptions::default()
        };
        let listener = TcpListener::bind_with(self.0, local, listen)?;
        listener.set_timeout(Some(POLL));
        Ok(FullpipeListener(listener, tuning.receive_buffer))
    }

    fn datagram_socket(
        &self,
        local: SocketAddr,
        _: &SocketOptions,
    ) -> io::Result<FullpipeDatagramSocket> {
        let socket = UdpSocket::bind(self.0, local)?;
        socket.set_read_timeout(Some(POLL));
        socket.set_write_timeout(Some(POLL));
        let knobs = &self.0.config().udp;
        Ok(FullpipeDatagramSocket {
            socket,
            send_buffer: knobs.send_buffer,
            receive_buffer: knobs.receive_buffer,
        })
    }

    fn source_address_for(&self, remote: SocketAddr) -> SocketAddr {
        let runtime = self.0;
        // Without a route, the first packet of the test reports the error.
        let source = runtime.with_stack(|stack, _| stack.routes().source(remote.ip()));
        SocketAddr::new(source.unwrap_or(self.0.interface().address), 0)
    }

    fn stream_send_buffer(&self, options: &SocketOptions) -> io::Result<u64> {
        Ok(self.tuning(options).send_buffer.into())
    }
}

impl StreamListener for FullpipeListener {
    type Stream = TcpStream;

    fn accept(&self) -> io::Result<TcpStream> {
        self.0.accept().map(|(stream, _)| with_timeouts(stream))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local_addr())
    }

    fn receive_buffer(&self) -> io::Result<u64> {
        Ok(self.1.into())
    }
}

fn limits(info: &Info) -> Limits {
    let sender = info
        .limit
        .shares(info.at)
        .map(|(limit, time, _)| LimitTime {
            name: limit.name(),
            time: time.into(),
        });
    let receiver = info
        .receive_limit
        .shares(info.at)
        .map(|(limit, time, _)| LimitTime {
            name: limit.name(),
            time: time.into(),
        });
    Limits {
        sender: sender.collect(),
        receiver: receiver.collect(),
    }
}

impl Stream for TcpStream {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    fn shutdown_write(&self) -> io::Result<()> {
        self.shutdown(std::net::Shutdown::Write)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(Self::local_addr(self))
    }

    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(Self::peer_addr(self))
    }

    fn handshake_info(&self) -> Option<HandshakeInfo> {
        let info = self.info().ok()?;
        Some(HandshakeInfo {
            initial_window: info.cwnd.into(),
            mss: info.mss,
            rtt: info.srtt.into(),
        })
    }

    fn limits(&self) -> Option<Limits> {
        self.info().ok().map(|info| limits(&info))
    }
}

impl DatagramSocket for FullpipeDatagramSocket {
    fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()> {
        self.socket.send_to(bytes, to).map(drop)
    }

    fn receive_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.socket.recv_from(buffer)
    }

    fn receive_batch(&self, batch: &mut DatagramBatch) -> io::Result<()> {
        self.socket.recv_batch(batch)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.socket.local_addr())
    }

    fn send_buffer(&self) -> io::Result<u64> {
        Ok(self.send_buffer.into())
    }

    fn receive_buffer(&self) -> io::Result<u64> {
        Ok(self.receive_buffer.into())
    }
}
