//! Arguments of `fullpipe iperf`.
//!
//! Rule: flags and their defaults are those of iperf 2.1.8. Flags of fullpipe's stack are
//! in a separate group.

use std::{net::IpAddr, path::PathBuf, str::FromStr, time::Duration};

use clap::Args;
use fullpipe_host::{DeviceSpec, Prefix, SpecError};
use fullpipe_lab::units::parse_rate;
use fullpipe_perf::iperf2::{self, Rate, options};

use super::values::{Setting, setting};
use crate::failure::Failure;

/// Measure throughput as iperf 2 does, in both roles
///
/// Protocol and output are those of iperf 2.1.8; one line is added at the end: the
/// limits of the transfer, largest first. The test runs over this machine's sockets,
/// or over fullpipe's stack on a TAP or TUN device or on the wire of an interface.
///
/// Sizes: K, M and G are powers of 1024, k, m and g powers of 1000.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe iperf -s\n  \
    fullpipe iperf -c 192.168.8.1 -t 30 -i 3\n  \
    fullpipe iperf -s --dev tap:fp0 --addr 10.9.0.2/24 \\\n    \
      --host-addr 10.9.0.1/24\n  \
    fullpipe iperf -c 10.9.0.1 -u -b 500M -l 1472 --dev tap:fp0 \\\n    \
      --addr 10.9.0.2/24\n  \
    fullpipe iperf -c 10.9.0.1 --dev tap:fp0 --addr 10.9.0.2/24 \\\n    \
      --set tcp.send_buffer=16K\n  \
    fullpipe iperf -s --dev xdp:eth0 --addr 192.168.8.50/24\n  \
    fullpipe iperf -s --dev packet:eth0 --addr dhcp\n\n\
    tap and tun devices are created. With the preset default or linux, fullpipe's\n\
    stack on a TAP device also takes IPv6 addresses from routers, unless\n\
    --set ip.autoconfiguration=false. packet (AF_PACKET) and xdp (AF_XDP) put the\n\
    stack on the wire of an interface that exists, beside this machine's kernel:\n\
    --addr must be an address that no host of the network has. If this machine\n\
    has the address, its kernel answers too.\n\
    This machine cannot reach the address of --addr through that interface.")]
#[command(group(clap::ArgGroup::new("role").required(true)))]
pub struct IperfArguments {
    /// Wait for clients
    #[arg(short = 's', long, group = "role")]
    pub server: bool,
    /// Send to the server at HOST
    #[arg(short = 'c', long, value_name = "HOST", group = "role")]
    pub client: Option<String>,
    /// UDP instead of TCP
    #[arg(short = 'u', long)]
    pub udp: bool,
    /// Port of the server
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = iperf2::DEFAULT_PORT,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Seconds between reports
    #[arg(short = 'i', long, value_name = "SECONDS", value_parser = interval_seconds)]
    pub interval: Option<Duration>,
    /// Seconds to send, or to serve [default: 10, or until interrupted]
    #[arg(short = 't', long, value_name = "SECONDS", value_parser = options::parse_seconds)]
    pub time: Option<Duration>,
    /// Bytes to send, instead of a time
    #[arg(short = 'n', long = "num", value_name = "BYTES", value_parser = options::parse_bytes,
        conflicts_with_all = ["time", "server"])]
    pub amount: Option<u64>,
    /// Bytes of a write, a read or a datagram [default: 128K, 1470 with -u]
    #[arg(short = 'l', long = "len", value_name = "BYTES", value_parser = options::parse_bytes)]
    length: Option<u64>,
    /// Rate to send at: 100M, 100mbit, or 2000pps [default: no limit, 1M with -u]
    #[arg(short = 'b', long = "bandwidth", value_name = "RATE", value_parser = rate,
        conflicts_with = "server")]
    pub rate: Option<Rate>,
    /// Bytes of socket buffer
    #[arg(short = 'w', long, value_name = "BYTES", value_parser = options::parse_bytes)]
    window: Option<u64>,
    /// Number of parallel streams; for a server, number of clients after which it ends
    #[arg(short = 'P', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub parallel: Option<u32>,
    /// The server sends, the client receives
    #[arg(short = 'R', long, conflicts_with = "server")]
    pub reverse: bool,
    /// Send small segments without delay (TCP_NODELAY)
    #[arg(short = 'N', long = "nodelay", conflicts_with = "server")]
    pub no_delay: bool,
    /// Congestion control of TCP, such as cubic or bbr
    #[arg(short = 'Z', long = "linux-congestion", value_name = "NAME")]
    pub congestion: Option<String>,
    /// Network: kernel (this machine's sockets), or fullpipe's stack on tap:NAME, tun:NAME, packet:NIC or xdp:NIC
    #[arg(long = "dev", value_name = "DEVICE", default_value = "kernel", help_heading = NETWORK)]
    pub device: NetworkDevice,
    /// Address of fullpipe's stack, which no other host may have; or dhcp
    #[arg(long = "addr", value_name = "A.B.C.D/N", help_heading = NETWORK)]
    pub address: Option<OwnAddress>,
    /// Gateway of fullpipe's stack to other networks
    #[arg(long, value_name = "A.B.C.D", help_heading = NETWORK)]
    pub gateway: Option<IpAddr>,
    /// Address of this machine's kernel on the device
    #[arg(long = "host-addr", value_name = "A.B.C.D/N", help_heading = NETWORK)]
    pub host_address: Option<Prefix>,
    /// Preset (settings of a known system) of fullpipe's stack
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = NETWORK)]
    pub preset: String,
    /// Change a knob (a setting of fullpipe's stack); repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, help_heading = NETWORK)]
    pub settings: Vec<Setting>,
    /// Write a capture of the device to FILE
    #[arg(long, value_name = "FILE", help_heading = NETWORK)]
    pub pcap: Option<PathBuf>,
}

const NETWORK: &str = "fullpipe's stack";

/// The source of the address of our own stack.
#[derive(Clone, Copy, Debug)]
pub enum OwnAddress {
    /// A DHCP server.
    Dhcp,
    /// The user.
    Fixed(Prefix),
}

impl OwnAddress {
    /// Returns the address that the user gave, with the prefix of its network.
    pub const fn fixed(self) -> Option<Prefix> {
        match self {
            Self::Dhcp => None,
            Self::Fixed(prefix) => Some(prefix),
        }
    }
}

impl FromStr for OwnAddress {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        match text {
            "dhcp" => Ok(Self::Dhcp),
            fixed => fixed.parse().map(Self::Fixed),
        }
    }
}

impl IperfArguments {
    /// Returns the bytes of `-l`.
    ///
    /// # Errors
    /// Fails if the value is 0 or larger than a buffer can be.
    pub fn length(&self) -> Result<Option<usize>, Failure> {
        Ok(in_range("-l", self.length, 16 << 20)?.map(|bytes| bytes as usize))
    }

    /// Returns the bytes of `-w`.
    ///
    /// # Errors
    /// Fails if the value is 0 or larger than a buffer can be.
    pub fn window(&self) -> Result<Option<u32>, Failure> {
        Ok(in_range("-w", self.window, 1 << 30)?.map(|bytes| bytes as u32))
    }
}

/// Reads a rate as iperf does (`100M`, `2000pps`), or with its unit (`100mbit`).
fn rate(text: &str) -> Result<Rate, String> {
    let has_unit = text.to_ascii_lowercase().contains('b');
    match parse_rate(text).filter(|_| has_unit) {
        Some(bits) => Ok(Rate::Bits(bits)),
        None => options::parse_rate(text),
    }
}

/// Shortest interval between reports, as in iperf 2.
const LEAST_INTERVAL: Duration = Duration::from_millis(5);

fn interval_seconds(text: &str) -> Result<Duration, String> {
    match options::parse_seconds(text)? {
        short if short < LEAST_INTERVAL => Err(format!(
            "'{text}' is too short: give at least {} s",
            LEAST_INTERVAL.as_secs_f64()
        )),
        interval => Ok(interval),
    }
}

fn in_range(flag: &str, bytes: Option<u64>, most: u64) -> Result<Option<u64>, Failure> {
    match bytes {
        Some(bytes) if bytes == 0 || bytes > most => Err(Failure::usage(format!(
            "{flag} {bytes}: outside 1 to {most} bytes"
        ))),
        Some(_) | None => Ok(bytes),
    }
}

/// The network over which a test runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkDevice {
    /// This machine's own sockets.
    Kernel,
    /// A fullpipe stack on this device.
    Own(DeviceSpec),
}

impl std::str::FromStr for NetworkDevice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "kernel" {
            return Ok(Self::Kernel);
        }
        match text.parse() {
            Ok(device) => Ok(Self::Own(device)),
            Err(error) if text.contains(':') => Err(SpecError::to_string(&error)),
            Err(_) => Err("expected kernel, tap:NAME, tun:NAME, packet:NIC or xdp:NIC".to_string()),
        }
    }
}
