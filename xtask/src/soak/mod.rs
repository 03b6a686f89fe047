//! `cargo xtask soak`: random worlds by the thousand, then the fuzzers; or worlds of
//! known bottlenecks, for the verdicts.
//!
//! The one rule: a failure prints the command that replays it, and its seed is
//! written to the seed file, which `cargo xtask test` replays from then on.
//!
//! What a world is and what is checked in it is the simulator's business.

mod fuzz;
mod seeds;
#[cfg(test)]
mod tests;
mod verdicts;
mod worlds;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use worlds::{Failure, Plan};

/// Run random worlds and the fuzzers until something breaks or the time is up.
///
/// Worlds are numbered: world N is the same network, knobs and traffic every
/// time. They run on all cores, in an optimised build with assertions.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask soak                              2000 worlds, then a minute of fuzzing
  cargo xtask soak --worlds 100 --fuzz-seconds 0
  cargo xtask soak --first 5000 --worlds 1000   other worlds
  cargo xtask soak --seconds 600                as many worlds as fit in ten minutes
  cargo xtask soak --world 1234                 replay one world
  cargo xtask soak --world 1234 --pcap w.pcapng and see what its hosts sent and received
  cargo xtask soak --verdicts                   200 worlds of known bottlenecks: are they named?
  cargo xtask soak --verdicts --world 17        one of them, its file and its verdict")]
pub struct Arguments {
    /// How many worlds to run [default: 2000, or 200 with --verdicts]
    #[arg(long, value_name = "N")]
    worlds: Option<u64>,
    /// The seed of the first world; the others follow it
    #[arg(long, default_value_t = 0, value_name = "SEED")]
    first: u64,
    /// Replay the world of this seed, and nothing else
    #[arg(long, value_name = "SEED", conflicts_with_all = ["worlds", "first", "seconds", "fuzz_seconds"])]
    world: Option<u64>,
    /// Capture the frames of the replayed world's hosts to this file
    #[arg(long, value_name = "FILE", requires = "world")]
    pcap: Option<PathBuf>,
    /// Start worlds for this long, however many that are
    #[arg(long, value_name = "S", conflicts_with = "worlds")]
    seconds: Option<u64>,
    /// How long to fuzz the stack (and, together, the parsers as long again); 0 leaves it out
    #[arg(long, default_value_t = 60, value_name = "S")]
    fuzz_seconds: u64,
    /// Run worlds with one known bottleneck instead, compare it with the verdict, and take the advice
    #[arg(long, conflicts_with_all = ["seconds", "fuzz_seconds"])]
    verdicts: bool,
    /// Worlds at the same time [default: one for each core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

/// Runs what the arguments ask for.
///
/// # Errors
/// When a world or a fuzzer failed, or the fuzzer can't be had.
pub fn run(arguments: &Arguments) -> Result<()> {
    match (arguments.world, arguments.verdicts) {
        (Some(number), true) => return verdicts::show(number),
        (Some(seed), false) => return replay(seed, arguments.pcap.as_deref()),
        (None, true) => {
            let worlds = arguments.worlds.unwrap_or(200);
            return verdicts::run(arguments.first, worlds, arguments.jobs);
        }
        (None, false) => {}
    }
    let plan = Plan {
        seeds: seeds::known()?,
        first: arguments.first,
        worlds: arguments
            .seconds
            .map_or(arguments.worlds.unwrap_or(2000), |_| {
                u64::MAX - arguments.first
            }),
        seconds: arguments.seconds.map(Duration::from_secs),
        jobs: arguments.jobs,
    };
    let held = report(&worlds::run(&plan)?);
    if arguments.fuzz_seconds == 0 {
        return held;
    }
    let fuzzed = fuzz::run(arguments.fuzz_seconds);
    match (held, fuzzed) {
        (Ok(()), fuzzed) => fuzzed,
        (held, Ok(())) => held,
        (Err(held), Err(fuzzed)) => bail!("{held:#}; and {fuzzed:#}"),
    }
}

/// Ten worlds and every seed that ever failed: what `cargo xtask test` runs.
///
/// # Errors
/// When a world failed.
pub fn ten_worlds() -> Result<()> {
    let plan = Plan {
        seeds: seeds::known()?,
        first: 0,
        worlds: 10,
        seconds: None,
        jobs: None,
    };
    report(&worlds::run(&plan)?)
}

fn replay(seed: u64, pcap: Option<&Path>) -> Result<()> {
    let lived = match pcap {
        Some(file) => worlds::world_captured(seed, file)
            .with_context(|| format!("capturing to {}", file.display()))?,
        None => worlds::world(seed),
    };
    match lived {
        Ok(summary) => {
            println!("{}", worlds::in_a_line(&summary));
            Ok(())
        }
        Err(why) => bail!("world {seed}: {why}"),
    }
}

/// Prints each failure with the command that replays it, and keeps its seed.
fn report(failures: &[Failure]) -> Result<()> {
    for Failure { seed, why } in failures {
        println!("world {seed}: {why}\n  replay: cargo xtask soak --world {seed}");
    }
    seeds::add(failures)?;
    ensure!(
        failures.is_empty(),
        "{} worlds did not hold",
        failures.len()
    );
    Ok(())
}
