//! An encrypted tunnel without devices and privileges, in the manner of WireGuard in user space: two
//! packet pipes, with sealed packets over UDP between them.
//!
//!     cargo run -p fullpipe-netstack --example tunnel -- exit 0.0.0.0:51820 key
//!     cargo run -p fullpipe-netstack --example tunnel -- enter exit.example:51820 key 127.0.0.1:8080 192.0.2.7:80
//!
//! Both need the same file `key` with 32 random bytes (`head -c 32 /dev/urandom > key`). The entry
//! listens at 127.0.0.1:8080. It carries each connection to 192.0.2.7:80: its own TCP stack makes packets
//! of it, which reach the exit sealed, and there a netstack makes a flow of them again. With a further
//! argument, the exit carries every flow to that address. The exit sends to the address from which the last genuine packet came. Unlike WireGuard, the example has no handshake: a
//! key serves for one run of each end, because the nonce of each direction counts from 0.

use std::{
    error::Error,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use chacha20poly1305::{
    ChaCha20Poly1305, KeyInit,
    aead::{Aead, Nonce},
};
use fullpipe::Refusal;
use fullpipe_host::{Runtime, tokio as stack};
use fullpipe_netstack::{
    EchoRequest, NetstackBuilder, PacketPipe, PipeDevice, RelayClock, TcpRequest, relay,
};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

/// MTU in the tunnel. With the headers of UDP, IP and the seal, its packets fit 1500 bytes.
const MTU: usize = 1_420;
/// Bytes before and after a sealed packet: its number, and the seal's tag.
const OVERHEAD: usize = 8 + 16;
/// Numbers of packets that may arrive out of order.
const WINDOW: u64 = 64;
const IDLE: Duration = Duration::from_secs(600);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["exit", listen, key] => exit(UdpSocket::bind(listen).await?, &key_of(key)?, None).await,
        ["exit", listen, key, target] => {
            let target = Some(target.parse()?);
            exit(UdpSocket::bind(listen).await?, &key_of(key)?, target).await
        }
        ["enter", exit, key, listen, target] => {
            let socket = UdpSocket::bind("0.0.0.0:0").await?;
            let exit = tokio::net::lookup_host(exit).await?.next();
            let exit = exit.ok_or("the exit's name has no address")?;
            let listener = TcpListener::bind(listen).await?;
            enter(socket, exit, &key_of(key)?, listener, target.parse()?).await
        }
        _ => Err(
            "usage: tunnel exit LISTEN KEY [TARGET] | tunnel enter EXIT KEY LISTEN TARGET".into(),
        ),
    }
}

fn key_of(path: &str) -> Result<[u8; 32], Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.try_into().map_err(|_| "a key has 32 bytes")?)
}

/// Accepts connections, and carries each to `target` through the tunnel.
pub async fn enter(
    socket: UdpSocket,
    exit: SocketAddr,
    key: &[u8; 32],
    listener: TcpListener,
    target: SocketAddr,
) -> Result<(), Box<dyn Error>> {
    let (device, pipe) = PipeDevice::with_pipe(MTU)?;
    let runtime = Runtime::builder("10.10.0.2/24".parse()?)
        .gateway("10.10.0.1".parse()?)
        .start(device)?;
    let runtime = Arc::new(runtime);
    let accept = async {
        loop {
            let (mut client, _) = listener.accept().await?;
            let runtime = Arc::clone(&runtime);
            tokio::spawn(async move {
                let mut far = stack::TcpStream::connect(&runtime, target).await?;
                let clock = Arc::new(RelayClock::default());
                relay(&mut far, &mut client, IDLE, &clock).await
            });
        }
    };
    tokio::select! {
        ended = carry(&pipe, &socket, Some(exit), (Seal::new(key, 0), Seal::new(key, 1))) => Ok(ended?),
        ended = accept => ended,
    }
}

/// Makes flows of the packets of the tunnel, and carries each through a kernel socket: to its
/// destination, or to `target` if there is one.
pub async fn exit(
    socket: UdpSocket,
    key: &[u8; 32],
    target: Option<SocketAddr>,
) -> Result<(), Box<dyn Error>> {
    let (device, pipe) = PipeDevice::with_pipe(MTU)?;
    let (mut tcp, mut udp, mut echo) = NetstackBuilder::default().start_with_echo(device)?;
    let flows = async {
        loop {
            tokio::select! {
                request = tcp.next() => drop(tokio::spawn(connect(request?, target))),
                request = echo.next() => tell(request?).await?,
                // A program would carry datagrams as `tun_proxy` does.
                Some(flow) = udp.next() => flow.refuse(Refusal::Port),
            }
        }
    };
    tokio::select! {
        ended = carry(&pipe, &socket, None, (Seal::new(key, 1), Seal::new(key, 0))) => Ok(ended?),
        ended = flows => ended,
    }
}

async fn connect(request: TcpRequest, target: Option<SocketAddr>) -> io::Result<()> {
    let target = target.unwrap_or(request.destination());
    let Ok(mut target) = TcpStream::connect(target).await else {
        return request.refuse(Refusal::Port);
    };
    let mut flow = request.admit().await?;
    let clock = Arc::new(RelayClock::default());
    relay(&mut flow, &mut target, IDLE, &clock).await.map(drop)
}

/// Answers a ping of the tunnel's own end, and refuses others: this example asks no other host.
async fn tell(request: EchoRequest) -> io::Result<()> {
    if request.destination().to_string() == "10.10.0.1" {
        return request.answer().await;
    }
    request.refuse(Refusal::Host);
    Ok(())
}

/// Seals the packets of `pipe` and sends them to the peer; opens what the peer sends, and passes it to
/// `pipe`.
async fn carry(
    pipe: &PacketPipe,
    socket: &UdpSocket,
    peer: Option<SocketAddr>,
    (own, of_peer): (Seal, Seal),
) -> io::Result<()> {
    let peer = Mutex::new(peer);
    let outward = async {
        let mut packet = vec![0; MTU];
        loop {
            let len = pipe.recv(&mut packet).await?;
            let to = *peer.lock().expect("no task panics");
            if let Some(to) = to {
                // A datagram that the kernel refuses is a lost packet.
                let _ = socket.send_to(&own.seal(&packet[..len]), to).await;
            }
        }
    };
    let inward = async {
        let mut sealed = vec![0; MTU + OVERHEAD];
        loop {
            let (len, from) = socket.recv_from(&mut sealed).await?;
            if let Some(packet) = of_peer.open(&sealed[..len]) {
                *peer.lock().expect("no task panics") = Some(from);
                pipe.send(&packet).await?;
            }
        }
    };
    tokio::select! {
        ended = outward => ended,
        ended = inward => ended,
    }
}

/// The sealed packets of one direction: ChaCha20-Poly1305 with the packet's number as nonce.
pub struct Seal {
    cipher: ChaCha20Poly1305,
    direction: u8,
    /// Packets sealed so far, or the largest number that was opened, with a bit for it and each of
    /// the numbers below it that were opened.
    numbers: Mutex<(u64, u64)>,
}

impl Seal {
    /// Creates one end of a tunnel; the two ends have one key and different directions.
    pub fn new(key: &[u8; 32], direction: u8) -> Self {
        Self {
            cipher: ChaCha20Poly1305::new(key.into()),
            direction,
            numbers: Mutex::default(),
        }
    }

    fn nonce(&self, number: u64) -> Nonce<ChaCha20Poly1305> {
        let mut nonce = Nonce::<ChaCha20Poly1305>::default();
        nonce[0] = self.direction;
        nonce[4..].copy_from_slice(&number.to_be_bytes());
        nonce
    }

    /// Returns the packet encrypted, behind its number.
    pub fn seal(&self, packet: &[u8]) -> Vec<u8> {
        let mut numbers = self.numbers.lock().expect("no task panics");
        numbers.0 += 1;
        let sealed = self.cipher.encrypt(&self.nonce(numbers.0), packet);
        let sealed = sealed.expect("a packet is short enough");
        [&numbers.0.to_be_bytes(), sealed.as_slice()].concat()
    }

    /// Returns the packet; `None` if it is forged, or was opened before.
    pub fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (number, sealed) = sealed.split_first_chunk::<8>()?;
        let number = u64::from_be_bytes(*number);
        let packet = self.cipher.decrypt(&self.nonce(number), sealed).ok()?;
        let mut numbers = self.numbers.lock().expect("no task panics");
        let (largest, seen) = *numbers;
        if number > largest {
            let ahead = number - largest;
            let seen = if ahead < WINDOW { seen << ahead } else { 0 };
            *numbers = (number, seen | 1);
        } else {
            let behind = largest - number;
            let bit = if behind < WINDOW {
                1 << behind
            } else {
                return None;
            };
            if seen & bit != 0 {
                return None;
            }
            numbers.1 |= bit;
        }
        Some(packet)
    }
}
