//! Creates two hosts: network namespaces, each with a TAP device. The link moves the frames of the
//! two devices.
//!
//! Rule: the kernel removes everything when the descriptors are closed. Only settings of the
//! namespaces are changed; a setting that this kernel lacks is reported and skipped.

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
};

use fullpipe_host::{
    Capture, DeviceKind, DeviceOptions, DeviceSpec, HostDevice, Namespace, Prefix, Tap, kernel,
};
use fullpipe_perf::live::LiveEnd;

use crate::{plan::KernelPlan, settings::KernelSettings};

/// Name of the device in each namespace.
pub const DEVICE: &str = "fpkernel";
/// Prefix length of the hosts' network.
pub const PREFIX: u8 = 24;

/// Address of the host at `end` of the link.
pub fn address(end: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 9, 0, 1 + end as u8)
}

/// Two hosts of this machine's kernel.
pub struct KernelHosts {
    /// The hosts' network namespaces, in the order of the link's ends.
    pub sides: [Namespace; 2],
    /// Settings that this kernel refused, each with its reason.
    pub refused: Vec<String>,
}

/// Checks that this process may create network namespaces and TAP devices.
///
/// # Errors
/// Returns one line with the missing privilege and the remedy.
pub fn check_privileges() -> Result<(), String> {
    let advice = "kernel hosts are network namespaces with TAP devices: run as root (sudo), or \
                  leave out --hosts kernel and stack = \"kernel\"";
    let namespace = Namespace::new().map_err(|error| format!("{error}; {advice}"))?;
    let opened = namespace.enter(|| tap(0, 1_500).map(drop));
    let opened = opened.map_err(|error| format!("{error}; {advice}"))?;
    opened.map_err(|error| format!("{error}; {advice}"))
}

impl KernelHosts {
    /// Creates the hosts of `plan`, and returns the link's ends. Frames that pass the device of
    /// the host at end `captured` are recorded to `out`.
    ///
    /// # Errors
    /// Fails if the kernel refuses an operation.
    pub fn make(
        plan: &KernelPlan,
        captured: usize,
        out: impl io::Write + Send + 'static,
    ) -> io::Result<(Self, [LiveEnd; 2])> {
        let sides = [Namespace::new()?, Namespace::new()?];
        let mut refused = Vec::new();
        let mut taps = Vec::new();
        for (end, side) in sides.iter().enumerate() {
            let made = side.enter(|| side_of(plan, end))??;
            refused.extend(made.1);
            taps.push(made.0);
        }
        let hosts = Self { sides, refused };
        hosts.introduce(plan)?;
        let mut out = Some(out);
        let mut ends = Vec::new();
        for (end, tap) in taps.into_iter().enumerate() {
            let out = if end == captured { out.take() } else { None };
            let device: Box<dyn HostDevice> = match out {
                Some(out) => Box::new(Capture::new(tap, out)?),
                None => Box::new(tap),
            };
            ends.push(LiveEnd {
                name: plan.hosts[end].clone(),
                device,
            });
        }
        let ends = ends.try_into().map_err(|_| io::Error::other("two ends"))?;
        Ok((hosts, ends))
    }

    /// Sets up the neighbour entry and the route of each host: the peer's MAC address, if the hosts
    /// know each other from the start, and the initial windows, if the plan has them.
    fn introduce(&self, plan: &KernelPlan) -> io::Result<()> {
        let mut macs = Vec::new();
        for side in &self.sides {
            macs.push(side.enter(|| kernel::mac_address(DEVICE))??);
        }
        for (end, side) in self.sides.iter().enumerate() {
            let (peer, mac) = (address(1 - end), macs[1 - end]);
            let windows = plan.settings[end].first_windows;
            side.enter(|| {
                if plan.acquainted {
                    kernel::add_neighbour(DEVICE, peer.into(), mac)?;
                }
                if windows.congestion > 0 || windows.receive > 0 {
                    kernel::set_first_windows(DEVICE, peer, windows)?;
                }
                io::Result::Ok(())
            })??;
        }
        Ok(())
    }
}

/// The address and port of connection number `number` at `end`.
pub fn service(end: usize, number: usize) -> SocketAddr {
    SocketAddrV4::new(address(end), 5_001 + number as u16).into()
}

/// Sets up the namespace of the calling thread as the host at `end`.
pub fn side_of(plan: &KernelPlan, end: usize) -> io::Result<(Tap, Vec<String>)> {
    // Disable IPv6: otherwise losses of the link would hit packets of neighbour discovery instead
    // of packets of the transfer. Ignore an error: a kernel without IPv6 lacks the file.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    let refused = write_sysctls(&plan.hosts[end], &plan.settings[end]);
    let tap = tap(end, plan.links[end].mtu)?;
    kernel::set_transmit_queue(DEVICE, plan.device_queue[end])?;
    if let Some(segments) = plan.gso_max_segs[end] {
        kernel::set_gso_max_segments(DEVICE, segments)?;
    }
    Ok((tap, refused))
}

fn tap(end: usize, mtu: usize) -> io::Result<Tap> {
    let spec = DeviceSpec {
        kind: DeviceKind::Tap,
        name: DEVICE.to_string(),
    };
    // Switch offloads off, so that each frame is one packet with a checksum, as on a wire.
    let options = DeviceOptions {
        mtu: Some(mtu),
        host_address: Some(Prefix {
            address: address(end).into(),
            len: PREFIX,
        }),
        checksum_offload: false,
        segment_offload: false,
        ..DeviceOptions::new(spec)
    };
    Tap::open(&options).map_err(io::Error::other)
}

/// Writes the sysctls of the calling thread's namespace. Returns those that the kernel refused.
fn write_sysctls(host: &str, settings: &KernelSettings) -> Vec<String> {
    let mut refused = Vec::new();
    for (name, value) in &settings.sysctls {
        if let Err(error) = fs::write(format!("/proc/sys/net/{name}"), value) {
            let name = format!("net.{}", name.replace('/', "."));
            refused.push(format!("{host}: {name} = {value} ({error})"));
        }
    }
    refused
}
