//! Compares the dependencies between crates with the drawing in ARCHITECTURE.md.
//!
//! The one rule: a crate depends only on crates below it in the drawing. The table below contains
//! the drawing, and is compared with cargo's metadata.
//!
//! Dev-dependencies are not restricted: a test may use its crate together with any other crate.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::finding::Finding;
use super::source::CORE;
use xtask::repository;

/// Each crate of the workspace, with the crates of the workspace that it may use.
const DRAWN: [(&str, &[&str]); 25] = [
    ("fullpipe-wire", &[]),
    ("fullpipe-pool", &[]),
    ("fullpipe-tcp", &["fullpipe-wire", "fullpipe-pool"]),
    ("fullpipe", &CORE_CRATES),
    ("fullpipe-iperf", &["fullpipe"]),
    ("fullpipe-sim", &STACK_CRATES),
    ("fullpipe-dhcp", &["fullpipe-wire", "fullpipe"]),
    ("fullpipe-dns", &["fullpipe"]),
    (
        "fullpipe-host",
        &[
            "fullpipe-wire",
            "fullpipe-pool",
            "fullpipe-tcp",
            "fullpipe",
            "fullpipe-dhcp",
            "fullpipe-dns",
        ],
    ),
    (
        "fullpipe-netstack",
        &[
            "fullpipe-wire",
            "fullpipe-pool",
            "fullpipe-tcp",
            "fullpipe",
            "fullpipe-host",
        ],
    ),
    ("fullpipe-capi", &RUNNING_CRATES),
    ("fullpipe-perf", &PERF_CRATES),
    ("fullpipe-scenario", &SCENARIO_CRATES),
    ("fullpipe-attacks", &ATTACK_CRATES),
    ("fullpipe-explain", &EXPLAIN_CRATES),
    ("fullpipe-fit", &ENGINE_CRATES),
    ("fullpipe-lab", &ENGINE_CRATES),
    (
        "fullpipe-judge",
        &[
            "fullpipe-pool",
            "fullpipe-tcp",
            "fullpipe",
            "fullpipe-sim",
            "fullpipe-diagnose",
            "fullpipe-scenario",
            "fullpipe-explain",
            "fullpipe-fit",
            "fullpipe-wire",
        ],
    ),
    ("fullpipe-captures", &CAPTURE_CRATES),
    ("fullpipe-python", &PYTHON_CRATES),
    ("fullpipe-kernels", &KERNEL_CRATES),
    ("fullpipe-diagnose", &CORE_CRATES),
    ("fullpipe-report", &["fullpipe-diagnose"]),
    ("fullpipe-cli", &ALL_CRATES),
    ("xtask", &ALL_CRATES),
];

const CORE_CRATES: [&str; 3] = ["fullpipe-wire", "fullpipe-pool", "fullpipe-tcp"];
const STACK_CRATES: [&str; 4] = ["fullpipe-wire", "fullpipe-pool", "fullpipe-tcp", "fullpipe"];
const RUNNING_CRATES: [&str; 6] = [
    "fullpipe-wire",
    "fullpipe-pool",
    "fullpipe-tcp",
    "fullpipe",
    "fullpipe-sim",
    "fullpipe-host",
];
const PERF_CRATES: [&str; 7] = [
    "fullpipe-wire",
    "fullpipe-pool",
    "fullpipe-tcp",
    "fullpipe",
    "fullpipe-sim",
    "fullpipe-host",
    "fullpipe-iperf",
];
const SCENARIO_CRATES: [&str; 6] = [
    "fullpipe-wire",
    "fullpipe-pool",
    "fullpipe-tcp",
    "fullpipe",
    "fullpipe-sim",
    "fullpipe-diagnose",
];
const ATTACK_CRATES: [&str; 4] = [
    "fullpipe-wire",
    "fullpipe-pool",
    "fullpipe",
    "fullpipe-scenario",
];
const EXPLAIN_CRATES: [&str; 7] = [
    "fullpipe-wire",
    "fullpipe-pool",
    "fullpipe-tcp",
    "fullpipe",
    "fullpipe-sim",
    "fullpipe-diagnose",
    "fullpipe-scenario",
];
/// The engine of explanations and all crates that it uses, for crates that apply it to experiments
/// or captures.
const ENGINE_CRATES: [&str; 8] = [
    "fullpipe-wire",
    "fullpipe-pool",
    "fullpipe-tcp",
    "fullpipe",
    "fullpipe-sim",
    "fullpipe-diagnose",
    "fullpipe-scenario",
    "fullpipe-explain",
];
const CAPTURE_CRATES: [&str; 5] = [
    "fullpipe",
    "fullpipe-diagnose",
    "fullpipe-explain",
    "fullpipe-fit",
    "fullpipe-lab",
];
const PYTHON_CRATES: [&str; 6] = [
    "fullpipe",
    "fullpipe-captures",
    "fullpipe-diagnose",
    "fullpipe-fit",
    "fullpipe-lab",
    "fullpipe-report",
];
const KERNEL_CRATES: [&str; 12] = [
    "fullpipe-wire",
    "fullpipe-pool",
    "fullpipe-tcp",
    "fullpipe",
    "fullpipe-sim",
    "fullpipe-host",
    "fullpipe-diagnose",
    "fullpipe-perf",
    "fullpipe-scenario",
    "fullpipe-explain",
    "fullpipe-fit",
    "fullpipe-lab",
];
const ALL_CRATES: [&str; 19] = [
    "fullpipe-captures",
    "fullpipe-wire",
    "fullpipe-pool",
    "fullpipe-tcp",
    "fullpipe",
    "fullpipe-sim",
    "fullpipe-host",
    "fullpipe-capi",
    "fullpipe-netstack",
    "fullpipe-perf",
    "fullpipe-kernels",
    "fullpipe-scenario",
    "fullpipe-attacks",
    "fullpipe-judge",
    "fullpipe-explain",
    "fullpipe-fit",
    "fullpipe-lab",
    "fullpipe-diagnose",
    "fullpipe-report",
];

/// External crates that a core crate may use, because they need no operating system.
const CORE_LIBRARIES: [&str; 3] = ["hashbrown", "zerocopy", "siphasher"];

/// Compares the workspace's dependencies with the drawing.
///
/// # Errors
/// Fails if cargo can't describe the workspace.
pub fn check() -> Result<Vec<Finding>> {
    Ok(judge(&metadata(&["--no-deps"])?))
}

/// Returns cargo's metadata, called with these further arguments.
pub fn metadata(arguments: &[&str]) -> Result<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--offline"])
        .args(arguments)
        .current_dir(repository::root())
        .output()
        .context("running cargo metadata")?;
    ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Returns the findings in cargo's metadata, which is given as parsed JSON.
pub fn judge(metadata: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in elements(metadata, "packages") {
        let name = text(package, "name");
        let manifest = format!("the manifest of {name}");
        let Some((_, allowed)) = DRAWN.iter().find(|(drawn, _)| *drawn == name) else {
            let says = "the crate is not in the drawing of dependencies: add the crate to ARCHITECTURE.md and to xtask/src/tasks/tidy/edges.rs";
            findings.push(Finding::new(&manifest, 1, says));
            continue;
        };
        for dependency in elements(package, "dependencies") {
            if text(dependency, "kind") == "dev" {
                continue;
            }
            let used = text(dependency, "name");
            if dependency["path"].is_string() {
                if !allowed.contains(&used) {
                    let says = format!(
                        "{name} may not depend on {used}: a crate depends only on crates below it in ARCHITECTURE.md"
                    );
                    findings.push(Finding::new(&manifest, 1, says));
                }
            } else if is_core(name) && !is_optional(dependency) && !CORE_LIBRARIES.contains(&used) {
                let says = format!(
                    "a core crate may not depend on {used}; CORE_LIBRARIES in xtask/src/tasks/tidy/edges.rs lists the permitted libraries"
                );
                findings.push(Finding::new(&manifest, 1, says));
            }
        }
    }
    findings
}

fn is_core(package: &str) -> bool {
    let folder = package.strip_prefix("fullpipe-").unwrap_or("stack");
    package.starts_with("fullpipe") && CORE.contains(&folder)
}

fn is_optional(dependency: &Value) -> bool {
    dependency["optional"].as_bool() == Some(true)
}

/// Returns the elements of the list `key`; none if it is not a list.
pub fn elements<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// Returns the text `key`; an empty one if it is not a text.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
