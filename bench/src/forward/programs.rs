//! The forwarders under test: a small program around each library.
//!
//! Rule: each program uses its library as the library's README or example does, with the settings
//! shown there, on a TUN device with the MTU [`MTU`]. Each relays with kernel sockets.

mod fullpipe;
mod ipstack;
mod netstack_smoltcp;
mod ts_netstack_smoltcp;

use std::{io, net::SocketAddr};

use anyhow::{Result, bail};
use tokio::{
    io::{AsyncRead, AsyncWrite, copy_bidirectional},
    net::TcpStream,
};

use super::contender::Contender;

/// MTU of the TUN device, in bytes.
pub const MTU: u16 = 1500;

/// Carries the flows of the TUN device `name` until the process ends.
///
/// # Errors
/// Returns the error of the device or of the library.
pub fn run(contender: Contender, name: &str) -> Result<()> {
    match contender {
        Contender::Fullpipe => fullpipe::run(name),
        Contender::Ipstack => ipstack::run(name),
        Contender::NetstackSmoltcp => netstack_smoltcp::run(name),
        Contender::TsNetstackSmoltcp => ts_netstack_smoltcp::run(name),
        Contender::Gvisor => bail!("gVisor's forwarder is a program of its own: bench/gvisor"),
    }
}

/// Connects to `target` and copies in both directions.
async fn relay(
    mut flow: impl AsyncRead + AsyncWrite + Unpin,
    target: SocketAddr,
) -> io::Result<()> {
    let mut target = TcpStream::connect(target).await?;
    target.set_nodelay(true)?;
    copy_bidirectional(&mut flow, &mut target).await.map(drop)
}
