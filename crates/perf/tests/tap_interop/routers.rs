//! Tests of IPv6 autoconfiguration: at the kernel's end of a TAP device, radvd advertises a prefix,
//! a router, an MTU and a DNS server. Also tests that an address that the kernel already has is
//! refused.
//!
//! Rule: as in `main.rs`, every test runs in its own network namespace. radvd advertises every
//! three to four seconds.

use std::{
    fs,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use fullpipe::Stack;
use fullpipe_host::{DeviceOptions, Runtime, StartError};
use fullpipe_perf::{fullpipe_sockets::configure_udp_for_iperf, iperf2::ServerOptions};

use super::{
    bytes, in_namespace, server,
    stock::{Stock, wait_until},
    v6::ping,
};

const KERNEL: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1);
const SERVER: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 0x53);
/// An address outside every network of the link.
const FAR: Ipv6Addr = Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 1);

/// Starts a stack on a TAP device. The stack has `address` and also forms its own IPv6 addresses;
/// the kernel's end of the device has fd77::1.
fn start(address: &str) -> Result<Runtime, StartError> {
    let mut options = DeviceOptions::new("tap:fpinterop".parse().expect("a device"));
    options.host_address = Some("fd77::1/64".parse().expect("an address"));
    let device = options.open().expect("the device opens");
    let mut config = fullpipe::Config::default();
    configure_udp_for_iperf(&mut config, None);
    config.set("ip.autoconfiguration", "true").expect("a knob");
    let address = address.parse().expect("an address");
    Runtime::builder(address).config(config).start(device)
}

/// A running radvd, which advertises until it is stopped or dropped.
struct Radvd {
    process: Child,
    files: PathBuf,
}

impl Radvd {
    fn start() -> Self {
        fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1").expect("root may");
        let name = format!("fullpipe-radvd-{}", std::process::id());
        let files = std::env::temp_dir().join(name);
        fs::create_dir_all(&files).expect("a folder for temporary files");
        let config = files.join("radvd.conf");
        let text = "interface fpinterop {\n AdvSendAdvert on;\n MinRtrAdvInterval 3;\n \
                    MaxRtrAdvInterval 4;\n AdvDefaultLifetime 600;\n AdvLinkMTU 1400;\n \
                    prefix fd77::/64 { AdvOnLink on; AdvAutonomous on; };\n \
                    RDNSS fd77::53 { };\n};\n";
        fs::write(&config, text).expect("the file is written");
        let process = Command::new("radvd")
            .args(["--nodaemon", "--logmethod", "stderr", "--config"])
            .arg(&config)
            .arg("--pidfile")
            .arg(files.join("radvd.pid"))
            .stdin(Stdio::null())
            .spawn()
            .expect("radvd is installed");
        Self { process, files }
    }

    /// Ends radvd. Before it ends, radvd announces that this host is no longer a router.
    fn stop(mut self) {
        let id = self.process.id().to_string();
        let status = Command::new("kill").args(["-TERM", &id]).status();
        assert!(status.is_ok_and(|status| status.success()), "radvd runs");
        self.process.wait().expect("radvd ends");
    }
}

impl Drop for Radvd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.files);
    }
}

/// The address that the stack formed with radvd's prefix.
fn formed(stack: &Stack) -> Option<IpAddr> {
    let mut own = stack.addresses().map(|own| own.address);
    own.find(|own| match own {
        IpAddr::V6(ip) => ip.segments()[..4] == KERNEL.segments()[..4],
        IpAddr::V4(_) => false,
    })
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn radvd_gives_us_an_address_a_router_an_mtu_and_a_dns_server() {
    in_namespace(
        "routers::radvd_gives_us_an_address_a_router_an_mtu_and_a_dns_server",
        || {
            let runtime = start("10.77.0.2/24").expect("the stack starts");
            let radvd = Radvd::start();
            let mut own = None;
            let has_address = || {
                own = runtime.with_stack(|stack, _| formed(stack));
                own.is_some()
            };
            assert!(wait_until(has_address), "no address was formed");
            let own = own.expect("it was formed");
            let look = || {
                runtime.with_stack(|stack, _| {
                    let hop = stack.routes().lookup(FAR.into());
                    (hop.is_some(), stack.counters().mib.ip_frag_creates)
                })
            };
            let (has_router, no_fragments) = look();
            assert_eq!((has_router, no_fragments), (true, 0));
            let servers = runtime.with_stack(|stack, _| stack.dns_servers().collect::<Vec<_>>());
            assert_eq!(servers, [SERVER]);

            // An echo request with 1352 bytes of data is a packet of 1400 bytes.
            ping(&own.to_string(), 1_352);
            assert_eq!(look(), (true, 0));
            ping(&own.to_string(), 1_353);
            assert_eq!(look(), (true, 6));

            let local = SocketAddr::new(own, 5001);
            for flags in ["-V -n 10000001", "-V -n 10000001 -R"] {
                let options = ServerOptions {
                    connections: Some(1),
                    ..ServerOptions::new(local)
                };
                let (summary, text, peer) =
                    server(&runtime, &options, || Stock::run_client(local, flags));
                assert_eq!(bytes(&summary), peer.bytes(), "{flags}: {text}");
            }

            radvd.stop();
            assert!(wait_until(|| !look().0), "a lifetime of 0 is believed");
            ping(&own.to_string(), 56);
        },
    );
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn an_address_of_the_kernel_is_refused_and_a_free_one_used() {
    in_namespace(
        "routers::an_address_of_the_kernel_is_refused_and_a_free_one_used",
        || {
            let refused = start("fd77::1/64").expect_err("the kernel has the address");
            assert!(refused.to_string().contains("another host"), "{refused}");
            let _runtime = start("fd77::2/64").expect("the address is free");
            ping("fd77::2", 56);
        },
    );
}
