//! The emulated device: QEMU with the firmware, on a TAP device of this network namespace.
//!
//! Rule: QEMU is killed when its handle is dropped, and each line that the firmware prints is
//! copied to stderr at once.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::stock::{Lines, wait_until};

/// Address of the device.
pub const DEVICE: [u8; 4] = [10, 77, 0, 2];
/// Address of the kernel, on the TAP device or on its bridge.
pub const KERNEL: [u8; 4] = [10, 77, 0, 1];
/// Name of the TAP device.
pub const TAP: &str = "fpdevice";
/// Environment variable that names the folder of the firmware's programs. The folder contains one
/// folder per [`Profile`]. `cargo xtask test` sets the variable.
const FOLDER: &str = "FULLPIPE_FIRMWARE";

/// Knobs (settings of the stack) of the device, in two variants: a pool of 36 blocks of 196 bytes,
/// and a pool of 256 blocks of 1,548 bytes. In both variants, the tables have the sizes of the
/// preset `nuttx` (NuttX's default settings).
pub const POOLS: [&str; 2] = [
    "preset=nuttx",
    "preset=nuttx pool.blocks=256 pool.block_size=1548 udp.receive_buffer=65536",
];

/// A build of the firmware.
#[derive(Clone, Copy)]
pub enum Profile {
    /// A build in which an arithmetic overflow panics, for tests of the device's behaviour.
    Checked,
    /// The build that a user installs, for tests of the device's rates.
    Release,
}

/// An emulated device that runs a program.
pub struct Device {
    qemu: Child,
    lines: Lines,
    errors: Lines,
    monitor: PathBuf,
    /// Capture of the frames that passed the TAP device in both directions.
    pub capture: PathBuf,
}

impl Device {
    /// Starts `program` of the checked build with the words of `line` as its arguments, and waits
    /// until it is ready and its link is up.
    pub fn start(program: &str, line: &str) -> Self {
        Self::start_build(Profile::Checked, program, line)
    }

    /// Starts `program` of a build with the words of `line` as its arguments, and waits until it
    /// is ready and its link is up.
    pub fn start_build(profile: Profile, program: &str, line: &str) -> Self {
        let folder = std::env::var(FOLDER)
            .unwrap_or_else(|_| panic!("{FOLDER} is not set: cargo xtask test --only firmware"));
        let profile = match profile {
            Profile::Checked => "checked",
            Profile::Release => "release",
        };
        let file = |ending: &str| {
            std::env::temp_dir().join(format!("fullpipe-device-{}.{ending}", std::process::id()))
        };
        let (monitor, capture) = (file("monitor"), file("pcap"));
        let semihosting = std::iter::once(program)
            .chain(line.split_ascii_whitespace())
            .fold("enable=on,target=native".to_owned(), |all, word| {
                format!("{all},arg={word}")
            });
        eprintln!("$ {program} {line}");
        let mut qemu = Command::new("qemu-system-arm")
            .args(["-M", "mps2-an385", "-display", "none", "-serial", "stdio"])
            .args(["-kernel", &format!("{folder}/{profile}/{program}")])
            .args(["-semihosting-config", &semihosting])
            .args([
                "-netdev",
                &format!("tap,id=net,ifname={TAP},script=no,downscript=no"),
            ])
            .args(["-net", "nic,model=lan9118,netdev=net"])
            .args([
                "-object",
                &format!("filter-dump,id=dump,netdev=net,file={}", capture.display()),
            ])
            .args([
                "-monitor",
                &format!("unix:{},server=on,wait=off", monitor.display()),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("qemu-system-arm is installed");
        let lines = Lines::read("device", qemu.stdout.take().expect("piped"));
        let errors = Lines::read("qemu", qemu.stderr.take().expect("piped"));
        let device = Self {
            qemu,
            lines,
            errors,
            monitor,
            capture,
        };
        device.wait_for("ready");
        device.wait_for("link: up");
        device
    }

    /// Returns all that the firmware has printed.
    pub fn said(&self) -> String {
        self.lines.so_far() + &self.errors.so_far()
    }

    /// Waits until the firmware has printed `text`.
    pub fn wait_for(&self, text: &str) {
        let found = wait_until(|| self.lines.so_far().contains(text));
        assert!(found, "the device did not print `{text}`: {}", self.said());
    }

    /// Gives a command to QEMU's monitor (`set_link net off`).
    pub fn command(&self, command: &str) {
        eprintln!("(qemu) {command}");
        let mut monitor = UnixStream::connect(&self.monitor).expect("QEMU has a monitor");
        writeln!(monitor, "{command}").expect("QEMU reads it");
        // QEMU prints a prompt at the start, and another prompt after the command.
        let timeout = Some(std::time::Duration::from_secs(300));
        monitor.set_read_timeout(timeout).expect("not zero");
        let mut answer = Vec::new();
        while String::from_utf8_lossy(&answer).matches("(qemu) ").count() < 2 {
            let mut part = [0; 256];
            let len = monitor.read(&mut part).expect("QEMU answers");
            assert!(len > 0, "QEMU ended: {}", self.said());
            answer.extend(&part[..len]);
        }
    }

    /// Waits for the end of the program. Returns the text that the program printed, and true if
    /// the program succeeded.
    pub fn end(mut self) -> (String, bool) {
        let mut status = None;
        wait_until(|| {
            status = self.qemu.try_wait().expect("it is our child");
            status.is_some()
        });
        wait_until(|| self.lines.is_finished());
        let status = status.unwrap_or_else(|| panic!("the device did not end: {}", self.said()));
        (self.said(), status.success())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
        let _ = std::fs::remove_file(&self.monitor);
    }
}

/// Returns the number that follows `before` in `text`.
///
/// # Panics
/// Panics if there is no such number.
pub fn number(text: &str, before: &str) -> u64 {
    let (_, rest) = text
        .split_once(before)
        .unwrap_or_else(|| panic!("`{before}` is not in: {text}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits
        .parse()
        .unwrap_or_else(|_| panic!("no number after `{before}`: {text}"))
}

/// Returns the bytes that the last line of a test counts (`tcp sent ADDRESS: BYTES bytes …`).
pub fn bytes(text: &str, kind: &str) -> u64 {
    let (_, rest) = text
        .split_once(kind)
        .unwrap_or_else(|| panic!("no `{kind}`: {text}"));
    number(rest, ": ")
}
