//! The tables of `active` and `idle`.
//!
//! Rule: each number of connections is measured in the same rounds as a single connection.

use anyhow::{Result, ensure};
use clap::builder::RangedU64ValueParser;
use serde_json::{Value, json};

use crate::{
    cases::Work,
    many::resident_bytes,
    rounds,
    stacks::{self, StackName},
};

/// Options of `active` and `idle`.
#[derive(clap::Args)]
pub struct ManyArguments {
    /// Numbers of connections
    #[arg(value_parser = RangedU64ValueParser::<u32>::new().range(2..=1_000_000))]
    connections: Vec<u32>,
    /// Stack to measure
    #[arg(long, default_value = "fullpipe")]
    stack: StackName,
    /// Rounds; each runs every number of connections for about 10 ms
    #[arg(long, value_name = "N", default_value_t = 51, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Print a JSON object instead of the table
    #[arg(long)]
    json: bool,
}

/// Kind of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Many {
    /// Every connection carries payload.
    Active,
    /// All connections but one are idle.
    Idle,
}

impl Many {
    fn unit(self) -> &'static str {
        match self {
            Self::Active => "segment",
            Self::Idle => "transaction",
        }
    }

    /// Default numbers of connections, in addition to one.
    pub fn default_numbers(self) -> &'static [u32] {
        match self {
            Self::Active => &[10, 100, 1_000, 10_000],
            Self::Idle => &[1_000, 10_000, 100_000],
        }
    }

    /// Opens `count` connections. Returns them with the memory that they occupy.
    fn open(self, stack: StackName, count: u32) -> Result<(Box<dyn Work>, u64)> {
        let before = resident_bytes()?;
        let work = match self {
            Self::Active => stacks::active(stack, count),
            Self::Idle => stacks::idle(stack, count),
        };
        Ok((work, resident_bytes()?.saturating_sub(before)))
    }
}

/// Measures one connection and each number of connections, and prints the table.
///
/// # Errors
/// Fails if the stack supports only few connections, or the memory of this process can't be read.
pub fn print(many: Many, arguments: &ManyArguments) -> Result<()> {
    let name = arguments.stack.name();
    ensure!(
        arguments.stack.has_many_connections(),
        "{name} supports only few connections; give another --stack"
    );
    let numbers = match arguments.connections.as_slice() {
        [] => many.default_numbers(),
        chosen => chosen,
    };
    let rows = measure(many, arguments.stack, numbers, arguments.rounds)?;
    if arguments.json {
        let rows: Vec<Value> = rows.iter().map(|row| row.json(many)).collect();
        println!(
            "{:#}",
            json!({ "stack": name, "unit": many.unit(), "rows": rows })
        );
    } else {
        print_table(many, arguments, &rows);
    }
    Ok(())
}

/// Measures one connection and each of `numbers` in the same rounds.
///
/// # Errors
/// Fails if the memory of this process can't be read.
pub fn measure(many: Many, stack: StackName, numbers: &[u32], rounds: u32) -> Result<Vec<Row>> {
    let numbers: Vec<u32> = [1].iter().chain(numbers).copied().collect();
    let mut opened = Vec::new();
    for count in &numbers {
        opened.push(many.open(stack, *count)?);
    }
    let (mut works, memory): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
    let times = rounds::compare(&mut works, 0, rounds);
    let rows = numbers.into_iter().zip(times).zip(&memory);
    let row = |((connections, (ns, ratio)), bytes): ((u32, (f64, f64)), &u64)| Row {
        connections,
        ns,
        ratio,
        // Subtract the memory of the run with one connection, and divide by the number of further
        // ends.
        bytes: bytes.saturating_sub(memory[0]) / (2 * u64::from(connections.max(2) - 1)),
    };
    Ok(rows.map(row).collect())
}

/// Result for one number of connections.
pub struct Row {
    /// Number of open connections.
    pub connections: u32,
    /// Median CPU time of one unit, in nanoseconds.
    pub ns: f64,
    /// Median ratio to one connection in the same round.
    pub ratio: f64,
    /// Memory of each end of a connection, in bytes.
    pub bytes: u64,
}

impl Row {
    fn json(&self, many: Many) -> Value {
        let mut value =
            json!({ "connections": self.connections, "ns": self.ns, "ratio": self.ratio });
        if many == Many::Idle && self.connections > 1 {
            value["bytes_per_end"] = json!(self.bytes);
        }
        value
    }
}

fn print_table(many: Many, arguments: &ManyArguments, rows: &[Row]) {
    println!(
        "{}: CPU time of one {}, both hosts and both applications together: the median of {}\n\
         rounds, and the median of the ratios to the time with one connection in the same round:",
        arguments.stack.name(),
        many.unit(),
        arguments.rounds
    );
    let memory = match many {
        Many::Active => "",
        Many::Idle => "  bytes per end",
    };
    println!("{:>11} {:>9} {:>8}{memory}", "connections", "time", "ratio");
    for row in rows {
        let (ns, ratio) = (format!("{:.0} ns", row.ns), format!("{:.2} ×", row.ratio));
        let memory = match many {
            Many::Idle if row.connections > 1 => format!("{:>15}", row.bytes),
            Many::Active | Many::Idle => String::new(),
        };
        println!("{:>11} {ns:>9} {ratio:>8}{memory}", row.connections);
    }
}
