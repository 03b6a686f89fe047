//! What is stopping a connection from sending more, and for how long.
//!
//! Rule: the bound that gave the minimum *is* the limit, so attribution is a
//! by-product of the decision and cannot drift away from it. A clock is always
//! in exactly one limit, so the times over all limits add up to its lifetime.
//! This file measures; it decides nothing.

use fullpipe_pool::{Duration, Instant};

/// Declares an exclusive set of reasons: the enum, its names and its count.
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
            /// Every variant, in declaration order.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )+];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The name in tables, traces and JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => $name, )+
                }
            }
        }

        impl Reason for $reason {
            fn index(self) -> usize {
                self as usize
            }

            fn all() -> &'static [Self] {
                Self::ALL
            }
        }
    };
}

/// A set of reasons that a [`Clock`] can tell apart.
pub trait Reason: Copy + PartialEq + 'static {
    /// The reason's place in [`all`](Self::all).
    fn index(self) -> usize;

    /// Every reason.
    fn all() -> &'static [Self];
}

reasons! {
    /// What holds a sender back. One at a time, always exactly one.
    pub enum Limit {
        /// Everything written has been sent; the application writes no more.
        Application = "application",
        /// Everything written has been sent, and the last write was refused or
        /// cut short because the send buffer was full.
        SendBuffer = "send_buffer",
        /// The peer's receive window is used up.
        ReceiveWindow = "receive_window",
        /// The peer advertises no window at all.
        ZeroWindow = "zero_window",
        /// The congestion window is used up while it grows exponentially.
        CwndSlowStart = "congestion_window_slow_start",
        /// The congestion window is used up; no loss has been seen yet.
        CwndSteady = "congestion_window_steady",
        /// The congestion window is used up, and a loss set its size.
        CwndAfterLoss = "congestion_window_after_loss",
        /// The pacing rate allows the next segment only later.
        Pacing = "pacing",
        /// The device's queue is full, or the neighbour is not resolved yet.
        Device = "device",
        /// Less than a segment is waiting, and Nagle or a cork holds it.
        Nagle = "nagle",
        /// Lost segments are being repaired.
        Recovery = "recovery",
        /// Like [`SendBuffer`](Self::SendBuffer), but it was packet memory that
        /// had no block for the write.
        Memory = "memory",
        /// The connection is not established yet.
        Handshake = "handshake",
        /// Everything has been sent, FIN too.
        Closing = "closing",
    }
}

reasons! {
    /// What a receiver does to its sender. One at a time, always exactly one.
    pub enum ReceiveLimit {
        /// The window has room for a segment: whatever holds the sender back,
        /// it is not this end.
        None = "none",
        /// The whole window is in use although the application reads in time.
        Buffer = "receive_buffer",
        /// The window is closed by data that the application has not read.
        Reader = "slow_reader",
        /// Data waits behind a gap that a lost or late segment left.
        Hole = "reassembly_hole",
        /// The window is smaller than the buffer allows, because packet memory
        /// could not back more.
        Memory = "memory",
    }
}

/// Time and bytes by reason; the times add up to the clock's age exactly.
#[derive(Clone, Debug)]
pub struct Clock<R: Reason, const N: usize> {
    current: R,
    since: Instant,
    time: [Duration; N],
    bytes: [u64; N],
}

/// The sender's clock.
pub type LimitClock = Clock<Limit, { Limit::COUNT }>;
/// The receiver's clock.
pub type ReceiveClock = Clock<ReceiveLimit, { ReceiveLimit::COUNT }>;

impl<R: Reason, const N: usize> Clock<R, N> {
    /// A clock that starts at `now` with `reason`.
    pub const fn start(reason: R, now: Instant) -> Self {
        Self {
            current: reason,
            since: now,
            time: [Duration::ZERO; N],
            bytes: [0; N],
        }
    }

    /// The reason that holds now.
    pub const fn current(&self) -> R {
        self.current
    }

    /// From `now` on, `reason` holds. Returns whether that is a change.
    pub fn set(&mut self, reason: R, now: Instant) -> bool {
        if reason == self.current {
            return false;
        }
        self.time[self.current.index()] = self.time_at(self.current, now);
        self.current = reason;
        self.since = now;
        true
    }

    /// Charges `bytes` to the reason that held until they moved.
    pub fn charge_bytes(&mut self, bytes: u32) {
        self.bytes[self.current.index()] += u64::from(bytes);
    }

    /// How long `reason` has held in all, as of `now`.
    pub fn time_at(&self, reason: R, now: Instant) -> Duration {
        let running = if reason == self.current {
            now.since(self.since)
        } else {
            Duration::ZERO
        };
        self.time[reason.index()] + running
    }

    /// Bytes charged to `reason`.
    pub fn bytes(&self, reason: R) -> u64 {
        self.bytes[reason.index()]
    }

    /// Every reason with its time as of `now` and its bytes.
    pub fn shares(&self, now: Instant) -> impl Iterator<Item = (R, Duration, u64)> + '_ {
        R::all()
            .iter()
            .map(move |&reason| (reason, self.time_at(reason, now), self.bytes(reason)))
    }
}

/// The outcome of weighing bounds against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Bytes that may be sent.
    pub room: u32,
    /// The bound that allows no more than that.
    pub bound_by: Limit,
}

/// The tightest of `bounds`, which are pairs of a limit and the bytes it
/// allows. Where two are equally tight the first wins.
///
/// # Panics
/// If there is no bound: nothing would ever stop the sender.
pub fn tightest(bounds: &[(Limit, u32)]) -> Allowance {
    let (bound_by, room) = *bounds
        .iter()
        .min_by_key(|(_, room)| *room)
        .expect("at least one bound");
    Allowance { room, bound_by }
}

#[cfg(test)]
mod tests;
