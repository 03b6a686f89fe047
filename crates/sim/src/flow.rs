//! A flow: a connection between two hosts and the applications at its ends.
//!
//! Rule: the bytes that the application of one end wrote are exactly the bytes that the
//! other end's application must read.

use std::net::SocketAddr;

use fullpipe::ConnectionId;
use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::{CloseReason, Info};

use crate::app::Application;
use crate::arrivals::Arrivals;
use crate::check::{pace::PaceChecker, repeats::RepeatChecker, windows::WindowChecker};
use crate::event_queue::Wakeup;
use crate::ids::HostId;
use crate::meter::Meter;
use crate::pattern::Pattern;
use crate::waits::Waits;

/// A flow of the world (the simulated network).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId(pub(crate) usize);

impl FlowId {
    /// The goal that is reached when this flow is over.
    pub const fn done(self) -> Goal {
        Goal::Done(self)
    }
}

/// The goal of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// This flow is over.
    Done(FlowId),
    /// Every flow is over.
    AllDone,
    /// The server's application has read this many bytes.
    Received(FlowId, u64),
}

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The end that opened the connection.
    Client,
    /// The end that accepted the connection.
    Server,
}

impl Side {
    /// Both sides, in index order.
    pub const ALL: [Self; 2] = [Self::Client, Self::Server];

    /// 0 for the client, 1 for the server.
    pub const fn index(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }

    /// The other side.
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EndId {
    pub flow: FlowId,
    pub side: Side,
}

/// The progress of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The end has no established connection yet.
    Waiting,
    /// The end's application runs.
    Open,
    /// The end's application has read to the end of the stream and closed.
    Finished,
    /// The end's application closed or reset the connection before the end of the stream.
    Left,
    /// The end vanished: no packet of the connection leaves or reaches it any more.
    Vanished,
    /// The connection ended before its application closed it, for this reason.
    Broken(CloseReason),
    /// The stack refused to open a connection, because it had no free slot or port.
    NoRoom,
}

impl Stage {
    /// Returns true if nothing more can happen at this end.
    pub const fn is_settled(self) -> bool {
        match self {
            Self::Waiting | Self::Open => false,
            Self::Finished | Self::Left | Self::Vanished | Self::Broken(_) | Self::NoRoom => true,
        }
    }

    /// Returns true if the end is settled although its application did not read to the end.
    pub const fn is_cut_short(self) -> bool {
        match self {
            Self::Waiting | Self::Open | Self::Finished => false,
            Self::Left | Self::Vanished | Self::Broken(_) | Self::NoRoom => true,
        }
    }
}

/// The bytes that an end's application wrote and read.
#[derive(Clone, Debug)]
pub(crate) struct AppProgress {
    pub pattern: Pattern,
    pub written: u64,
    pub read: u64,
    pub shut_down: bool,
    /// Time at which the end's application last wrote or closed.
    pub last_written: Option<Instant>,
    pub first_read: Option<Instant>,
    pub last_read: Option<Instant>,
    /// Waiting times of written bytes before their first transmission.
    pub waits: Waits,
    /// The application writes and reads in place, without its own copy.
    pub in_place: bool,
}

impl AppProgress {
    pub fn new(key: u64) -> Self {
        Self {
            pattern: Pattern::new(key),
            written: 0,
            read: 0,
            shut_down: false,
            last_written: None,
            first_read: None,
            last_read: None,
            waits: Waits::default(),
            in_place: false,
        }
    }
}

/// The state of one end of a flow.
#[derive(Debug)]
pub(crate) struct FlowEnd {
    pub host: HostId,
    pub connection: Option<ConnectionId>,
    /// `None` during a call of the application.
    pub app: Option<Box<dyn Application>>,
    pub ledger: AppProgress,
    pub stage: Stage,
    /// Time at which nothing more could happen at this end.
    pub settled: Option<Instant>,
    pub wakeup: Wakeup,
    /// The connection's [`Info`] at the time when the application released it.
    pub info: Option<Box<Info>>,
    pub meter: Meter,
    pub repeats: RepeatChecker,
    pub pace: PaceChecker,
    /// True if a rate sample of this end may exceed the rate of the path, for example after a
    /// retransmission. The samples are then no longer checked.
    pub is_rate_unbounded: bool,
    /// The later of two times: when the end's stack last made a segment of this flow, and when a
    /// segment of this flow last left the device.
    pub spoke: Option<Instant>,
    /// Oldest unacknowledged sequence number when the connection was last inspected.
    pub snd_una: Option<u32>,
    /// Time at which an ACK of new payload last arrived, as seen by inspections.
    pub acked: Option<Instant>,
    /// The host lost the address of this flow, so its stack has ended the connection.
    pub is_cut_off: bool,
}

impl FlowEnd {
    pub fn new(host: HostId, app: Box<dyn Application>, key: u64) -> Self {
        Self {
            host,
            connection: None,
            app: Some(app),
            ledger: AppProgress::new(key),
            stage: Stage::Waiting,
            settled: None,
            wakeup: Wakeup::default(),
            info: None,
            meter: Meter::default(),
            repeats: RepeatChecker::default(),
            pace: PaceChecker::default(),
            is_rate_unbounded: false,
            spoke: None,
            snd_una: None,
            acked: None,
            is_cut_off: false,
        }
    }
}

/// The state of a flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub ends: [FlowEnd; 2],
    /// Address and port at which the server listens.
    pub server: SocketAddr,
    /// The payload that arrived at each end.
    pub arrivals: [Arrivals; 2],
    pub watch: WindowChecker,
    /// Time at which the client opens the connection.
    pub started: Instant,
    pub finished: Option<Instant>,
    pub last_frame: Option<Instant>,
    /// Longest time without a frame of either end.
    pub longest_silence: Duration,
}

impl Flow {
    /// Returns true if the flow is over. A flow is over when nothing more can happen at either end.
    /// A flow is also over when one end was cut short, because the other end may never notice.
    pub fn is_done(&self) -> bool {
        self.ends.iter().all(|end| end.stage.is_settled())
            || self.ends.iter().any(|end| end.stage.is_cut_short())
    }
}
