//! A conversation between two hosts: its two ends, and what is known of it.
//!
//! Rule: the ledgers are the truth. What one end's application has written is
//! what the other's must read, byte for byte, and nothing else.

use fullpipe::ConnectionId;
use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::{CloseReason, Info};

use crate::HostId;
use crate::app::Application;
use crate::arrivals::Arrivals;
use crate::check::{pace::PaceChecker, repeats::RepeatChecker, windows::WindowChecker};
use crate::event_queue::Wakeup;
use crate::meter::Meter;
use crate::pattern::Pattern;
use crate::waits::Waits;

/// A conversation of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId(pub(crate) usize);

impl FlowId {
    /// The goal that this conversation is over at both ends.
    pub const fn done(self) -> Goal {
        Goal::Done(self)
    }
}

/// What a world runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// This conversation is over.
    Done(FlowId),
    /// Every conversation is over.
    AllDone,
    /// This end-to-end count has been reached: bytes that the server's
    /// application has read.
    Received(FlowId, u64),
}

/// One of the two ends of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// It opened the connection.
    Client,
    /// It accepted the connection.
    Server,
}

impl Side {
    /// Both, in index order.
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

/// An end of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EndId {
    pub flow: FlowId,
    pub side: Side,
}

/// How far an end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has no established connection yet.
    Waiting,
    /// Its application is at work.
    Open,
    /// Its application has read to the end and closed.
    Finished,
    /// Its application closed or reset the connection before the end.
    Left,
    /// Its application vanished.
    Vanished,
    /// The connection ended under its application, for this reason.
    Broken(CloseReason),
    /// The stack had no room to open a connection.
    NoRoom,
}

impl Stage {
    /// Whether nothing more happens at this end.
    pub const fn is_settled(self) -> bool {
        match self {
            Self::Waiting | Self::Open => false,
            Self::Finished | Self::Left | Self::Vanished | Self::Broken(_) | Self::NoRoom => true,
        }
    }

    /// Whether it is settled, and not by reading to the end.
    pub const fn is_cut_short(self) -> bool {
        match self {
            Self::Waiting | Self::Open | Self::Finished => false,
            Self::Left | Self::Vanished | Self::Broken(_) | Self::NoRoom => true,
        }
    }
}

/// What an end's application has written and read.
#[derive(Clone, Debug)]
pub(crate) struct AppProgress {
    pub pattern: Pattern,
    pub written: u64,
    pub read: u64,
    pub shut_down: bool,
    /// When its application last wrote something, or closed.
    pub last_written: Option<Instant>,
    pub first_read: Option<Instant>,
    pub last_read: Option<Instant>,
    /// What has not left, and how long the rest waited.
    pub waits: Waits,
    /// Whether the application writes and reads in place, without its own copy.
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

/// One end of a conversation.
#[derive(Debug)]
pub(crate) struct FlowEnd {
    pub host: HostId,
    pub connection: Option<ConnectionId>,
    /// Taken out while it runs.
    pub app: Option<Box<dyn Application>>,
    pub ledger: AppProgress,
    pub stage: Stage,
    /// When nothing more happened here.
    pub settled: Option<Instant>,
    pub wakeup: Wakeup,
    /// The connection as it was when the application let go of it.
    pub info: Option<Box<Info>>,
    pub meter: Meter,
    pub repeats: RepeatChecker,
    pub pace: PaceChecker,
    /// Its rate samples have no bound that could be told.
    pub is_rate_unbounded: bool,
    /// When this end last sent a frame of this conversation.
    pub last_sent: Option<Instant>,
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
            last_sent: None,
        }
    }
}

/// A conversation.
#[derive(Debug)]
pub(crate) struct Flow {
    pub ends: [FlowEnd; 2],
    /// What arrived at each end.
    pub arrivals: [Arrivals; 2],
    pub watch: WindowChecker,
    /// When the client opens the connection.
    pub started: Instant,
    pub finished: Option<Instant>,
    pub last_frame: Option<Instant>,
    /// Longest time without a frame of either end.
    pub longest_silence: Duration,
}

impl Flow {
    /// Whether nothing more can be expected of it: both ends are settled, or
    /// one was cut short, of which the other may never hear.
    pub fn is_done(&self) -> bool {
        self.ends.iter().all(|end| end.stage.is_settled())
            || self.ends.iter().any(|end| end.stage.is_cut_short())
    }
}
