//! The limit of a socket at one moment.
//!
//! Rule: the state of the connection, the kernel's recovery state and its probe timer decide first,
//! because they name the limit directly. Otherwise, if payload is unsent, the tightest bound
//! decides, as in fullpipe's own stack. If nothing is unsent, the use of the send buffer decides,
//! because `tcpi_sndbuf_limited` often stays 0. If no limit fits the observation, the limit is
//! unknown.

use fullpipe_tcp::{Limit, ReceiveLimit};

use super::{
    observation::{CongestionModel, SocketMemory, SocketObservation, SocketState, SocketTimer},
    tcp_info::TcpInfo,
};
use crate::inferred::Confidence;

/// Value of the kernel's `ca_state` in fast recovery.
const CA_RECOVERY: u8 = 3;
/// Value of the kernel's `ca_state` after a retransmission timeout.
const CA_LOSS: u8 = 4;
/// BBR is in startup if its pacing gain is at least this. In startup, the gain is 2.77 or 2.89
/// times 256, rounded down.
const BBR_STARTUP_GAIN: u32 = 700;
/// Memory in bytes that the kernel uses for a segment with 1,448 bytes of payload.
const SEGMENT_MEMORY: u32 = 2_304;
/// Longest delay of an ACK, in microseconds.
const DELAYED_ACK_US: u64 = 200_000;
/// Error of the times that the kernel reports in milliseconds. It is two jiffies at 100 Hz, given
/// here in microseconds.
const ROUNDING_US: u64 = 20_000;

/// A limit with the confidence in it, or an unknown limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitNow {
    /// The limit; `None` if no limit fits the observation.
    pub limit: Option<Limit>,
    /// Confidence in the limit.
    pub confidence: Confidence,
}

impl LimitNow {
    /// The observation fits no limit.
    pub const UNKNOWN: Self = Self {
        limit: None,
        confidence: Confidence::Low,
    };

    const fn high(limit: Limit) -> Self {
        Self {
            limit: Some(limit),
            confidence: Confidence::High,
        }
    }

    const fn low(limit: Limit) -> Self {
        Self {
            limit: Some(limit),
            confidence: Confidence::Low,
        }
    }

    const fn when(limit: Limit, is_certain: bool) -> Self {
        if is_certain {
            Self::high(limit)
        } else {
            Self::low(limit)
        }
    }

    /// Name of the limit, or `unknown`.
    pub fn name(self) -> &'static str {
        self.limit.map_or("unknown", Limit::name)
    }
}

/// Facts about a socket that earlier observations showed and the present observation does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketMemo {
    /// The limit to report when the congestion window is full.
    pub window_cause: Limit,
    /// True if a change of the congestion window was seen, so the cause of its size is known.
    pub saw_cause: bool,
    /// Congestion window in segments before an idle time reduced it; 0 if no idle time reduced it.
    pub before_idle: u32,
    /// True if the send buffer was full and a third of it is not yet free again. The kernel wakes
    /// the writer when a third is free.
    pub is_blocked: bool,
}

impl SocketMemo {
    /// Creates the memo (the facts from earlier observations) before the first observation.
    pub const fn new() -> Self {
        Self {
            window_cause: Limit::CwndSteady,
            saw_cause: false,
            before_idle: 0,
            is_blocked: false,
        }
    }

    /// Records the first observation of a socket.
    pub fn begin(&mut self, now: &SocketObservation) {
        if let Some(info) = &now.info {
            self.window_cause = match info {
                info if info.total_retrans > 0 => Limit::CwndAfterLoss,
                info if info.delivered_ce.unwrap_or(0) > 0 => Limit::CwndAfterMark,
                _ => Limit::CwndSteady,
            };
        }
        self.note_writer(now);
    }

    /// Records `now`, the observation after `before`.
    pub fn note(&mut self, before: &SocketObservation, now: &SocketObservation) {
        if let (Some(before), Some(now)) = (&before.info, &now.info) {
            self.note_window(before, now);
        }
        self.note_writer(now);
    }

    fn note_window(&mut self, before: &TcpInfo, now: &TcpInfo) {
        let grew = |of: fn(&TcpInfo) -> u32| of(now) > of(before);
        if now.snd_ssthresh != before.snd_ssthresh || now.snd_cwnd < before.snd_cwnd {
            let is_idle = u64::from(before.last_data_sent) * 1_000 > u64::from(before.rto)
                && now.snd_cwnd < before.snd_cwnd;
            if grew(|info| info.total_retrans) || grew(|info| info.lost) {
                self.window_cause = Limit::CwndAfterLoss;
                self.saw_cause = true;
            } else if grew(|info| info.delivered_ce.unwrap_or(0)) {
                self.window_cause = Limit::CwndAfterMark;
                self.saw_cause = true;
            } else if is_idle {
                self.before_idle = self.before_idle.max(before.snd_cwnd);
            } else if before.ssthresh().is_none() && now.ssthresh().is_some() {
                self.window_cause = Limit::CwndSteady;
                self.saw_cause = true;
            }
        }
        if now.snd_cwnd >= self.before_idle {
            self.before_idle = 0;
        }
    }

    fn note_writer(&mut self, now: &SocketObservation) {
        if let Some(memory) = &now.memory {
            if is_full(memory) {
                self.is_blocked = true;
            } else if is_writable(memory) {
                self.is_blocked = false;
            }
        }
    }
}

impl Default for SocketMemo {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns true if the kernel refuses to write a segment (`sk_stream_memory_free`). The kernel
/// checks before it adds a segment, and later takes back memory that the segment did not use. A
/// full buffer may therefore use less memory than its size: up to two segments less, or up to a
/// sixteenth of the size if that is more.
pub fn is_full(memory: &SocketMemory) -> bool {
    let short = (memory.sndbuf / 16).max(2 * SEGMENT_MEMORY);
    memory.queued > 0 && memory.queued >= memory.sndbuf.saturating_sub(short)
}

/// Returns true if the kernel would wake a blocked writer (`sk_stream_is_writeable`), because a
/// third of the send buffer is free.
pub fn is_writable(memory: &SocketMemory) -> bool {
    u64::from(memory.queued) * 3 <= u64::from(memory.sndbuf) * 2
}

/// The limit of the sender at `now`.
pub fn limit_at(now: &SocketObservation, memo: &SocketMemo) -> LimitNow {
    match now.state {
        SocketState::SynSent | SocketState::SynReceived => return LimitNow::high(Limit::Handshake),
        SocketState::FinWait2 | SocketState::TimeWait | SocketState::Closed => {
            return LimitNow::high(Limit::Closing);
        }
        SocketState::Listen => return LimitNow::UNKNOWN,
        SocketState::Established
        | SocketState::CloseWait
        | SocketState::FinWait1
        | SocketState::LastAck
        | SocketState::Closing => {}
    }
    let Some(info) = &now.info else {
        return LimitNow::UNKNOWN;
    };
    if info.ca_state == CA_LOSS || info.ca_state == CA_RECOVERY || info.retransmits > 0 {
        return LimitNow::high(Limit::Recovery);
    }
    let unsent = now.unsent();
    if is_window_closed(now, info, unsent) {
        return LimitNow::high(Limit::ZeroWindow);
    }
    if is_overdue(info) {
        return LimitNow::low(Limit::Recovery);
    }
    let is_closing = !matches!(now.state, SocketState::Established | SocketState::CloseWait);
    match unsent {
        // One unsent byte may be the FIN, which counts as a byte.
        0 | 1 if is_closing => LimitNow::high(Limit::Closing),
        0 => without_unsent(now, info, memo),
        _ => with_unsent(now, info, memo, unsent),
    }
}

/// Returns true if the peer's window is closed: its size is 0 while payload is unsent, or the
/// kernel probes it because the next segment does not fit.
///
/// The probe timer alone does not show a closed window: the kernel also runs this timer while
/// payload is unsent and nothing is in flight for another reason, for example between two segments
/// of a paced socket (`tcp_check_probe_timer`).
fn is_window_closed(now: &SocketObservation, info: &TcpInfo, unsent: u32) -> bool {
    let is_probing = now.timer == SocketTimer::ZeroWindowProbe;
    match info.snd_wnd {
        Some(0) if unsent > 0 => true,
        Some(window) => is_probing && (info.probes > 0 || window < unsent.min(info.snd_mss)),
        None => is_probing,
    }
}

/// Returns true if the oldest segment has waited too long for its ACK: longer than the timeout of a
/// tail loss probe (RFC 8985 §7.2) plus the error of the kernel's times.
fn is_overdue(info: &TcpInfo) -> bool {
    let quiet_us = u64::from(info.last_ack_recv.min(info.last_data_sent)) * 1_000;
    let delayed = if info.unacked < 2 { DELAYED_ACK_US } else { 0 };
    let probe_us = 2 * u64::from(info.rtt) + 4 * u64::from(info.rttvar);
    info.unacked > 0 && info.rtt > 0 && quiet_us > probe_us + delayed + ROUNDING_US
}

/// The limit if nothing is unsent: the application, or the send buffer if it is or may have been
/// full.
fn without_unsent(now: &SocketObservation, info: &TcpInfo, memo: &SocketMemo) -> LimitNow {
    match &now.memory {
        Some(memory) if is_full(memory) || memo.is_blocked => LimitNow::high(Limit::SendBuffer),
        // The send buffer is the likely limit: more than two thirds of it are used, although no
        // observation shows that it was full.
        Some(memory) if !is_writable(memory) => LimitNow::low(Limit::SendBuffer),
        Some(_) => LimitNow::when(
            Limit::Application,
            info.is_app_limited() || info.unacked == 0,
        ),
        None => LimitNow::low(Limit::Application),
    }
}

/// Room in bytes that each bound leaves.
struct Rooms {
    peer: Option<u64>,
    congestion: u64,
    /// If less than this is free in the smaller window, the kernel defers a segment to keep
    /// super-segments large (`tcp_tso_win_divisor`).
    deferred: u64,
}

impl Rooms {
    fn of(now: &SocketObservation, info: &TcpInfo) -> Self {
        let mss = u64::from(info.snd_mss);
        let cwnd = u64::from(info.snd_cwnd) * mss;
        let peer = info.snd_wnd.map(u64::from);
        Self {
            peer: peer.map(|window| window.saturating_sub(now.in_flight().into())),
            congestion: u64::from(info.snd_cwnd.saturating_sub(info.in_flight())) * mss,
            deferred: (peer.unwrap_or(cwnd).min(cwnd) / 3).max(mss),
        }
    }

    /// The smaller of the two rooms, and true if it is the room in the peer's window.
    fn tightest(&self) -> (u64, bool) {
        match self.peer {
            Some(peer) if peer < self.congestion => (peer, true),
            Some(_) | None => (self.congestion, false),
        }
    }
}

/// The limit if payload is unsent: the tightest bound.
fn with_unsent(
    now: &SocketObservation,
    info: &TcpInfo,
    memo: &SocketMemo,
    unsent: u32,
) -> LimitNow {
    let mss = info.snd_mss.max(1);
    let rooms = Rooms::of(now, info);
    let (room, is_peer) = rooms.tightest();
    let window = |is_certain: bool| match is_peer {
        true => LimitNow::when(Limit::ReceiveWindow, is_certain),
        false => congestion_limit(now, info, memo, is_certain && info.snd_wnd.is_some()),
    };
    if room < u64::from(unsent.min(mss)) {
        return window(true);
    }
    let memory = now.memory.unwrap_or_default();
    if unsent < mss {
        // The last segment is partial. Either the send buffer took no more payload, or Nagle's
        // algorithm or a cork delays the segment.
        return match now.memory {
            Some(memory) if is_full(&memory) || memo.is_blocked => {
                LimitNow::high(Limit::SendBuffer)
            }
            Some(memory) if !is_writable(&memory) => LimitNow::low(Limit::SendBuffer),
            Some(_) | None => LimitNow::when(Limit::Nagle, info.unacked > 0),
        };
    }
    if room < u64::from(unsent) && room < rooms.deferred {
        return window(false);
    }
    if info.pacing_limit_in_force().is_some() {
        return LimitNow::high(Limit::Pacing);
    }
    if let Some(CongestionModel::Bbr { pacing_gain, .. }) = now.model {
        // The pacing rate of BBR's startup grows with the window.
        return LimitNow::high(match pacing_gain >= BBR_STARTUP_GAIN {
            true => Limit::CwndSlowStart,
            false => Limit::Pacing,
        });
    }
    // If the program set a limit of the pacing rate and the kernel paces more slowly, the pacing
    // rate derives from the congestion window.
    if info.pacing_limit().is_some() {
        return congestion_limit(now, info, memo, false);
    }
    // The device is the likely limit if more than a millisecond of payload at the pacing rate is in
    // queues below the socket.
    let below = info.pacing_rate.unwrap_or(u64::MAX) >> 10;
    if u64::from(memory.wmem) > below.max(2 * u64::from(mss)) {
        return LimitNow::low(Limit::Device);
    }
    LimitNow::UNKNOWN
}

/// The limit for a full congestion window, named after the cause of the window's size.
fn congestion_limit(
    now: &SocketObservation,
    info: &TcpInfo,
    memo: &SocketMemo,
    is_certain: bool,
) -> LimitNow {
    if let Some(CongestionModel::Bbr { pacing_gain, .. }) = now.model {
        let limit = match pacing_gain >= BBR_STARTUP_GAIN {
            true => Limit::CwndSlowStart,
            false => Limit::CwndSteady,
        };
        return LimitNow::when(limit, is_certain);
    }
    if memo.before_idle > 0 {
        return LimitNow::when(Limit::CwndAfterIdle, is_certain);
    }
    let Some(ssthresh) = info.ssthresh() else {
        return LimitNow::when(Limit::CwndSlowStart, is_certain);
    };
    match memo.window_cause {
        // Name slow start: the kernel remembered the threshold from an earlier connection.
        Limit::CwndSteady if info.snd_cwnd < ssthresh => {
            LimitNow::when(Limit::CwndSlowStart, is_certain)
        }
        cause => LimitNow::when(cause, is_certain),
    }
}

/// The limit by which this end limited its peer between `before` and `now`, which are `elapsed_us`
/// apart; `None` if the kernel's values do not show the limit.
pub fn receive_limit_at(
    before: &SocketObservation,
    now: &SocketObservation,
    elapsed_us: u64,
) -> Option<ReceiveLimit> {
    let (old, info) = (before.info.as_ref()?, now.info.as_ref()?);
    let memory = now.memory?;
    let segment = info.rcv_mss.max(1);
    let unread = now.receive_queue;
    let received = info.bytes_received? - old.bytes_received?.min(info.bytes_received?);
    let is_window_small = match info.rcv_wnd {
        Some(window) => window < (2 * segment).max(unread / 4),
        None => u64::from(memory.rmem) * 4 >= u64::from(memory.rcvbuf) * 3,
    };
    if unread >= segment && is_window_small {
        return Some(ReceiveLimit::Reader);
    }
    let out_of_order = |info: &TcpInfo| info.rcv_ooopack.unwrap_or(0);
    if out_of_order(info) > out_of_order(old) {
        return Some(ReceiveLimit::Hole);
    }
    // Compare with the window: a sender that the window limits sends one window per round trip.
    let window = info.rcv_wnd.or(Some(info.rcv_ssthresh)).map(u64::from)?;
    let in_round_trip = received * u64::from(info.rcv_rtt) / elapsed_us.max(1);
    if info.rcv_rtt > 0 && received > 0 && in_round_trip * 5 >= window * 4 {
        return Some(ReceiveLimit::Buffer);
    }
    Some(ReceiveLimit::None)
}
