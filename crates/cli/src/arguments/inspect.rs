//! Arguments of `fullpipe addr`, `fullpipe route` and `fullpipe neigh`.

use clap::Args;

/// The stacks to ask, and the form of the answer.
#[derive(Debug, Args)]
pub struct StackChoice {
    /// Number of the process whose stacks are asked [default: every process with such a stack]
    #[arg(value_name = "PID")]
    pub pid: Option<u32>,
    /// Print a JSON array, one object per stack
    #[arg(long)]
    pub json: bool,
}

/// Print the addresses of running fullpipe stacks, as ip addr does for the kernel
///
/// Asks `fullpipe iperf --dev`, `fullpipe forward`, and other programs in this network namespace that allow it
/// (`RuntimeBuilder::inspectable`).
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe addr\n  \
    fullpipe addr 4711\n  \
    fullpipe addr --json")]
pub struct AddrArguments {
    #[command(flatten)]
    pub stacks: StackChoice,
}

/// Print the routes of running fullpipe stacks, as ip route does for the kernel
///
/// Asks the same programs as fullpipe addr. Of the routes that match a destination, the stack uses the one with the longest prefix, then
/// the one with the smallest metric; announced default routers come last.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe route\n  \
    fullpipe route 4711 --json")]
pub struct RouteArguments {
    #[command(flatten)]
    pub stacks: StackChoice,
}

/// Print the neighbours of running fullpipe stacks, as ip neigh does for the kernel
///
/// Asks the same programs as fullpipe addr. The neighbours of IPv4 come from ARP, those of IPv6 from neighbour discovery.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe neigh\n  \
    fullpipe neigh 4711 --json")]
pub struct NeighArguments {
    #[command(flatten)]
    pub stacks: StackChoice,
}
