//! A forwarder around `ts_netstack_smoltcp`: the stack runs on a thread that looks for packets every
//! 10 ms, as its README and its example `tcp_listen_tun` show.
//!
//! Rule: the library accepts connections only to its own addresses and to ports that it listens on.
//! The stack therefore gets the server's address, and listens on the server's port.

use std::time::Duration;

use anyhow::{Result, anyhow};
use ts_netstack_smoltcp::{
    CreateSocket, HasChannel, Netstack, TunRsDevice,
    netcore::{Config, Error, NetstackControl},
};
use tun_rs::DeviceBuilder;

use super::{
    super::network::{MTU, SERVER},
    relay::relay,
};

/// Longest time between two looks for packets: the README's own value.
const LOOK: Duration = Duration::from_millis(10);

#[tokio::main]
pub async fn run(name: &str) -> Result<()> {
    let device = DeviceBuilder::new().name(name).mtu(MTU).build_sync()?;
    // As the library does for a device that it creates itself.
    device.set_nonblocking(true)?;
    let config = Config {
        mtu: MTU.into(),
        ..Config::default()
    };
    let stack = Netstack::new(TunRsDevice::from(device), config);
    let channel = stack.command_channel();
    let _running = stack.spawn_threaded(LOOK);
    let failed = |error: Error| anyhow!("{error:?}");
    channel.set_ips([SERVER.ip()]).await.map_err(failed)?;
    let listener = channel.tcp_listen(SERVER).await.map_err(failed)?;
    loop {
        let flow = listener.accept().await.map_err(failed)?;
        tokio::spawn(relay(flow, SERVER));
    }
}
