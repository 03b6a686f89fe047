//! Writes a stream: amount, sizes of writes, pauses.
//!
//! Rule: if the stack accepts only a part of a write, the next write is the remaining part, as in
//! Rust's `write_all`. The next size is drawn when a write is complete. The knob (setting of the
//! stack) `tcp.write_atomic` decides whether the stack accepts parts of writes.

use fullpipe_pool::{Duration, Instant, Rng};
use fullpipe_tcp::SocketOption;
use serde::{Deserialize, Serialize};

use super::interface::{NextRun, Socket};

/// The total amount written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Amount {
    /// This many bytes.
    Bytes(u64),
    /// As many bytes as the stack accepts in this time after the first write.
    For(#[serde(with = "crate::text_forms::duration")] Duration),
}

/// The sizes of writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WriteSize {
    /// Every write has this many bytes.
    Fixed(u64),
    /// Each write has a random size from 1 to `max` bytes; all orders of magnitude are about
    /// equally likely.
    Odd {
        /// Largest size of a write, in bytes.
        max: u64,
        /// Seed of the generator that draws the sizes.
        #[serde(with = "crate::text_forms::seed")]
        seed: u64,
    },
}

impl WriteSize {
    fn generator(&self) -> Rng {
        match *self {
            Self::Fixed(_) => Rng::seeded(0),
            Self::Odd { seed, .. } => Rng::seeded(seed),
        }
    }

    fn next(&self, rng: &mut Rng) -> u64 {
        match *self {
            Self::Fixed(size) => size,
            Self::Odd { max, .. } => {
                let octave = rng.between(0, u64::from(max.ilog2()));
                rng.between(1, max.min(2 << octave))
            }
        }
    }
}

/// The plan of a writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WritePlan {
    /// Total amount.
    pub amount: Amount,
    /// Sizes of writes.
    pub size: WriteSize,
    /// Pause after each complete write.
    #[serde(with = "crate::text_forms::duration")]
    pub pause: Duration,
    /// Free bytes in the send buffer that the writer waits for after it found the buffer
    /// full; 0 for the stack's choice.
    pub low_water: u32,
    /// A partial segment waits until everything is written or `tcp.cork_timeout` has
    /// passed (`TCP_CORK`, netburner's `SO_NOPUSH`).
    pub no_push: bool,
}

impl WritePlan {
    /// A plan to write `bytes` in writes of `size`, without pauses.
    pub const fn bulk(bytes: u64, size: u64) -> Self {
        Self {
            amount: Amount::Bytes(bytes),
            size: WriteSize::Fixed(size),
            pause: Duration::ZERO,
            low_water: 0,
            no_push: false,
        }
    }

    /// A plan to write for the time `length`, in writes of `size` without pauses.
    pub const fn lasting(length: Duration, size: u64) -> Self {
        Self {
            amount: Amount::For(length),
            size: WriteSize::Fixed(size),
            pause: Duration::ZERO,
            low_water: 0,
            no_push: false,
        }
    }
}

/// A writer in operation.
#[derive(Debug)]
pub struct Writer {
    /// Draws the sizes of writes.
    sizes: Rng,
    plan: WritePlan,
    started: Option<Instant>,
    written: u64,
    /// Bytes of the current write that the stack has not accepted yet.
    rest: u64,
    not_before: Instant,
}

impl Writer {
    /// A writer that has not started.
    pub fn new(plan: WritePlan) -> Self {
        Self {
            sizes: plan.size.generator(),
            plan,
            started: None,
            written: 0,
            rest: 0,
            not_before: Instant::ZERO,
        }
    }

    /// Writes until the socket is full, a pause begins, or everything is written. Returns two
    /// values: true if everything is written, and the time of the next run.
    pub fn run(&mut self, socket: &mut dyn Socket) -> (bool, NextRun) {
        if self.started.is_none() {
            self.set_up(socket);
        }
        let started = *self.started.get_or_insert(socket.now());
        loop {
            let left = match self.plan.amount {
                Amount::Bytes(all) => all - self.written,
                Amount::For(length) if socket.now().since(started) < length => u64::MAX,
                Amount::For(_) => 0,
            };
            if left == 0 {
                if std::mem::take(&mut self.plan.no_push) {
                    socket.set(SocketOption::Cork(false));
                }
                return (true, NextRun::OnEvent);
            }
            // Run again at the end of the plan's time, even if a write is incomplete: the rest of
            // that write is then dropped.
            let deadline = match self.plan.amount {
                Amount::Bytes(_) => NextRun::OnEvent,
                Amount::For(length) => NextRun::At(started + length),
            };
            if self.rest == 0 {
                if socket.now() < self.not_before {
                    return (false, deadline.or(NextRun::At(self.not_before)));
                }
                self.rest = self.plan.size.next(&mut self.sizes);
            }
            let taken = socket.write(self.rest.min(left));
            if taken == 0 {
                return (false, deadline);
            }
            self.written += taken;
            self.rest = self.rest.min(left) - taken;
            if self.rest == 0 {
                self.not_before = socket.now() + self.plan.pause;
            }
        }
    }

    fn set_up(&self, socket: &mut dyn Socket) {
        if self.plan.low_water > 0 {
            socket.set(SocketOption::SendLowWater(self.plan.low_water));
        }
        if self.plan.no_push {
            socket.set(SocketOption::Cork(true));
        }
    }

    /// Bytes that the stack has accepted.
    pub fn written(&self) -> u64 {
        self.written
    }
}
