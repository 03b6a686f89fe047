//! Results of one world (simulated network), or of several worlds that differ only in their seeds.
//!
//! Rule: over several seeds, measured quantities are summarised; times, frames of the path and
//! events of the simulator are added. [`Played::of_seeds`] decides about each other value: it is
//! the value of the first seed, or the median, smallest or largest value of all seeds.

use fullpipe_diagnose::facts::Observed;
use fullpipe_pool::Duration;
use fullpipe_sim::DatagramDemand;
use fullpipe_tcp::{Limit, ReceiveLimit};

use super::{activity::Activity, silence::Silence};
use crate::{measured::Measured, path_account::PathAccount, shares::Times, watch::Watched};

/// Results of a world.
#[derive(Clone, Debug)]
pub struct Played {
    /// The measured quantities.
    pub measured: Measured,
    /// Time charged to each limit of the senders.
    pub sender: Times<Limit>,
    /// Time charged to each limit of the receivers.
    pub receiver: Times<ReceiveLimit>,
    /// Frames of every link, and losses at every host.
    pub path: PathAccount,
    /// Queue lengths that a receiver of datagrams needed; 0 for streams.
    pub demand: DatagramDemand,
    /// Largest window that a receiver advertised to the first flow, in bytes.
    pub peer_window: u64,
    /// Congestion window of the first flow at the end, in bytes.
    pub cwnd: u64,
    /// Smallest round-trip time that the first flow's sender measured.
    pub min_rtt: Option<Duration>,
    /// Index of the link that was busy longest.
    pub busiest: usize,
    /// Time in which connections were active.
    pub activity: Activity,
    /// Connections whose peers fell silent; `None` if there are none.
    pub silence: Option<Silence>,
    /// Number of events of the simulator: a measure of work that is equal on every machine.
    pub steps: u64,
    /// Number of worlds that these results summarise.
    pub worlds: u32,
    /// Every segment and every series, if they were requested.
    pub observed: Option<Observed>,
    /// Events, sockets and counters, if they were requested.
    pub watched: Watched,
}

impl Played {
    /// Summarises the worlds of a row (scenario), which differ only in their seeds.
    ///
    /// # Panics
    /// Panics if `runs` is empty.
    pub fn of_seeds(mut runs: Vec<Self>) -> Self {
        let measured: Vec<_> = runs.iter().map(|run| run.measured.clone()).collect();
        let mut sender = Times::default();
        let mut receiver = Times::default();
        for run in &runs {
            sender.add(run.sender.parts());
            receiver.add(run.receiver.parts());
        }
        let mut path = std::mem::take(&mut runs[0].path);
        runs[1..].iter().for_each(|run| path.add(&run.path));
        let mut windows: Vec<_> = runs.iter().map(|run| run.cwnd).collect();
        windows.sort_unstable();
        let demands = runs.iter().map(|run| run.demand);
        Self {
            measured: Measured::of_seeds(&measured),
            sender,
            receiver,
            path,
            demand: demands.fold(DatagramDemand::default(), larger),
            peer_window: runs.iter().map(|run| run.peer_window).max().unwrap_or(0),
            cwnd: windows[windows.len() / 2],
            min_rtt: runs.iter().filter_map(|run| run.min_rtt).min(),
            busiest: runs[0].busiest,
            activity: runs[0].activity,
            silence: runs[0].silence.take(),
            steps: runs.iter().map(|run| run.steps).sum(),
            worlds: runs.iter().map(|run| run.worlds).sum(),
            observed: runs[0].observed.take(),
            watched: std::mem::take(&mut runs[0].watched),
        }
    }
}

/// Returns the larger value of each field.
pub(super) fn larger(one: DatagramDemand, other: DatagramDemand) -> DatagramDemand {
    DatagramDemand {
        queue: one.queue.max(other.queue),
        ring: one.ring.max(other.ring),
        without_memory: one.without_memory.max(other.without_memory),
        without_neighbour: one.without_neighbour.max(other.without_neighbour),
    }
}
