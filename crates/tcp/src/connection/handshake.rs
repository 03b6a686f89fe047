//! Opening a connection: actively, or passively from the half-open entry of a
//! listener.
//!
//! Rule: until the last ACK of a passive open there is only a [`HalfOpen`],
//! which holds no packet memory.

use fullpipe_pool::{Holder, Instant, Pool};
use fullpipe_wire::{TcpFlags, TcpOptions};

use super::{
    Connection, Env, Events, TcpState, Timers, Tuning,
    busy::BusyClock,
    ecn_state::EcnState,
    settings::{Settings, receive_size},
    tcb::{Pending, Totals},
};
use crate::{
    Limit, LimitClock, ReceiveClock, ReceiveLimit, Segment, SegmentOut, SeqNum, TcpConfig,
    congestion::{Controller, DeliveryRate, SegmentPacer, WindowUse, start_of},
    fit::AckPairs,
    options::{Agreed, Offer, TimestampClock},
    receive::{
        FEWEST_BLOCKS, LargestWindow, ReceiveHalf, WindowRoom, fair_bytes, handshake_window,
        is_at_right_edge, usable_cell,
    },
    recovery::{Recovery, Rtt},
    send::{PathMtu, SendHalf, SmallQueue},
    trace::TraceEvent,
    tuned::TunedSize,
};

/// Lost SYNs or SYN-ACKs after which the initial window is one segment (RFC 5681 §3.1).
/// After one loss, which may be chance, RFC 6928 §2 lets a sender keep the larger window.
const LOST_SYNS: u32 = 2;

/// Inputs of an active open.
#[derive(Clone, Copy, Debug)]
pub struct ActiveOpen {
    /// Initial send sequence number. RFC 6528.
    pub iss: SeqNum,
    /// Largest payload of one packet on the path if the TCP header has no options: the MTU minus
    /// the headers.
    pub mss_limit: u16,
    /// Start of the timestamp clock; secret.
    pub timestamp_offset: u32,
    /// Settings of the socket.
    pub tuning: Tuning,
}

impl ActiveOpen {
    /// Returns the largest MSS that this side may offer.
    fn mss_bound(&self) -> u16 {
        let most = self.tuning.mss_max.min(u16::MAX.into()) as u16;
        self.mss_limit.min(most)
    }

    /// Returns the present and the largest size of the receive buffer, in bytes of payload.
    fn receive_size(&self, config: &TcpConfig) -> TunedSize {
        let Tuning {
            receive_buffer,
            receive_buffer_max,
            ..
        } = self.tuning;
        receive_size(receive_buffer, receive_buffer_max, config)
    }
}

/// Half-open connection of a listener: the part of a SYN that the listener keeps until the
/// handshake is complete. A half-open connection holds no block of packet memory; the owner may set
/// [`blocks`](Self::blocks) aside for its window.
#[derive(Clone, Copy, Debug)]
pub struct HalfOpen {
    /// Initial receive sequence number: the sequence number of the SYN.
    pub irs: SeqNum,
    /// Initial send sequence number. RFC 6528.
    pub iss: SeqNum,
    /// The window that the SYN-ACK advertises, not scaled.
    pub window: u16,
    /// Largest payload of one packet on the path if the TCP header has no options.
    pub mss_limit: u16,
    /// TSval of the SYN.
    pub ts_recent: u32,
    /// Start of the timestamp clock; secret.
    pub timestamp_offset: u32,
    agreed: Agreed,
    offer: Offer,
    /// Number of SYN-ACKs sent so far.
    syn_acks: u8,
    /// Time at which the last SYN-ACK left.
    syn_ack_at: Instant,
}

impl HalfOpen {
    /// Returns the reset that refuses the SYN. RFC 9293 §3.10.7.1.
    pub fn refusal(&self) -> SegmentOut {
        let flags = TcpFlags::RST | TcpFlags::ACK;
        SegmentOut::bare(SeqNum(0), self.irs + 1, flags)
    }

    /// Creates the entry for `syn`. The knobs, `open.tuning`, the free memory of `pool` and
    /// `most_blocks` bound the entry's window, so that memory can back the advertised window when
    /// the ACK arrives.
    pub fn from_syn(
        syn: &Segment<'_>,
        open: ActiveOpen,
        config: &TcpConfig,
        pool: &Pool,
        most_blocks: u32,
    ) -> Self {
        let receive_size = open.receive_size(config);
        let window = LargestWindow::new(receive_size.most(), config, pool);
        let offer = Offer::new(config, open.mss_bound(), window);
        let agreed = Agreed {
            ecn: EcnState::are_requested_by(syn, config),
            ..Agreed::new(offer, &syn.options, config)
        };
        let room = u64::from(pool.room(Holder::Receive).min(most_blocks));
        let size = u64::from(pool.block_size());
        let fair = fair_bytes(room * size, config.idle_window_share);
        let window = fair
            .min((room + 1).saturating_sub(FEWEST_BLOCKS) * size)
            .min(receive_size.get().into())
            .min(u64::from(config.initial_receive_window) * u64::from(offer.mss))
            .min(
                handshake_window(agreed.rcv_wscale, pool)
                    .unwrap_or(u32::MAX)
                    .into(),
            )
            .min(u16::MAX.into()) as u16;
        Self {
            irs: syn.seq,
            iss: open.iss,
            window,
            mss_limit: open.mss_limit,
            ts_recent: syn.options.timestamps.map_or(0, |ts| ts.value),
            timestamp_offset: open.timestamp_offset,
            agreed,
            offer,
            syn_acks: 0,
            syn_ack_at: Instant::ZERO,
        }
    }

    /// Returns the blocks that back the advertised window: one block for a window in a cell (a part
    /// of a block). The host reserves them until the ACK arrives.
    pub fn blocks(&self, pool: &Pool) -> u32 {
        if self.fits_cell(pool) {
            return 1;
        }
        let size = u64::from(pool.block_size());
        backing(self.window, size).div_ceil(size) as u32
    }

    /// Returns true if a cell can hold the advertised window.
    pub fn fits_cell(&self, pool: &Pool) -> bool {
        let cell = usable_cell(self.agreed.rcv_wscale, pool);
        cell.is_some_and(|cell| u32::from(self.window) <= cell)
    }

    /// Creates the SYN-ACK that leaves at `now`, and stores this time. The ACK of the SYN-ACK gives
    /// a round-trip sample if only one SYN-ACK was sent (RFC 6298 §3).
    pub fn send_syn_ack(&mut self, now: Instant) -> SegmentOut {
        self.syn_acks = self.syn_acks.saturating_add(1);
        self.syn_ack_at = now;
        let timestamps = TimestampClock::new(self.timestamp_offset, self.ts_recent, now);
        SegmentOut {
            window: self.window,
            options: syn_options(self.offer, Some(self.agreed), &timestamps, now),
            ..SegmentOut::bare(self.iss, self.irs + 1, syn_ack_flags(self.agreed))
        }
    }

    /// Returns true if `segment` is the ACK that completes the handshake.
    pub fn is_completed_by(&self, segment: &Segment<'_>) -> bool {
        segment.has(TcpFlags::ACK)
            && !segment.flags.intersects(TcpFlags::SYN | TcpFlags::RST)
            && segment.ack == self.iss + 1
    }

    /// Creates the challenge ACK that answers a reset whose sequence number is in the window, but
    /// is not `rcv_nxt`. RFC 5961 §3.2.
    pub fn challenge_ack(&self, now: Instant) -> SegmentOut {
        let timestamps = TimestampClock::new(self.timestamp_offset, self.ts_recent, now);
        SegmentOut {
            window: self.window >> self.agreed.rcv_wscale,
            options: TcpOptions {
                timestamps: self.agreed.timestamps.then(|| timestamps.option(now)),
                ..TcpOptions::NONE
            },
            ..SegmentOut::bare(self.iss + 1, self.irs + 1, TcpFlags::ACK)
        }
    }

    /// Returns true if `segment` begins inside the window that the SYN-ACK advertised, or
    /// comes from a peer that has filled this window.
    pub fn is_in_window(&self, segment: &Segment<'_>) -> bool {
        let (next, window) = (self.irs + 1, u32::from(self.window));
        let inside = segment.seq.at_or_after(next) && segment.seq.before(next + window.max(1));
        // Accept the right edge: a client whose ACK and first payload were lost answers a repeated
        // SYN-ACK with this sequence number.
        inside || is_at_right_edge(segment, next + window)
    }

    /// Returns true if `segment` acknowledges anything but this SYN-ACK. A reset must then answer
    /// `segment`. RFC 9293 §3.10.7.4.
    pub fn refuses(&self, segment: &Segment<'_>) -> bool {
        segment.has(TcpFlags::ACK) && segment.ack != self.iss + 1
    }
}

/// Returns the bytes to reserve for a first window of `window` bytes, which may end
/// anywhere in a block.
fn backing(window: u16, block_size: u64) -> u64 {
    u64::from(window) + (FEWEST_BLOCKS - 1) * block_size
}

/// Returns the flags of a SYN-ACK, with ECE if ECN is agreed. RFC 3168 §6.1.1.
fn syn_ack_flags(agreed: Agreed) -> TcpFlags {
    if agreed.has_ecn() {
        TcpFlags::SYN | TcpFlags::ACK | TcpFlags::ECE
    } else {
        TcpFlags::SYN | TcpFlags::ACK
    }
}

/// Returns the offered options, for a SYN, or the agreed options, for a SYN-ACK.
fn syn_options(
    offer: Offer,
    agreed: Option<Agreed>,
    timestamps: &TimestampClock,
    now: Instant,
) -> TcpOptions {
    let (sack, stamped) = match agreed {
        None => (offer.sack, offer.timestamps),
        Some(agreed) => (agreed.has_sack(), agreed.timestamps),
    };
    TcpOptions {
        mss: Some(offer.mss),
        window_scale: offer
            .window_scale
            .filter(|_| agreed.is_none_or(|agreed| agreed.scaling)),
        sack_permitted: sack,
        timestamps: stamped.then(|| timestamps.option(now)),
        ..TcpOptions::default()
    }
}

impl Connection {
    /// Opens a connection actively: SYN-SENT. RFC 9293 §3.10.1.
    pub fn connect(open: ActiveOpen, env: &mut Env<'_>) -> Self {
        let most = open.receive_size(env.config).most();
        let window = LargestWindow::new(most, env.config, env.pool);
        let offer = Offer::new(env.config, open.mss_bound(), window);
        let options = (offer, Agreed::nothing());
        let mut connection = Self::new(TcpState::SynSent, open, SeqNum(0), options, env);
        connection.update_mss(env);
        connection.pending.syn = true;
        env.record(TraceEvent::Opened {
            passive: false,
            iss: open.iss.0,
            irs: 0,
        });
        env.record(TraceEvent::State(TcpState::SynSent));
        env.counters.active_opens += 1;
        connection
    }

    /// Creates the connection of a handshake, which [`accept`](Self::accept) completes. The caller
    /// puts it where it stays, because it is large.
    pub fn from_half_open(half_open: &HalfOpen, tuning: Tuning, env: &mut Env<'_>) -> Self {
        let open = ActiveOpen {
            iss: half_open.iss,
            mss_limit: half_open.mss_limit,
            timestamp_offset: half_open.timestamp_offset,
            tuning,
        };
        let options = (half_open.offer, half_open.agreed);
        Self::new(TcpState::SynReceived, open, half_open.irs, options, env)
    }

    /// Completes a passive open: ESTABLISHED. `ack` is the segment that
    /// [completes](HalfOpen::is_completed_by) the handshake. Pass `ack` to
    /// [`on_segment`](Self::on_segment) afterwards, since the segment may carry payload.
    ///
    /// Returns false if packet memory cannot back the window that was advertised. The caller then
    /// drops the connection and ignores the ACK, as if it had been lost.
    pub fn accept(&mut self, half_open: &HalfOpen, ack: &Segment<'_>, env: &mut Env<'_>) -> bool {
        self.update_mss(env);
        if !self.back_first_window(half_open.window, env) {
            self.congestion.release(env.congestion);
            return false;
        }
        self.receive.rcv_adv = self.receive.rcv_nxt + u32::from(half_open.window);
        if half_open.window == 0 {
            self.demand_ack();
        } else if half_open.fits_cell(env.pool) {
            // Advertise a larger window soon: the first window may be small only because other
            // handshakes had reserved memory.
            self.demand_window_update(env);
        }
        self.timestamps =
            TimestampClock::new(half_open.timestamp_offset, half_open.ts_recent, env.now);
        env.record(TraceEvent::Opened {
            passive: true,
            iss: half_open.iss.0,
            irs: half_open.irs.0,
        });
        self.send.snd_nxt = half_open.iss + 1;
        if half_open.syn_acks == 1 && !half_open.agreed.timestamps {
            let rtt = env.now.since(half_open.syn_ack_at);
            self.rtt.add_sample(rtt, env.config);
        }
        self.establish(ack, half_open.syn_acks.saturating_sub(1).into(), env);
        env.counters.passive_opens += 1;
        true
    }

    /// Reserves memory for the `window` that the SYN-ACK advertised. After a window of zero,
    /// reserves memory for the first window to advertise. Returns false if memory does not
    /// suffice.
    fn back_first_window(&mut self, window: u16, env: &mut Env<'_>) -> bool {
        let scale = self.agreed.rcv_wscale;
        if self.receive.begin_idle(window.into(), scale, env.pool) {
            return true;
        }
        if window == 0 {
            let room = self.window_room(env);
            return self.receive.admit(&room, env.pool);
        }
        let promised = backing(window, env.pool.block_size().into());
        if self.receive.stream.reserve(env.pool, promised) >= promised {
            return true;
        }
        self.receive.release(env.pool);
        // Begin in the cell: for a window that fits a cell, no more memory was set aside than the
        // cell needs.
        self.receive.begin_in_cell(window.into(), scale, env.pool)
    }

    fn new(
        state: TcpState,
        open: ActiveOpen,
        irs: SeqNum,
        (offer, agreed): (Offer, Agreed),
        env: &mut Env<'_>,
    ) -> Self {
        let now = env.now;
        let congestion = env
            .congestion
            .resolve(open.tuning.congestion, env.config.congestion);
        let settings = Settings::new(&open.tuning, congestion);
        Self {
            state,
            send: SendHalf::new(open.iss),
            receive: ReceiveHalf::new(irs, env.config.quick_acks),
            recovery: Recovery::new(open.iss),
            rtt: Rtt::new(env.config),
            congestion: Controller::new(
                congestion,
                &start_of(env.config, open.mss_limit.into(), open.iss.0),
                env.congestion,
            ),
            rate: DeliveryRate::new(),
            pacer: SegmentPacer::new(),
            window_use: WindowUse::new(),
            small_queue: SmallQueue::new(),
            pairs: AckPairs::new(),
            offer,
            agreed,
            timestamps: TimestampClock::new(open.timestamp_offset, 0, now),
            timers: Timers::NONE,
            settings,
            send_size: settings.send_size(env.config),
            receive_size: settings.receive_size(env.config),
            limit: LimitClock::start(Limit::Handshake, now),
            receive_limit: ReceiveClock::start(ReceiveLimit::None, now),
            ecn: EcnState::default(),
            pending: Pending::default(),
            events: Events::default(),
            close_reason: None,
            born: now,
            last_received_at: now,
            last_sent_at: now,
            progress_at: now,
            challenge_after: now,
            path: PathMtu::new(open.mss_limit, env.config),
            effective_mss: 0,
            unanswered: 0,
            probes: 0,
            orphan: false,
            ack_is_overdue: false,
            busy: BusyClock::default(),
            wants_output: true,
            totals: Totals::default(),
        }
    }

    /// Completes the handshake: `segment` carries the ACK of this side's SYN
    /// and the first window; `retries` counts SYNs or SYN-ACKs beyond the first.
    pub(super) fn establish(&mut self, segment: &Segment<'_>, retries: u32, env: &mut Env<'_>) {
        let next = self.send.iss + 1;
        self.update_recovery(segment, env);
        self.sample(segment, true, env);
        self.rtt.end_backoff();
        if retries > 0 {
            self.rtt.distrust_handshake();
        }
        self.send.snd_una = next;
        self.send.snd_nxt = self.send.snd_nxt.latest(next);
        let scale = if segment.has(TcpFlags::SYN) {
            0
        } else {
            self.agreed.snd_wscale
        };
        self.send
            .set_window(segment.seq, segment.ack, u32::from(segment.window) << scale);
        self.update_mss(env);
        self.timers.retransmit.clear();
        let mut start = start_of(env.config, self.mss(env), self.send.iss.0);
        if retries >= LOST_SYNS {
            start.cwnd = start.mss;
        }
        self.congestion.restart(&start);
        self.progress_at = env.now;
        self.transition(super::Trigger::HandshakeDone, env);
        self.events.readable |= self.is_readable();
        self.restart_keepalive(env);
        self.set_limit(Limit::Application, env);
        self.wants_output = true;
        if self.send.fin_queued {
            // FIN is due now: the application closed its direction during the handshake.
            self.note_busy(env.now);
            self.transition(super::Trigger::Close, env);
        }
    }

    /// Returns a SYN, or a SYN-ACK once the peer's SYN has arrived. RFC 9293
    /// §3.10.1, §3.5.
    pub(super) fn poll_syn(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        if !self.pending.syn {
            return None;
        }
        let simultaneous = self.state == TcpState::SynReceived;
        let room = WindowRoom {
            scale: 0,
            ..self.window_room(env)
        };
        // Reserve scarce memory only when the peer has answered: before it has this side's ACK, the
        // peer sends nothing and needs no window.
        let plenty =
            env.pool.room(Holder::Receive) / 4 >= self.receive.first_blocks(&room, env.pool);
        let window = if simultaneous || plenty || self.receive.window_left() > 0 {
            self.receive.window_field(&room, env.pool)
        } else {
            0
        };
        self.pending.syn = false;
        let answer = simultaneous.then_some(self.agreed);
        let flags = if simultaneous {
            syn_ack_flags(self.agreed)
        } else {
            self.ecn.syn_flags(self.recovery.timeouts(), env.config)
        };
        let ack = if simultaneous {
            self.receive.rcv_nxt
        } else {
            SeqNum(0)
        };
        Some(SegmentOut {
            window,
            options: syn_options(self.offer, answer, &self.timestamps, env.now),
            ..SegmentOut::bare(self.send.iss, ack, flags)
        })
    }
}
