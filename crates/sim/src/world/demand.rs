//! Queue lengths that datagrams needed, and queues that overflowed.
//!
//! Rule: the types here are plain values; `account.rs` sets them.

use fullpipe_pool::{Duration, Instant};

use crate::account::QueueDemand;
use crate::datagrams::DatagramFlowId;

/// The queue that overflowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverflowPlace {
    /// The receive queue of the socket that receives the datagrams of this flow.
    ReceiveQueue(DatagramFlowId),
    /// The receive ring of the host.
    Ring,
}

/// Queue lengths that a flow of datagrams would have needed at its receiver, and the flow's losses
/// at both hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramDemand {
    /// Largest number of datagrams that would have waited for the reader in an unlimited
    /// receive queue.
    pub queue: u64,
    /// Largest number of frames that would have waited for the processor in an unlimited
    /// receive ring.
    pub ring: u64,
    /// Datagrams dropped because packet memory had no block for them.
    pub without_memory: u64,
    /// Packets that the sender's host dropped because the neighbour's address was
    /// not resolved yet.
    pub without_neighbour: u64,
}

/// The load of a host that receives datagrams: its receive ring and its processor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReceiverLoad {
    pub ring: QueueDemand,
    /// Time of the last update.
    pub at: Instant,
    /// Processor time spent until the last update.
    pub busy: Duration,
}
