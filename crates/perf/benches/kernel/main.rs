//! Benchmark of fullpipe against the kernel's TCP over one lossy link in real time.
//!
//! Rule: transfers alternate between the stacks, over the same path and with the same congestion
//! control. In every transfer of a round, the link drops the same frames, counted from the start of
//! the transfer. For each pair of stacks, the median goodput of the rounds is divided by the median
//! from kernel to kernel. The exit code is 1 if such a ratio is below `--least`.
//!
//! One end of each transfer is the kernel, so that a difference is due to the other end. In
//! `send`, fullpipe sends to the kernel; in `receive`, the kernel sends to fullpipe. Both are
//! compared with a transfer from kernel to kernel.

#[path = "../../tests/live_link/path.rs"]
mod path;
mod round;

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use fullpipe_host::run_at_once;
use fullpipe_scenario::experiment::{LinkPlan, Place};
use fullpipe_sim::{LinkModel, link::Direction};
use round::{Measurement, Pair, Round};
use serde_json::{Value, json};

/// Default fields of the link; `--link` changes them.
const LINK: [(&str, &str); 4] = [
    ("rate", "100mbit"),
    ("delay", "20ms"),
    ("loss", "1%"),
    ("queue", "1000 packets"),
];

/// Knobs (settings) of fullpipe's stack. The buffers are as large as the kernel's autotuning allows
/// (the largest `tcp_wmem`), so that neither stack is limited by its buffers. `--set` is applied
/// afterwards.
const KNOBS: [&str; 3] = [
    "pool.blocks=16384",
    "tcp.send_buffer=4M",
    "tcp.receive_buffer=4M",
];

/// Compare fullpipe with the kernel over a lossy link in real time (needs root)
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask bench kernel --",
    after_help = "Examples:\n  \
    cargo xtask bench kernel\n  \
    cargo xtask bench kernel -- --rounds 9 --seconds 20 --only cubic\n  \
    cargo xtask bench kernel -- --link rate=1gbit --link delay=5ms --link loss=0 --json"
)]
struct Arguments {
    /// Run only benchmarks whose name contains this text; this benchmark is called kernel
    filter: Option<String>,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
    /// Number of rounds; each measures every pair of stacks once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds for which the sender writes
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    seconds: f64,
    /// Seed of the first round; each later round adds 1
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Measure only this congestion control
    #[arg(long, value_name = "NAME", value_parser = ["cubic", "bbr"])]
    only: Option<String>,
    /// Change a field of the link; the default is 100 Mbit/s, 20 ms each way, 1 % loss, 1000 packets
    #[arg(long, value_name = "FIELD=VALUE")]
    link: Vec<String>,
    /// Change a knob of fullpipe; its buffers have 4 MiB by default
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Smallest ratio of fullpipe's goodput to the kernel's that passes
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    least: f64,
    /// Print a JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// Write a capture of each transfer to this folder
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match &arguments.filter {
        Some(filter) if "kernel".contains(filter.as_str()) => {}
        Some(_) => return ExitCode::SUCCESS,
        None => {
            println!("kernel: left out, because it takes minutes: cargo xtask bench kernel");
            return ExitCode::SUCCESS;
        }
    }
    match compare(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Measures all rounds and prints the result. Returns true if every ratio is at least `--least`.
fn compare(arguments: &Arguments) -> Result<bool, String> {
    let link = link(&arguments.link)?;
    // Give fullpipe and both iperfs real-time priority, because the kernel's stack takes
    // precedence, too: it handles a frame on arrival, before other processes run.
    run_at_once(1).map_err(|error| format!("this needs root: {error}"))?;
    let algorithms = match &arguments.only {
        Some(name) => vec![name.as_str()],
        None => vec!["cubic", "bbr"],
    };
    let mut settings = KNOBS.map(String::from).to_vec();
    settings.extend(arguments.set.iter().cloned());
    let mut all: Vec<(&str, Pair, Vec<Measurement>)> = Vec::new();
    for algorithm in algorithms {
        all.extend(Pair::ALL.map(|pair| (algorithm, pair, Vec::new())));
    }
    for number in 0..arguments.rounds {
        for (algorithm, pair, measured) in &mut all {
            let round = Round {
                link,
                seed: arguments.seed + u64::from(number),
                algorithm,
                pair: *pair,
                seconds: arguments.seconds,
                settings: &settings,
                capture: arguments.pcap.as_deref(),
            };
            let result = round.play().map_err(|error| error.to_string())?;
            eprintln!(
                "round {} {algorithm} {}: {:.2} Mbit/s",
                number + 1,
                pair.name(),
                result.goodput_mbps
            );
            measured.push(result);
        }
    }
    let rows = rows(&all);
    if arguments.json {
        println!(
            "{:#}",
            json!({ "link": link_json(&link), "seconds": arguments.seconds, "rows": rows })
        );
    } else {
        print_table(&rows);
    }
    let good = |row: &Value| {
        row["ratio"]
            .as_f64()
            .is_some_and(|ratio| ratio >= arguments.least)
    };
    Ok(rows.iter().all(good))
}

fn link(changes: &[String]) -> Result<LinkModel, String> {
    let mut plan = LinkPlan::new("link", [Place::Host(0), Place::Host(1)]);
    let mut set =
        |field: &str, value: &str| plan.set(field, value).map_err(|error| error.to_string());
    for (field, value) in LINK {
        set(field, value)?;
    }
    for change in changes {
        let (field, value) = change
            .split_once('=')
            .ok_or_else(|| format!("--link {change}: expected FIELD=VALUE"))?;
        set(field.trim(), value.trim())?;
    }
    plan.contradiction()
        .map_or_else(|| Ok(plan.link(Direction::Forward)), Err)
}

fn link_json(link: &LinkModel) -> Value {
    json!({ "rate_bps": link.rate_bps, "delay_us": link.delay_us, "loss": link.loss })
}

/// Returns a row for each direction of each congestion control.
fn rows(all: &[(&str, Pair, Vec<Measurement>)]) -> Vec<Value> {
    let mut rows = Vec::new();
    for three in all.chunks(Pair::ALL.len()) {
        let (algorithm, _, kernel) = &three[0];
        for (_, pair, ours) in &three[1..] {
            let [theirs_mbps, ours_mbps] = [kernel, ours].map(|measured| median(measured));
            rows.push(json!({
                "algorithm": algorithm,
                "fullpipe": pair.name(),
                "kernel_mbps": theirs_mbps,
                "fullpipe_mbps": ours_mbps,
                "ratio": ours_mbps / theirs_mbps,
                "kernel_rounds": goodputs(kernel),
                "fullpipe_rounds": goodputs(ours),
                "limits": ours.last().map(|last| last.limits.clone()),
            }));
        }
    }
    rows
}

fn goodputs(measured: &[Measurement]) -> Vec<f64> {
    measured.iter().map(|one| one.goodput_mbps).collect()
}

fn median(measured: &[Measurement]) -> f64 {
    let mut sorted = goodputs(measured);
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    }
}

fn print_table(rows: &[Value]) {
    println!("medians of Mbit/s    kernel  fullpipe  ratio   rounds: kernel | fullpipe");
    for row in rows {
        let number = |name: &str| row[name].as_f64().unwrap_or(f64::NAN);
        let rounds = |name: &str| {
            let rounds = row[name].as_array().into_iter().flatten();
            let texts: Vec<_> = rounds
                .map(|one| format!("{:.2}", one.as_f64().unwrap_or(f64::NAN)))
                .collect();
            texts.join(" ")
        };
        println!(
            "{:<7} {:<10} {:>8.2} {:>9.2} {:>6.3}   {} | {}",
            row["algorithm"].as_str().unwrap_or_default(),
            row["fullpipe"].as_str().unwrap_or_default(),
            number("kernel_mbps"),
            number("fullpipe_mbps"),
            number("ratio"),
            rounds("kernel_rounds"),
            rounds("fullpipe_rounds"),
        );
    }
}
