//! One query to one server.
//!
//! Rule: each attempt has a socket of its own, and its DNS message has an id that no other host can
//! guess.

use std::{hash::Hasher, net::SocketAddr};

use siphasher::sip::SipHasher24;

use crate::message::Query;

/// Identifies one query to one server. The program has a socket for each query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptId(u64);

/// The protocol that carries a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A datagram.
    Udp,
    /// A connection; each message follows its length in two bytes. RFC 7766 §8.
    Tcp,
}

impl Transport {
    /// Returns the payload that carries a message.
    pub(super) fn framed(self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Udp => message.to_vec(),
            Self::Tcp => {
                let length = (message.len() as u16).to_be_bytes();
                [&length[..], message].concat()
            }
        }
    }
}

/// A query to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The attempt, by which the resolver knows the socket.
    pub attempt: AttemptId,
    /// The destination.
    pub server: SocketAddr,
    /// The protocol.
    pub transport: Transport,
    /// The payload of the datagram, or the first bytes to send on the connection.
    pub payload: Vec<u8>,
}

/// A query that may still be answered.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) id: AttemptId,
    pub(super) server: SocketAddr,
    pub(super) transport: Transport,
    pub(super) query: Query,
}

/// Generates the ids of attempts, and the ids of their DNS messages. An attempt's id is a counter.
/// The message's id is the SipHash of this counter, so earlier ids do not help to guess later ones.
#[derive(Debug)]
pub(super) struct Ids {
    secret: [u8; 16],
    last: u64,
}

impl Ids {
    pub(super) const fn new(secret: [u8; 16]) -> Self {
        Self { secret, last: 0 }
    }

    pub(super) fn next(&mut self) -> (AttemptId, u16) {
        self.last += 1;
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write_u64(self.last);
        (AttemptId(self.last), hasher.finish() as u16)
    }
}
