//! Writes a stream: how much, in which sizes, at which pace.
//!
//! Rule: a write that the stack cuts short is continued with its rest, as
//! `writeall` does; the next size is taken when a write is whole. Whether the
//! stack may cut a write is the stack's knob, not known here.

use fullpipe_pool::{Duration, Instant, Rng};
use fullpipe_tcp::SocketOption;
use serde::{Deserialize, Serialize};

use super::{NextRun, Socket};

/// How much is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Amount {
    /// This many bytes.
    Bytes(u64),
    /// As much as goes, for this long from the first write on.
    For(#[serde(with = "crate::text_forms::duration")] Duration),
}

/// The sizes of writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WriteSize {
    /// All the same, in bytes.
    Fixed(u64),
    /// Each anew from 1 to `max` bytes, small ones as likely as large ones.
    Odd {
        /// Largest write.
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

/// What a writer does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WritePlan {
    /// How much.
    pub amount: Amount,
    /// In which pieces.
    pub size: WriteSize,
    /// Rest after each whole write.
    #[serde(with = "crate::text_forms::duration")]
    pub pause: Duration,
    /// Room in bytes that it waits for when the send buffer is full; 0 leaves it
    /// to the stack.
    pub low_water: u32,
    /// Less than a segment is held until all is written (`SO_NOPUSH`).
    pub no_push: bool,
}

impl WritePlan {
    /// `bytes` in writes of `size`, without rest.
    pub const fn bulk(bytes: u64, size: u64) -> Self {
        Self {
            amount: Amount::Bytes(bytes),
            size: WriteSize::Fixed(size),
            pause: Duration::ZERO,
            low_water: 0,
            no_push: false,
        }
    }

    /// Writes of `size` for as long as `length`, without rest.
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

/// A writer at work.
#[derive(Debug)]
pub struct Writer {
    /// Draws the sizes of writes.
    sizes: Rng,
    plan: WritePlan,
    started: Option<Instant>,
    written: u64,
    /// What is left of the current write.
    rest: u64,
    not_before: Instant,
}

impl Writer {
    /// A writer that has not begun.
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

    /// Writes until the socket is full, a pause begins, or all is written.
    /// Returns whether it is, and when to go on.
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
            // A deadline ends a write that is under way; a pause does not.
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

    /// Bytes the stack has taken.
    pub fn written(&self) -> u64 {
        self.written
    }
}
