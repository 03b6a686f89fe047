//! A host's processor: what work costs, and what it is at.
//!
//! Rule: one processor does one thing at a time, and what it has begun it
//! finishes. Frames that arrive meanwhile wait in the receive ring, and are lost
//! when that is full. A processor that costs nothing is as if there were none.
//! What the work is, is the host's part (`world/processor.rs`).

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use fullpipe_pool::{Duration, Instant};

use crate::datagrams::DatagramFlowId;
use crate::flow::{EndId, Side};

/// What one frame costs in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameCost {
    /// However long it is.
    #[serde(with = "crate::text_forms::duration")]
    pub packet: Duration,
    /// For each of its bytes, link header included, in picoseconds.
    pub byte_ps: u64,
}

impl FrameCost {
    const NONE: Self = Self {
        packet: Duration::ZERO,
        byte_ps: 0,
    };

    /// Time for a frame of `len` bytes.
    pub const fn of(&self, len: usize) -> Duration {
        let bytes = Duration::from_nanos((len as u64 * self.byte_ps).div_ceil(1_000));
        Duration::from_nanos(self.packet.as_nanos() + bytes.as_nanos())
    }
}

/// What work costs a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuModel {
    /// A frame taken from the receive ring: driver and stack.
    pub receive: FrameCost,
    /// A frame made and put into the transmit ring.
    pub send: FrameCost,
    /// Each time that an application is run: the switch to it and its calls.
    #[serde(with = "crate::text_forms::duration")]
    pub call: Duration,
    /// Applications go before the driver and the stack, and not after them.
    pub applications_first: bool,
}

impl CpuModel {
    /// A processor that takes no time.
    pub const FREE: Self = Self {
        receive: FrameCost::NONE,
        send: FrameCost::NONE,
        call: Duration::ZERO,
        applications_first: false,
    };

    /// Whether nothing costs anything.
    pub fn is_free(&self) -> bool {
        let Self {
            receive,
            send,
            call,
            ..
        } = *self;
        receive == FrameCost::NONE && send == FrameCost::NONE && call.is_zero()
    }
}

/// An application that waits for the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppTask {
    /// Its own time has come.
    End(EndId),
    /// It has datagrams to send or to read.
    Datagrams(DatagramFlowId, Side),
}

/// A processor at work.
#[derive(Debug)]
pub(crate) struct Cpu {
    pub model: CpuModel,
    busy_until: Instant,
    /// All time that was ever begun.
    spent: Duration,
    /// Applications that wait for it, beside those that the stack has news for.
    waiting: VecDeque<AppTask>,
}

impl Cpu {
    /// A processor that has done nothing yet.
    pub fn new(model: CpuModel) -> Self {
        Self {
            model,
            busy_until: Instant::ZERO,
            spent: Duration::ZERO,
            waiting: VecDeque::new(),
        }
    }

    /// `task` waits, once, behind those that wait already.
    pub fn wait(&mut self, task: AppTask) {
        if !self.waiting.contains(&task) {
            self.waiting.push_back(task);
        }
    }

    /// The task that waits longest.
    pub fn next_task(&mut self) -> Option<AppTask> {
        self.waiting.pop_front()
    }

    /// Whether applications go before the driver and the stack.
    pub fn applications_first(&self) -> bool {
        self.model.applications_first
    }

    /// Whether it is at something at `now`.
    pub fn is_busy(&self, now: Instant) -> bool {
        self.busy_until > now
    }

    /// It is at something for `cost`. Returns when it is free again.
    pub fn begin(&mut self, now: Instant, cost: Duration) -> Instant {
        debug_assert!(!self.is_busy(now), "one thing at a time");
        self.busy_until = now + cost;
        self.spent += cost;
        self.busy_until
    }

    /// Time in which it was at something until `now`.
    pub fn busy(&self, now: Instant) -> Duration {
        self.spent - self.busy_until.since(now)
    }
}
