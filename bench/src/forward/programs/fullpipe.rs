//! The forwarder of `fullpipe forward`, without its command line.
//!
//! Rule: the settings are the defaults of the command.

use std::sync::Arc;

use anyhow::Result;
use fullpipe_host::DeviceOptions;
use fullpipe_netstack::{
    NetstackBuilder,
    forward::{FlowTable, Forwarder, Via},
};

use super::super::network::MTU;

pub fn run(name: &str) -> Result<()> {
    let options = DeviceOptions {
        mtu: Some(MTU.into()),
        ..DeviceOptions::new(format!("tun:{name}").parse()?)
    };
    let device = options.open()?;
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    executor.block_on(async {
        let (tcp, udp) = NetstackBuilder::default().start(device)?;
        let table = Arc::new(FlowTable::default());
        Forwarder::new(Via::Direct).run(tcp, udp, table).await?;
        Ok(())
    })
}
