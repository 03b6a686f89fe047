//! A UDP socket at one moment, as `ss -uanm` shows it.
//!
//! Rule: a name from `ss` has the same meaning and the same unit here. In addition to the fields of
//! `ss`, there are queue lengths in datagrams, because some systems limit queues in datagrams
//! instead of bytes.

use std::fmt;

use fullpipe::UdpInfo;
use serde::Serialize;

use super::sockets::{Memory, write_head};

/// A UDP socket.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UdpSocket {
    /// Time, in nanoseconds from the start of the run.
    pub at_ns: u64,
    /// Name of the host.
    pub host: String,
    /// Name of the host at the other end.
    pub peer: String,
    /// Name of the flow, and the number of the sender in the flow, from 1.
    pub flow: String,
    /// `UNCONN`, the state of a socket that is bound but not connected.
    pub state: &'static str,
    /// Bytes received but not read.
    pub recv_q: u64,
    /// Bytes written but not sent.
    pub send_q: u64,
    /// Memory of the socket.
    pub skmem: Memory,
    /// Datagrams received but not read.
    pub recv_datagrams: usize,
    /// Largest number of datagrams in the receive queue so far.
    pub recv_datagrams_most: usize,
    /// Datagrams written but not sent.
    pub send_datagrams: usize,
    /// Largest number of datagrams in the send queue so far.
    pub send_datagrams_most: usize,
}

impl UdpSocket {
    /// Creates the record of the socket on `host` with `info`, at time `at_ns`.
    pub fn of(at_ns: u64, host: &str, peer: &str, flow: String, info: UdpInfo) -> Self {
        let UdpInfo {
            unread,
            unsent,
            drops,
        } = info;
        Self {
            at_ns,
            host: host.to_string(),
            peer: peer.to_string(),
            flow,
            state: "UNCONN",
            recv_q: unread.bytes,
            send_q: unsent.bytes,
            skmem: Memory {
                r: unread.bytes,
                rb: unread.most_bytes,
                tb: unsent.most_bytes,
                w: unsent.bytes,
                d: drops,
                ..Memory::default()
            },
            recv_datagrams: unread.datagrams,
            recv_datagrams_most: unread.most_datagrams,
            send_datagrams: unsent.datagrams,
            send_datagrams_most: unsent.most_datagrams,
        }
    }
}

impl fmt::Display for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_head(
            f,
            self.at_ns,
            self.state,
            [self.recv_q, self.send_q],
            [&self.host, &self.peer, &self.flow],
        )?;
        write!(
            f,
            "\t {} recv_datagrams:{}/{} send_datagrams:{}/{}",
            self.skmem,
            self.recv_datagrams,
            self.recv_datagrams_most,
            self.send_datagrams,
            self.send_datagrams_most
        )
    }
}
