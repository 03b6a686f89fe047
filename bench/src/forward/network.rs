//! The network of a measurement: the client's, the forwarder's and the server's namespaces.
//!
//! Rule: the namespaces have no names, so the kernel removes them, their devices and their routes
//! when this process ends, even if it is killed.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use fullpipe_host::{DeviceOptions, Namespace};
use fullpipe_perf::live::{LiveEnd, LiveLink};
use fullpipe_sim::{LinkModel, link::Queue};

use super::contender::{Contender, Process};

/// Address and port of the server.
pub const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 7, 0, 2)), 7000);

/// MTU of the TUN device, in bytes.
pub const MTU: u16 = 1500;
/// Name of the TUN device.
const DEVICE: &str = "fp0";
/// Longest time until a forwarder has opened its device.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// The place of the lossy link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// There is none: veth pairs only.
    Nowhere,
    /// Between the client and the TUN device.
    Near,
    /// Between the forwarder's sockets and the server.
    Far,
}

/// A lossy link: 100 Mbit/s, a round trip of 40 ms, 1 % loss in each direction.
fn lossy() -> LinkModel {
    LinkModel {
        rate_bps: 100_000_000,
        delay_us: 20_000,
        loss: 0.01,
        queue: Queue::Packets(500),
        ..LinkModel::ideal()
    }
}

/// A client's and a server's namespace with a forwarder between them.
pub struct Network {
    /// Namespace of the clients, whose default route leads to the TUN device.
    pub client: Namespace,
    /// Namespace of the server.
    pub server: Namespace,
    /// The forwarder.
    pub forwarder: Process,
    /// The namespace with the TUN device, if the client has a namespace of its own.
    _tunnel: Option<Namespace>,
    _link: Option<RunningLink>,
}

impl Network {
    /// Creates the namespaces, starts the forwarder and moves its TUN device to the client.
    ///
    /// # Errors
    /// Fails if this process is not root, or if the forwarder does not open its device.
    pub fn with(contender: Contender, loss: Loss, seed: u64) -> Result<Self> {
        let [client, gateway, server] = [0; 3].map(|_| Namespace::new());
        let (mut client, gateway, server) = (client?, gateway?, server?);
        for namespace in [&client, &gateway, &server] {
            namespace.enter(|| ip("link set lo up"))??;
        }
        let outside = [(&gateway, "10.7.0.1/24"), (&server, "10.7.0.2/24")];
        let mut link = match loss {
            Loss::Far => Some(RunningLink::between(outside, seed)?),
            Loss::Nowhere | Loss::Near => {
                wire(outside)?;
                None
            }
        };
        let mut forwarder = gateway.enter(|| contender.start(DEVICE, MTU))??;
        let opened = gateway.enter(|| await_device(&mut forwarder))?;
        opened.context("opening the device")?;
        move_device(&gateway, &client)?;
        let mut tunnel = None;
        if loss == Loss::Near {
            let home = Namespace::new()?;
            home.enter(|| ip("link set lo up"))??;
            link = Some(RunningLink::between(
                [(&home, "10.8.0.2/24"), (&client, "10.8.0.1/24")],
                seed,
            )?);
            client.enter(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1"))??;
            home.enter(|| ip("route add default via 10.8.0.1"))??;
            tunnel = Some(std::mem::replace(&mut client, home));
        }
        Ok(Self {
            client,
            server,
            forwarder,
            _tunnel: tunnel,
            _link: link,
        })
    }
}

/// Waits until the TUN device exists in the namespace of this thread.
fn await_device(forwarder: &mut Process) -> Result<()> {
    let limit = Instant::now() + START_TIMEOUT;
    while ip(&format!("link show {DEVICE}")).is_err() {
        if let Some(words) = forwarder.last_words() {
            bail!("the forwarder {words}");
        }
        if Instant::now() > limit {
            bail!("no device after {} s", START_TIMEOUT.as_secs());
        }
        thread::sleep(Duration::from_millis(10));
    }
    // A forwarder sets the MTU after it created the device.
    thread::sleep(Duration::from_millis(100));
    Ok(())
}

/// Moves the TUN device from `gateway` to `client`, and sets the default route of `client` to it.
fn move_device(gateway: &Namespace, client: &Namespace) -> Result<()> {
    in_both(gateway, client, |there| {
        ip(&format!("link set {DEVICE} netns {there}"))
    })?;
    client.enter(|| {
        ip(&format!("addr add 10.9.0.1/24 dev {DEVICE}"))?;
        ip(&format!("link set {DEVICE} up mtu {MTU}"))?;
        ip(&format!("route add default dev {DEVICE}"))
    })??;
    Ok(())
}

/// Connects two namespaces with a veth pair.
fn wire(ends: [(&Namespace, &str); 2]) -> Result<()> {
    let [(near, _), (far, _)] = ends;
    in_both(near, far, |there| {
        ip(&format!(
            "link add wire type veth peer name wire netns {there}"
        ))
    })?;
    for (namespace, address) in ends {
        namespace.enter(|| {
            ip(&format!("addr add {address} dev wire"))?;
            ip("link set wire up")
        })??;
    }
    Ok(())
}

/// Runs `inside` in the namespace `here`, with the path of the file of the namespace `there`.
fn in_both(
    here: &Namespace,
    there: &Namespace,
    inside: impl FnOnce(&str) -> io::Result<()> + Send,
) -> Result<()> {
    let nested = there.enter(|| {
        // The path is valid as long as this thread runs.
        let thread = fs::read_link("/proc/thread-self")?;
        let path = format!("/proc/{}/ns/net", thread.display());
        here.enter(|| inside(&path))
    });
    nested???;
    Ok(())
}

/// The lossy link, which carries frames between two TAP devices until it is dropped.
struct RunningLink {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl RunningLink {
    fn between(ends: [(&Namespace, &str); 2], seed: u64) -> Result<Self> {
        let mut live = Vec::new();
        for (namespace, address) in ends {
            let options = DeviceOptions {
                mtu: Some(MTU.into()),
                host_address: Some(address.parse()?),
                checksum_offload: false,
                segment_offload: false,
                ..DeviceOptions::new("tap:lossy".parse()?)
            };
            let device = namespace.enter(|| {
                // Without IPv6 the link loses no packets of neighbour discovery.
                fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")?;
                options.open().map_err(io::Error::other)
            })??;
            let name = address.to_owned();
            live.push(LiveEnd { name, device });
        }
        let Ok([near, far]): Result<[LiveEnd; 2], _> = live.try_into() else {
            bail!("a link has two ends");
        };
        let mut link = LiveLink::new([near, far], lossy(), seed, None)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let stopped = || stopped.load(Ordering::Acquire);
            // If the link fails, the transfer over it fails too.
            let _ = link.run(&stopped, Duration::from_secs(3_600), &mut |_| ());
        });
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for RunningLink {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A panic of the link shows in the transfer.
            let _ = thread.join();
        }
    }
}

fn ip(arguments: &str) -> io::Result<()> {
    let output = Command::new("ip").args(arguments.split(' ')).output()?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ip {arguments}: {}", why.trim())))
}
