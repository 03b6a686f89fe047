//! What can bind a transfer, by name.
//!
//! Rule: a cause is one thing that a person could change or has to live with;
//! several of the stack's limits may be the same cause, and one limit several.
//! Which one held is told elsewhere.

use serde::{Serialize, Serializer};

/// Declares the causes with their names, headings, and what is waited for.
macro_rules! causes {
    ($($(#[doc = $doc:literal])+ $cause:ident = $name:literal, $heading:literal, $then:literal;)+) => {
        /// What binds a transfer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Cause {
            $($(#[doc = $doc])+ $cause,)+
        }

        impl Cause {
            /// Every cause.
            pub const ALL: &'static [Self] = &[$(Self::$cause),+];

            /// The name in the JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$cause => $name),+ }
            }

            /// The word at the start of a sentence.
            pub const fn heading(self) -> &'static str {
                match self { $(Self::$cause => $heading),+ }
            }

            /// The words within a sentence.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$cause => $then),+ }
            }
        }
    };
}

causes! {
    /// The links carry no more.
    Path = "path", "Path", "the path";
    /// The sending application writes no more.
    Application = "application", "Application", "the sending application";
    /// The send buffer holds no more until some of it is acknowledged.
    SendBuffer = "send_buffer", "Send buffer", "the send buffer";
    /// The cap on what an application may set as its send buffer.
    SendBufferLimit = "send_buffer_limit", "Send buffer's cap", "the cap on send buffers";
    /// The count of what may be sent and not acknowledged.
    Unacknowledged = "unacknowledged", "Unacknowledged", "what may be unacknowledged";
    /// The send buffer holds less than two segments, so the peer's timer for
    /// delayed acknowledgments paces it.
    DelayedAck = "delayed_ack", "Delayed ACK", "the peer's delayed-ACK timer";
    /// The sender's packet memory.
    Memory = "memory", "Memory", "the sender's packet memory";
    /// The receiver's buffer.
    ReceiveWindow = "receive_window", "Receive window", "the receive window";
    /// The cap on what an application may set as its receive buffer.
    ReceiveBufferLimit = "receive_buffer_limit", "Receive buffer's cap", "the cap on receive buffers";
    /// The receiver's packet memory.
    PeerMemory = "peer_memory", "Receiver's memory", "the receiver's packet memory";
    /// The receiving application reads no faster.
    SlowReader = "slow_reader", "Slow reader", "the receiving application";
    /// What lies behind gaps fills the receiver's buffer.
    Reassembly = "reassembly", "Reassembly", "what is held behind gaps";
    /// What the receiver may hold of text that came ahead of its turn.
    OutOfOrder = "out_of_order", "Out-of-order buffer", "the out-of-order buffer";
    /// No window, for no reason that the receiver's own account knows.
    ZeroWindow = "zero_window", "Zero window", "the peer's closed window";
    /// The congestion window was still growing.
    SlowStart = "slow_start", "Congestion window (slow start)", "slow start";
    /// The congestion window, without a loss.
    Congestion = "congestion_window", "Congestion window", "the congestion window";
    /// Losses, and what congestion control makes of them.
    Loss = "loss", "Loss", "losses";
    /// The pacing rate.
    Pacing = "pacing", "Pacing", "pacing";
    /// Peers are gone, and what is written for them is held all the same.
    PeerGone = "peer_gone", "Peer gone", "peers that are gone";
    /// A host's processor.
    Cpu = "host_cpu", "Host CPU", "a host's processor";
    /// The receiver's descriptors.
    Descriptors = "descriptors", "Descriptors", "the receive descriptors";
    /// The queue of datagrams that wait for their reader.
    ReceiveQueue = "receive_queue", "Receive queue", "the queue of received datagrams";
    /// The device's queue.
    Device = "device", "Device", "the device's queue";
    /// Small writes wait for acknowledgments.
    Nagle = "nagle", "Nagle", "Nagle's algorithm";
    /// The connection was being opened all the time.
    Handshake = "handshake", "Handshake", "the handshake";
    /// The connection was being closed all the time.
    Closing = "closing", "Closing", "closing";
    /// There was no connection.
    Nothing = "none", "None", "nothing known";
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
