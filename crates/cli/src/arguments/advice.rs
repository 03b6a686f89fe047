//! Arguments of `fullpipe try`, `fullpipe lab advise`, `fullpipe lab explain` and
//! `fullpipe size`.
//!
//! Rule: a wrong number, rate, time or share is refused here. Queues and all names, such as those
//! of presets and settings, are checked by the code that uses them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fullpipe_lab::units::{Time, ambiguous_share, parse_count, parse_probability, parse_rate};

use super::values::{Setting, interval, seed, setting};

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl std::str::FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_count(text)
            .filter(|bytes| *bytes > 0)
            .map(Self)
            .ok_or_else(|| "expected a number of bytes such as 7056 or 64K, above 0".to_string())
    }
}

/// Change one setting per step as the verdict advises, and print prediction and result
///
/// Each step changes only the setting that the verdict (the explanation of the limit) names. The steps end when the limit
/// is a link, a processor, losses, the round trip or an application, when no setting is known to help, when a step gains
/// nothing, or when the next step needs more memory than --memory allows. At the end, the settings of all steps are printed, ready to paste.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab advise linux-buffers-a\n  \
    fullpipe lab advise netburner --row \"Internet, 5 buffers\" -v\n  \
    fullpipe lab advise memory --memory 64K --json\n  \
    fullpipe lab advise ./mine.toml --set link.loss=1%")]
pub struct LabAdviseArguments {
    /// An experiment's name, or a file
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,
    /// Row (scenario) with this label [default: all rows]
    #[arg(long, value_name = "LABEL")]
    pub row: Option<String>,
    /// Most packet memory that the advice may give to a host
    #[arg(long, value_name = "BYTES")]
    pub memory: Option<Bytes>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Change a knob, a link or the transfer before the first step; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
    /// Print each step's verdict, and both ends' limits in seconds and bytes
    #[arg(short, long)]
    pub verbose: bool,
    /// Print a JSON array, one object per row
    #[arg(long)]
    pub json: bool,
}

/// Print the verdict of each row (scenario), or the gain of each possible change
///
/// With --matrix every lever of a row is tried. A lever is one thing that somebody could change: a buffer, a window,
/// a rule such as Nagle's algorithm, the applications, a processor, or the path. The row is run again with each lever
/// at about twice its value, and at the largest value that the row can use. The gains in goodput are printed, the largest
/// first. To find levers that only help together, further runs change all resources (such as buffers) of the hosts at
/// once, and all resources together with one rule. The first line of the output has the number of runs. If chance
/// affects the results, each change is run with five seeds.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab explain ./slow.toml\n  \
    fullpipe lab explain linux-buffers-e --row \"RTT 5 ms\" --matrix\n  \
    fullpipe lab explain ./mine.toml --matrix --json\n  \
    fullpipe lab explain ./mine.toml --matrix --set link.loss=1%")]
pub struct LabExplainArguments {
    /// An experiment's name, or a file
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,
    /// Row (scenario) with this label [default: all rows]
    #[arg(long, value_name = "LABEL")]
    pub row: Option<String>,
    /// Print the gain in goodput of every change that can be made, instead of the verdict
    #[arg(long)]
    pub matrix: bool,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Change a knob, a link or the transfer before the first run; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
    /// Print a JSON array, one object per row
    #[arg(long)]
    pub json: bool,
}

/// Direction of the transfer, seen from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TryDirection {
    /// The host sends
    Send,
    /// The host receives
    Receive,
}

/// Simulate one transfer: its goodput, its limit, and the setting to change
///
/// A host with the settings of the preset sends to a Linux host with default settings, or receives from it, over a path of
/// the given rate, round-trip time and loss. A setting is named as in the preset's system or as in fullpipe. If an
/// experiment is given instead of the path, one row (scenario) of the experiment runs; `fullpipe why --scenario` writes
/// such an experiment.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe try --rate 100mbit --rtt 20ms\n  \
    fullpipe try ./slow.toml --set sender.SO_SNDBUF=unset\n  \
    fullpipe try --preset nuttx --set CONFIG_IOB_NBUFFERS=24 \\\n      \
    --rate 5mbit --rtt 30ms --loss 1%\n  \
    fullpipe try --preset linux --set \"tcp_rmem=4096 65536 262144\" \\\n      \
    --rate 1gbit --rtt 40ms --direction receive --bytes 100M\n  \
    fullpipe try --preset linux --congestion bbr --rate 50mbit --rtt 80ms \\\n      \
    --loss 0.5% --queue \"100 packets\" --save mine.toml")]
pub struct TryArguments {
    /// An experiment's name, or its file, in place of --rate and --rtt
    #[arg(value_name = "NAME|FILE", conflicts_with_all = [
        "rate", "rtt", "loss", "queue", "preset", "direction", "bytes", "time", "congestion", "save",
    ])]
    pub experiment: Option<String>,
    /// Row of the experiment [default: the first]
    #[arg(long, value_name = "LABEL", requires = "experiment")]
    pub row: Option<String>,
    /// Rate of the path
    #[arg(long, value_parser = rate, required_unless_present = "experiment")]
    pub rate: Option<u64>,
    /// Base round-trip time
    #[arg(long, value_name = "TIME", value_parser = round_trip, required_unless_present = "experiment")]
    pub rtt: Option<Time>,
    /// Probability that a frame with payload is lost
    #[arg(long, default_value = "0%", value_name = "SHARE", value_parser = loss)]
    pub loss: f64,
    /// Queue of the path's slowest link, such as "100 packets" or "64K bytes"
    #[arg(long, value_name = "AMOUNT")]
    pub queue: Option<String>,
    /// Host profile: default, nuttx, unet3, netburner or linux
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub preset: String,
    /// A setting of the host; with the prefix `peer.`, of the other end; with `link.`, of the path; with `workload.`, of the
    /// application. With an experiment, settings are named as for `fullpipe lab run --set`. Repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
    /// Direction of the transfer, seen from the host
    #[arg(long, value_enum, default_value = "send")]
    pub direction: TryDirection,
    /// Bytes to transfer
    #[arg(long, value_name = "BYTES", conflicts_with = "time")]
    pub bytes: Option<Bytes>,
    /// Duration of the transfer [default: up to 10s]
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub time: Option<Time>,
    /// Congestion control of the sender: newreno, cubic or bbr
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Write an experiment file that gives the same result with `fullpipe lab run`
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Find the smallest buffers and packet memory for a path, in the simulator
///
/// One knob (setting of the stack) is changed at a time, first the buffers, then the packet memory, for sending and for
/// receiving; all other settings are so large that they do not limit the transfer. For each knob the output has the
/// smallest value that gives 95 % of what the path carries after slow start, and the goodput of smaller values. If no
/// value gives 95 %, the output names the limit, and the smallest value that gives 95 % of the best goodput. The memory
/// of `--memory` is divided between sending and receiving. If an experiment is given, the path's rate, round trip and
/// loss and the host's preset are those of one of its rows.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe size --rate 100mbit --rtt 20ms\n  \
    fullpipe size ./slow.toml\n  \
    fullpipe size --rate 100mbit --rtt 20ms --preset linux\n  \
    fullpipe size --rate 25mbit --rtt 19ms --preset netburner --json\n  \
    fullpipe size --rate 10mbit --rtt 10ms --memory 7056 --preset nuttx\n  \
    fullpipe size --rate 5mbit --rtt 10ms --loss 1% --preset unet3\n  \
    fullpipe size --rate 100mbit --rtt 520us --preset netburner --low-water 50 \\\n      \
    --set cpu.send_packet=152us --set cpu.receive_packet=152us\n  \
    fullpipe size --rate 10mbit --rtt 2ms --set peer.tcp.ack_every=1")]
pub struct SizeArguments {
    /// An experiment's name, or its file, in place of --rate and --rtt
    #[arg(value_name = "NAME|FILE", conflicts_with_all = ["rate", "rtt", "loss", "preset"])]
    pub experiment: Option<String>,
    /// Row of the experiment [default: the first]
    #[arg(long, value_name = "LABEL", requires = "experiment")]
    pub row: Option<String>,
    /// Rate of the path
    #[arg(long, value_parser = rate, required_unless_present = "experiment")]
    pub rate: Option<u64>,
    /// Base round-trip time
    #[arg(long, value_name = "TIME", value_parser = round_trip, required_unless_present = "experiment")]
    pub rtt: Option<Time>,
    /// Probability that a frame with payload is lost
    #[arg(long, default_value = "0%", value_name = "SHARE", value_parser = loss)]
    pub loss: f64,
    /// All packet memory of the host [default: so much that it limits no transfer]
    #[arg(long, value_name = "BYTES")]
    pub memory: Option<Bytes>,
    /// Host profile: default, nuttx, unet3, netburner or linux
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub preset: String,
    /// A setting of the host, its device or its processor; with the prefix `peer.`, of the other end; with `link.`, of the
    /// path; with `workload.`, of the application. Repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
    /// Percent of the send buffer that must be free before a blocked writer continues
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=90))]
    pub low_water: u32,
    /// Sufficient goodput, as a share of what the path carries; if no setting reaches that goodput, as a share of the host's
    /// best goodput
    #[arg(long, default_value = "95%", value_name = "SHARE", value_parser = some_share)]
    pub share: f64,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

fn rate(text: &str) -> Result<u64, String> {
    parse_rate(text).ok_or_else(|| "expected a rate such as 100mbit".to_string())
}

fn round_trip(text: &str) -> Result<Time, String> {
    let whole = interval(text)?;
    if whole.as_nanos().is_multiple_of(1_000) {
        Ok(whole)
    } else {
        Err("expected a time above 0 in whole microseconds, such as 20ms".to_string())
    }
}

fn some_share(text: &str) -> Result<f64, String> {
    match share(text)? {
        some if some > 0.0 => Ok(some),
        _ => Err("expected a share above 0 and below 1, such as 95% or 0.95".to_string()),
    }
}

fn loss(text: &str) -> Result<f64, String> {
    if parse_probability(text) == Some(1.0) {
        return Err(
            "if all packets are lost, nothing is transferred; expected a share below 1, such as 1%"
                .to_string(),
        );
    }
    if text.trim().parse() == Ok(1.0) {
        let text = text.trim();
        return Err(format!(
            "`{text}` may mean 1 % or 100 %: write 1%, because a loss of 100% transfers nothing"
        ));
    }
    share(text)
}

fn share(text: &str) -> Result<f64, String> {
    if let Some(message) = ambiguous_share(text) {
        return Err(message);
    }
    let share = parse_probability(text).filter(|share| *share < 1.0);
    share.ok_or_else(|| "expected a share from 0 to below 1, such as 1% or 0.01".to_string())
}
