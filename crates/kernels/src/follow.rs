//! The accounts (time by limit) of a host's sockets, computed from the kernel's reports about these
//! sockets.
//!
//! Rule: this file asks the kernel every [`EVERY`]; `fullpipe_diagnose::socket` analyses the
//! answers.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use fullpipe_diagnose::{
    account::Times,
    observe::SeenLimit,
    socket::{FollowedSocket, SocketFilter, SocketObservation, SocketState, SocketTable},
};
use fullpipe_host::{Namespace, SockDiag};
use fullpipe_tcp::ReceiveLimit;

/// Time between two requests.
const EVERY: Duration = Duration::from_millis(10);
/// States of sockets that are opening or may have payload to send.
const STATES: [SocketState; 5] = [
    SocketState::Established,
    SocketState::SynSent,
    SocketState::FinWait1,
    SocketState::CloseWait,
    SocketState::LastAck,
];

/// Follows the sockets of a host.
pub struct Follower {
    diag: SockDiag,
    request: Vec<u8>,
    table: SocketTable,
    gone: Vec<FollowedSocket>,
    began: Instant,
}

impl Follower {
    /// Creates a follower of all sockets in `side`.
    pub fn open(side: &Namespace) -> io::Result<Self> {
        let diag = side.enter(SockDiag::open)?.map_err(io::Error::other)?;
        Ok(Self {
            diag,
            request: SocketFilter::default().request_all(&STATES),
            table: SocketTable::new(),
            gone: Vec::new(),
            began: Instant::now(),
        })
    }

    /// Asks the kernel until `over` is true, and then once more.
    pub fn run(mut self, over: &AtomicBool) -> io::Result<FollowedSockets> {
        let mut next = Instant::now();
        loop {
            let is_last = over.load(Ordering::Acquire);
            self.round()?;
            if is_last {
                break;
            }
            next += EVERY;
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        let followed = self.table.sockets().iter().chain(&self.gone).copied();
        Ok(FollowedSockets(followed.collect()))
    }

    fn round(&mut self) -> io::Result<()> {
        let (table, began) = (&mut self.table, self.began);
        table.begin_round();
        self.diag
            .dump(&self.request, &mut |payload, at| {
                if let Some(socket) = SocketObservation::parse(payload) {
                    let at_us = at.saturating_duration_since(began).as_micros() as u64;
                    table.observe(at_us, &socket, &mut |_| ());
                }
            })
            .map_err(io::Error::other)?;
        let at_us = began.elapsed().as_micros() as u64;
        let gone = &mut self.gone;
        table.end_round(at_us, &mut |_| (), &mut |socket| gone.push(*socket));
        Ok(())
    }
}

/// Every socket that an answer contained.
pub struct FollowedSockets(Vec<FollowedSocket>);

impl FollowedSockets {
    /// Returns the sockets that sent more than they received.
    pub fn senders(self) -> FollowedSenders {
        let is_sender = |socket: &FollowedSocket| {
            let [sent, received] = socket.account.moved;
            sent > received
        };
        FollowedSenders(self.0.into_iter().filter(is_sender).collect())
    }

    /// Returns the time of each limit of the receiver, in nanoseconds, at the socket that received
    /// most.
    pub fn receiver(&self) -> Vec<(ReceiveLimit, u64)> {
        let most = self.0.iter().max_by_key(|socket| socket.account.moved[1]);
        let times = most.map(|socket| socket.account.receiver);
        let times = times.unwrap_or_default().map(|micros| micros * 1_000);
        ReceiveLimit::ALL.iter().copied().zip(times).collect()
    }
}

/// The followed sockets that sent more than they received.
pub struct FollowedSenders(Vec<FollowedSocket>);

impl FollowedSenders {
    /// Time and bytes by limit, summed over these sockets.
    pub fn limits(&self) -> Times<SeenLimit> {
        let mut all = Times::default();
        for socket in &self.0 {
            all.add(socket.account.times.account().parts());
        }
        all
    }

    /// Number of segments that these sockets retransmitted.
    pub fn retransmitted(&self) -> u64 {
        let infos = self.0.iter().filter_map(|socket| socket.latest.info);
        infos.map(|info| u64::from(info.total_retrans)).sum()
    }

    /// Smoothed round-trip time of the socket that sent most, in milliseconds.
    pub fn srtt_ms(&self) -> f64 {
        let most = self.0.iter().max_by_key(|socket| socket.account.moved[0]);
        let info = most.and_then(|socket| socket.latest.info);
        info.map_or(0.0, |info| f64::from(info.rtt) / 1e3)
    }
}
