//! The relay of the programs that have none in their library.
//!
//! Rule: a kernel socket for each flow, without Nagle's algorithm.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncRead, AsyncWrite, copy_bidirectional},
    net::TcpStream,
};

/// Connects to `target` and copies in both directions.
pub async fn relay(
    mut flow: impl AsyncRead + AsyncWrite + Unpin,
    target: SocketAddr,
) -> io::Result<()> {
    let mut target = TcpStream::connect(target).await?;
    target.set_nodelay(true)?;
    copy_bidirectional(&mut flow, &mut target).await.map(drop)
}
