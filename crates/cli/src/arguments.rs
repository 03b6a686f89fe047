//! The command line: every flag, its help and its examples.
//!
//! Rule: what can be wrong with an argument by itself is refused here, in one
//! line. What the arguments mean is not known here.

mod advice;
mod link_flags;

#[cfg(test)]
mod tests;

use std::{net::IpAddr, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};

use fullpipe_host::{DeviceSpec, Prefix, SpecError};
use fullpipe_perf::iperf2::{self, Rate, options};

use crate::failure::Failure;
pub use advice::{Bytes, LabAdviseArguments, SizeArguments, TryArguments, TryDirection};
use link_flags::LinkFlags;

/// Moves bytes as fast as the path allows in the memory it is given, and says
/// which bound held it back.
#[derive(Debug, Parser)]
#[command(
    name = "fullpipe",
    version,
    disable_help_subcommand = true,
    after_help = "Examples:\n  \
        fullpipe lab run nuttx        run an experiment\n  \
        fullpipe knobs                every knob with its default and range\n  \
        fullpipe try --help           one transfer from a few flags\n  \
        fullpipe size --help          how much of each knob a path needs\n  \
        fullpipe iperf -s             a server for iperf 2\n  \
        fullpipe link --help          delay and loss between two TAP devices"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    Lab(LabArguments),
    Knobs(KnobsArguments),
    Size(SizeArguments),
    Try(TryArguments),
    Iperf(Box<IperfArguments>),
    Link(LinkArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
}

/// List experiments, or run them in virtual time
///
/// Without a subcommand it lists the experiments: those of the checkout you are
/// in, and those built in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab                       what there is\n  \
    fullpipe lab run nuttx             published figures beside ours\n  \
    fullpipe lab run --all --json      everything, for programs\n  \
    fullpipe lab advise nuttx          what to turn, step by step, and what that gives\n  \
    fullpipe lab new mine              a file to start from: mine.toml\n  \
    fullpipe lab check mine.toml       everything that is wrong with it\n  \
    fullpipe lab attacks               what strangers can do to a host")]
pub struct LabArguments {
    #[command(subcommand)]
    pub action: Option<LabAction>,
}

/// What to do in the lab.
#[derive(Debug, Subcommand)]
pub enum LabAction {
    Run(Box<LabRunArguments>),
    Advise(LabAdviseArguments),
    New(LabNewArguments),
    Check(LabCheckArguments),
    Schema(LabSchemaArguments),
    Attacks(LabAttacksArguments),
}

/// Write an experiment to start from to NAME.toml, with a comment on each line
///
/// It runs as it is. A file that is there already stays.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab new mine && fullpipe lab run ./mine.toml")]
pub struct LabNewArguments {
    /// What it is called; with folders before it, where it goes
    pub name: PathBuf,
}

/// Say everything that is wrong with experiments, without running them
///
/// Each mistake is a line FILE:LINE:COLUMN: KEY: what is wrong and what would be right. The exit code is 2 when there
/// is one, 0 when there is none.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab check mine.toml\n  \
    fullpipe lab check experiments/*.toml")]
pub struct LabCheckArguments {
    /// An experiment's name, or a file
    #[arg(value_name = "NAME|FILE", required = true)]
    pub experiments: Vec<String>,
}

/// Print the JSON schema of experiment files, for editors
///
/// An editor with a TOML language server completes keys and marks mistakes with it: put `#:schema` and the file's name
/// in the first line of an experiment.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab schema > experiment.schema.json")]
pub struct LabSchemaArguments {}

/// Play attacks on a host that goes on serving, and print what each costs it
///
/// Memory is counted in blocks, work in nodes of lists visited: the figures are the same on every machine.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab attacks\n  \
    fullpipe lab attacks --json")]
pub struct LabAttacksArguments {
    /// Print a JSON array, one object an attack
    #[arg(long)]
    pub json: bool,
}

/// Run an experiment and print published figures beside ours
///
/// Each row runs in virtual time. The same file, seed and settings give the same output, byte for byte.
#[derive(Debug, Args)]
#[command(after_help = "Settings for --set:\n  \
    pool.blocks=64             a knob of the host under study\n  \
    peer.tcp.delayed_ack=0ms   a knob of the host `peer`\n  \
    wifi.loss=1%               a field of the link `wifi`; `link.loss` means every link\n  \
    workload.duration=5s       a field of the transfer\n\n\
    Values for --sweep:\n  \
    tcp.congestion=cubic,bbr   a list\n  \
    tcp.send_buffer=4K..1M*2   4K, 8K, 16K, ... 1M\n  \
    link.rtt=10ms..50ms+10ms   10ms, 20ms, ... 50ms\n\n\
    Examples:\n  \
    fullpipe lab run nuttx\n  \
    fullpipe lab run nuttx --set pool.blocks=12 --set link.loss=1%\n  \
    fullpipe lab run ./mine.toml --json --seed 7\n  \
    fullpipe lab run nuttx --report nuttx.html\n  \
    fullpipe lab run tso --sweep tcp.send_buffer=4K..1M*2 --sweep link.rtt=1ms,10ms,100ms\n  \
    fullpipe lab run tso --events --ss 100ms --nstat\n  \
    fullpipe lab run memory --events=memory.jsonl\n  \
    fullpipe lab run memory --sweep link.loss=0%,1% --output sweep.csv\n  \
    fullpipe lab run --all --pcap captures")]
pub struct LabRunArguments {
    /// An experiment's name, or a file
    #[arg(value_name = "NAME|FILE", required_unless_present = "all")]
    pub experiments: Vec<String>,
    /// Run every experiment
    #[arg(long, conflicts_with = "experiments")]
    pub all: bool,
    /// Print JSON instead of tables: an object, or an array with --all or several names
    #[arg(long)]
    pub json: bool,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Change a knob, a link or the transfer in every row; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
    /// Run every row at each of several values; may be repeated, for every combination
    ///
    /// A list, a range that is multiplied (4K..1M*2) or added to (10ms..50ms+10ms), or a list of both, of whatever
    /// --set takes. The table shows one line a point.
    #[arg(long = "sweep", value_name = "NAME=VALUES", value_parser = setting)]
    pub sweeps: Vec<Setting>,
    /// Write one record a row to FILE, as its name ends: .csv, .json or .parquet
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print what happened and when, or write it to FILE: .jsonl for a line of JSON an event, else text
    ///
    /// Writers that block and their release, packet memory that is used up and the levels it crosses, windows that
    /// close and open, retransmission timeouts, states. Times are virtual, of the first seed.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub events: Option<Option<PathBuf>>,
    /// Print every connection as `ss -tinm` does, once in so long of virtual time
    #[arg(long, value_name = "INTERVAL", value_parser = interval)]
    pub ss: Option<fullpipe_lab::units::Time>,
    /// Print every host's counters at the end of a row, as `nstat` does
    #[arg(long)]
    pub nstat: bool,
    /// Write a capture of each row to DIR/EXPERIMENT-ROW.pcapng
    #[arg(long, value_name = "DIR")]
    pub pcap: Option<PathBuf>,
    /// Write a page to look at to FILE: every graph, self-contained HTML
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write time-sequence graphs for xplot to DIR/EXPERIMENT-ROW-CONNECTION-HOST.xpl
    #[arg(long, value_name = "DIR")]
    pub xplot: Option<PathBuf>,
    /// Write every series of every connection to FILE, one value a line
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

/// Print every knob: value, legal range, unit, what it bounds
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe knobs\n  \
    fullpipe knobs --preset nuttx\n  \
    fullpipe knobs --json")]
pub struct KnobsArguments {
    /// Show the values of this preset
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub preset: String,
    /// Print a JSON array, one object a knob
    #[arg(long)]
    pub json: bool,
}

/// Measure throughput as iperf 2 does, in both roles
///
/// On the wire and on the screen it is iperf 2.1.8, with one line more at the
/// end: what held the transfer back, largest first. It runs over this machine's
/// sockets, or over a stack of our own on a TAP or TUN device.
///
/// Sizes and rates: K, M and G are powers of 1024, k, m and g powers of 1000.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe iperf -s\n  \
    fullpipe iperf -c 192.168.8.1 -t 30 -i 3\n  \
    fullpipe iperf -s --dev tap:fp0 --addr 10.9.0.2/24 --host-addr 10.9.0.1/24\n  \
    fullpipe iperf -c 10.9.0.1 -u -b 500M -l 1472 --dev tap:fp0 --addr 10.9.0.2/24\n  \
    fullpipe iperf -c 10.9.0.1 --dev tap:fp0 --addr 10.9.0.2/24 --set tcp.send_buffer=16K")]
#[command(group(clap::ArgGroup::new("role").required(true)))]
pub struct IperfArguments {
    /// Wait for clients
    #[arg(short = 's', long, group = "role")]
    pub server: bool,
    /// Send to the server at HOST
    #[arg(short = 'c', long, value_name = "HOST", group = "role")]
    pub client: Option<String>,
    /// UDP instead of TCP
    #[arg(short = 'u', long)]
    pub udp: bool,
    /// Port of the server
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = iperf2::DEFAULT_PORT,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Seconds between reports
    #[arg(short = 'i', long, value_name = "SECONDS", value_parser = options::parse_seconds)]
    pub interval: Option<Duration>,
    /// Seconds to send, or to serve [default: 10, or until interrupted]
    #[arg(short = 't', long, value_name = "SECONDS", value_parser = options::parse_seconds)]
    pub time: Option<Duration>,
    /// Bytes to send, instead of a time
    #[arg(short = 'n', long = "num", value_name = "BYTES", value_parser = options::parse_bytes,
        conflicts_with_all = ["time", "server"])]
    pub amount: Option<u64>,
    /// Bytes of a write, a read or a datagram [default: 128K, or 1470 with -u]
    #[arg(short = 'l', long = "len", value_name = "BYTES", value_parser = options::parse_bytes)]
    length: Option<u64>,
    /// Bits a second to send, or packets a second with the suffix pps [default: all there is, or 1M with -u]
    #[arg(short = 'b', long = "bandwidth", value_name = "RATE", value_parser = options::parse_rate,
        conflicts_with = "server")]
    pub rate: Option<Rate>,
    /// Bytes of socket buffer
    #[arg(short = 'w', long, value_name = "BYTES", value_parser = options::parse_bytes)]
    window: Option<u64>,
    /// Streams side by side; for a server, clients served before it ends
    #[arg(short = 'P', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub parallel: Option<u32>,
    /// The server sends, the client receives
    #[arg(short = 'R', long, conflicts_with = "server")]
    pub reverse: bool,
    /// Send small segments at once
    #[arg(short = 'N', long = "nodelay", conflicts_with = "server")]
    pub no_delay: bool,
    /// Congestion control of TCP, such as cubic or bbr
    #[arg(short = 'Z', long = "linux-congestion", value_name = "NAME")]
    pub congestion: Option<String>,
    /// What to run over: kernel, tap:NAME or tun:NAME
    #[arg(long = "dev", value_name = "DEVICE", default_value = "kernel", help_heading = NETWORK)]
    pub device: NetworkDevice,
    /// Address of our own stack on the device
    #[arg(long = "addr", value_name = "A.B.C.D/N", help_heading = NETWORK)]
    pub address: Option<Prefix>,
    /// Where packets for other networks go
    #[arg(long, value_name = "A.B.C.D", help_heading = NETWORK)]
    pub gateway: Option<IpAddr>,
    /// Address to give to this machine's end of the device
    #[arg(long = "host-addr", value_name = "A.B.C.D/N", help_heading = NETWORK)]
    pub host_address: Option<Prefix>,
    /// Start from the knobs of this preset
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = NETWORK)]
    pub preset: String,
    /// Change a knob of our own stack; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, help_heading = NETWORK)]
    pub settings: Vec<Setting>,
    /// Write a capture of the device to FILE
    #[arg(long, value_name = "FILE", help_heading = NETWORK)]
    pub pcap: Option<PathBuf>,
}

const NETWORK: &str = "Our own stack";

impl IperfArguments {
    /// `-l`.
    ///
    /// # Errors
    /// It is nothing, or more than a buffer can be.
    pub fn length(&self) -> Result<Option<usize>, Failure> {
        Ok(in_range("-l", self.length, 16 << 20)?.map(|bytes| bytes as usize))
    }

    /// `-w`.
    ///
    /// # Errors
    /// It is nothing, or more than a buffer can be.
    pub fn window(&self) -> Result<Option<u32>, Failure> {
        Ok(in_range("-w", self.window, 1 << 30)?.map(|bytes| bytes as u32))
    }
}

fn in_range(flag: &str, bytes: Option<u64>, most: u64) -> Result<Option<u64>, Failure> {
    match bytes {
        Some(bytes) if bytes == 0 || bytes > most => Err(Failure::usage(format!(
            "{flag} {bytes}: outside 1 to {most} bytes"
        ))),
        Some(_) | None => Ok(bytes),
    }
}

/// What a test runs over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkDevice {
    /// This machine's own sockets.
    Kernel,
    /// A stack of our own on this device.
    Own(DeviceSpec),
}

impl std::str::FromStr for NetworkDevice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "kernel" {
            return Ok(Self::Kernel);
        }
        match text.parse() {
            Ok(device) => Ok(Self::Own(device)),
            Err(error) if text.contains(':') => Err(SpecError::to_string(&error)),
            Err(_) => Err("expected kernel, tap:NAME or tun:NAME".to_string()),
        }
    }
}

/// Carry frames between two devices with delay, loss and a rate, in real time
///
/// It makes two TAP devices and is the cable between them: what the lab's links
/// do in virtual time, this one does to the frames of whoever uses the devices,
/// such as the kernel in two network namespaces. The devices go when it ends.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe link --between tap:left,tap:right --rate 100mbit --delay 20ms --loss 1%\n  \
    fullpipe link --between tap:left,tap:right --delay 5ms --queue \"64 packets\" --pcap both.pcapng\n  \
    fullpipe link --between tap:left,tap:right --loss 1% --time 60 --json\n\n\
    Two hosts for it, while it runs:\n  \
    ip netns add a; ip link set left netns a; ip -n a addr add 10.9.0.1/24 dev left; ip -n a link set left up\n  \
    ip netns add b; ip link set right netns b; ip -n b addr add 10.9.0.2/24 dev right; ip -n b link set right up")]
pub struct LinkArguments {
    /// The two devices, such as tap:left,tap:right
    #[arg(long, value_name = "DEVICE,DEVICE")]
    pub between: Between,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Seconds until it ends [default: when interrupted]
    #[arg(short = 't', long, value_name = "SECONDS", value_parser = options::parse_seconds)]
    pub time: Option<Duration>,
    /// Print one JSON object at the end; the line a second goes to standard error
    #[arg(long)]
    pub json: bool,
    /// Write a capture of both ends to FILE
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    #[command(flatten)]
    pub fields: LinkFlags,
}

/// Two devices that frames go between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between(pub [DeviceSpec; 2]);

impl std::str::FromStr for Between {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, second) = text
            .split_once(',')
            .ok_or("expected two devices such as tap:left,tap:right")?;
        let device = |text: &str| text.parse().map_err(|error: SpecError| error.to_string());
        let ends: [DeviceSpec; 2] = [device(first)?, device(second)?];
        if ends[0].name == ends[1].name {
            return Err(format!("both ends are called {}", ends[0].name));
        }
        if ends[0].kind.medium() != ends[1].kind.medium() {
            return Err("a link is between two TAP or two TUN devices".to_string());
        }
        Ok(Self(ends))
    }
}

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe completions bash > ~/.local/share/bash-completion/completions/fullpipe\n  \
    fullpipe completions fish > ~/.config/fish/completions/fullpipe.fish")]
pub struct CompletionsArguments {
    /// Which shell
    pub shell: clap_complete::Shell,
}

/// Print the man page, or write one for each subcommand
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe man | man -l -\n  \
    fullpipe man --dir ~/.local/share/man/man1")]
pub struct ManArguments {
    /// Write every page into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// A `NAME=VALUE` of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What is set.
    pub name: String,
    /// To what.
    pub value: String,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// A time above 0.
fn interval(text: &str) -> Result<fullpipe_lab::units::Time, String> {
    let time = text.parse().ok();
    time.filter(|time| *time > fullpipe_lab::units::Time::ZERO)
        .ok_or_else(|| "expected a time such as 100ms, above 0".to_string())
}

fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => Ok(Setting {
            name: name.trim().to_string(),
            value: value.trim().to_string(),
        }),
        Some(_) | None => Err("expected NAME=VALUE, such as pool.blocks=64".to_string()),
    }
}

/// Why the command line leads to no command.
#[derive(Debug)]
pub enum Stop {
    /// Help or the version was asked for.
    Asked(clap::Error),
    /// It is wrong.
    Wrong(Failure),
}

impl Stop {
    /// Prints what there is to say and returns the exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Asked(help) => match help.print() {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => Failure::from(error).report(),
            },
            Self::Wrong(failure) => failure.report(),
        }
    }
}

/// The whole command line, for completions and man pages.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Reads the arguments of this process.
pub fn parse() -> Result<Command, Stop> {
    let matches = command()
        .try_get_matches()
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    matches
        .map(|arguments| arguments.command)
        .map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop::Asked(error),
            _ if !error.use_stderr() => Stop::Asked(error),
            _ => Stop::Wrong(Failure::usage(one_line(&error))),
        })
}

/// The parser's message without its paragraphs: what is wrong and what may
/// have been meant, but not how the command is used.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let mut parts = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            continue;
        }
        let line = line.strip_prefix("error: ").unwrap_or(line);
        if !line.is_empty() {
            parts.push(line.to_string());
        }
    }
    if parts.is_empty() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a subcommand is missing; `fullpipe --help` lists them".to_string();
    }
    parts.join("; ").replace(":; ", ": ")
}
