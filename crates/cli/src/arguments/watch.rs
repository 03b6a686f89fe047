//! Arguments of `fullpipe watch`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use fullpipe_diagnose::socket::EndFilter;
use fullpipe_lab::units::Time;
use fullpipe_perf::iperf2::options;

use super::values::interval;

/// Show what limits each TCP connection of this Linux host, live
///
/// At each interval the command reads the sockets from the kernel, counts for each connection the
/// time of each limit, and names the settings that change the main limit. It changes no setting.
/// Without root, other users' sockets are shown, but not their processes.
///
/// On a terminal the table is redrawn in place; in a pipe one line per socket is printed at each
/// interval. Ctrl-C prints the verdicts and ends the command with exit code 0.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe watch                         every connection, like top\n  \
    fullpipe watch --port 443 -i 100ms     connections of port 443\n  \
    fullpipe watch --pid 1234 --time 10    a process's connections, for 10 s\n  \
    fullpipe watch --socket 3e9            one connection, with its verdict\n  \
    fullpipe watch --once -v               the fields of ss -tinm\n  \
    fullpipe watch --once --json           one JSON object\n  \
    fullpipe watch --json -i 1s            one JSON object a line\n  \
    fullpipe watch --netns blue --record blue.sockets\n  \
    fullpipe watch --prometheus 9187 -q    metrics at 127.0.0.1:9187/metrics")]
pub struct WatchArguments {
    /// Only sockets with this port at either end; repeatable
    #[arg(long, value_name = "PORT", help_heading = FILTERS)]
    pub port: Vec<u16>,
    /// Only sockets with this peer: 10.0.0.0/8, 10.0.0.1:443 or ::1; repeatable
    #[arg(long, value_name = "ADDRESS", help_heading = FILTERS)]
    pub peer: Vec<EndFilter>,
    /// Only sockets with this local address; repeatable
    #[arg(long, value_name = "ADDRESS", help_heading = FILTERS)]
    pub local: Vec<EndFilter>,
    /// Only sockets of this process, in its network namespace
    #[arg(long, value_name = "PID", help_heading = FILTERS)]
    pub pid: Option<u32>,
    /// Network namespace: a name of `ip netns`, or the path of its file
    #[arg(long, value_name = "NAME|PATH", help_heading = FILTERS)]
    pub netns: Option<PathBuf>,
    /// Only the socket with this number (column sk, as in ss -e), with its verdict
    #[arg(long, value_name = "SK", value_parser = cookie, help_heading = FILTERS)]
    pub socket: Option<u64>,
    /// Time between two observations, at least 10ms
    #[arg(short = 'i', long, value_name = "TIME", default_value = "1s", value_parser = least_interval)]
    pub interval: Time,
    /// End after this many seconds [default: when interrupted]
    #[arg(short = 't', long, value_name = "SECONDS", value_parser = options::parse_seconds)]
    pub time: Option<Duration>,
    /// Observe once and end
    #[arg(long, conflicts_with_all = ["time", "prometheus", "record"])]
    pub once: bool,
    /// Print the fields of `ss -tinm` of each socket too
    #[arg(short, long)]
    pub verbose: bool,
    /// Also print sockets that moved no payload in the interval
    #[arg(long)]
    pub idle: bool,
    /// Print events: blocked writers, closed windows, timeouts
    #[arg(long, conflicts_with_all = ["json", "once"])]
    pub events: bool,
    /// At the end, print the TCP counters that changed, as nstat does
    #[arg(long)]
    pub nstat: bool,
    /// Print JSON: one object with --once, otherwise one object per line at each interval
    #[arg(long)]
    pub json: bool,
    /// Write every observation to FILE, as lines of JSON
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Serve OpenMetrics at http://ADDR/metrics; PORT alone means 127.0.0.1:PORT
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = metrics_address)]
    pub prometheus: Option<SocketAddr>,
    /// Time series of --prometheus: one per socket, or sums over all sockets of the host
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "socket",
        requires = "prometheus"
    )]
    pub prometheus_by: MetricsBy,
}

impl WatchArguments {
    /// The sockets that the filters choose, in words: `TCP socket with port 5001 at either end`.
    pub fn wanted(&self) -> String {
        let any_of = |all: Vec<String>| all.join(" or ");
        let ends = |all: &[EndFilter]| any_of(all.iter().map(EndFilter::to_string).collect());
        let mut text = "TCP socket".to_string();
        if !self.port.is_empty() {
            let ports = any_of(self.port.iter().map(u16::to_string).collect());
            text += &format!(" with port {ports} at either end");
        }
        if !self.peer.is_empty() {
            text += &format!(" with peer {}", ends(&self.peer));
        }
        if !self.local.is_empty() {
            text += &format!(" at {}", ends(&self.local));
        }
        if let Some(pid) = self.pid {
            text += &format!(" of process {pid}");
        }
        if let Some(netns) = &self.netns {
            text += &format!(" in the namespace {}", netns.display());
        }
        if let Some(cookie) = self.socket {
            text += &format!(" with number {cookie:x}");
        }
        text
    }
}

const FILTERS: &str = "Sockets";

/// Time series of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MetricsBy {
    /// One time series for each socket and limit.
    Socket,
    /// One time series for each limit, summed over the sockets.
    Host,
}

/// Shortest interval.
const LEAST_INTERVAL: Time = Time::from_millis(10);

fn least_interval(text: &str) -> Result<Time, String> {
    match interval(text)? {
        short if short < LEAST_INTERVAL => {
            Err(format!("'{text}' is too short: give at least 10ms"))
        }
        time => Ok(time),
    }
}

fn cookie(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16)
        .map_err(|_| "expected a hexadecimal number such as 3e9, from the column sk".to_string())
}

fn metrics_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse()
        .map_err(|_| "expected a port such as 9187, or ADDRESS:PORT".to_string())
}
