//! `cargo xtask bench`: runs the benchmarks, one after another.
//!
//! The one rule: only optimised builds are measured, one at a time, so that each benchmark has the
//! machine to itself.
//!
//! Cargo finds the benchmarks, so there is no list of them here. The comparison with other stacks
//! is a separate program, in `bench/`.

use std::{ffi::OsString, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{gvisor, lwip, repository};

/// Run the benchmarks of the workspace, or those that compare fullpipe with other stacks.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  cargo xtask bench                     all benchmarks of the workspace
  cargo xtask bench -p fullpipe         the benchmarks of one crate
  cargo xtask bench -p fullpipe idle    the benchmarks of one crate with `idle` in their names
  cargo xtask bench page                frames per second of the page (Chromium)
  cargo xtask bench kernel              fullpipe and the kernel over the same lossy link (root)
  cargo xtask bench kernel -- --help    options of the kernel benchmark
  cargo xtask bench stacks              CPU time of fullpipe beside other stacks
  cargo xtask bench stacks --help       cases and options
  cargo xtask bench callgrind           instructions of the transfers of `stacks` (valgrind)
  cargo xtask bench active              CPU time with many active connections
  cargo xtask bench idle                CPU time of a transaction while other connections are idle, and their memory
  cargo xtask bench forward             forwarders between a TUN device and kernel sockets (root)
  cargo xtask bench performance         stacks, callgrind, active and idle, written to docs/performance.md
  cargo xtask bench guard --update      write the figures that `cargo xtask test` compares with")]
pub struct BenchArguments {
    #[command(subcommand)]
    beside: Option<BesideStacks>,
    /// This crate's benchmarks only
    #[arg(short, long)]
    package: Option<String>,
    /// Only benchmarks whose name contains this
    filter: Option<String>,
    /// Arguments that the benchmark itself parses
    #[arg(last = true)]
    more: Vec<String>,
}

/// Benchmarks of the program in `bench/`.
#[derive(clap::Subcommand)]
enum BesideStacks {
    /// Measure the CPU time of fullpipe beside other stacks
    #[command(disable_help_flag = true)]
    Stacks(Forwarded),
    /// Measure the CPU time with many connections that carry payload
    #[command(disable_help_flag = true)]
    Active(Forwarded),
    /// Measure the CPU time of one transaction while many other connections are idle, and the memory of
    /// each idle connection
    #[command(disable_help_flag = true)]
    Idle(Forwarded),
    /// Count instructions of fullpipe and of other stacks (needs valgrind)
    #[command(disable_help_flag = true)]
    Callgrind(Forwarded),
    /// Compare the instructions of fullpipe with the committed figures (needs valgrind)
    #[command(disable_help_flag = true)]
    Guard(Forwarded),
    /// Compare the forwarder with others between a TUN device and kernel sockets (root)
    #[command(disable_help_flag = true)]
    Forward(Forwarded),
    /// Measure stacks, callgrind, active and idle, and write docs/performance.md (needs valgrind)
    #[command(disable_help_flag = true)]
    Performance(Forwarded),
}

/// Cargo's arguments for an optimised build of the program in `bench/`.
pub const PROGRAM: &str =
    "--release --locked --manifest-path bench/Cargo.toml --target-dir target/bench";

/// Arguments for a build with only what the guard (the comparison with committed instruction
/// counts) needs, for every x86-64 processor.
pub const PORTABLE: &str = "--no-default-features";

/// Arguments for the program in `bench/`, which parses them itself.
#[derive(clap::Args)]
struct Forwarded {
    /// Cases and options, see `--help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl BesideStacks {
    /// Builds the program and runs the benchmark.
    fn run(&self) -> Result<()> {
        let mut command = Command::new(env!("CARGO"));
        command
            .current_dir(repository::root())
            .args(["run", "--quiet"])
            .args(PROGRAM.split(' '));
        let (name, forwarded) = match self {
            Self::Stacks(forwarded) => ("stacks", forwarded),
            Self::Active(forwarded) => ("active", forwarded),
            Self::Idle(forwarded) => ("idle", forwarded),
            Self::Callgrind(forwarded) => ("callgrind", forwarded),
            Self::Guard(forwarded) => ("guard", forwarded),
            Self::Forward(forwarded) => ("forward", forwarded),
            Self::Performance(forwarded) => ("performance", forwarded),
        };
        match self {
            Self::Guard(_) => {
                command.arg(PORTABLE);
            }
            Self::Forward(_) => {
                command.args(["--features", "forward"]);
                match gvisor::program() {
                    Ok(program) => drop(command.env("GVISOR_FORWARDER", program)),
                    Err(error) => eprintln!("measuring without gVisor: {error:#}"),
                }
            }
            // Do not build lwIP, which supports only few connections.
            Self::Active(_) | Self::Idle(_) => {}
            Self::Stacks(_) | Self::Callgrind(_) | Self::Performance(_) => match lwip::source() {
                Ok(source) => {
                    command
                        .args(["--features", "lwip"])
                        .env("LWIP_SOURCE", source);
                }
                Err(error) => eprintln!("measuring without lwIP: {error:#}"),
            },
        }
        let status = command
            .args(["--", name])
            .args(&forwarded.arguments)
            .status()
            .context("starting cargo run")?;
        ensure!(status.success(), "the benchmark ended with {status}");
        Ok(())
    }
}

/// Runs `cargo bench`, or the program in `bench/`.
///
/// # Errors
/// Fails if a benchmark does not build or fails.
pub fn run(arguments: &BenchArguments) -> Result<()> {
    if let Some(beside) = &arguments.beside {
        return beside.run();
    }
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(repository::root()).arg("bench");
    match (&arguments.package, arguments.filter.as_deref()) {
        (Some(package), _) => command.args(["-p", package, "--benches"]),
        // Run the kernel benchmark alone: it takes minutes and has its own arguments.
        (None, Some("kernel")) => command.args(["-p", "fullpipe-perf", "--bench", "kernel"]),
        (None, Some("page")) => command.args(["-p", "fullpipe-report", "--bench", "page"]),
        (None, Some(_) | None) => command.args(["--workspace", "--benches"]),
    };
    command
        .arg("--")
        .args(&arguments.filter)
        .args(&arguments.more);
    let status = command.status().context("starting cargo bench")?;
    ensure!(status.success(), "cargo bench ended with {status}");
    Ok(())
}
