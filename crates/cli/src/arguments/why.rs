//! Arguments of `fullpipe why`.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use fullpipe_diagnose::{capture::FlowFilter, observe::SeenLimit};
use fullpipe_lab::hint;
use fullpipe_perf::iperf2::options;

/// Say why the transfers of a capture are slow
///
/// Reads files of tcpdump, Wireshark and others: pcap and pcapng, plain or inside gzip or zstd; and recordings of
/// `fullpipe watch`. The connections are listed; the connection that lost most time is first. Lost time is time in which
/// the sender had something to send and the path was not full. With --flow, or if there is only one connection, the output
/// says what limited the connection, for how long, and what the capture cannot show.
#[derive(Debug, Args)]
#[command(
    visible_alias = "diagnose",
    after_help = "Examples:\n  \
    fullpipe why capture.pcap\n  \
    fullpipe why capture.pcapng.gz --flow 3\n  \
    fullpipe why capture.pcap --flow 3 --scenario slow.toml\n  \
    fullpipe why *.pcap --filter 'host 10.0.0.1 and port 443'\n  \
    tcpdump -i eth0 -s 128 -w - 'tcp or icmp or icmp6' | fullpipe why -\n  \
    fullpipe why -i eth0 --seconds 30 --filter 'port 443'\n  \
    fullpipe why capture.pcap --csv > connections.csv\n  \
    fullpipe why capture.pcap --flow 3 --report slow.html --xplot graphs\n  \
    fullpipe why capture.pcap --parquet tables\n  \
    fullpipe why client.pcap server.pcap      one connection from both ends, merged\n  \
    fullpipe why host.sockets                 sockets that fullpipe watch --record recorded\n  \
    fullpipe why capture.pcap host.sockets    compare what capture and socket show\n  \
    fullpipe why capture.pcap --fail-on limit=receive_window"
)]
pub struct WhyArguments {
    /// Captures, and recordings of `fullpipe watch --record`; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "interface")]
    pub files: Vec<PathBuf>,
    /// Capture on this interface until Ctrl-C, instead of reading files; `any`: on all interfaces
    #[arg(short, long, value_name = "IFACE", conflicts_with = "files")]
    pub interface: Option<String>,
    /// Seconds until the capture on an interface ends
    #[arg(long, value_name = "SECONDS", requires = "interface", conflicts_with = "files", value_parser = options::parse_seconds)]
    pub seconds: Option<Duration>,
    /// Print everything about connection N of the table
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub flow: Option<u64>,
    /// Write an experiment file whose simulation behaves like the connection; an existing file is an error
    #[arg(long, value_name = "FILE", conflicts_with_all = ["csv", "quick"])]
    pub scenario: Option<PathBuf>,
    /// System of both hosts: default, nuttx, unet3, netburner or linux; the advice uses the names of its settings
    #[arg(long, value_name = "PRESET", default_value = "linux")]
    pub preset: String,
    /// Print only what the capture shows: fit no experiment to the connection, and give no advice
    #[arg(long)]
    pub quick: bool,
    /// Print only one connection's addresses, transfer and verdict; if it has no verdict, the time by limit
    #[arg(long, conflicts_with_all = ["csv", "json", "quick"])]
    pub brief: bool,
    /// Only connections that this filter chooses, in tcpdump's syntax, such as 'host 10.0.0.1 and port 443'
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<FlowFilter>,
    /// Rows of the table; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Print one JSON object
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print CSV, one line per connection
    #[arg(long, conflicts_with = "flow")]
    pub csv: bool,
    /// Write tables to DIR: connections.parquet; for a single connection also segments, limits and episodes
    #[arg(long, value_name = "DIR")]
    pub parquet: Option<PathBuf>,
    /// Write a self-contained HTML page with the graphs of one connection to FILE
    #[arg(long, value_name = "FILE", conflicts_with = "csv")]
    pub report: Option<PathBuf>,
    /// Write time-sequence graphs of one connection, a file for each end, to DIR
    #[arg(long, value_name = "DIR", conflicts_with = "csv")]
    pub xplot: Option<PathBuf>,
    /// Exit with code 3 if a connection has the main limit NAME (limit=NAME), had more than PERCENT of its segments
    /// retransmitted (retransmitted=PERCENT), had a reset (reset) or failed (failed; or only refused, unanswered,
    /// unreachable or vanished), if no connection was found (empty), or if a capture could not be read to its end (partial). May be
    /// given several times
    #[arg(long, value_name = "CONDITION")]
    pub fail_on: Vec<ConnectionCondition>,
}

/// Failures that a condition can name. `reset` is a condition of its own: it includes resets after
/// which nothing is missing.
const FAILURES: [&str; 3] = ["refused", "unanswered", "vanished"];

/// A condition of `why --fail-on`.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionCondition {
    /// The connection's main limit is this one.
    Limit(SeenLimit),
    /// More than this share of the connection's data segments was retransmitted.
    Retransmitted(f64),
    /// The connection was reset.
    Reset,
    /// Nothing answered one end, and an ICMP error says why.
    Unreachable,
    /// The connection failed: in the named way, or in any.
    Failure(Option<&'static str>),
    /// There is no connection and no socket.
    Empty,
    /// A capture was not read to its end.
    Partial,
}

impl std::str::FromStr for ConnectionCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "reset" => Ok(Self::Reset),
            None if text == "unreachable" => Ok(Self::Unreachable),
            None if text == "partial" => Ok(Self::Partial),
            None if text == "empty" => Ok(Self::Empty),
            None if text == "failed" => Ok(Self::Failure(None)),
            None if FAILURES.contains(&text) => {
                let name = FAILURES.into_iter().find(|name| *name == text);
                Ok(Self::Failure(name))
            }
            Some(("limit", name)) => {
                let names = || SeenLimit::ALL.iter().map(|limit| limit.name());
                let found = SeenLimit::ALL.iter().find(|limit| limit.name() == name);
                found
                    .copied()
                    .map(Self::Limit)
                    .ok_or_else(|| format!("no limit is called `{name}`; {}", hint(name, names())))
            }
            Some(("retransmitted", percent)) => {
                let number = percent
                    .trim()
                    .trim_end_matches('%')
                    .trim_end()
                    .parse::<f64>();
                let number = number
                    .ok()
                    .filter(|percent| (0.0..=100.0).contains(percent));
                number
                    .map(|percent| Self::Retransmitted(percent / 100.0))
                    .ok_or_else(|| {
                        "expected a percentage from 0 to 100, such as retransmitted=1%".to_string()
                    })
            }
            Some(_) | None => {
                let names = FAILURES.join(", ");
                Err(format!(
                    "expected limit=NAME, retransmitted=PERCENT, reset, failed, {names}, unreachable, empty or partial"
                ))
            }
        }
    }
}
