//! Two network namespaces with one bridge each, and a link in real time between the bridges.
//!
//! Rule: all parts are created for one path and removed with it, so that the kernel keeps no
//! metrics of an earlier path. The kernel on a bridge, and a stack behind a TAP device on the same
//! bridge, use the same path.

use std::{
    fs, io,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use fullpipe_host::{DeviceOptions, Namespace, Tap};
use fullpipe_perf::live::{LiveEnd, LiveLink, LiveReport};
use fullpipe_sim::LinkModel;

/// The kernel's address on each bridge.
pub const KERNEL: [[u8; 4]; 2] = [[10, 9, 0, 1], [10, 9, 0, 2]];
const NAMES: [&str; 2] = ["left", "right"];
const BRIDGE: &str = "bridge0";

/// Both networks, while the link between them runs.
pub struct Path {
    /// Network namespaces of the left and the right side.
    pub sides: [Namespace; 2],
}

/// Stops the link when the body of a path ends, even if the body panics.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Path {
    /// Creates the networks and the link, runs `body` with them, and returns the link's last
    /// report. Calls `report` every half a second.
    ///
    /// # Errors
    /// Fails if the kernel refuses an operation, for example because this process is not root.
    pub fn with<R>(
        link: LinkModel,
        seed: u64,
        capture: Option<Box<dyn io::Write + Send>>,
        report: &mut (dyn FnMut(&LiveReport) + Send),
        body: impl FnOnce(&Self) -> io::Result<R>,
    ) -> io::Result<(R, LiveReport)> {
        let path = Self {
            sides: [Namespace::new()?, Namespace::new()?],
        };
        let ends = [path.end(0, &link)?, path.end(1, &link)?];
        let mut live = LiveLink::new(ends, link, seed, capture)?;
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let running = scope.spawn(|| {
                let stop = || stop.load(Ordering::Acquire);
                live.run(&stop, Duration::from_millis(500), report)
            });
            let stops = StopOnDrop(&stop);
            let result = body(&path);
            drop(stops);
            let ended = running
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((result?, ended?))
        })
    }

    /// Creates a TAP device of `side` on its bridge.
    ///
    /// # Errors
    /// Returns the error of the kernel or of `ip`.
    pub fn tap(&self, side: usize, options: &DeviceOptions) -> io::Result<Tap> {
        self.sides[side].enter(|| {
            let tap = Tap::open(options).map_err(io::Error::other)?;
            ip(&format!("link set {} master {BRIDGE}", tap.name()))?;
            Ok(tap)
        })?
    }

    /// Sets up the network of `side` and returns the link's end in this network.
    fn end(&self, side: usize, link: &LinkModel) -> io::Result<LiveEnd> {
        let name = NAMES[side];
        let [a, b, c, d] = KERNEL[side];
        self.sides[side].enter(|| {
            // Switch IPv6 off: otherwise the link would drop some packets of neighbour discovery
            // instead of packets of the test.
            fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")?;
            ip("link set lo up")?;
            ip(&format!("link add {BRIDGE} type bridge mcast_snooping 0"))?;
            ip(&format!("addr add {a}.{b}.{c}.{d}/24 dev {BRIDGE}"))?;
            ip(&format!("link set {BRIDGE} up"))
        })??;
        let options = DeviceOptions {
            mtu: Some(link.mtu),
            checksum_offload: false,
            ..DeviceOptions::new(format!("tap:{name}").parse().map_err(io::Error::other)?)
        };
        Ok(LiveEnd {
            name: name.into(),
            device: Box::new(self.tap(side, &options)?),
        })
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
