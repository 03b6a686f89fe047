//! The emulated device: QEMU with the firmware, on a TAP device of this network namespace.
//!
//! Rule: QEMU is killed when its handle is dropped, and each line that the firmware prints is
//! copied to stderr at once.

use std::{
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
/// Folder of the firmware's programs; `cargo xtask test` sets it.
const FOLDER: &str = "FULLPIPE_FIRMWARE";

/// 36 blocks of 196 bytes, and 256 of 1,548, over tables for a small device.
pub const POOLS: [&str; 2] = [
    "preset=nuttx",
    "preset=nuttx pool.blocks=256 pool.block_size=1548 udp.receive_buffer=65536",
];

/// An emulated device that runs a program.
pub struct Device {
    qemu: Child,
    lines: Lines,
    errors: Lines,
    /// Frames that passed the device, both directions.
    pub capture: PathBuf,
}

impl Device {
    /// Starts `program` of the firmware with the words of `line`, and waits until it is ready and
    /// its link is up.
    pub fn start(program: &str, line: &str) -> Self {
        let folder = std::env::var(FOLDER)
            .unwrap_or_else(|_| panic!("{FOLDER} is not set: cargo xtask test --only firmware"));
        let capture = format!("fullpipe-device-{}.pcap", std::process::id());
        let capture = std::env::temp_dir().join(capture);
        let semihosting = std::iter::once(program)
            .chain(line.split_ascii_whitespace())
            .fold("enable=on,target=native".to_owned(), |all, word| {
                format!("{all},arg={word}")
            });
        eprintln!("$ {program} {line}");
        let mut qemu = Command::new("qemu-system-arm")
            .args(["-M", "mps2-an385", "-display", "none", "-serial", "stdio"])
            .args(["-kernel", &format!("{folder}/{program}")])
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
            .args(["-monitor", "none"])
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

    /// Waits for the end of the program. Returns what it printed, and whether it succeeded.
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
    }
}

/// Returns the number that follows `before` in `text`.
///
/// # Panics
/// If there is none.
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
