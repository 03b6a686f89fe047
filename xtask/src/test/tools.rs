//! Checks the programs and privileges that some tests need, and installs missing programs.
//!
//! The one rule: a missing program is installed if that is possible without asking (root on
//! Debian). Otherwise the program is named, with the remedy.
//!
//! sudo and other package systems are never used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::console;

/// A program, and the Debian package that contains it.
type Tool = (&'static str, &'static str);

const TOOLS: [Tool; 14] = [
    ("iperf", "iperf"),
    ("iperf3", "iperf3"),
    ("tshark", "tshark"),
    ("tcptrace", "tcptrace"),
    ("ip", "iproute2"),
    ("ping", "iputils-ping"),
    ("dnsmasq", "dnsmasq-base"),
    ("curl", "curl"),
    ("radvd", "radvd"),
    ("nghttpd", "nghttp2-server"),
    ("h2load", "nghttp2-client"),
    ("openssl", "openssl"),
    ("rsync", "rsync"),
    ("chromium", "chromium"),
];

/// The program that the tests of the page need.
const BROWSER: [Tool; 1] = [("chromium", "chromium")];

/// The program that counts instructions.
const VALGRIND: [Tool; 1] = [("valgrind", "valgrind")];

/// The programs and files that the firmware and its tests need. A package is recognised by a file,
/// because another compiler of the same name may be in `PATH`.
const FIRMWARE: [Tool; 6] = [
    ("qemu-system-arm", "qemu-system-arm"),
    ("arm-none-eabi-ld", "binutils-arm-none-eabi"),
    ("/usr/share/doc/rustc-web/copyright", "rustc-web"),
    ("/usr/share/doc/cargo-web/copyright", "cargo-web"),
    ("/usr/share/doc/rust-web-src/copyright", "rust-web-src"),
    ("curl", "curl"),
];

/// The interpreter for the Python package, and the part of it that makes virtual environments.
const PYTHON: [Tool; 2] = [("python3", "python3"), ("ensurepip", "python3-venv")];

/// Longest time for which apt waits for another package command, in seconds.
const APT_LOCK_S: u32 = 300;

/// Checks that every tool is present, and installs missing ones if possible.
///
/// Returns one line for each tool that is missing and could not be installed.
pub fn prepare() -> Vec<String> {
    let missing = missing_after_install(&TOOLS);
    let mut reasons = named(&missing);
    if !rustix::process::geteuid().is_root() {
        reasons.push("not root: run as root to test in network namespaces".to_owned());
    } else if !missing.iter().any(|(program, _)| *program == "ip")
        && let Err(reason) = namespace_with_tap()
    {
        reasons.push(reason);
    }
    reasons
}

/// Checks that a browser is present, and installs one if possible.
///
/// Returns one line if the browser is missing and could not be installed.
pub fn prepare_browser() -> Vec<String> {
    named(&missing_after_install(&BROWSER))
}

/// Checks that valgrind is present, and installs it if possible.
///
/// Returns one line if it is missing and could not be installed.
pub fn prepare_valgrind() -> Vec<String> {
    named(&missing_after_install(&VALGRIND))
}

/// Checks that the emulator and the compiler of the firmware are present, and installs them if
/// possible.
///
/// Returns one line for each package that is missing and could not be installed.
pub fn prepare_firmware() -> Vec<String> {
    named(&missing_after_install(&FIRMWARE))
}

/// Checks that Python can make virtual environments, and installs what is missing if possible.
///
/// Returns one line for each part that is missing and could not be installed.
pub fn prepare_python() -> Vec<String> {
    let is_complete = || {
        let mut python = Command::new("python3");
        let imports = python.args(["-c", "import ensurepip, venv"]);
        let status = imports.stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let _turn = turn();
    if is_complete() {
        return Vec::new();
    }
    if rustix::process::geteuid().is_root() && Path::new("/etc/debian_version").exists() {
        install(&PYTHON);
    }
    match is_complete() {
        true => Vec::new(),
        false => named(&PYTHON),
    }
}

/// Waits for the turn of this thread: two steps may want packages at the same time, and a file of a
/// package is there before the package can be used.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the programs that are still missing after an attempt to install them.
fn missing_after_install(tools: &[Tool]) -> Vec<Tool> {
    let _turn = turn();
    let missing = missing(tools);
    let root = rustix::process::geteuid().is_root();
    if missing.is_empty() || !root || !Path::new("/etc/debian_version").exists() {
        return missing;
    }
    install(&missing);
    self::missing(tools)
}

fn missing(tools: &[Tool]) -> Vec<Tool> {
    let missing = tools.iter().filter(|(program, _)| find(program).is_none());
    missing.copied().collect()
}

fn named(missing: &[Tool]) -> Vec<String> {
    let missing = missing.iter();
    missing
        .map(|(program, package)| format!("{program} is missing (Debian package {package})"))
        .collect()
}

/// Searches for a program in the folders of `PATH`, and in Debian's folders of programs for root.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|file| fs::metadata(file).is_ok_and(|data| data.is_file()))
}

/// Installs packages. If the first attempt fails, fetches package lists and tries again, because a
/// fresh machine has no lists.
fn install(missing: &[Tool]) {
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    console::say(&format!("installing with apt: {}", packages.join(" ")));
    let install = || {
        let mut arguments = vec!["install", "-y", "--no-install-recommends"];
        arguments.extend(&packages);
        apt(&arguments)
    };
    if !install() && apt(&["update"]) {
        install();
    }
}

fn apt(arguments: &[&str]) -> bool {
    let status = Command::new("apt-get")
        .arg("-o")
        .arg(format!("DPkg::Lock::Timeout={APT_LOCK_S}"))
        // Print no progress bar, because the output goes to a log.
        .args(["-qq", "-o", "Dpkg::Use-Pty=0"])
        .args(arguments)
        // Ask no question: the installation of tshark's package would ask who may capture.
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Checks that network namespaces with TAP devices are permitted, by creating and removing one.
/// Root in a container may lack the privilege.
fn namespace_with_tap() -> Result<(), String> {
    let name = format!("fullpipe-probe-{}", std::process::id());
    ip(&["netns", "add", &name])
        .map_err(|why| format!("this machine permits no network namespaces: {why}"))?;
    let tap = ip(&["-n", &name, "tuntap", "add", "dev", "tap0", "mode", "tap"]);
    let removed = ip(&["netns", "delete", &name]);
    tap.and(removed)
        .map_err(|why| format!("this machine permits no TAP devices: {why}"))
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let program = find("ip").ok_or("no `ip`")?;
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
