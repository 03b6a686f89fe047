//! Arguments of `fullpipe lab` and its subcommands except `advise` and `explain`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use fullpipe_lab::{Columns, units::Time};

use super::{
    advice::{LabAdviseArguments, LabExplainArguments},
    fail_on::FailOn,
    values::{Setting, interval, seed, setting},
};

/// List experiments, run them in virtual time, explain them
///
/// Without a subcommand, `fullpipe lab` lists the experiments: those of the checkout
/// that contains the current folder, and those built in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab                       list the experiments\n  \
    fullpipe lab run nuttx             published figures beside ours\n  \
    fullpipe lab run --all --json      everything, for programs\n  \
    fullpipe lab advise nuttx          the settings to change, step by step\n  \
    fullpipe lab explain nuttx --matrix  what each change would do\n  \
    fullpipe lab new mine              write a file to start from: mine.toml\n  \
    fullpipe lab check mine.toml       every mistake in mine.toml\n  \
    fullpipe lab attacks               the cost of attacks on a host")]
pub struct LabArguments {
    #[command(subcommand)]
    pub action: Option<LabAction>,
}

/// Subcommands of the lab.
#[derive(Debug, Subcommand)]
pub enum LabAction {
    Run(Box<LabRunArguments>),
    Advise(LabAdviseArguments),
    Explain(LabExplainArguments),
    New(LabNewArguments),
    Check(LabCheckArguments),
    Schema(LabSchemaArguments),
    Attacks(LabAttacksArguments),
}

/// The stack of every host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HostsOf {
    /// The stack of this machine's kernel
    Kernel,
}

/// Write an experiment to start from, NAME.toml, with a comment on each line
///
/// The file runs unchanged. A file that exists is never overwritten.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab new mine && fullpipe lab run ./mine.toml")]
pub struct LabNewArguments {
    /// Name of the experiment; the path of a folder may precede it
    pub name: PathBuf,
}

/// Print every mistake in experiment files, without running them
///
/// Each mistake is one line: FILE:LINE:COLUMN: KEY: the mistake and its remedy. The
/// exit code is 0 if there is no mistake, and 2 otherwise.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab check mine.toml\n  \
    fullpipe lab check experiments/*.toml")]
pub struct LabCheckArguments {
    /// Experiment, by name or file
    #[arg(value_name = "NAME|FILE", required = true)]
    pub experiments: Vec<String>,
}

/// Print the JSON schema of experiment files, for editors
///
/// An editor with a TOML language server then completes keys and marks mistakes.
/// Name the schema in the first line of an experiment: `#:schema FILE`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab schema > experiment.schema.json")]
pub struct LabSchemaArguments {}

/// Simulate attacks on a server host and print what each attack costs the host
///
/// Memory is counted in blocks and work in list nodes visited, so the figures
/// are the same on every machine.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab attacks\n  \
    fullpipe lab attacks SYN fragments\n  \
    fullpipe lab attacks --json")]
pub struct LabAttacksArguments {
    /// Run only the attacks whose name contains this text [default: all attacks]
    #[arg(value_name = "ATTACK")]
    pub attacks: Vec<String>,
    /// Print a JSON array, one object per attack
    #[arg(long)]
    pub json: bool,
}

/// Run experiments and print published figures beside the results
///
/// Each row runs in virtual time and is printed as soon as it has run. The same
/// file, seed and settings give the same output, byte for byte.
///
/// A row is one scenario of an experiment. If the output is at least 120 columns wide
/// and the table fits, each row is a line of a table; otherwise each row takes a few
/// lines.
#[derive(Debug, Args)]
#[command(after_help = "Settings for --set:\n  \
    pool.blocks=64             a knob (stack setting) of the host under study\n  \
    CONFIG_IOB_NBUFFERS=64     the same knob by its name in NuttX\n  \
    peer.tcp.delayed_ack=0ms   a knob of the host `peer`\n  \
    wifi.loss=1%               a field of the link `wifi`\n  \
    link.rate=100mbit          a field of every link\n  \
    workload.duration=5s       a field of every transfer\n\n\
    Values for --sweep:\n  \
    tcp.congestion=cubic,bbr   a list\n  \
    tcp.send_buffer=4K..1M*2   4K, 8K, 16K, ... 1M\n  \
    link.rtt=10ms..50ms+10ms   10ms, 20ms, ... 50ms\n\n\
    Conditions for --fail-on:\n  \
    stalled                    a transfer did not complete\n  \
    dropped                    a connection was dropped\n  \
    limit=NAME                 a verdict names this limit, such as memory\n  \
    deviation=10%              a result is over 10 % off its published figure\n\n\
    Exit codes:\n  \
    0 done, 1 failed, 2 wrong request, 3 --fail-on condition met,\n  \
    130 interrupted\n\n\
    Examples:\n  \
    fullpipe lab run nuttx\n  \
    fullpipe lab run nuttx --set pool.blocks=12 --set link.loss=1%\n  \
    fullpipe lab run loss --columns goodput_mbps,timeouts\n  \
    fullpipe lab run ./mine.toml --json --seed 7\n  \
    fullpipe lab run ./mine.toml --fail-on stalled,deviation=5%\n  \
    fullpipe lab run nuttx --report nuttx.html\n  \
    fullpipe lab run tso --sweep tcp.send_buffer=4K..1M*2\n  \
    fullpipe lab run tso --events --ss 100ms --nstat\n  \
    fullpipe lab run linux-buffers-a --hosts kernel   Linux beside fullpipe (root)\n  \
    fullpipe lab run memory --sweep link.loss=0%,1% --output sweep.csv\n  \
    fullpipe lab run --all --pcap captures")]
pub struct LabRunArguments {
    /// Experiment, by name or file
    #[arg(value_name = "NAME|FILE", required_unless_present = "all")]
    pub experiments: Vec<String>,
    /// Run every experiment
    #[arg(long, conflicts_with = "experiments")]
    pub all: bool,
    /// Print the results without verdicts, in about a twentieth of the time
    #[arg(long)]
    pub quick: bool,
    /// Print JSON: an object, or an array with --all or several names
    #[arg(long)]
    pub json: bool,
    /// Columns to show: names of results as in --json, or `limits`
    #[arg(long, value_name = "A,B")]
    pub columns: Option<Columns>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Change a knob, a link or the transfer in every row; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
    /// Run every row with each of several values of a setting; if repeated, with all combinations
    ///
    /// The values are a list, a range with a factor (4K..1M*2) or with a step
    /// (10ms..50ms+10ms), or a list of ranges and values. Every setting of --set can be swept.
    #[arg(long = "sweep", value_name = "NAME=VALUES", value_parser = setting)]
    pub sweeps: Vec<Setting>,
    /// Exit with code 3 if a row meets a condition; repeatable
    #[arg(long, value_name = "CONDITION", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Run every row also on hosts of this machine's kernel, in real time (root)
    ///
    /// Each host is a network namespace with its own sysctls and a TAP device; the
    /// link between the hosts is the row's link, in real time. A host may also have
    /// `stack = "kernel"` in the file.
    #[arg(long, value_name = "STACK")]
    pub hosts: Option<HostsOf>,
    /// Longest real time of a row on kernel hosts
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = interval)]
    pub time: Time,
    /// Write one record per row to FILE: .csv, .json or .parquet
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the events of each row, or write them to FILE: text, or .jsonl
    ///
    /// Events are state changes, blocked writers, exhausted packet memory, closed
    /// windows, retransmission timeouts, loss recovery, discarded segments and
    /// full queues. Times are virtual. Only the run with the first seed has events.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub events: Option<Option<PathBuf>>,
    /// Print every connection as `ss -tinm` does, every INTERVAL of virtual time
    #[arg(long, value_name = "INTERVAL", value_parser = interval)]
    pub ss: Option<Time>,
    /// Print every host's counters at the end of a row, as `nstat` does
    #[arg(long)]
    pub nstat: bool,
    /// Write a capture of each row to DIR/EXPERIMENT-ROW.pcapng
    #[arg(long, value_name = "DIR")]
    pub pcap: Option<PathBuf>,
    /// Write a self-contained HTML page with every graph to FILE
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write time-sequence graphs to DIR/EXPERIMENT-ROW-CONNECTION-HOST.xpl
    #[arg(long, value_name = "DIR")]
    pub xplot: Option<PathBuf>,
    /// Write every time series of connections, hosts and links to FILE, one value a line
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}
