//! The limits of a transfer, by name.
//!
//! Rule: a cause is one thing that a person could change or must accept. Several limits
//! of the stack may have one cause, and one limit may have several.

use serde::{Serialize, Serializer};

/// Declares the causes with their names, headings, and words within a sentence.
macro_rules! causes {
    ($($(#[doc = $doc:literal])+ $cause:ident = $name:literal, $heading:literal, $then:literal;)+) => {
        /// Cause of a limit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Cause {
            $($(#[doc = $doc])+ $cause,)+
        }

        impl Cause {
            /// Every cause.
            pub const ALL: &'static [Self] = &[$(Self::$cause),+];

            /// Its name in JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$cause => $name),+ }
            }

            /// Its heading.
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
    /// A link carries no more.
    Path = "path", "Path", "the path";
    /// The sending application writes no more, or not faster.
    Application = "application", "Application", "the sending application";
    /// The send buffer is full of unacknowledged payload.
    SendBuffer = "send_buffer", "Send buffer", "the send buffer";
    /// The cap on what an application may set as its send buffer.
    SendBufferLimit = "send_buffer_limit", "Send buffer's cap", "the cap on send buffers";
    /// The cap on unacknowledged payload.
    Unacknowledged = "unacknowledged", "Unacknowledged", "the cap on unacknowledged payload";
    /// The send buffer holds less than two segments, so the peer's delayed-ACK timer
    /// paces it.
    DelayedAck = "delayed_ack", "Delayed ACK", "the peer's delayed-ACK timer";
    /// The sender's packet memory.
    Memory = "memory", "Memory", "the sender's packet memory";
    /// The receiver's buffer.
    ReceiveWindow = "receive_window", "Receive window", "the receive window";
    /// The window that the receiver advertises before anything has arrived.
    InitialReceiveWindow = "initial_receive_window", "Initial receive window", "the initial receive window";
    /// The cap on what an application may set as its receive buffer.
    ReceiveBufferLimit = "receive_buffer_limit", "Receive buffer's cap", "the cap on receive buffers";
    /// The receiver's packet memory.
    PeerMemory = "peer_memory", "Receiver's memory", "the receiver's packet memory";
    /// The receiving application reads no faster.
    SlowReader = "slow_reader", "Slow reader", "the receiving application";
    /// Payload behind holes fills the receiver's buffer.
    Reassembly = "reassembly", "Reassembly", "out-of-order payload in the receive buffer";
    /// The receiver's cap on out-of-order payload.
    OutOfOrder = "out_of_order", "Out-of-order buffer", "the out-of-order buffer";
    /// The sender's or the receiver's table of ranges is too small for the losses.
    RangeTable = "range_table", "Range table", "a table of ranges";
    /// A closed window, for a reason that the receiver's limits do not show.
    ZeroWindow = "zero_window", "Zero window", "the peer's closed window";
    /// The congestion window was still growing.
    SlowStart = "slow_start", "Congestion window (slow start)", "slow start";
    /// The congestion window, without any loss.
    Congestion = "congestion_window", "Congestion window", "the congestion window";
    /// Losses, and the response of congestion control.
    Loss = "loss", "Loss", "losses";
    /// The pacing rate.
    Pacing = "pacing", "Pacing", "pacing";
    /// Peers are gone, and their connections still hold memory.
    PeerGone = "peer_gone", "Peer gone", "peers that are gone";
    /// A host's processor.
    Cpu = "host_cpu", "Host CPU", "a host's processor";
    /// The receiver's descriptors.
    Descriptors = "descriptors", "Descriptors", "the receive descriptors";
    /// The queue of datagrams that their reader has not read yet.
    ReceiveQueue = "receive_queue", "Receive queue", "the queue of received datagrams";
    /// The transmit queue of the device.
    Device = "device", "Device", "the device's queue";
    /// Small writes wait for acknowledgments.
    Nagle = "nagle", "Nagle", "Nagle's algorithm";
    /// The application delays partial segments until it has written everything.
    Cork = "cork", "Cork", "the application's cork";
    /// The connection was in the handshake all the time.
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
