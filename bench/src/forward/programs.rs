//! The forwarders under test: a small program around each library.
//!
//! Rule: each program uses its library as the library's README or example does, with the settings
//! shown there, on a TUN device with the MTU [`MTU`](super::network::MTU). Each relays with kernel sockets.

mod fullpipe;
mod ipstack;
mod netstack_smoltcp;
mod relay;
mod ts_netstack_smoltcp;

use anyhow::{Result, bail};

use super::contender::Contender;

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
