//! Limits: what stops a connection from sending more, and for how long.
//!
//! Rule: the tightest bound on the bytes that may be sent *is* the limit, so the explanation is a
//! by-product of the decision and cannot differ from it. A clock charges time to exactly one limit
//! at a time, so the times over all limits add up to the clock's age. This file names the limits;
//! it decides nothing.

#[cfg(feature = "limit-clock")]
mod clock;
#[cfg(not(feature = "limit-clock"))]
mod off;
mod reason;

#[cfg(feature = "limit-clock")]
pub use clock::Clock;
#[cfg(not(feature = "limit-clock"))]
pub use off::Clock;
pub use reason::Reason;

/// Declares a set of mutually exclusive reasons: the enum, its names and its
/// count.
macro_rules! reasons {
    (
        $(#[$meta:meta])*
        pub enum $reason:ident { $( $(#[doc = $doc:literal])+ $variant:ident = $name:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $reason {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl $reason {
            /// All variants, in declaration order.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )+];
            /// Number of variants.
            pub const COUNT: usize = Self::ALL.len();

            /// Returns the name used in tables, traces and JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => $name, )+
                }
            }
        }

        impl core::fmt::Display for $reason {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }

        fullpipe_pool::record!(enum $reason { $( $variant, )+ });

        impl Reason for $reason {
            fn index(self) -> usize {
                self as usize
            }

            fn all() -> &'static [Self] {
                Self::ALL
            }

            fn name(self) -> &'static str {
                Self::name(self)
            }
        }
    };
}

reasons! {
    /// The bound that stops a sender from sending more. Exactly one limit applies at a time.
    pub enum Limit {
        /// Everything written has been sent; the application writes no more.
        Application = "application",
        /// Everything written has been sent, and the last write was refused or
        /// cut short because the send buffer was full.
        SendBuffer = "send_buffer",
        /// The peer's receive window is full.
        ReceiveWindow = "receive_window",
        /// The peer advertises a window of zero.
        ZeroWindow = "zero_window",
        /// The congestion window is full, in slow start.
        CwndSlowStart = "congestion_window_slow_start",
        /// The congestion window is full. Slow start ended without a loss and without a mark:
        /// HyStart++ found a growing delay, or BBR a full pipe.
        CwndSteady = "congestion_window_steady",
        /// The congestion window is full, and the response to a loss or to a retransmission
        /// timeout set its size. An undo of the response also restores the earlier limit.
        CwndAfterLoss = "congestion_window_after_loss",
        /// The congestion window is full, and the response to a congestion mark set its size.
        CwndAfterMark = "congestion_window_after_mark",
        /// The congestion window is full. An idle time longer than the retransmission timeout has
        /// reduced the window, and it has not grown to its earlier size again. RFC 5681 §4.1.
        CwndAfterIdle = "congestion_window_after_idle",
        /// The pacing rate delays the next segment.
        Pacing = "pacing",
        /// The device's queue is full, or the neighbour is not resolved yet.
        Device = "device",
        /// Less than a segment is unsent, and Nagle or a cork delays it.
        Nagle = "nagle",
        /// Lost segments are being retransmitted.
        Recovery = "recovery",
        /// Everything written has been sent, and the last write was refused or
        /// cut short because packet memory had no free block.
        Memory = "memory",
        /// The connection is not established yet.
        Handshake = "handshake",
        /// Everything has been sent, including FIN.
        Closing = "closing",
        /// A datagram is due, and the processor works on something else. Not a limit of
        /// connections: their clocks leave out this last variant.
        Processor = "processor",
    }
}

reasons! {
    /// The state of the receiver that limits its sender. Exactly one limit applies at a time.
    pub enum ReceiveLimit {
        /// The window has room for a segment: the receiver does not limit the
        /// sender.
        None = "none",
        /// The window, or the queue of received datagrams, is full although the application
        /// reads in time.
        Buffer = "receive_buffer",
        /// The window is full of payload that the application has not read.
        Reader = "slow_reader",
        /// Payload waits behind a hole.
        Hole = "reassembly_hole",
        /// The window is smaller than the buffer allows, because packet memory
        /// could not back more.
        Memory = "memory",
        /// A datagram waits, and the processor works on something else. Not a limit of
        /// connections: their clocks leave out this variant and the next.
        Processor = "processor",
        /// The device's receive ring, its queue of buffers for arriving frames, is full.
        Descriptors = "descriptors",
    }
}

/// Clock of a connection's sender: all limits but [`Limit::Processor`].
pub type LimitClock = Clock<Limit, { Limit::Processor as usize }>;
/// Clock of a connection's receiver: all limits before [`ReceiveLimit::Processor`].
pub type ReceiveClock = Clock<ReceiveLimit, { ReceiveLimit::Processor as usize }>;

/// Bytes that may be sent, and the bound that allows no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Bytes that may be sent.
    pub room: u32,
    /// The tightest bound.
    pub bound_by: Limit,
}

/// Returns the tightest of `bounds`, pairs of a limit and the bytes that it
/// allows. Of two equally tight bounds the first wins.
///
/// # Panics
/// Panics if `bounds` is empty, because nothing would then stop the sender.
pub fn tightest(bounds: &[(Limit, u32)]) -> Allowance {
    let (bound_by, room) = *bounds
        .iter()
        .min_by_key(|(_, room)| *room)
        .expect("at least one bound");
    Allowance { room, bound_by }
}

#[cfg(all(test, feature = "limit-clock"))]
mod tests;
