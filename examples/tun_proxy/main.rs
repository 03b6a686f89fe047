//! A TUN proxy: everything that is routed to the device fp0 goes through kernel sockets. The device
//! moves to the clients' network namespace; otherwise the proxy's own packets would return to it.
//!
//!     cargo run -p fullpipe-netstack --example tun_proxy
//!     ip netns add box; ip link set fp0 netns box; ip -n box addr add 10.9.0.1/24 dev fp0
//!     ip -n box link set fp0 up; ip -n box route add default dev fp0
//!     ip netns exec box curl http://192.0.2.7/
//!
//! `fullpipe forward` does the same and also supports proxies, limits and metrics.

use std::{io, sync::Arc, time::Duration};

use fullpipe::Refusal;
use fullpipe_host::DeviceOptions;
use fullpipe_netstack::{NetstackBuilder, RelayClock, TcpRequest, UdpFlow, relay};
use tokio::net::{TcpStream, UdpSocket};

const IDLE: Duration = Duration::from_secs(600);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = DeviceOptions::new("tun:fp0".parse()?).open()?;
    let (mut tcp, mut udp) = NetstackBuilder::default().start(device)?;
    loop {
        tokio::select! {
            request = tcp.next() => tokio::spawn(carry(request?)),
            Some(flow) = udp.next() => tokio::spawn(carry_datagrams(flow)),
        };
    }
}

/// Connects to the destination before it admits the SYN, so that the client gets a reset if the
/// destination refuses.
async fn carry(request: TcpRequest) -> io::Result<()> {
    let Ok(mut target) = TcpStream::connect(request.destination()).await else {
        return request.refuse(Refusal::Port);
    };
    let mut flow = request.admit().await?;
    let clock = Arc::new(RelayClock::default());
    let (up, down) = relay(&mut flow, &mut target, IDLE, &clock).await?;
    println!("{}: {up} bytes up, {down} bytes down", flow.destination());
    Ok(())
}

async fn carry_datagrams(mut flow: UdpFlow) -> io::Result<()> {
    let any = if flow.destination().is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(flow.destination()).await?;
    let mut answer = vec![0; 65_535];
    loop {
        tokio::select! {
            datagram = flow.recv() => match datagram {
                Some(datagram) => drop(socket.send(&datagram).await?),
                None => return Ok(()), // the flow is idle
            },
            len = socket.recv(&mut answer) => flow.send(&answer[..len?]).await?,
        }
    }
}
