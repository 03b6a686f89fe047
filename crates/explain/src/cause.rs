//! The causes of a limit, by name.
//!
//! Rule: a cause names something that somebody could change. Each row of the table of levers
//! (things that could be changed) names its cause; an impairment of a link is a cause under its own
//! name.

use fullpipe_scenario::experiment::RELIEFS;
use serde::{Serialize, Serializer};

/// Cause of a limit: the kind of lever that helps most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cause {
    /// The cause's name in JSON.
    pub name: &'static str,
    /// The cause as part of a sentence.
    pub words: &'static str,
}

/// Declares the causes that are not impairments of a link.
macro_rules! causes {
    ($($(#[doc = $doc:literal])+ $cause:ident = $name:literal, $words:literal;)+) => {
        impl Cause {
            $($(#[doc = $doc])+ pub const $cause: Self = Self { name: $name, words: $words };)+

            /// Every cause that is not an impairment of a link.
            const OF_HOSTS: &'static [Self] = &[$(Self::$cause),+];
        }
    };
}

causes! {
    /// The sending application writes no more, or not faster.
    APPLICATION = "application", "the sending application";
    /// Small writes of the sending application.
    WRITE_SIZE = "write_size", "the size of the writes";
    /// The number of connections.
    CONNECTIONS = "connections", "the number of connections";
    /// The receiving application reads no faster.
    SLOW_READER = "slow_reader", "the receiving application";
    /// The send buffer.
    SEND_BUFFER = "send_buffer", "the send buffer";
    /// The cap on what an application may set as its send buffer.
    SEND_BUFFER_LIMIT = "send_buffer_limit", "the cap on send buffers";
    /// The cap on unacknowledged payload.
    UNACKNOWLEDGED = "unacknowledged", "the cap on unacknowledged payload";
    /// The sender's packet memory.
    MEMORY = "memory", "the sender's packet memory";
    /// The receiver's buffer.
    RECEIVE_WINDOW = "receive_window", "the receive window";
    /// The window that the receiver advertises before anything has arrived.
    INITIAL_RECEIVE_WINDOW = "initial_receive_window", "the initial receive window";
    /// The cap on what an application may set as its receive buffer.
    RECEIVE_BUFFER_LIMIT = "receive_buffer_limit", "the cap on receive buffers";
    /// The receiver's packet memory.
    PEER_MEMORY = "peer_memory", "the receiver's packet memory";
    /// The receiver's cap on out-of-order payload.
    OUT_OF_ORDER = "out_of_order", "the out-of-order buffer";
    /// The sender's or the receiver's table of ranges.
    RANGE_TABLE = "range_table", "a table of sequence ranges";
    /// The receiver's memory for pieces of IP packets.
    REASSEMBLY = "reassembly", "the reassembly of IP packets";
    /// The initial window, or the end of slow start.
    SLOW_START = "slow_start", "slow start";
    /// The congestion control.
    CONGESTION = "congestion_control", "the congestion control";
    /// Pacing, or its cap.
    PACING = "pacing", "pacing";
    /// Congestion marks, or their absence.
    ECN = "ecn", "ECN";
    /// Rules and timers of loss recovery.
    RECOVERY = "loss_recovery", "loss recovery";
    /// Rules and timers by which a connection is given up.
    GIVING_UP = "giving_up", "the time after which the host aborts a connection";
    /// Connections to vanished peers still occupy packet memory.
    PEER_GONE = "peer_gone", "vanished peers";
    /// The size of the segments.
    SEGMENT_SIZE = "segment_size", "the size of segments";
    /// The rules by which writes become segments.
    SEGMENTATION = "segmentation", "the rules of segmentation";
    /// Small writes wait for acknowledgments.
    NAGLE = "nagle", "Nagle's algorithm";
    /// The application delays partial segments until it has written everything.
    CORK = "cork", "the application's cork";
    /// The receiver delays its ACKs.
    DELAYED_ACK = "delayed_ack", "the receiver's delayed ACKs";
    /// The receiver acknowledges too often for the direction of the ACKs or for a processor.
    ACK_FREQUENCY = "ack_frequency", "the frequency of ACKs";
    /// A host's processor.
    CPU = "host_cpu", "the processor";
    /// A device that cuts no segments, or merges none.
    OFFLOAD = "offload", "the offloads of the device";
    /// The receiver's descriptors.
    DESCRIPTORS = "descriptors", "the receive descriptors";
    /// The receive queue of datagrams that the application has not read.
    RECEIVE_QUEUE = "receive_queue", "the queue of received datagrams";
    /// The send queue of datagrams that have not left the host.
    SEND_QUEUE = "send_queue", "the queue of datagrams to send";
    /// The transmit queue of the device, or the part of it that one connection may fill.
    DEVICE = "device", "the transmit queue of the network device";
    /// The queue of packets for a neighbour whose link address is not resolved yet.
    NEIGHBOUR = "neighbour", "the queue of packets for an unresolved neighbour";
    /// Other flows take a part of a full link.
    SHARED_LINK = "shared_link", "the other flows on link";
    /// The tables of connections that are being opened.
    BACKLOG = "backlog", "the number of connections that may open at once";
    /// No connection was established.
    HANDSHAKE = "handshake", "the handshake";
    /// No part of the transfer that the budget allows to run predicts the whole transfer, so no
    /// lever was tried.
    UNKNOWN = "unknown", "an unknown cause";
    /// No lever that was tried helps.
    NOTHING = "none", "an unknown cause";
}

impl Cause {
    /// Every cause: those of hosts and applications, and every impairment of a link.
    pub fn all() -> impl Iterator<Item = Self> {
        let impairments = RELIEFS.iter().map(|relief| Self {
            name: relief.name,
            words: relief.words,
        });
        Self::OF_HOSTS.iter().copied().chain(impairments)
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}
