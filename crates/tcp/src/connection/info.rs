//! The state of one connection at one moment.
//!
//! Rule: [`Info`] is a copy, not a view. Fields have the names of the RFCs, and the times
//! by limit add up to the connection's age.

use fullpipe_pool::{Duration, Instant, Pool};

use super::{Connection, Env, TcpState, Tuning};
use crate::{
    CloseReason, Limit, LimitClock, ReceiveClock,
    congestion::FastestSample,
    options::Agreed,
    recovery::{RecoveryPhase, SentArena},
};

/// State of a connection at one moment. Sequence numbers are as on the wire; quantities
/// are in bytes unless the field says otherwise.
#[derive(Clone, Debug)]
pub struct Info {
    /// State of the connection.
    pub state: TcpState,
    /// Reason for which the connection ended; `None` while it is open.
    pub close_reason: Option<CloseReason>,
    /// Time at which the connection was opened.
    pub born: Instant,
    /// Time of this copy.
    pub at: Instant,
    /// Time at which a segment last arrived; `born` before the first segment.
    pub last_received_at: Instant,
    /// Settings of the connection.
    pub tuning: Tuning,
    /// Options that both SYNs agreed on.
    pub agreed: Agreed,
    /// Effective segment size: bytes of payload in a full segment.
    pub mss: u32,
    /// Initial send sequence number.
    pub iss: u32,
    /// Oldest unacknowledged sequence number.
    pub snd_una: u32,
    /// Next sequence number to send for the first time.
    pub snd_nxt: u32,
    /// Bytes in flight: neither SACKed nor considered lost.
    pub in_flight: u32,
    /// Bytes in flight that were retransmitted.
    pub retransmitted: u32,
    /// Bytes that the peer has SACKed. RFC 2018.
    pub sacked: u32,
    /// Bytes considered lost and not yet retransmitted.
    pub lost: u32,
    /// The peer's window.
    pub snd_wnd: u32,
    /// The largest window that the peer advertised.
    pub max_snd_wnd: u32,
    /// Initial receive sequence number.
    pub irs: u32,
    /// Next sequence number expected.
    pub rcv_nxt: u32,
    /// Bytes of the advertised window that the peer has not used.
    pub rcv_wnd: u32,
    /// Bytes written and not acknowledged.
    pub send_queue: u32,
    /// Bytes written and not sent.
    pub unsent: u32,
    /// Bytes received in order and not read.
    pub receive_queue: u32,
    /// Separate pieces of out-of-order payload.
    pub holes: u32,
    /// Urgent bytes not yet read. RFC 9293 §3.8.5.
    pub urgent_left: u32,
    /// Bytes that the send buffer may hold now.
    pub send_buffer: u32,
    /// Bytes that the receive buffer may hold now.
    pub receive_buffer: u32,
    /// Blocks of packet memory that the send buffer holds.
    pub send_blocks: u32,
    /// Blocks that the receive buffer holds or has reserved.
    pub receive_blocks: u32,
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold; `u32::MAX` before the first congestion event.
    pub ssthresh: u32,
    /// Pacing rate in bytes per second; `u64::MAX` is unlimited.
    pub pacing_rate: u64,
    /// Rate of the last delivery rate sample that counts, in bytes per second; 0 before the first.
    /// A reliable sample counts unless it is application-limited and slower than the last sample
    /// that counted.
    pub delivery_rate: u64,
    /// The application limited `delivery_rate`.
    pub app_limited: bool,
    /// Device backlog: bytes handed to the device and not yet completed, if it
    /// reports completions.
    pub in_device: u32,
    /// The fastest delivery rate sample.
    pub fastest_sample: FastestSample,
    /// State of loss recovery and congestion response.
    pub recovery: RecoveryState,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Round-trip time variation.
    pub rttvar: Duration,
    /// Smallest round-trip time; `None` before the first sample.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// Payload bytes sent for the first time.
    pub bytes_sent: u64,
    /// Payload bytes retransmitted.
    pub bytes_retransmitted: u64,
    /// Payload bytes acknowledged by the peer.
    pub bytes_acked: u64,
    /// Payload bytes received in order.
    pub bytes_received: u64,
    /// Segments with payload sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments retransmitted.
    pub segments_retransmitted: u64,
    /// Full-sized segments sent.
    pub full_sized_sent: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries.
    pub fast_recoveries: u64,
    /// Zero-window probes sent.
    pub zero_window_probes: u64,
    /// Time for which some payload, or FIN, was not acknowledged.
    pub busy: Duration,
    /// Time and bytes charged to each limit of the sender.
    pub limit: LimitClock,
    /// Time and bytes charged to each limit of the receiver.
    pub receive_limit: ReceiveClock,
}

/// State of loss recovery and congestion response, with the meaning of `tcpi_ca_state` of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// Nothing indicates a loss.
    Open,
    /// Payload is SACKed, or duplicate ACKs have arrived, and fast recovery has not begun.
    Disorder,
    /// A congestion mark has reduced the congestion window within this window of data. RFC 3168.
    Cwr,
    /// Fast recovery: lost payload is retransmitted. RFC 6675, RFC 8985.
    Recovery,
    /// After a retransmission timeout, until all that was outstanding is acknowledged. RFC 5681.
    Loss,
}

impl RecoveryState {
    /// Returns the name used in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }
}

impl core::fmt::Display for RecoveryState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

impl Info {
    /// Returns the time limited by the peer's receive window, zero windows included:
    /// `tcpi_rwnd_limited`.
    pub fn receive_window_limited(&self) -> Duration {
        self.limited_by(&[Limit::ReceiveWindow, Limit::ZeroWindow])
    }

    /// Returns the time limited by the send buffer or by packet memory: `tcpi_sndbuf_limited`.
    pub fn send_buffer_limited(&self) -> Duration {
        self.limited_by(&[Limit::SendBuffer, Limit::Memory])
    }

    fn limited_by(&self, limits: &[Limit]) -> Duration {
        limits.iter().fold(Duration::ZERO, |sum, limit| {
            sum + self.limit.time_at(*limit, self.at)
        })
    }

    /// Returns the age of the connection, to which the times of each clock add
    /// up.
    pub fn age(&self) -> Duration {
        self.at.since(self.born)
    }
}

impl Connection {
    /// Returns the state of the connection.
    pub fn info(&self, env: &Env<'_>) -> Info {
        let (send, receive, totals) = (&self.send, &self.receive, &self.totals);
        let board = self.recovery.board();
        Info {
            state: self.state,
            close_reason: self.close_reason,
            born: self.born,
            at: env.now,
            last_received_at: self.last_received_at,
            tuning: self.settings.tuning(),
            agreed: self.agreed,
            mss: self.mss(env),
            iss: send.iss.0,
            snd_una: send.snd_una.0,
            snd_nxt: send.snd_nxt.0,
            in_flight: board.in_flight(),
            retransmitted: board.retransmitted(),
            sacked: board.sacked(),
            lost: board.lost(),
            snd_wnd: send.snd_wnd,
            max_snd_wnd: send.max_snd_wnd,
            irs: receive.irs.0,
            rcv_nxt: receive.rcv_nxt.0,
            rcv_wnd: receive.window_left(),
            send_queue: send.stream.len() as u32,
            unsent: send.unsent(),
            receive_queue: receive.readable(),
            holes: receive.ranges(),
            urgent_left: receive.urgent_left(),
            send_buffer: self.send_size.get(),
            receive_buffer: self.receive_size.get(),
            send_blocks: send.stream.held_blocks(env.pool),
            receive_blocks: receive.stream.held_blocks(env.pool)
                + receive.stream.promised_blocks(env.pool),
            cwnd: self.congestion.cwnd(),
            ssthresh: self.congestion.ssthresh(),
            pacing_rate: self.rate_now(env.config),
            delivery_rate: self.rate.latest(),
            app_limited: self.rate.latest_is_app_limited(),
            in_device: self.small_queue.held(),
            fastest_sample: self.rate.fastest(),
            recovery: self.recovery_state(),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            min_rtt: self.rtt.min_rtt(),
            rto: self.rtt.rto(env.config),
            bytes_sent: totals.bytes_sent,
            bytes_retransmitted: totals.bytes_retransmitted,
            bytes_acked: totals.bytes_acked,
            bytes_received: totals.bytes_received,
            segments_sent: totals.segments_sent,
            segments_retransmitted: totals.segments_retransmitted,
            full_sized_sent: totals.full_sized_sent,
            timeouts: totals.timeouts.into(),
            fast_recoveries: totals.fast_recoveries.into(),
            zero_window_probes: totals.zero_window_probes.into(),
            busy: self.busy.total(env.now),
            limit: self.limit.clone(),
            receive_limit: self.receive_limit.clone(),
        }
    }

    fn recovery_state(&self) -> RecoveryState {
        let board = self.recovery.board();
        match self.recovery.phase() {
            RecoveryPhase::Fast => RecoveryState::Recovery,
            RecoveryPhase::Timeout => RecoveryState::Loss,
            RecoveryPhase::Open if self.congestion.is_reduced_by_mark(self.send.snd_una) => {
                RecoveryState::Cwr
            }
            RecoveryPhase::Open if board.sacked() > 0 || self.recovery.has_duplicates() => {
                RecoveryState::Disorder
            }
            RecoveryPhase::Open => RecoveryState::Open,
        }
    }

    /// Checks the invariants that hold between any two calls.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn verify(&self, now: Instant, pool: &Pool, sent: &SentArena) {
        let send = &self.send;
        assert!(
            send.snd_una.at_or_before(send.snd_nxt),
            "snd_nxt before snd_una"
        );
        self.recovery
            .board()
            .verify(send.snd_una, send.snd_nxt, sent);
        send.stream.verify(pool);
        self.receive.verify(pool);
        if cfg!(feature = "limit-clock") {
            self.verify_limits(now);
        }
    }

    fn verify_limits(&self, now: Instant) {
        let age = now.since(self.born);
        let sending: Duration = self
            .limit
            .shares(now)
            .fold(Duration::ZERO, |sum, (_, time, _)| sum + time);
        assert_eq!(sending, age, "times over the sender's limits");
        let received: Duration = self
            .receive_limit
            .shares(now)
            .fold(Duration::ZERO, |sum, (_, time, _)| sum + time);
        assert_eq!(received, age, "times over the receiver's limits");
        let bytes: u64 = self.limit.shares(now).map(|(_, _, bytes)| bytes).sum();
        assert_eq!(
            bytes, self.totals.bytes_sent,
            "bytes over the sender's limits"
        );
    }
}
