//! `fullpipe iperf`: iperf 2 as client and as server, over this machine's sockets or over
//! a fullpipe stack on a TAP or TUN device or on the wire of an interface.
//!
//! Rule: a wrong request is refused before a device is opened, and a device is always
//! closed. Protocol and output are in `fullpipe-perf`.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use fullpipe::{Config, Interface, presets};
use fullpipe_host::{DeviceKind, DeviceOptions, DeviceSpec, Prefix, Runtime};
use fullpipe_perf::{
    FullpipeSockets, KernelSockets, Stop,
    fullpipe_sockets::configure_udp_for_iperf,
    iperf2::{self, Amount, ClientOptions, Screen, ServerOptions, run_client, run_server},
    sockets::Sockets,
};

use crate::{
    arguments::{IperfArguments, NetworkDevice, OwnAddress},
    failure::Failure,
    files::LiveCapture,
};

/// Longest time that the fullpipe stack may take to close its connections.
const PATIENCE: Duration = Duration::from_secs(5);

/// Longest wait for an IPv6 address. The stack checks for a second or two that no other host has it.
const ADDRESS_PATIENCE: Duration = Duration::from_secs(5);

/// Longest wait for an address by DHCP.
const LEASE_PATIENCE: Duration = Duration::from_secs(60);

/// Runs the subcommand.
pub fn run(arguments: &IperfArguments) -> Result<(), Failure> {
    let plan = Plan::of(arguments)?;
    let own_address = plan.as_ref().and_then(Plan::fixed_address);
    let test = Test::of(arguments, own_address)?;
    match plan {
        None => {
            let congestion = arguments.congestion.clone();
            perform(&KernelSockets { congestion }, &test)
        }
        Some(plan) => {
            let capture = plan.capture.as_deref().map(LiveCapture::create);
            let capture = capture.transpose()?;
            let runtime = plan.start(capture.as_ref())?;
            if let Test::Client(options) = &test {
                wait_for_source(&runtime, options.remote.ip());
            }
            let done = perform(&FullpipeSockets(&runtime), &test);
            // Wait until the connections are closed, because unacknowledged payload may have to be
            // retransmitted.
            runtime.finish(PATIENCE);
            done.and(capture.map_or(Ok(()), LiveCapture::finish))
        }
    }
}

/// A test whose arguments are valid.
#[derive(Debug)]
enum Test {
    Client(ClientOptions),
    Server(ServerOptions),
}

impl Test {
    /// Creates the test that `arguments` request, on a host with `address`. A server listens at all
    /// addresses of its host that have the IP version of `address`; without one, of IPv4.
    fn of(arguments: &IperfArguments, address: Option<IpAddr>) -> Result<Self, Failure> {
        let Some(host) = &arguments.client else {
            let any: IpAddr = match address {
                Some(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
                Some(IpAddr::V4(_)) | None => Ipv4Addr::UNSPECIFIED.into(),
            };
            let local = SocketAddr::new(any, arguments.port);
            return Ok(Self::Server(ServerOptions {
                udp: arguments.udp,
                interval: arguments.interval,
                time: arguments.time,
                length: arguments.length()?,
                window: arguments.window()?,
                connections: arguments.parallel,
                ..ServerOptions::new(local)
            }));
        };
        let server = match &arguments.device {
            NetworkDevice::Own(device) => resolve(without_zone(host, device)?, arguments.port)?,
            NetworkDevice::Kernel => resolve(host, arguments.port)?,
        };
        let defaults = ClientOptions::new(server);
        let amount = match (arguments.amount, arguments.time) {
            (Some(bytes), _) => Amount::Bytes(bytes),
            (None, Some(time)) => Amount::Time(time),
            (None, None) => defaults.amount,
        };
        Ok(Self::Client(ClientOptions {
            host: host.clone(),
            udp: arguments.udp,
            amount,
            interval: arguments.interval,
            length: arguments.length()?,
            rate: arguments.rate,
            window: arguments.window()?,
            parallel: arguments.parallel.unwrap_or(1),
            reverse: arguments.reverse,
            no_delay: arguments.no_delay,
            ..defaults
        }))
    }
}

/// Returns `host` without the zone of an IPv6 address (RFC 4007 §11), as in `fe80::1%fp0`. The zone
/// must be the interface of fullpipe's stack, which has no other.
fn without_zone<'a>(host: &'a str, device: &DeviceSpec) -> Result<&'a str, Failure> {
    match host.split_once('%') {
        Some((address, zone)) if zone == device.name => Ok(address),
        Some((address, zone)) => Err(Failure::usage(format!(
            "-c {host}: fullpipe's stack has no interface `{zone}`: write {address}%{}, or {address} alone",
            device.name
        ))),
        None => Ok(host),
    }
}

/// Returns an address of `host`, preferably IPv4.
fn resolve(host: &str, port: u16) -> Result<SocketAddr, Failure> {
    let unknown =
        |why: String| Failure::failed(format!("found no address of the host `{host}`: {why}"));
    let found: Vec<_> = (host, port)
        .to_socket_addrs()
        .map_err(|error| unknown(error.to_string()))?
        .collect();
    let preferred = found
        .iter()
        .find(|address| address.is_ipv4())
        .or(found.first());
    preferred
        .copied()
        .ok_or_else(|| unknown("the lookup returned none".to_string()))
}

/// A fullpipe stack whose arguments are valid.
#[derive(Debug)]
struct Plan {
    device: DeviceSpec,
    address: OwnAddress,
    gateway: Option<IpAddr>,
    host_address: Option<Prefix>,
    config: Config,
    capture: Option<PathBuf>,
}

/// Presets of hosts, not of small devices.
const HOSTS: [&str; 2] = ["default", "linux"];

impl Plan {
    /// Checks the arguments of the fullpipe stack. Returns `None` if the test uses the kernel's
    /// stack.
    fn of(arguments: &IperfArguments) -> Result<Option<Self>, Failure> {
        let NetworkDevice::Own(device) = &arguments.device else {
            return refuse_flags_of_a_device(arguments).map(|()| None);
        };
        let address = arguments.address.ok_or_else(|| {
            Failure::usage(format!(
                "--dev {device} needs an address of fullpipe's stack: add --addr A.B.C.D/N or --addr dhcp"
            ))
        })?;
        let fixed = address.fixed();
        if let (Some(own), Some(host)) = (fixed, arguments.host_address)
            && own.address == host.address
        {
            return Err(Failure::usage(format!(
                "--addr and --host-addr are both {}: give the two ends of {device} different addresses",
                own.address
            )));
        }
        for (flag, given) in [("--addr", fixed), ("--host-addr", arguments.host_address)] {
            if let Some(Prefix { address, len }) = given {
                Interface::check_address(address, len)
                    .map_err(|error| Failure::usage(format!("{flag} {address}/{len}: {error}")))?;
            }
        }
        let mut config = presets::find(&arguments.preset)
            .map_err(|error| Failure::usage(format!("--preset: {error}")))?
            .config();
        // With the preset of a host, a stack on a TAP device takes its IPv6 addresses from routers.
        // With the preset of a small device, it does not.
        let is_host = HOSTS.contains(&arguments.preset.as_str());
        config.ip.autoconfiguration = device.kind == DeviceKind::Tap && is_host;
        // If the preset sets no buffers for UDP, use those that a test needs. The user's settings
        // are applied later, so they take precedence.
        if config.udp == Config::default().udp {
            configure_udp_for_iperf(&mut config, arguments.window()?);
        }
        if let Some(name) = &arguments.congestion {
            config
                .set("tcp.congestion", name)
                .map_err(|error| Failure::usage(format!("-Z: {error}")))?;
        }
        for setting in &arguments.settings {
            config
                .set(&setting.name, &setting.value)
                .map_err(|error| Failure::usage(format!("--set {setting}: {error}")))?;
        }
        config
            .validate()
            .map_err(|error| Failure::usage(format!("--set: {error}")))?;
        Ok(Some(Self {
            device: device.clone(),
            address,
            gateway: arguments.gateway,
            host_address: arguments.host_address,
            config,
            capture: arguments.pcap.clone(),
        }))
    }

    /// Returns the address that the user gave to the stack.
    fn fixed_address(&self) -> Option<IpAddr> {
        self.address.fixed().map(|prefix| prefix.address)
    }

    /// Opens the device and starts the stack on it. Waits for an address if DHCP gives it.
    fn start(&self, capture: Option<&LiveCapture<'_>>) -> Result<Runtime, Failure> {
        let options = DeviceOptions {
            host_address: self.host_address,
            // Compute all checksums for a capture, because it must show frames as they are on a
            // wire.
            checksum_offload: self.capture.is_none(),
            ..DeviceOptions::new(self.device.clone())
        };
        let device = options.open().map_err(Failure::failed)?;
        let builder = match self.address {
            OwnAddress::Dhcp => Runtime::dhcp(),
            OwnAddress::Fixed(prefix) => Runtime::builder(prefix),
        };
        let mut builder = builder.config(self.config.clone()).inspectable();
        if let Some(gateway) = self.gateway {
            builder = builder.gateway(gateway);
        }
        if let Some(capture) = capture {
            builder = builder.capture(capture.writer());
        }
        let runtime = builder.start(device).map_err(Failure::failed)?;
        if let OwnAddress::Dhcp = self.address {
            let lease = runtime.wait_for_lease(LEASE_PATIENCE);
            let lease = lease.map_err(|why| Failure::failed(format!("--addr dhcp: {why}")))?;
            eprintln!("address {}/{}", lease.address, lease.prefix_len);
        }
        Ok(runtime)
    }
}

/// Waits until the stack may use an address from which it can reach `server`, for at most
/// [`ADDRESS_PATIENCE`]. An IPv6 address is not used before the stack knows that no other host has
/// it (RFC 4862 §5.4), which takes a second. Without an address, the test itself reports the error.
fn wait_for_source(runtime: &Runtime, server: IpAddr) {
    let IpAddr::V6(to) = server else {
        return;
    };
    let started = Instant::now();
    let has_source = || {
        let source = runtime.with_stack(|stack, _| stack.routes().source(server));
        matches!(source, Some(IpAddr::V6(from))
            if from.is_unicast_link_local() == to.is_unicast_link_local())
    };
    while !has_source() && started.elapsed() < ADDRESS_PATIENCE {
        thread::sleep(Duration::from_millis(20));
    }
}

/// Refuses flags of the fullpipe stack if the test uses the kernel's stack.
fn refuse_flags_of_a_device(arguments: &IperfArguments) -> Result<(), Failure> {
    let given = [
        ("--addr", arguments.address.is_some()),
        ("--gateway", arguments.gateway.is_some()),
        ("--host-addr", arguments.host_address.is_some()),
        ("--set", !arguments.settings.is_empty()),
        ("--pcap", arguments.pcap.is_some()),
        ("--preset", arguments.preset != presets::PRESETS[0].name),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag} applies only to fullpipe's stack: add --dev tap:NAME, tun:NAME, packet:NIC or xdp:NIC"
        ))),
        None => Ok(()),
    }
}

/// Runs the test and prints its results.
fn perform<S: Sockets>(sockets: &S, test: &Test) -> Result<(), Failure> {
    let stop = Stop::on_interrupt()?;
    let mut screen = Screen {
        out: &mut io::stdout(),
        err: &mut io::stderr(),
    };
    let errors = match test {
        Test::Client(options) => run_client(sockets, options, &stop, &mut screen)?.errors,
        // Ignore errors of single clients: they do not end the server.
        Test::Server(options) => {
            run_server(sockets, options, &stop, &mut screen)?;
            0
        }
    };
    if errors > 0 {
        Err(Failure::Reported)
    } else {
        Ok(())
    }
}

impl From<iperf2::Failure> for Failure {
    fn from(failure: iperf2::Failure) -> Self {
        match failure {
            iperf2::Failure::Usage(why) => Self::Usage(why),
            iperf2::Failure::Sockets(..) => Self::failed(failure),
            iperf2::Failure::Output(error) => Self::from(error),
        }
    }
}
