//! A forwarder around `ipstack`, as its README shows.
//!
//! Rule: the settings are those of the README.

use anyhow::Result;
use ipstack::{IpStack, IpStackConfig, IpStackStream};

use super::{super::network::MTU, relay::relay};

#[tokio::main]
pub async fn run(name: &str) -> Result<()> {
    let mut device = tun::Configuration::default();
    device.tun_name(name).mtu(MTU).up();
    let mut config = IpStackConfig::default();
    config.mtu(MTU)?;
    let mut stack = IpStack::new(config, tun::create_as_async(&device)?);
    loop {
        if let IpStackStream::Tcp(flow) = stack.accept().await? {
            let target = flow.peer_addr();
            tokio::spawn(relay(flow, target));
        }
    }
}
