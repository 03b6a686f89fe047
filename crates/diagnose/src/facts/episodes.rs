//! Episodes of a sender: recoveries, probes and responses to congestion, with their times.
//!
//! Rule: an episode is an event of the sender's loss recovery or congestion control. [`EpisodeLog`]
//! takes episodes from the sender's own records; `captured` takes them from a capture. A new
//! recovery or an undo ends the recovery that is open; tail loss probes and congestion marks do not
//! end it. A probe, an undo and the response to a mark have no length. The segments and limits
//! during an episode are in their own tables.

use fullpipe_tcp::{
    TcpState,
    trace::{RecoveryEvent, TraceEvent},
};

/// A kind of episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Episode {
    /// A SYN or SYN-ACK was lost. The episode lasts from the first timeout until the connection is
    /// established or given up. The count is the number of timeouts.
    LostHandshake,
    /// A retransmission timeout. The episode lasts until everything that was outstanding at the
    /// timeout has arrived. The count is the largest number of consecutive timeouts.
    Timeout,
    /// Fast recovery. The count is the number of segments retransmitted during recovery.
    FastRecovery,
    /// A tail loss probe was sent. The count is 0.
    TailProbe,
    /// The sender undid its response to a loss, because the recovery proved spurious. The recovery
    /// may already have ended. The count is 0.
    Undo,
    /// A congestion mark reduced the congestion window. The count is 0.
    Mark,
}

impl Episode {
    /// Every kind, in declaration order.
    pub const ALL: [Self; 6] = [
        Self::LostHandshake,
        Self::Timeout,
        Self::FastRecovery,
        Self::TailProbe,
        Self::Undo,
        Self::Mark,
    ];

    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LostHandshake => "lost_handshake_segment",
            Self::Timeout => "retransmission_timeout",
            Self::FastRecovery => "fast_recovery",
            Self::TailProbe => "tail_loss_probe",
            Self::Undo => "undo",
            Self::Mark => "congestion_mark",
        }
    }
}

/// Episodes in the order of their beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Episodes {
    /// Beginning of each episode.
    pub at_ns: Vec<u64>,
    /// End of each episode. An episode that has not ended has the end of observation here.
    pub end_ns: Vec<u64>,
    /// Kind of each episode, as an index into [`Episode::ALL`].
    pub kind: Vec<u8>,
    /// Count of each episode, as [`Episode`] describes it.
    pub count: Vec<u32>,
}

impl Episodes {
    /// Number of episodes.
    pub fn len(&self) -> usize {
        self.at_ns.len()
    }

    /// Returns true if there is no episode.
    pub fn is_empty(&self) -> bool {
        self.at_ns.is_empty()
    }

    /// The kind of the episode at `place`.
    ///
    /// # Panics
    /// Panics if there is no such episode.
    pub fn kind(&self, place: usize) -> Episode {
        Episode::ALL[usize::from(self.kind[place])]
    }

    fn push(&mut self, at_ns: u64, kind: Episode) {
        self.at_ns.push(at_ns);
        self.end_ns.push(at_ns);
        self.kind.push(kind as u8);
        self.count.push(0);
    }
}

/// Builds the episodes of one endpoint of a connection from the records of this endpoint.
#[derive(Debug, Default)]
pub struct EpisodeLog {
    episodes: Episodes,
    /// Index of the recovery that has not ended.
    open: Option<usize>,
    is_established: bool,
}

impl EpisodeLog {
    /// Reads the next record of the endpoint.
    pub fn record(&mut self, at_ns: u64, event: TraceEvent) {
        match event {
            TraceEvent::Timeout(in_a_row) => {
                let kind = if self.is_established {
                    Episode::Timeout
                } else {
                    Episode::LostHandshake
                };
                if in_a_row == 1 || self.kind() != Some(kind) {
                    self.begin(at_ns, kind);
                }
                self.count(|_| in_a_row);
            }
            TraceEvent::Recovery(event) => self.recovery(at_ns, event),
            TraceEvent::Retransmission { .. } if self.kind() == Some(Episode::FastRecovery) => {
                self.count(|segments| segments + 1);
            }
            TraceEvent::State(state) => self.state(at_ns, state),
            TraceEvent::Opened { .. }
            | TraceEvent::SegmentIn { .. }
            | TraceEvent::SegmentOut { .. }
            | TraceEvent::Sack { .. }
            | TraceEvent::Retransmission { .. }
            | TraceEvent::Limit(_)
            | TraceEvent::ReceiveLimit(_)
            | TraceEvent::Window { .. }
            | TraceEvent::Rtt { .. }
            | TraceEvent::Discard(_)
            | TraceEvent::WriterBlocked { .. }
            | TraceEvent::WriterResumed(_)
            | TraceEvent::MemoryPressure(_)
            | TraceEvent::Pressure(_)
            | TraceEvent::Pool { .. } => {}
        }
    }

    /// Returns the episodes. An episode that has not ended gets the end `end_ns`.
    pub fn finish(mut self, end_ns: u64) -> Episodes {
        self.end(end_ns);
        self.episodes
    }

    fn recovery(&mut self, at_ns: u64, event: RecoveryEvent) {
        match event {
            RecoveryEvent::FastRecovery => self.begin(at_ns, Episode::FastRecovery),
            RecoveryEvent::Recovered => self.end(at_ns),
            RecoveryEvent::Undone => {
                self.end(at_ns);
                self.episodes.push(at_ns, Episode::Undo);
            }
            RecoveryEvent::TailProbe => self.episodes.push(at_ns, Episode::TailProbe),
            RecoveryEvent::MarkResponse => self.episodes.push(at_ns, Episode::Mark),
        }
    }

    fn state(&mut self, at_ns: u64, state: TcpState) {
        let is_over = state == TcpState::Closed;
        let is_open = !matches!(
            state,
            TcpState::SynSent | TcpState::SynReceived | TcpState::Closed
        );
        if is_over || (is_open && !self.is_established) {
            self.end(at_ns);
        }
        self.is_established |= is_open;
    }

    fn kind(&self) -> Option<Episode> {
        self.open.map(|place| self.episodes.kind(place))
    }

    fn begin(&mut self, at_ns: u64, kind: Episode) {
        self.end(at_ns);
        self.open = Some(self.episodes.len());
        self.episodes.push(at_ns, kind);
    }

    fn end(&mut self, at_ns: u64) {
        if let Some(place) = self.open.take() {
            self.episodes.end_ns[place] = at_ns;
        }
    }

    fn count(&mut self, next: impl FnOnce(u32) -> u32) {
        if let Some(place) = self.open {
            let count = &mut self.episodes.count[place];
            *count = next(*count);
        }
    }
}

#[cfg(test)]
mod tests;
