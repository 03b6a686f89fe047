//! Arguments of `fullpipe link`.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use fullpipe_host::{DeviceSpec, SpecError};
use fullpipe_perf::iperf2::options;

use super::{link_flags::LinkFlags, values::seed};

/// Emulate a link with delay, loss and a rate between two devices
///
/// Frames are carried between the two devices in real time, with the same link model as in `fullpipe lab`. TAP and TUN
/// devices are created unless they exist, may be moved into network namespaces, and are removed when the command ends if
/// it created them. `packet:NIC` is an interface that exists: the link then joins the networks of two interfaces of this
/// machine, like a bridge with delay. It keeps its MTU, which is also that of the link unless --mtu sets a smaller one. It
/// must not merge frames (`ethtool -K NIC gro off`); the peer of a veth must compute its checksums (`tx off`). Every device
/// needs root.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe link --between tap:left,tap:right --rate 100mbit --delay 20ms\n  \
    fullpipe link --between tap:left,tap:right --delay 5ms \\\n    \
      --queue \"64 packets\" --pcap both.pcapng\n  \
    fullpipe link --between tap:left,tap:right --loss 1% --time 60 --json\n  \
    fullpipe link --between packet:eth1,packet:eth2 --rate 20mbit --rtt 60ms\n\n\
    Values: a TIME has a unit (500us, 20ms, 1.5s), a RATE too (20mbit, 1gbit, in bit/s), BYTES may have\n\
    K, M or G (64K = 65,536), and a SHARE is a percentage or a number from 0 to 1 (1%, 0.01).\n\n\
    To make two hosts (network namespaces) while fullpipe link runs:\n  \
    ip netns add a; ip link set left netns a\n  \
    ip -n a addr add 10.9.0.1/24 dev left; ip -n a link set left up\n  \
    ip netns add b; ip link set right netns b\n  \
    ip -n b addr add 10.9.0.2/24 dev right; ip -n b link set right up")]
pub struct LinkArguments {
    /// The two devices: tap:NAME or tun:NAME, or packet:NIC or xdp:NIC for an interface that exists
    #[arg(long, value_name = "DEVICE,DEVICE")]
    pub between: Between,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// End after this many seconds [default: when interrupted]
    #[arg(short = 't', long, value_name = "SECONDS", value_parser = options::parse_seconds)]
    pub time: Option<Duration>,
    /// Print one JSON object at the end, and one line per second on standard error
    #[arg(long)]
    pub json: bool,
    /// Write a capture of both ends to FILE
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    #[command(flatten)]
    pub fields: LinkFlags,
}

/// The two devices at the ends of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between(pub [DeviceSpec; 2]);

impl std::str::FromStr for Between {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, second) = text
            .split_once(',')
            .ok_or("expected two devices such as tap:left,tap:right")?;
        let device = |text: &str| text.parse().map_err(|error: SpecError| error.to_string());
        let ends: [DeviceSpec; 2] = [device(first)?, device(second)?];
        if ends[0].name == ends[1].name {
            return Err(format!(
                "both ends are called {}; name two different devices",
                ends[0].name
            ));
        }
        if ends[0].kind.medium() != ends[1].kind.medium() {
            return Err(
                "the two devices are of different kinds; name two TAP or two TUN devices"
                    .to_string(),
            );
        }
        Ok(Self(ends))
    }
}
