//! Arguments of `fullpipe forward`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use fullpipe_host::{DeviceKind, DeviceSpec, Prefix};
use fullpipe_netstack::forward::Via;
use fullpipe_perf::iperf2::options;

use super::{
    advice::Bytes,
    values::{Setting, setting},
};

/// Carry the flows of a TUN device through kernel sockets or a proxy
///
/// Every TCP connection and every UDP datagram that is routed to the device reaches its destination through a socket of this
/// machine, or through the proxy. A connection is accepted only after its destination was reached; if the destination refuses
/// it, the client's connection is refused too. Echo requests (ping) are passed on to their destinations with --via direct; --echo
/// sets another treatment. IPv6 flows are carried once the device has an IPv6 address and a route.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe forward --dev tun:fp0 --netns box --host-addr 10.9.0.1/24 --via direct\n  \
    fullpipe forward --dev tun:fp0 --via socks5://127.0.0.1:1080 --user nobody\n  \
    fullpipe forward --dev tun:fp0 --via http://proxy:3128 --limits\n  \
    fullpipe forward --dev tun:fp0 --via direct --bind-dev eth0 \\\n    \
      --prometheus 127.0.0.1:9100\n\n\
    To send the whole traffic of a network namespace through fullpipe forward:\n  \
    ip netns add box; ip -n box link set lo up\n  \
    fullpipe forward --dev tun:fp0 --netns box --host-addr 10.9.0.1/24 &\n  \
    ip -n box route add default dev fp0\n  \
    ip netns exec box curl http://192.0.2.7/")]
pub struct ForwardArguments {
    /// The TUN device; created if it does not exist
    #[arg(long = "dev", value_name = "tun:NAME", value_parser = tun)]
    pub device: DeviceSpec,
    /// Means to reach the destinations: direct, socks5://HOST:PORT, or http://HOST:PORT (no UDP)
    ///
    /// USER:PASSWORD@ may stand before HOST; other users of this machine can see it in the list of processes.
    #[arg(long, value_name = "WAY", default_value = "direct")]
    pub via: Via,
    /// Open the device in this network namespace: a name or the path of its file
    #[arg(long, value_name = "NAME")]
    pub netns: Option<PathBuf>,
    /// Address of the kernel's end of the device, IPv4 or IPv6, with the length of its network's prefix
    #[arg(long = "host-addr", value_name = "ADDRESS/N")]
    pub host_address: Option<Prefix>,
    /// MTU of the device in bytes [default: the MTU that the device has]
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<usize>,
    /// Treatment of echo requests (ping) [default: pass with --via direct, if the system allows it, otherwise answer]
    #[arg(long, value_name = "HOW")]
    pub echo: Option<EchoTreatment>,
    /// Bind the sockets to this interface, so that their packets do not return to the device
    #[arg(long = "bind-dev", value_name = "NIC")]
    pub bind_device: Option<String>,
    /// Run as this user, without privileges, after the device was opened
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Largest number of flows of each protocol at the same time
    #[arg(long, value_name = "N", default_value_t = 4_096, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub flows: u32,
    /// Packet memory for the payload of all flows
    #[arg(long, value_name = "BYTES", default_value = "64M")]
    pub memory: Bytes,
    /// Seconds of silence after which a TCP flow ends
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = options::parse_seconds)]
    pub tcp_idle: Duration,
    /// Seconds of silence after which a UDP flow ends
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::parse_seconds)]
    pub udp_idle: Duration,
    /// Longest time to reach a destination, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = options::parse_seconds)]
    pub connect_timeout: Duration,
    /// Change a knob of the stack; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
    /// Every second, print for each flow whether the client or the destination limits it, and the limit of the connection
    /// to the client
    #[arg(long)]
    pub limits: bool,
    /// Print JSON: with --limits one object per second, otherwise one at the end
    #[arg(long)]
    pub json: bool,
    /// Serve the totals over all flows as OpenMetrics at this address
    #[arg(long, value_name = "IP:PORT")]
    pub prometheus: Option<SocketAddr>,
    /// End after this many seconds [default: when interrupted]
    #[arg(short = 't', long, value_name = "SECONDS", value_parser = options::parse_seconds)]
    pub time: Option<Duration>,
}

/// Treatment of the echo requests of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EchoTreatment {
    /// Pass each request on to its destination, and the reply back (only with --via direct)
    Pass,
    /// Answer every request, whatever its destination
    Answer,
    /// Answer no request
    Drop,
}

/// Parses the name of a TUN device.
fn tun(text: &str) -> Result<DeviceSpec, String> {
    match text.parse::<DeviceSpec>() {
        Ok(spec) if spec.kind == DeviceKind::Tun => Ok(spec),
        Ok(_) | Err(_) => Err("expected a TUN device such as tun:fp0".to_string()),
    }
}
