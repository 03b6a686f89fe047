//! Measured values on which a verdict rests.
//!
//! Rule: nothing here changes the setup or a measured value. A method derives its result
//! from these alone.

use fullpipe_pool::Duration;
use fullpipe_scenario::{
    Limits,
    experiment::{HostPlan, LinkPlan, Setup},
    measured::Measured,
    path::{self, Path},
    scene::{Activity, Silence},
};
use fullpipe_sim::DatagramDemand;

use super::{buffers::Buffer, processor};

/// Setup and measured values of a run.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The world.
    pub setup: &'a Setup,
    /// The measured values.
    pub measured: &'a Measured,
    /// Share of the time that is charged to each limit.
    pub limits: &'a Limits,
    /// Queue lengths that datagrams needed; 0 for streams.
    pub demand: DatagramDemand,
    /// The largest window that the receiver advertised, in bytes.
    pub peer_window: u64,
    /// The congestion window at the end, in bytes.
    pub cwnd: u64,
    /// The smallest round-trip time that the sender measured.
    pub min_rtt: Option<Duration>,
    /// Index of the busiest link in the setup.
    pub busiest: usize,
    /// Times in which connections were active.
    pub activity: Activity,
    /// Connections whose peers fell silent, if there are any.
    pub silence: Option<&'a Silence>,
}

/// Quantities of the path that bounds are computed from.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Payload of a full segment, in bytes.
    pub segment: f64,
    /// The round-trip time with empty queues, in seconds.
    pub rtt_s: f64,
    /// Time from sending two segments until both are acknowledged, in seconds: `rtt_s` and
    /// the time that the slowest link or processor takes for one segment.
    pub cycle_s: f64,
}

impl<'a> Evidence<'a> {
    /// The host that sends.
    pub fn sender(&self) -> &'a HostPlan {
        &self.setup.hosts[self.setup.flow().from]
    }

    /// The host that receives.
    pub fn receiver(&self) -> &'a HostPlan {
        &self.setup.hosts[self.setup.flow().to]
    }

    /// The busiest link.
    pub fn busiest(&self) -> &'a LinkPlan {
        &self.setup.links[self.busiest]
    }

    /// Returns true if there is only one connection, so that the bounds alone determine
    /// its goodput.
    pub fn is_alone(&self) -> bool {
        self.setup.flows.len() == 1 && self.setup.flow().count == 1
    }

    /// Number of connections.
    pub fn connections(&self) -> u32 {
        self.setup.flows.iter().map(|flow| flow.count).sum()
    }

    /// Factor from one connection's bound to that of all: the mean number of active
    /// connections.
    pub fn times(&self) -> f64 {
        if self.is_alone() {
            1.0
        } else {
            self.activity.at_once
        }
    }

    /// Goodput while connections were active, in bits a second.
    pub fn active_bps(&self) -> f64 {
        let bps = self.measured.goodput_mbps * 1e6;
        match self.activity.share {
            0.0 => bps,
            share => bps / share,
        }
    }

    /// Path of the first flow.
    pub fn path(&self) -> Path {
        Path::of(self.setup, self.segment_bytes())
    }

    /// Payload of a full segment that path and both ends allow. Sent segments may be
    /// smaller, to fit into a small window.
    pub fn segment_bytes(&self) -> u64 {
        path::full_segment(self.setup).max(self.measured.segment_bytes)
    }

    /// Time in which as much of a connection's payload arrives as its send buffer holds, in
    /// seconds.
    pub fn turn_s(&self) -> f64 {
        let text = Buffer::sending(self.sender()).text() as f64;
        let most = f64::from(self.sender().config.tcp.unacknowledged);
        text.min(most) * 8.0 * self.times() / self.active_bps()
    }

    /// The scale of this path.
    pub fn scale(&self) -> Scale {
        let path = self.path();
        let seen_s = self.min_rtt.map_or(0.0, |rtt| rtt.as_secs_f64());
        let segment = self.segment_bytes() as f64;
        let worked_s = processor::round_trip_s(self.setup, segment);
        let rtt_s = (path.rtt_s + worked_s).max(seen_s);
        let frame_s = path.frame_s.max(processor::segment_s(self.setup, segment));
        Scale {
            segment,
            rtt_s,
            cycle_s: rtt_s + frame_s,
        }
    }
}

/// All of a host's packet memory, in bytes.
pub fn pool_bytes(host: &HostPlan) -> u64 {
    host.pool_bytes()
}
