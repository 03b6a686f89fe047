//! A recording, analysed: each socket with its account (time and bytes by limit), and its limits
//! over time.
//!
//! Rule: the account is computed round by round, as for live sockets. Memory is bounded. The
//! [`Replay::SOCKETS`] sockets with the most payload are kept. Each socket has at most
//! [`Replay::BANDS`] bands (periods with one limit); when there are more, the last band is
//! extended.

use std::{collections::HashMap, io::BufRead};

use fullpipe_tcp::Limit;

use super::{
    follow::{FollowedSocket, SocketTable},
    recording::{RecordError, RecordedRound, SocketRecording},
};

/// A period with one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketBand {
    /// Beginning, in microseconds since time 0 of the recording.
    pub at_us: u64,
    /// End, in microseconds since time 0 of the recording.
    pub end_us: u64,
    /// The main limit in this period; `None` if it is unknown.
    pub limit: Option<Limit>,
}

/// A socket of a recording.
#[derive(Clone, Debug)]
pub struct ReplayedSocket {
    /// The socket at its last observation, with its account.
    pub socket: FollowedSocket,
    /// Periods with one limit, in the order of time.
    pub bands: Vec<SocketBand>,
}

impl ReplayedSocket {
    /// Payload that the socket sent and received.
    pub fn moved(&self) -> u64 {
        self.socket.account.moved.iter().sum()
    }
}

/// The result of reading a recording.
#[derive(Debug, Default)]
pub struct Replay {
    /// Number of rounds.
    pub rounds: u64,
    /// Time of the last round, in microseconds since time 0.
    pub last_us: u64,
    /// The sockets. The one with the most payload comes first.
    pub sockets: Vec<ReplayedSocket>,
    /// Number of sockets that were not kept.
    pub omitted: u64,
    bands: HashMap<u64, Vec<SocketBand>>,
}

impl Replay {
    /// Largest number of sockets that are kept.
    pub const SOCKETS: usize = 10_000;
    /// Largest number of bands of a socket.
    pub const BANDS: usize = 1_024;

    /// Reads `recording` to its end, or until `goes_on` returns false. Also returns the error that
    /// ended the reading, if there was one.
    pub fn of<R: BufRead>(
        recording: &mut SocketRecording<R>,
        goes_on: &mut impl FnMut() -> bool,
    ) -> (Self, Option<RecordError>) {
        let mut replay = Self::default();
        let mut table = SocketTable::new();
        let mut error = None;
        while goes_on() {
            match recording.next_round() {
                Ok(Some(round)) => replay.round(&mut table, &round),
                Ok(None) => break,
                Err(failed) => {
                    error = Some(failed);
                    break;
                }
            }
        }
        for socket in table.sockets() {
            replay.keep(socket);
        }
        replay.leave_out();
        (replay, error)
    }

    /// The other end of the connection of `socket`, if both were recorded at the same time.
    pub fn other_end(&self, socket: &FollowedSocket) -> Option<&FollowedSocket> {
        let id = &socket.latest.id;
        let others = self.sockets.iter().map(|one| &one.socket);
        others
            .filter(|other| other.since_us <= socket.at_us && socket.since_us <= other.at_us)
            .find(|other| other.latest.id.local == id.peer && other.latest.id.peer == id.local)
            .filter(|other| other.latest.id.cookie != id.cookie)
    }

    fn round(&mut self, table: &mut SocketTable, round: &RecordedRound) {
        self.rounds += 1;
        self.last_us = round.at_us;
        table.begin_round();
        for socket in &round.sockets {
            table.observe(round.at_us, socket, &mut |_| {});
            if let Some(followed) = table.find(socket.id.cookie) {
                self.note(followed);
            }
        }
        for cookie in &round.gone {
            table.lose(*cookie);
        }
        table.end_round(round.at_us, &mut |_| {}, &mut |socket| self.keep(socket));
        if self.sockets.len() > 2 * Self::SOCKETS {
            self.leave_out();
        }
    }

    /// Records the limit of the interval that ends with the latest observation of `socket`.
    fn note(&mut self, socket: &FollowedSocket) {
        let bands = self.bands.entry(socket.latest.id.cookie).or_default();
        let band = SocketBand {
            at_us: bands.last().map_or(socket.since_us, |last| last.end_us),
            end_us: socket.at_us,
            limit: socket.account.now.limit,
        };
        let is_full = bands.len() >= Self::BANDS;
        match bands.last_mut() {
            Some(last) if last.limit == band.limit || is_full => last.end_us = band.end_us,
            Some(_) | None if band.end_us > band.at_us => bands.push(band),
            Some(_) | None => {}
        }
    }

    fn keep(&mut self, socket: &FollowedSocket) {
        let bands = self.bands.remove(&socket.latest.id.cookie);
        self.sockets.push(ReplayedSocket {
            socket: *socket,
            bands: bands.unwrap_or_default(),
        });
    }

    /// Sorts the sockets by payload, the largest first, and keeps only the first
    /// [`SOCKETS`](Self::SOCKETS).
    fn leave_out(&mut self) {
        self.sockets
            .sort_by_key(|socket| (std::cmp::Reverse(socket.moved()), socket.socket.since_us));
        self.omitted += self.sockets.len().saturating_sub(Self::SOCKETS) as u64;
        self.sockets.truncate(Self::SOCKETS);
    }
}
