//! The transmission control block: the state of one connection, and the methods and types
//! that the other files of this folder share.
//!
//! Rule: this file has the fields of [`Connection`], its state changes and the methods
//! that several files need. Each other file of this folder adds the methods of one topic.

use fullpipe_pool::{Duration, Instant, Pool, record};
use fullpipe_wire::SackBlocks;

use super::{
    busy::BusyClock,
    ecn_state::EcnState,
    settings::Settings,
    socket::Events,
    state::{TcpState, Trigger},
    timers::Timers,
};

use crate::{
    CloseReason, DiscardReason, Discards, Limit, LimitClock, ReceiveClock, ReceiveLimit,
    SegmentOut, SeqNum, TcpConfig, TcpCounters, Trace,
    congestion::{CongestionRegistry, Controller, DeliveryRate, SegmentPacer, WindowUse},
    fit::{AckPairs, two_fit},
    options::{Agreed, Offer, TimestampClock},
    receive::{ReceiveHalf, WindowRoom},
    recovery::{Recovery, RecoveryPhase, Rtt, SentArena},
    send::{PathMtu, SendHalf, SmallQueue},
    trace::TraceEvent,
    tuned::TunedSize,
};

/// Everything that a connection needs in a call and does not own.
#[derive(Debug)]
pub struct Env<'a> {
    /// Current time.
    pub now: Instant,
    /// Packet memory.
    pub pool: &'a mut Pool,
    /// Scoreboards of all the host's connections.
    pub sent: &'a mut SentArena,
    /// Congestion control algorithms registered with the host.
    pub congestion: &'a mut CongestionRegistry,
    /// The host's knobs.
    pub config: &'a TcpConfig,
    /// The host's counters.
    pub counters: &'a mut TcpCounters,
    /// The host's counters of discarded segments.
    pub discards: &'a mut Discards,
    /// The host's trace.
    pub trace: &'a mut Trace,
    /// Number of this connection in the host's trace.
    pub connection: u32,
}

impl Env<'_> {
    pub(super) fn record(&mut self, event: TraceEvent) {
        self.trace.record(self.now, self.connection, event);
    }

    pub(super) fn record_sack(&mut self, blocks: &SackBlocks) {
        for block in blocks.iter() {
            self.record(TraceEvent::Sack {
                left: block.left,
                right: block.right,
            });
        }
    }

    pub(super) fn discard(&mut self, reason: DiscardReason) {
        self.discards.count(reason);
        self.record(TraceEvent::Discard(reason));
    }
}

/// Segments that are due besides data, FIN and ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    /// A reset with this sequence number and, if it carries ACK, this acknowledgment
    /// number. RFC 9293 §3.5.2.
    pub(super) reset: Option<(SeqNum, Option<SeqNum>)>,
    /// A SYN or a SYN-ACK is due.
    pub(super) syn: bool,
    /// A zero-window probe is due.
    pub(super) probe: bool,
    /// A tail loss probe is due.
    pub(super) tail_probe: bool,
    /// A keepalive probe is due.
    pub(super) keepalive: bool,
    /// The override timer expired: the next segment may be smaller than a full
    /// one.
    pub(super) override_sws: bool,
    /// Payload has waited long enough for a fuller frame.
    pub(super) deferred_enough: bool,
}

record!(Pending {
    reset,
    syn,
    probe,
    tail_probe,
    keepalive,
    override_sws,
    deferred_enough
});

impl Pending {
    /// Returns true if a segment is due.
    pub(super) const fn is_any(&self) -> bool {
        let Self {
            reset,
            syn,
            probe,
            tail_probe,
            keepalive,
            override_sws: _,
            deferred_enough: _,
        } = self;
        reset.is_some() || *syn || *probe || *tail_probe || *keepalive
    }
}

/// A connection: RFC 9293's transmission control block and its extensions.
#[derive(Debug)]
pub struct Connection {
    pub(super) state: TcpState,
    pub(super) send: SendHalf,
    pub(super) receive: ReceiveHalf,
    pub(super) recovery: Recovery,
    pub(super) rtt: Rtt,
    pub(super) congestion: Controller,
    pub(super) rate: DeliveryRate,
    pub(super) pacer: SegmentPacer,
    pub(super) window_use: WindowUse,
    pub(super) small_queue: SmallQueue,
    pub(super) pairs: AckPairs,
    pub(super) offer: Offer,
    pub(super) agreed: Agreed,
    pub(super) timestamps: TimestampClock,
    pub(super) timers: Timers,
    pub(super) settings: Settings,
    /// Bytes that the send buffer may hold now.
    pub(super) send_size: TunedSize,
    /// Bytes that the receive buffer may hold now.
    pub(super) receive_size: TunedSize,
    pub(super) limit: LimitClock,
    pub(super) receive_limit: ReceiveClock,
    pub(super) ecn: EcnState,
    pub(super) pending: Pending,
    pub(super) events: Events,
    pub(super) close_reason: Option<CloseReason>,
    pub(super) born: Instant,
    /// Time at which a segment last arrived.
    pub(super) last_received_at: Instant,
    /// Time at which a segment with payload, SYN or FIN last left.
    pub(super) last_sent_at: Instant,
    /// Start of the user timeout: the time at which `snd_una` last advanced, or at which a segment
    /// left or began to wait while nothing was outstanding.
    pub(super) progress_at: Instant,
    /// No challenge ACK is sent before this time. RFC 5961 §7.
    pub(super) challenge_after: Instant,
    pub(super) path: PathMtu,
    /// Effective segment size, which [`update_mss`](Self::update_mss) computes from options, path,
    /// buffer and settings.
    pub(super) effective_mss: u32,
    /// Consecutive zero-window and keepalive probes without an answer, or timeouts of a
    /// wait for the next hop.
    pub(super) unanswered: u8,
    /// Consecutive window probes without progress, answered or not.
    pub(super) probes: u8,
    /// The application has closed the connection.
    pub(super) orphan: bool,
    /// Two round trips have passed without an ACK of the bytes in flight.
    pub(super) ack_is_overdue: bool,
    /// Time with payload or FIN not acknowledged.
    pub(super) busy: BusyClock,
    /// `poll_segment` may return a segment.
    pub(super) wants_output: bool,
    /// Payload and segments sent and received, for `info`.
    pub(super) totals: Totals,
}

record!(Connection {
    state,
    send,
    receive,
    recovery,
    rtt,
    congestion,
    rate,
    pacer,
    window_use,
    small_queue,
    pairs,
    offer,
    agreed,
    timestamps,
    timers,
    settings,
    send_size,
    receive_size,
    limit,
    receive_limit,
    ecn,
    pending,
    events,
    close_reason,
    born,
    last_received_at,
    last_sent_at,
    progress_at,
    challenge_after,
    path,
    effective_mss,
    unanswered,
    probes,
    orphan,
    ack_is_overdue,
    busy,
    wants_output,
    totals
});

/// Payload and segments moved over the connection's lifetime.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub bytes_sent: u64,
    pub bytes_retransmitted: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segments_sent: u64,
    pub segments_retransmitted: u64,
    pub full_sized_sent: u64,
    pub fast_recoveries: u32,
    pub timeouts: u32,
    pub zero_window_probes: u32,
}

record!(Totals {
    bytes_sent,
    bytes_retransmitted,
    bytes_acked,
    bytes_received,
    segments_sent,
    segments_retransmitted,
    full_sized_sent,
    fast_recoveries,
    timeouts,
    zero_window_probes
});

impl Connection {
    /// Returns the state of the connection.
    pub const fn state(&self) -> TcpState {
        self.state
    }

    /// Returns the first deadline; `None` if only input can wake the
    /// connection.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Returns true if `poll_segment` may return a segment.
    pub const fn wants_output(&self) -> bool {
        self.wants_output
    }

    /// Returns true if the connection has ended, is an orphan (closed by its application) and has
    /// no reset to send. The owner then calls [`release`](Self::release) and drops the connection.
    pub const fn is_gone(&self) -> bool {
        matches!(self.state, TcpState::Closed) && self.pending.reset.is_none() && self.orphan
    }

    /// Returns true after R1 (knob `tcp.retries1`) consecutive timeouts: the path may have changed,
    /// so the owner should resolve the next hop anew. RFC 9293 §3.8.3.
    pub const fn doubts_path(&self, config: &TcpConfig) -> bool {
        self.recovery.timeouts() >= config.retries1
    }

    /// Returns true if a blocked writer or the receive window waits for packet memory.
    /// The owner calls [`on_memory`](Self::on_memory) when blocks become free.
    pub fn waits_for_memory(&self) -> bool {
        let writer = self
            .send
            .blocked
            .is_some_and(|blocked| blocked.by == Limit::Memory);
        let reader = self.receive.short_of_memory && self.state.may_receive();
        writer || (reader && self.receive.window_left() < u32::from(self.offer.mss))
    }

    /// Returns the payload of `segment`.
    pub fn payload<'a>(&self, segment: &SegmentOut, pool: &'a Pool) -> fullpipe_pool::Slices<'a> {
        let stream = &self.send.stream;
        if segment.payload.is_empty() {
            return stream.slices(pool, stream.start()..stream.start());
        }
        stream.slices(pool, segment.payload.clone())
    }

    /// Returns true if the peer has accepted nothing for R1 (knob `tcp.retries1`) timeouts or
    /// window probes.
    pub fn is_stalled(&self, config: &TcpConfig) -> bool {
        self.recovery.timeouts().max(self.probes.into()) >= config.retries1
    }

    /// Returns the blocks of packet memory that the connection holds or has
    /// reserved.
    pub fn blocks(&self, pool: &Pool) -> u32 {
        let (send, receive) = (&self.send.stream, &self.receive.stream);
        send.held_blocks(pool) + receive.backing_blocks(pool)
    }

    /// Frees all blocks, scoreboard nodes and the instance of a registered
    /// congestion control algorithm. The connection cannot be used afterwards.
    pub fn release(
        &mut self,
        pool: &mut Pool,
        sent: &mut SentArena,
        congestion: &mut CongestionRegistry,
    ) {
        self.recovery.clear(sent);
        self.congestion.release(congestion);
        self.send.snd_nxt = self.send.snd_una;
        self.send.stream.release(pool);
        self.receive.release(pool);
    }

    /// Returns the effective segment size: payload that fits beside the options
    /// that every segment carries. RFC 9293 §3.7.1, RFC 6691.
    pub fn mss(&self, env: &Env<'_>) -> u32 {
        debug_assert_eq!(self.effective_mss, self.compute_mss(env));
        self.effective_mss
    }

    /// Updates the effective segment size after a change of its inputs.
    pub(super) fn update_mss(&mut self, env: &Env<'_>) {
        self.effective_mss = self.compute_mss(env);
    }

    fn compute_mss(&self, env: &Env<'_>) -> u32 {
        let negotiated =
            u32::from(self.agreed.peer_mss.min(self.path.limit())).min(self.mss_max(env));
        let memory = u64::from(env.pool.block_count()) * u64::from(env.pool.block_size());
        let buffer = self.send_size.get().min(self.settings.unacknowledged);
        let buffer = u64::from(buffer).min(memory) as u32;
        let payload = negotiated.saturating_sub(self.agreed.options_len()).max(1);
        // Treat a window below two segments like a buffer below two segments, but only once the
        // peer has shown how large its windows get.
        let room = if self.send.max_snd_wnd == 0 {
            buffer
        } else {
            buffer.min(self.send.max_snd_wnd)
        };
        two_fit(payload, room, env.config.fit_segments)
    }

    /// Returns the largest segment that the application and the host allow, options included.
    pub(super) fn mss_max(&self, env: &Env<'_>) -> u32 {
        env.config.mss_max.min(self.settings.mss_max.into())
    }

    pub(super) fn window_room(&self, env: &Env<'_>) -> WindowRoom {
        let mss = self.full_segment();
        let (capacity, share) = if self.totals.bytes_received > 0 {
            (self.receive_size.get(), env.config.window_share)
        } else {
            // A connection that has received nothing reserves no more than its peer may
            // send in an initial congestion window.
            let first = mss.saturating_mul(env.config.initial_receive_window);
            (
                self.receive_size.get().min(first),
                env.config.idle_window_share,
            )
        };
        WindowRoom {
            capacity,
            share,
            mss,
            mss_most: self.largest_segment(),
            scale: self.agreed.rcv_wscale,
            limits_peer: self.receive.edges.limits_peer(self.receive.rcv_nxt),
        }
    }

    /// Returns the payload of the peer's full segments: the payload of the largest segment that
    /// arrived or, before the first, of the largest one that the offered MSS allows.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(super) fn full_segment(&self) -> u32 {
        let offered = self.largest_segment();
        if self.receive.rcv_mss == 0 {
            offered
        } else {
            self.receive.rcv_mss.min(offered)
        }
    }

    /// Returns the payload of the largest segment that the MSS offered to the peer allows.
    fn largest_segment(&self) -> u32 {
        u32::from(self.offer.mss)
            .saturating_sub(self.agreed.options_len())
            .max(1)
    }

    /// Enters the state that `trigger` leads to.
    ///
    /// # Panics
    /// Panics if RFC 9293 has no such transition. An impossible transition would be a mistake of
    /// this crate, since the callers check the state first.
    pub(super) fn transition(&mut self, trigger: Trigger, env: &mut Env<'_>) {
        let next = self.state.next(trigger).expect("a transition of RFC 9293");
        if next == self.state {
            return;
        }
        self.state = next;
        env.record(TraceEvent::State(next));
        self.wants_output = true;
        match next {
            TcpState::Established => {
                self.events.connected = true;
                self.events.writable = true;
            }
            TcpState::TimeWait => self.timers.linger.set(env.now + env.config.time_wait),
            TcpState::FinWait2 if self.orphan => {
                self.timers.linger.set(env.now + env.config.fin_wait2);
            }
            TcpState::SynSent
            | TcpState::SynReceived
            | TcpState::FinWait1
            | TcpState::FinWait2
            | TcpState::CloseWait
            | TcpState::Closing
            | TcpState::LastAck
            | TcpState::Closed => {}
        }
    }

    /// Ends the connection for `reason`. Payload received in order stays
    /// readable.
    pub(super) fn end(&mut self, reason: CloseReason, env: &mut Env<'_>) {
        match self.state {
            TcpState::SynSent | TcpState::SynReceived => {
                env.counters.attempt_fails += 1;
                self.receive.release(env.pool);
            }
            TcpState::Established | TcpState::CloseWait => env.counters.estab_resets += 1,
            _ => {}
        }
        if self.state != TcpState::Closed {
            self.transition(Trigger::Reset, env);
        }
        self.close_reason.get_or_insert(reason);
        self.timers = Timers::NONE;
        self.recovery.clear(env.sent);
        self.send.snd_nxt = self.send.snd_una;
        self.send.stream.release(env.pool);
        self.send.blocked = None;
        self.busy.set(false, env.now);
        self.receive.forget_beyond_readable(env.pool);
        self.events.closed = true;
        self.set_limit(Limit::Closing, env);
        self.set_receive_limit(ReceiveLimit::None, env);
    }

    /// Starts or stops the clock of the busy time, after a change of the unacknowledged
    /// bytes.
    pub(super) fn note_busy(&mut self, now: Instant) {
        self.busy.set(!self.send.is_idle(), now);
    }

    pub(super) fn set_limit(&mut self, limit: Limit, env: &mut Env<'_>) {
        if self.limit.set(limit, env.now) {
            env.record(TraceEvent::Limit(limit));
        }
    }

    pub(super) fn set_receive_limit(&mut self, limit: ReceiveLimit, env: &mut Env<'_>) {
        if self.receive_limit.set(limit, env.now) {
            env.record(TraceEvent::ReceiveLimit(limit));
        }
    }

    /// Updates the receive-side limit after a segment. A read does not update the limit, because
    /// the sender learns of the window update only one round trip later.
    pub(super) fn update_receive_limit(&mut self, env: &mut Env<'_>) {
        let full = self.full_segment();
        let receive = &self.receive;
        let used_up =
            receive.window_left() < full || receive.edges.limits_peer(receive.rcv_nxt + full);
        let limit = if !self.state.may_receive() {
            ReceiveLimit::None
        } else if receive.has_hole() {
            ReceiveLimit::Hole
        } else if !used_up {
            ReceiveLimit::None
        } else if receive.reader_lags(self.receive_size.get()) {
            ReceiveLimit::Reader
        } else {
            self.size_limit()
        };
        self.set_receive_limit(limit, env);
    }

    /// Returns the limit that keeps the window small.
    pub(super) fn size_limit(&self) -> ReceiveLimit {
        if self.receive.short_of_memory || self.receive.burst.is_some() {
            ReceiveLimit::Memory
        } else {
            ReceiveLimit::Buffer
        }
    }

    /// Changes the receive-side limit from slow reader to buffer, or to memory, if the application
    /// read everything within an eighth of a round trip after its arrival. If the reader leaves
    /// payload unread, the limit stays slow reader.
    pub(super) fn on_prompt_read(&mut self, env: &mut Env<'_>) {
        let prompt_time = self.rtt.min_rtt().unwrap_or(Duration::ZERO) / 8;
        let is_soon = env.now.since(self.receive.arrived) <= prompt_time;
        let at_once = is_soon && self.receive.readable() == 0;
        if at_once && self.receive_limit.current() == ReceiveLimit::Reader {
            self.set_receive_limit(self.size_limit(), env);
        }
    }

    pub(super) fn is_recovering(&self) -> bool {
        self.recovery.phase() != RecoveryPhase::Open
    }

    /// Records the congestion window in the trace.
    pub(super) fn record_window(&self, env: &mut Env<'_>) {
        env.record(TraceEvent::Window {
            cwnd: self.congestion.cwnd(),
            ssthresh: self.congestion.ssthresh(),
            in_flight: self.recovery.board().in_flight(),
        });
    }

    /// Makes a challenge ACK due, at a limited rate. A genuine peer corrects itself when it
    /// receives the challenge ACK. RFC 5961 §7.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(super) fn challenge(&mut self, env: &mut Env<'_>) {
        if env.now < self.challenge_after {
            return;
        }
        self.challenge_after = env.now + env.config.challenge_ack_interval;
        env.counters.challenge_ack += 1;
        self.demand_ack();
    }

    pub(super) fn demand_ack(&mut self) {
        self.receive.ack.demand();
        self.wants_output = true;
    }
}
