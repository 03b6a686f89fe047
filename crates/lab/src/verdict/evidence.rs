//! What a verdict is drawn from.
//!
//! Rule: the setup, and figures of the run as they are. Nothing is concluded
//! here but what follows from one of them alone.

use fullpipe_pool::Duration;

use crate::{
    experiment::{HostPlan, LinkPlan, Setup},
    measured::Measured,
    path::Path,
    report::Limits,
};

/// What a verdict is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The world.
    pub setup: &'a Setup,
    /// What came out.
    pub measured: &'a Measured,
    /// Which limits held.
    pub limits: &'a Limits,
    /// The largest window that the receiver advertised, in bytes.
    pub peer_window: u64,
    /// The congestion window at the end, in bytes.
    pub cwnd: u64,
    /// The smallest round trip that the sender saw.
    pub min_rtt: Option<Duration>,
    /// The link that was in use most, by its place in the setup.
    pub busiest: usize,
}

/// What bounds are worked out with beside the setup.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Text of a full segment, in bytes.
    pub segment: f64,
    /// A round trip with nothing in the queues, in seconds.
    pub rtt_s: f64,
    /// What goes by in a round trip before the acknowledgment of two segments
    /// is back: the round trip and a segment more, in seconds.
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

    /// Share of the time in which the sender's processor was at work, where work
    /// takes time.
    pub fn sender_cpu_share(&self) -> Option<f64> {
        let host = self.measured.hosts.get(self.setup.flow().from)?;
        host.cpu_busy_share
    }

    /// The link that was in use most.
    pub fn busiest(&self) -> &'a LinkPlan {
        &self.setup.links[self.busiest]
    }

    /// Whether there is one connection only, so that what it gets is what the
    /// bounds leave it.
    pub fn is_alone(&self) -> bool {
        self.setup.flows.len() == 1 && self.setup.flow().count == 1
    }

    /// Way and segment sizes of the first flow.
    pub fn path(&self) -> Path {
        Path::of(self.setup, self.segment_bytes())
    }

    /// Text of a full segment; before there was one, what Ethernet carries.
    pub fn segment_bytes(&self) -> u64 {
        match self.measured.segment_bytes {
            0 => 1_448,
            segment => segment,
        }
    }

    /// How large and how long things are on this path.
    pub fn scale(&self) -> Scale {
        let path = self.path();
        let seen_s = self.min_rtt.map_or(0.0, |rtt| rtt.as_secs_f64());
        let rtt_s = path.rtt_s.max(seen_s);
        Scale {
            segment: self.segment_bytes() as f64,
            rtt_s,
            cycle_s: rtt_s + path.frame_s,
        }
    }
}

/// All of a host's packet memory, in bytes.
pub fn pool_bytes(host: &HostPlan) -> u64 {
    u64::from(host.config.pool.blocks) * u64::from(host.config.pool.block_size)
}
