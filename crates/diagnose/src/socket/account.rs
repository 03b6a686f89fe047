//! The account of a socket: time and bytes by limit, from consecutive observations.
//!
//! Rule: the time of an interval is charged once. First, the times for which the kernel's counters
//! are reliable are charged: the time without payload to send, the time limited by the peer's
//! window, and the time that the kernel counted for the send buffer. Half of the remaining time is
//! charged to the limit at the beginning of the interval, and half to the limit at its end. The
//! remaining time is not called "limited by the network", because the kernel also counts a program
//! that writes little as busy all the time.

use fullpipe_pool::Duration;
use fullpipe_tcp::{Limit, ReceiveLimit};

use super::{
    limit::{LimitNow, SocketMemo, is_full, limit_at, receive_limit_at},
    observation::{SocketObservation, SocketState},
};
use crate::{account::Times, inferred::Confidence, observe::SeenLimit};

/// Largest number of microseconds of a counter that are carried into the next interval. A counter
/// advances by jiffies, so it may be ahead of the clock by up to two jiffies.
const CARRIED_US: u64 = 20_000;

/// Microseconds and bytes by limit. The last entry is for the time without a known limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitTimes {
    micros: [u64; Limit::COUNT + 1],
    bytes: [u64; Limit::COUNT + 1],
}

impl LimitTimes {
    const fn new() -> Self {
        Self {
            micros: [0; Limit::COUNT + 1],
            bytes: [0; Limit::COUNT + 1],
        }
    }

    fn place(limit: Option<Limit>) -> usize {
        limit.map_or(Limit::COUNT, |limit| limit as usize)
    }

    fn charge(&mut self, limit: Option<Limit>, micros: u64) {
        self.micros[Self::place(limit)] += micros;
    }

    /// Microseconds charged to `limit`; `None` stands for an unknown limit.
    pub fn micros(&self, limit: Option<Limit>) -> u64 {
        self.micros[Self::place(limit)]
    }

    /// Bytes that were acknowledged in intervals whose main limit was `limit`.
    pub fn bytes(&self, limit: Option<Limit>) -> u64 {
        self.bytes[Self::place(limit)]
    }

    /// Returns the account in the limits that all observers share, `unknown` last.
    pub fn account(&self) -> Times<SeenLimit> {
        let mut account = Times::default();
        account.add(self.iter().zip(self.bytes).map(|((limit, micros), bytes)| {
            let limit = limit.map_or(SeenLimit::Unknown, SeenLimit::Known);
            (limit, Duration::from_micros(micros), bytes)
        }));
        account
    }

    /// Sum of the microseconds of all limits.
    pub fn total_micros(&self) -> u64 {
        self.micros.iter().sum()
    }

    /// Share of the time charged to `limit`, from 0 to 1.
    pub fn share(&self, limit: Option<Limit>) -> f64 {
        self.micros(limit) as f64 / self.total_micros().max(1) as f64
    }

    /// Every limit with its microseconds. The unknown limit comes last.
    pub fn iter(&self) -> impl Iterator<Item = (Option<Limit>, u64)> + '_ {
        let limits = Limit::ALL.iter().map(|&limit| Some(limit));
        limits
            .chain([None])
            .map(|limit| (limit, self.micros(limit)))
    }

    /// The limit with the most time, and its share.
    pub fn main(&self) -> (Option<Limit>, f64) {
        let mut most = 0;
        for place in 1..self.micros.len() {
            if self.micros[place] > self.micros[most] {
                most = place;
            }
        }
        let limit = Limit::ALL.get(most).copied();
        (limit, self.share(limit))
    }
}

/// The account of one socket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SocketAccount {
    /// Limits of the sender.
    pub times: LimitTimes,
    /// Microseconds in which each limit of the receiver limited the peer.
    pub receiver: [u64; ReceiveLimit::COUNT],
    /// The limit of the latest interval.
    pub now: LimitNow,
    /// Microseconds in intervals of high confidence.
    pub certain_us: u64,
    /// Microseconds in which the send buffer was full, but which the kernel did not count as
    /// limited by the send buffer.
    pub uncounted_us: u64,
    /// Microseconds that the kernel counts as busy although the program wrote nothing.
    pub idle_busy_us: u64,
    /// Payload acknowledged and received since the first observation, in bytes.
    pub moved: [u64; 2],
    /// Payload acknowledged and received in the latest interval, in bytes per second.
    pub rates: [f64; 2],
    memo: SocketMemo,
    /// Microseconds by which each counter is ahead of the clock. The counters are, in this order:
    /// busy, receive window, send buffer.
    carried: [u64; 3],
}

impl SocketAccount {
    /// Starts the account of a socket at its first observation.
    pub fn start(now: &SocketObservation) -> Self {
        let mut memo = SocketMemo::new();
        memo.begin(now);
        Self {
            times: LimitTimes::new(),
            receiver: [0; ReceiveLimit::COUNT],
            now: limit_at(now, &memo),
            certain_us: 0,
            uncounted_us: 0,
            idle_busy_us: 0,
            moved: [0; 2],
            rates: [0.0; 2],
            memo,
            carried: [0; 3],
        }
    }

    /// Returns true if the send buffer was full and a third of it is not yet free again.
    pub fn is_blocked(&self) -> bool {
        self.memo.is_blocked
    }

    /// Charges the `elapsed_us` microseconds between `before` and `now`.
    pub fn charge(&mut self, before: &SocketObservation, now: &SocketObservation, elapsed_us: u64) {
        if elapsed_us == 0 {
            return;
        }
        let earlier = limit_at(before, &self.memo);
        self.memo.note(before, now);
        let later = limit_at(now, &self.memo);
        let mut times = LimitTimes::new();
        let [busy, window, buffer] = self.counted(before, now, elapsed_us);
        let idle = elapsed_us - busy;
        times.charge(Some(idle_limit(now)), idle);
        let is_closed = later.limit == Some(Limit::ZeroWindow);
        let window_limit = match is_closed {
            true => Limit::ZeroWindow,
            false => Limit::ReceiveWindow,
        };
        times.charge(Some(window_limit), window);
        times.charge(Some(Limit::SendBuffer), buffer);
        let rest = busy - window - buffer;
        times.charge(earlier.limit, rest / 2);
        times.charge(later.limit, rest - rest / 2);
        self.note_misleading(earlier, later, rest, now);
        self.settle(&times, [earlier, later], idle + window + buffer, now);
        if let Some(limit) = receive_limit_at(before, now, elapsed_us) {
            self.receiver[limit as usize] += elapsed_us;
        }
        self.note_rates(before, now, elapsed_us);
    }

    /// Adds the times of an interval and sets its main limit.
    fn settle(
        &mut self,
        times: &LimitTimes,
        ends: [LimitNow; 2],
        counted: u64,
        now: &SocketObservation,
    ) {
        let (main, _) = times.main();
        let elapsed = times.total_micros();
        let is_agreed = ends
            .iter()
            .all(|end| end.limit == main && end.confidence == Confidence::High);
        let is_certain = main.is_some() && (is_agreed || counted * 2 > elapsed);
        self.now = LimitNow {
            // Name only the main limit. The counters may advance by jiffies, so they do not show
            // the order of the limits within a short interval.
            limit: main,
            confidence: if is_certain {
                Confidence::High
            } else {
                Confidence::Low
            },
        };
        if now.state == SocketState::Listen {
            self.now = LimitNow::UNKNOWN;
        }
        if is_certain {
            self.certain_us += elapsed;
        }
        for (sum, part) in self.times.micros.iter_mut().zip(times.micros) {
            *sum += part;
        }
    }

    /// Times of the interval by the kernel's counters: busy, limited by the peer's window, limited
    /// by the send buffer. If the kernel has no counters, the whole interval is busy.
    fn counted(
        &mut self,
        before: &SocketObservation,
        now: &SocketObservation,
        elapsed_us: u64,
    ) -> [u64; 3] {
        let counters = |socket: &SocketObservation| {
            let info = socket.info.as_ref()?;
            Some([info.busy_time?, info.rwnd_limited?, info.sndbuf_limited?])
        };
        let (Some(old), Some(new)) = (counters(before), counters(now)) else {
            return [elapsed_us, 0, 0];
        };
        let mut parts = [0; 3];
        let mut room = elapsed_us;
        for place in 0..3 {
            let due = self.carried[place] + new[place].saturating_sub(old[place]);
            parts[place] = due.min(room);
            self.carried[place] = (due - parts[place]).min(CARRIED_US);
            room = match place {
                0 => parts[0],
                _ => room - parts[place],
            };
        }
        parts
    }

    fn note_misleading(
        &mut self,
        earlier: LimitNow,
        later: LimitNow,
        rest: u64,
        now: &SocketObservation,
    ) {
        let half = |end: LimitNow, limit: Limit| match end.limit == Some(limit) {
            true => rest / 2,
            false => 0,
        };
        let both = |limit: Limit| half(earlier, limit) + half(later, limit);
        if now.info.is_some_and(|info| info.sndbuf_limited.is_some()) {
            self.uncounted_us += both(Limit::SendBuffer);
            self.idle_busy_us += both(Limit::Application);
        }
    }

    fn note_rates(&mut self, before: &SocketObservation, now: &SocketObservation, elapsed_us: u64) {
        let moved = |socket: &SocketObservation| {
            let info = socket.info.as_ref()?;
            Some([info.bytes_acked?, info.bytes_received?])
        };
        let (Some(old), Some(new)) = (moved(before), moved(now)) else {
            return;
        };
        for direction in 0..2 {
            let bytes = new[direction].saturating_sub(old[direction]);
            self.moved[direction] += bytes;
            self.rates[direction] = bytes as f64 * 1e6 / elapsed_us as f64;
        }
        let sent = new[0].saturating_sub(old[0]);
        self.times.bytes[LimitTimes::place(self.now.limit)] += sent;
    }

    /// Share of the time in intervals of high confidence, from 0 to 1.
    pub fn certain_share(&self) -> f64 {
        self.certain_us as f64 / self.times.total_micros().max(1) as f64
    }

    /// The limit of the receiver by which this end limited its peer for the longest time, and the
    /// share of the time with this limit; `None` if this end did not limit its peer.
    pub fn main_receive_limit(&self) -> Option<(ReceiveLimit, f64)> {
        let total: u64 = self.receiver.iter().sum();
        let limits = ReceiveLimit::ALL.iter().skip(1);
        let most = limits.max_by_key(|limit| self.receiver[**limit as usize])?;
        let micros = self.receiver[*most as usize];
        (micros > 0).then(|| (*most, micros as f64 / total.max(1) as f64))
    }
}

/// The limit if nothing is unsent and nothing is in flight.
fn idle_limit(now: &SocketObservation) -> Limit {
    match now.state {
        SocketState::SynSent | SocketState::SynReceived => Limit::Handshake,
        SocketState::Established | SocketState::CloseWait | SocketState::Listen => {
            Limit::Application
        }
        SocketState::FinWait1
        | SocketState::FinWait2
        | SocketState::TimeWait
        | SocketState::Closed
        | SocketState::LastAck
        | SocketState::Closing => Limit::Closing,
    }
}

/// Returns true if the send buffer of `now` has no room for new payload.
pub fn is_send_buffer_full(now: &SocketObservation) -> bool {
    now.memory.as_ref().is_some_and(is_full)
}
