//! The compiler, linker and emulator for the microcontroller: Debian's packages alone.
//!
//! The one rule: the figures come from one compiler, so Debian's is used even if `PATH` has
//! another one. rustup's compiler has no source of the library `core` that it could build.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};

use xtask::repository;
use xtask::test::tools;

const CARGO: &str = "/usr/bin/cargo";
const RUSTC: &str = "/usr/bin/rustc";
const TARGET: &str = "thumbv7m-none-eabi";
const LINKER_FLAGS: &str = "-Clinker=arm-none-eabi-ld -Clink-arg=-Tlink.ld";
/// Longest run of the emulator in seconds; a run takes less than one.
const EMULATOR_S: &str = "120";

/// Programs that are installed.
pub struct Toolchain {
    target: PathBuf,
}

impl Toolchain {
    /// Installs missing programs if that is possible.
    ///
    /// # Errors
    /// Fails if a program is missing and can't be installed.
    pub fn prepare() -> Result<Self> {
        let missing = tools::prepare_firmware();
        ensure!(missing.is_empty(), "{}", missing.join("; "));
        let folder = std::env::var_os("CARGO_TARGET_DIR");
        let folder = folder.map_or_else(|| repository::root().join("target"), PathBuf::from);
        Ok(Self {
            target: folder.join("footprint"),
        })
    }

    /// Builds program `name` with `features` of the stack, and returns its file.
    ///
    /// # Errors
    /// Fails if the program does not build.
    pub fn build(&self, features: &str, name: &str) -> Result<PathBuf> {
        let status = Command::new(CARGO)
            .current_dir(repository::root().join("xtask/footprint"))
            .args(["build", "--quiet", "--release", "--locked"])
            .args(["--target", TARGET, "-Zbuild-std=core,alloc"])
            .args(["--features", features, "--bin", name])
            .arg("--target-dir")
            .arg(&self.target)
            .env("RUSTC", RUSTC)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", LINKER_FLAGS)
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("CARGO_TARGET_DIR")
            .status()
            .context("starting Debian's cargo")?;
        ensure!(status.success(), "`{name}` with `{features}` did not build");
        Ok(self.target.join(TARGET).join("release").join(name))
    }

    /// Returns the symbols of `image` with their sizes, as `nm` prints them.
    ///
    /// # Errors
    /// Fails if `nm` fails.
    pub fn symbols(&self, image: &Path) -> Result<String> {
        let output = Command::new("arm-none-eabi-nm")
            .args(["--demangle", "--print-size", "--size-sort"])
            .arg(image)
            .output();
        printed(output.context("starting arm-none-eabi-nm")?)
    }

    /// Runs `image` in the emulator with `words` as its command line, and returns what it prints.
    ///
    /// # Errors
    /// Fails if the emulator fails or the program does not reach its end.
    pub fn emulate(&self, image: &Path, words: &str) -> Result<String> {
        let arguments: String = words
            .split(' ')
            .map(|word| format!(",arg={word}"))
            .collect();
        let output = Command::new("timeout")
            .args([EMULATOR_S, "qemu-system-arm", "-M", "mps2-an385"])
            .args(["-display", "none", "-serial", "none", "-monitor", "none"])
            .arg("-semihosting-config")
            .arg(format!("enable=on,target=native{arguments}"))
            .arg("-kernel")
            .arg(image)
            .stdin(std::process::Stdio::null())
            .output();
        let output = output.context("starting qemu-system-arm")?;
        // QEMU prints the program's text to its standard error.
        let text = printed(output.clone())? + &String::from_utf8_lossy(&output.stderr);
        if !text.lines().any(|line| line == "end") {
            bail!("the emulated program did not print its last line `end`; its output: {text}");
        }
        Ok(text)
    }
}

/// Returns the standard output of a program that ended well.
fn printed(output: Output) -> Result<String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout).context("the output of the program is not UTF-8")
}
