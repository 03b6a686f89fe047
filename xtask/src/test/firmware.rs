//! Builds the firmware with Debian's compiler, and runs its tests in an emulator.
//!
//! The one rule: only packages of Debian are needed. Rustup's compiler is not used, because it has
//! neither a core library for the processor nor the source to make one.
//!
//! The tests themselves are those of `crates/perf/tests/firmware`.

use std::time::Duration;

use super::child::Child;
use super::outcome::Outcome;
use super::selection::ALL;
use super::tools;
use crate::repository;

/// Text that occurs in the names of these tests and of no other ones.
pub const TESTS: &str = "firmware";

/// Debian's cargo; the compiler is named in `firmware/.cargo/config.toml`.
const CARGO: &str = "/usr/bin/cargo";

/// Arguments of each build.
const BUILD: &str = "--config firmware/.cargo/config.toml build --locked \
    --manifest-path firmware/Cargo.toml --target-dir target/firmware";

/// Profiles that the tests run: in `checked`, arithmetic that overflows panics, because `usize` has
/// only 32 bits on the device. `release` is the profile of a real device.
const PROFILES: [&str; 2] = ["checked", "release"];

/// Folder with the folders of the profiles, relative to the repository's root.
const PROGRAMS: &str = "target/firmware/thumbv7m-none-eabi";

/// Runs the tests, or says what is missing for them.
pub fn run(missing: &[String], limit: Duration) -> Outcome {
    let missing = [missing, &tools::prepare_firmware()].concat();
    if !missing.is_empty() {
        return Outcome::left_out(missing);
    }
    let mut built = Outcome::default();
    for profile in PROFILES {
        built = built.and(build(profile, limit));
        if !built.failed.is_empty() {
            return built;
        }
    }
    let programs = repository::root().join(PROGRAMS);
    built.and(
        Child::new(env!("CARGO"), limit)
            .args(format!("test {ALL} --test firmware -- --ignored --test-threads=1").split(' '))
            .env("FULLPIPE_FIRMWARE", &programs.to_string_lossy())
            .tests(),
    )
}

/// Builds the programs with `profile`.
fn build(profile: &str, limit: Duration) -> Outcome {
    Child::new(CARGO, limit)
        .args(BUILD.split_ascii_whitespace())
        .args(["--profile", profile])
        // The core library is compiled from source. A stable compiler allows this only with this
        // variable.
        .env("RUSTC_BOOTSTRAP", "1")
        .outcome()
}
