//! Follows sockets from one answer of the kernel to the next, and finds events that happened in
//! between.
//!
//! Rule: a round is one answer about all sockets. A socket is gone if it is missing in two
//! consecutive rounds, or if the kernel reports its end. One round does not suffice, because the
//! kernel's list may change while it is read. A round allocates nothing for a socket that is
//! already followed. Time is an argument, in microseconds from any fixed moment.

use std::{collections::HashMap, net::SocketAddr};

use fullpipe_tcp::Limit;

use super::{
    account::{LimitTimes, SocketAccount},
    limit::limit_at,
    observation::{SocketId, SocketObservation},
};

/// A socket is gone if it is missing in this number of consecutive rounds.
const MISSED_ROUNDS: u32 = 2;

/// A change between two observations of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketChange {
    /// The socket was seen for the first time, in any round except the first.
    Opened,
    /// The send buffer is full. A program that writes to the socket blocks.
    WriterBlocked {
        /// Bytes of the send buffer in use.
        queued: u32,
        /// Size of the send buffer in bytes.
        sndbuf: u32,
    },
    /// A third of the send buffer is free again, so the kernel woke the writer.
    WriterReleased {
        /// Microseconds for which the writer was blocked, by the times of the observations.
        after_us: u64,
    },
    /// The peer's window closed while payload was waiting.
    PeerWindowClosed,
    /// The peer's window opened again.
    PeerWindowOpened {
        /// Microseconds for which the window was closed.
        after_us: u64,
        /// Unanswered probes at the last observation before the window opened.
        probes: u8,
    },
    /// The retransmission timer expired.
    Timeout {
        /// Consecutive timeouts without an ACK.
        retransmits: u8,
    },
    /// The kernel dropped segments for which the socket had no room.
    Dropped {
        /// Number of segments.
        segments: u32,
    },
    /// The socket is gone.
    Closed,
}

impl SocketChange {
    /// Name of the change in lines and JSON. A change that is also an event of the lab has the same
    /// name there.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::WriterBlocked { .. } => "writer-blocked",
            Self::WriterReleased { .. } => "writer-released",
            Self::PeerWindowClosed => "peer-window-closed",
            Self::PeerWindowOpened { .. } => "peer-window-opened",
            Self::Timeout { .. } => "timeout",
            Self::Dropped { .. } => "receive-queue-full",
            Self::Closed => "closed",
        }
    }
}

/// An event of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketEvent {
    /// Time of the observation that shows the change.
    pub at_us: u64,
    /// The socket.
    pub id: SocketId,
    /// The change.
    pub change: SocketChange,
}

/// Largest values of a socket since its first observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketPeaks {
    /// The peer's window in bytes.
    pub snd_wnd: u32,
    /// Bytes in flight.
    pub in_flight: u32,
    /// Delivery rate in bytes per second, from samples that the application did not limit.
    pub delivery_rate: u64,
    /// Delivery rate in bytes per second, from all samples.
    pub any_delivery_rate: u64,
    /// Bytes of the send buffer in use.
    pub queued: u32,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Send buffer in bytes.
    pub sndbuf: u32,
    /// Receive buffer in bytes.
    pub rcvbuf: u32,
}

impl SocketPeaks {
    fn note(&mut self, now: &SocketObservation) {
        self.in_flight = self.in_flight.max(now.in_flight());
        if let Some(info) = &now.info {
            let rate = info.delivery_rate.unwrap_or(0);
            self.snd_wnd = self.snd_wnd.max(info.snd_wnd.unwrap_or(0));
            self.cwnd = self.cwnd.max(info.snd_cwnd);
            self.any_delivery_rate = self.any_delivery_rate.max(rate);
            if !info.is_app_limited() {
                self.delivery_rate = self.delivery_rate.max(rate);
            }
        }
        if let Some(memory) = &now.memory {
            self.queued = self.queued.max(memory.queued);
            self.sndbuf = self.sndbuf.max(memory.sndbuf);
            self.rcvbuf = self.rcvbuf.max(memory.rcvbuf);
        }
    }
}

/// A socket, its latest observation and its account (time and bytes by limit).
#[derive(Clone, Copy, Debug)]
pub struct FollowedSocket {
    /// Time of the first observation.
    pub since_us: u64,
    /// Time of the latest observation.
    pub at_us: u64,
    /// The first observation.
    pub first: SocketObservation,
    /// The latest observation.
    pub latest: SocketObservation,
    /// Time and bytes by limit since the first observation.
    pub account: SocketAccount,
    /// Largest values since the first observation.
    pub peaks: SocketPeaks,
    /// Number of observations.
    pub observations: u64,
    round: u64,
    blocked_since: Option<u64>,
    closed_since: Option<u64>,
}

impl FollowedSocket {
    /// Starts following a socket at its first observation.
    pub fn start(at_us: u64, now: SocketObservation) -> Self {
        let mut peaks = SocketPeaks::default();
        peaks.note(&now);
        let account = SocketAccount::start(&now);
        let is_closed = account.now.limit == Some(Limit::ZeroWindow);
        Self {
            since_us: at_us,
            at_us,
            first: now,
            latest: now,
            peaks,
            observations: 1,
            round: 0,
            blocked_since: account.is_blocked().then_some(at_us),
            closed_since: is_closed.then_some(at_us),
            account,
        }
    }

    /// Charges the time since the latest observation, and reports the changes.
    pub fn observe(
        &mut self,
        at_us: u64,
        now: SocketObservation,
        change: &mut impl FnMut(SocketChange),
    ) {
        let before = std::mem::replace(&mut self.latest, now);
        self.account
            .charge(&before, &now, at_us.saturating_sub(self.at_us));
        self.peaks.note(&now);
        self.note_writer(at_us, &now, change);
        self.note_window(at_us, &before, &now, change);
        if let (Some(old), Some(new)) = (&before.info, &now.info)
            && new.retransmits > old.retransmits
        {
            let retransmits = new.retransmits;
            change(SocketChange::Timeout { retransmits });
        }
        if let (Some(old), Some(new)) = (&before.memory, &now.memory)
            && new.drops > old.drops
        {
            let segments = new.drops - old.drops;
            change(SocketChange::Dropped { segments });
        }
        self.at_us = at_us;
        self.observations += 1;
    }

    fn note_writer(
        &mut self,
        at_us: u64,
        now: &SocketObservation,
        change: &mut impl FnMut(SocketChange),
    ) {
        match (self.blocked_since, self.account.is_blocked()) {
            (None, true) => {
                let memory = now.memory.unwrap_or_default();
                self.blocked_since = Some(at_us);
                change(SocketChange::WriterBlocked {
                    queued: memory.queued,
                    sndbuf: memory.sndbuf,
                });
            }
            (Some(since), false) => {
                self.blocked_since = None;
                let after_us = at_us.saturating_sub(since);
                change(SocketChange::WriterReleased { after_us });
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    fn note_window(
        &mut self,
        at_us: u64,
        before: &SocketObservation,
        now: &SocketObservation,
        change: &mut impl FnMut(SocketChange),
    ) {
        let memo = super::limit::SocketMemo::new();
        let is_closed = limit_at(now, &memo).limit == Some(Limit::ZeroWindow);
        match (self.closed_since, is_closed) {
            (None, true) => {
                self.closed_since = Some(at_us);
                change(SocketChange::PeerWindowClosed);
            }
            (Some(since), false) => {
                self.closed_since = None;
                change(SocketChange::PeerWindowOpened {
                    after_us: at_us.saturating_sub(since),
                    probes: before.info.map_or(0, |info| info.probes),
                });
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    /// Microseconds since the first observation.
    pub fn observed_us(&self) -> u64 {
        self.at_us - self.since_us
    }
}

/// All sockets that match a filter.
#[derive(Debug, Default)]
pub struct SocketTable {
    sockets: Vec<FollowedSocket>,
    by_cookie: HashMap<u64, usize>,
    /// Cookie (the kernel's number) of each socket, by the socket's own address and the peer's
    /// address.
    by_ends: HashMap<(SocketAddr, SocketAddr), u64>,
    round: u64,
    /// Number of changes to the list of sockets so far.
    changes: u64,
    /// Sums over the sockets that are gone.
    ended: LimitSums,
}

/// Sums over sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitSums {
    /// Number of sockets.
    pub sockets: u64,
    /// Payload acknowledged and received, in bytes.
    pub moved: [u64; 2],
    /// Microseconds by limit, in the order of [`LimitTimes::iter`].
    pub micros: [u64; Limit::COUNT + 1],
}

impl LimitSums {
    /// Adds `socket`.
    pub fn add(&mut self, socket: &FollowedSocket) {
        self.sockets += 1;
        for (sum, moved) in self.moved.iter_mut().zip(socket.account.moved) {
            *sum += moved;
        }
        let times: &LimitTimes = &socket.account.times;
        for (sum, (_, micros)) in self.micros.iter_mut().zip(times.iter()) {
            *sum += micros;
        }
    }
}

impl SocketTable {
    /// Creates a table without sockets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a round.
    pub fn begin_round(&mut self) {
        self.round += 1;
    }

    /// Records an observation of this round. If a socket is observed again in the same round, the
    /// second observation is ignored.
    pub fn observe(
        &mut self,
        at_us: u64,
        now: &SocketObservation,
        event: &mut impl FnMut(SocketEvent),
    ) {
        let id = now.id;
        let mut tell = |change| event(SocketEvent { at_us, id, change });
        match self.by_cookie.get(&id.cookie) {
            Some(&place) => {
                let socket = &mut self.sockets[place];
                if socket.round != self.round {
                    socket.round = self.round;
                    socket.observe(at_us, *now, &mut tell);
                }
            }
            None => {
                let mut socket = FollowedSocket::start(at_us, *now);
                socket.round = self.round;
                self.by_cookie.insert(id.cookie, self.sockets.len());
                self.by_ends.insert((id.local, id.peer), id.cookie);
                self.sockets.push(socket);
                self.changes += 1;
                if self.round > 1 {
                    tell(SocketChange::Opened);
                }
            }
        }
    }

    /// Records that the kernel no longer has the socket with this cookie. The socket is removed at
    /// the end of this round.
    pub fn lose(&mut self, cookie: u64) {
        if let Some(&place) = self.by_cookie.get(&cookie) {
            self.sockets[place].round = self.round.saturating_sub(u64::from(MISSED_ROUNDS));
        }
    }

    /// Ends a round at `at_us`. Sockets that are gone are passed to `gone` and removed.
    pub fn end_round(
        &mut self,
        at_us: u64,
        event: &mut impl FnMut(SocketEvent),
        gone: &mut impl FnMut(&FollowedSocket),
    ) {
        let mut place = 0;
        while place < self.sockets.len() {
            let socket = &self.sockets[place];
            if self.round - socket.round < u64::from(MISSED_ROUNDS) {
                place += 1;
                continue;
            }
            let id = socket.latest.id;
            self.ended.add(socket);
            gone(socket);
            event(SocketEvent {
                at_us,
                id,
                change: SocketChange::Closed,
            });
            self.by_cookie.remove(&id.cookie);
            let ends = (id.local, id.peer);
            if self.by_ends.get(&ends) == Some(&id.cookie) {
                self.by_ends.remove(&ends);
            }
            self.sockets.swap_remove(place);
            self.changes += 1;
            if let Some(moved) = self.sockets.get(place) {
                self.by_cookie.insert(moved.latest.id.cookie, place);
            }
        }
    }

    /// The followed sockets, in no particular order.
    pub fn sockets(&self) -> &[FollowedSocket] {
        &self.sockets
    }

    /// Returns a number that changes whenever sockets are added, removed or reordered.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The socket with this cookie.
    pub fn find(&self, cookie: u64) -> Option<&FollowedSocket> {
        self.by_cookie
            .get(&cookie)
            .map(|&place| &self.sockets[place])
    }

    /// The other end of the connection of `id`, if that end is among the followed sockets.
    pub fn other_end(&self, id: &SocketId) -> Option<&FollowedSocket> {
        let cookie = self.by_ends.get(&(id.peer, id.local))?;
        self.find(*cookie).filter(|_| *cookie != id.cookie)
    }

    /// Sums over the sockets that are gone.
    pub fn ended(&self) -> &LimitSums {
        &self.ended
    }
}
