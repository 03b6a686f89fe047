//! The program dnsmasq as a server of addresses and names, on one end of a TAP device.
//!
//! Rule: the server reads no file and asks no other server; everything that it answers is in
//! its arguments. The server ends with the test.

use std::{
    fs,
    process::{Child, Command, Stdio},
};

use fullpipe_host::{DeviceOptions, Runtime, Tap};

/// Address of the kernel's end of the device, and of the server.
pub const SERVER: [u8; 4] = [10, 77, 0, 1];

/// A running dnsmasq.
pub struct Dnsmasq(Child);

impl Dnsmasq {
    /// Starts dnsmasq on the kernel's end of the device, with more arguments.
    pub fn start(more: &[&str]) -> Self {
        let log = fs::File::create(log_path()).expect("the folder for temporary files is writable");
        let child = Command::new("dnsmasq")
            .args([
                "--keep-in-foreground",
                "--conf-file=/dev/null",
                "--user=root",
            ])
            .args(["--no-resolv", "--no-hosts", "--pid-file=", "--bind-dynamic"])
            .args(["--interface=fpdnsmasq", "--log-facility=-", "--log-queries"])
            .args([
                "--no-ping",
                "--dhcp-authoritative",
                "--log-dhcp",
                "--leasefile-ro",
            ])
            .arg("--dhcp-range=10.77.0.50,10.77.0.59,255.255.255.0,2m")
            .args(["--dhcp-option=option:mtu,1400", "--domain=example.test"])
            .args(more)
            .stdin(Stdio::null())
            .stderr(log)
            .spawn();
        Self(child.expect("dnsmasq is installed"))
    }

    /// Returns everything that dnsmasq has logged.
    pub fn log() -> String {
        fs::read_to_string(log_path()).unwrap_or_default()
    }
}

impl Drop for Dnsmasq {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = fs::remove_file(log_path());
    }
}

fn log_path() -> std::path::PathBuf {
    std::env::temp_dir().join(format!("fullpipe-dnsmasq-{}.txt", std::process::id()))
}

/// Opens a TAP device whose other end, in the kernel, has the server's address.
pub fn open() -> Tap {
    let mut options = DeviceOptions::new("tap:fpdnsmasq".parse().expect("a device"));
    options.host_address = Some("10.77.0.1/24".parse().expect("an address"));
    Tap::open(&options).expect("the device opens")
}

/// Starts a stack that obtains its address by DHCP.
pub fn start() -> Runtime {
    let builder = Runtime::dhcp().host_name("fullpipe-test");
    builder.start(open()).expect("the stack starts")
}
