//! The state that all connections of a host share, and the arguments of a call.
//!
//! Rule: only [`HostState::env`] creates a connection's [`Env`]. Nothing is decided here.

use fullpipe_pool::{Instant, Pool};
use fullpipe_tcp::{
    Discards, Env, SentArena, TcpConfig, TcpCounters, Trace, congestion::CongestionRegistry,
};

use crate::{config::Config, counters::Counters, events::EventQueue};

/// Arguments of a call on TCP, besides TCP's own state.
#[derive(Debug)]
pub(crate) struct HostContext<'a> {
    /// The time of this turn.
    pub(crate) now: Instant,
    /// Packet memory.
    pub(crate) pool: &'a mut Pool,
    /// Changes that were not reported to the application yet.
    pub(crate) events: &'a mut EventQueue,
    /// The counters below TCP.
    pub(crate) counters: &'a mut Counters,
}

/// The knobs, counters, trace, sent ranges and algorithms of all connections.
#[derive(Debug)]
pub(crate) struct HostState {
    /// The knobs of a connection.
    pub(crate) config: TcpConfig,
    /// The MIB counters of TCP.
    pub(crate) counters: TcpCounters,
    /// Segments discarded by connections, by reason.
    pub(crate) discards: Discards,
    /// The trace ring.
    pub(crate) trace: Trace,
    /// The sent ranges of all connections.
    pub(crate) sent: SentArena,
    /// Congestion control algorithms that the application registered.
    pub(crate) congestion: CongestionRegistry,
}

impl HostState {
    /// Allocates the trace and the nodes for sent ranges.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            config: config.tcp.clone(),
            counters: TcpCounters::default(),
            discards: Discards::default(),
            trace: Trace::new(config.trace.records as usize),
            sent: SentArena::new(config.sent_range_count(), config.busy_connections())
                .with_max_cuts(config.stack.sent_ranges_each),
            congestion: CongestionRegistry::new(),
        }
    }

    /// Returns the arguments of a call on the connection in slot `connection`.
    pub(crate) fn env<'a>(&'a mut self, connection: u32, host: &'a mut HostContext<'_>) -> Env<'a> {
        Env {
            now: host.now,
            pool: host.pool,
            config: &self.config,
            counters: &mut self.counters,
            discards: &mut self.discards,
            trace: &mut self.trace,
            sent: &mut self.sent,
            congestion: &mut self.congestion,
            connection,
        }
    }
}
