//! What a verdict is drawn from.
//!
//! Rule: the setup, and figures of the run as they are. Nothing is concluded
//! here but what follows from one of them alone.

use fullpipe_pool::Duration;
use fullpipe_sim::DatagramDemand;

use super::{buffers::Buffer, processor};
use crate::{
    experiment::{HostPlan, LinkPlan, Setup},
    measured::Measured,
    path::{self, Path},
    report::Limits,
    scene::{Activity, Silence},
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
    /// What datagrams asked of their receivers; nothing of streams.
    pub demand: DatagramDemand,
    /// The largest window that the receiver advertised, in bytes.
    pub peer_window: u64,
    /// The congestion window at the end, in bytes.
    pub cwnd: u64,
    /// The smallest round trip that the sender saw.
    pub min_rtt: Option<Duration>,
    /// The link that was in use most, by its place in the setup.
    pub busiest: usize,
    /// When connections were at work.
    pub activity: Activity,
    /// Those whose peers fell silent, if there are any.
    pub silence: Option<&'a Silence>,
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

    /// The link that was in use most.
    pub fn busiest(&self) -> &'a LinkPlan {
        &self.setup.links[self.busiest]
    }

    /// Whether there is one connection only, so that what it gets is what the
    /// bounds leave it.
    pub fn is_alone(&self) -> bool {
        self.setup.flows.len() == 1 && self.setup.flow().count == 1
    }

    /// How many connections there are.
    pub fn connections(&self) -> u32 {
        self.setup.flows.iter().map(|flow| flow.count).sum()
    }

    /// How many times a bound of one connection all of them have together: as often as
    /// there are connections at once.
    pub fn times(&self) -> f64 {
        if self.is_alone() {
            1.0
        } else {
            self.activity.at_once
        }
    }

    /// Bits of text a second while connections were at work.
    pub fn active_bps(&self) -> f64 {
        let bps = self.measured.goodput_mbps * 1e6;
        match self.activity.share {
            0.0 => bps,
            share => bps / share,
        }
    }

    /// Way and segment sizes of the first flow.
    pub fn path(&self) -> Path {
        Path::of(self.setup, self.segment_bytes())
    }

    /// Text of a full segment: what the path and both ends allow. What was sent may
    /// have been smaller, to fit into a small window.
    pub fn segment_bytes(&self) -> u64 {
        path::full_segment(self.setup).max(self.measured.segment_bytes)
    }

    /// Seconds in which a send buffer's worth of text of one connection arrived.
    pub fn turn_s(&self) -> f64 {
        let text = Buffer::sending(self.sender()).text() as f64;
        let most = f64::from(self.sender().config.tcp.unacknowledged);
        text.min(most) * 8.0 * self.times() / self.active_bps()
    }

    /// How large and how long things are on this path.
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
    u64::from(host.config.pool.blocks) * u64::from(host.config.pool.block_size)
}
