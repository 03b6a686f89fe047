//! Builds the wheel of the Python package and tests it in a clean virtual environment.
//!
//! The one rule: the tests use the installed wheel, never the source folder, so a file that the
//! wheel lacks is noticed.
//!
//! The packages that the tests need come from PyPI and are listed in `python/tests/requirements.txt`.
//! Ray is installed after the other tests, and its tests run in a network namespace with nothing but
//! loopback.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::child::Child;
use super::console;
use super::outcome::Outcome;
use super::selection::PROFILE;
use super::tools;
use crate::repository;

/// Folder of the environment and the wheel, relative to the repository's root.
const FOLDER: &str = "target/python";

/// Largest wheel, in bytes. The wheel is built with the profile [`PROFILE`], which makes it slightly
/// larger than that of `release`.
const LARGEST: u64 = 15_000_000;

/// Type checks: the package, its tests, and the stubs of the native part.
const TYPES: [&str; 3] = [
    "-m mypy --strict --config-file python/pyproject.toml --cache-dir target/python/mypy \
        -p fullpipe",
    "-m mypy --strict --config-file python/pyproject.toml --cache-dir target/python/mypy \
        python/tests",
    "-m mypy.stubtest fullpipe --mypy-config-file python/pyproject.toml",
];

/// The tests. `-r` names each of them with its result. The time limit is for each test.
const TESTS: &str = "-m pytest -q -rpfEs --timeout 300 -p no:cacheprovider";

/// File of the tests on a Ray cluster.
const ON_RAY: &str = "python/tests/test_ray.py";

/// File of the tests on Spark, which are no part of this step: they need Java and 400 MB of packages.
const ON_SPARK: &str = "python/tests/test_spark.py";

/// Time limit for the tests on a Ray cluster, which take less than a minute.
const RAY_LIMIT: Duration = Duration::from_secs(600);

/// Script that runs in a new network namespace, where loopback is down: brings loopback up, then
/// runs a command.
const LOOPBACK_ONLY: &str = "ip link set lo up && exec \"$@\"";

/// Runs the tests, or says what is missing for them.
pub fn run(limit: Duration) -> Outcome {
    let missing = tools::prepare_python();
    if !missing.is_empty() {
        return Outcome::left_out(missing);
    }
    let folder = repository::root().join(FOLDER);
    let (environment, wheels) = (folder.join("venv"), folder.join("wheels"));
    for old in [&environment, &wheels] {
        let _ = fs::remove_dir_all(old);
    }
    let python = environment.join("bin/python");
    let python = python.to_string_lossy();
    let inside =
        |arguments: &str| Child::new(&python, limit).args(arguments.split_ascii_whitespace());
    // Python compiles the few modules that are imported. To compile all takes longer than the tests.
    let pip = "-m pip install --quiet --disable-pip-version-check --no-compile";
    let mut outcome = Child::new("python3", limit)
        .args(["-m", "venv", &environment.to_string_lossy()])
        .outcome();
    let steps = [
        format!("{pip} maturin>=1.9,<2 -r python/tests/requirements.txt"),
        format!(
            "-m maturin build --profile {PROFILE} --locked --compatibility linux \
                --manifest-path python/Cargo.toml --target-dir target --interpreter {python} \
                --out {}",
            wheels.display()
        ),
    ];
    for step in &steps {
        if outcome.failed.is_empty() {
            outcome = outcome.and(inside(step).outcome());
        }
    }
    if !outcome.failed.is_empty() {
        return outcome;
    }
    let wheel = match wheel(&wheels) {
        Ok(wheel) => wheel,
        Err(error) => return outcome.and(Outcome::of_check(Err(error))),
    };
    outcome = outcome.and(inside(&format!("{pip} {}", wheel.display())).outcome());
    for types in TYPES {
        outcome = outcome.and(inside(types).outcome());
    }
    console::say(&format!(
        "not run, because its tests need Spark and Java: {ON_SPARK}"
    ));
    let others = format!("{TESTS} --ignore {ON_RAY} --ignore {ON_SPARK} python/tests");
    outcome = outcome.and(inside(&others).pytest());
    let ray = inside(&format!("{pip} -r python/tests/requirements-ray.txt"));
    outcome.and(on_ray(&python, ray))
}

/// Installs Ray by the command `install` and runs its tests, or says what is missing for them.
fn on_ray(python: &str, install: Child) -> Outcome {
    let left_out = |reason: &str| Outcome::left_out(vec![format!("Ray: {reason}")]);
    if !rustix::process::geteuid().is_root() {
        return left_out("not root: run as root, because its tests need a network namespace");
    }
    if tools::find("unshare").is_none() || tools::find("ip").is_none() {
        return left_out("unshare or ip is missing (Debian packages util-linux, iproute2)");
    }
    if !install.outcome().failed.is_empty() {
        return left_out("pip cannot install python/tests/requirements-ray.txt");
    }
    Child::new("unshare", RAY_LIMIT)
        .args(["--net", "sh", "-c", LOOPBACK_ONLY, "sh", python])
        .args(TESTS.split_ascii_whitespace().chain([ON_RAY]))
        .pytest()
}

/// Returns the wheel in `folder`. Prints its size, and fails if the wheel is too large.
fn wheel(folder: &Path) -> Result<PathBuf> {
    let mut files = fs::read_dir(folder).context("maturin wrote no folder")?;
    let wheel = files.next().context("maturin wrote no wheel")??.path();
    let bytes = fs::metadata(&wheel)?.len();
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    console::say(&format!("{name}: {:.1} MB", bytes as f64 / 1e6));
    ensure!(
        bytes <= LARGEST,
        "the wheel has {bytes} bytes; at most {LARGEST} bytes are allowed"
    );
    Ok(wheel)
}
