//! A host's processor: the cost of its work, and the time at which it is free.
//!
//! Rule: a processor does one thing at a time and finishes it. Frames that arrive meanwhile wait in
//! the receive ring; a full ring drops them. A processor whose work costs nothing has no effect.
//! The work itself is in `world/processor.rs`.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use fullpipe_pool::{Duration, Instant};

use crate::datagrams::DatagramFlowId;
use crate::flow::{EndId, Side};

/// The cost of one frame in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameCost {
    /// Processor time for each frame, whatever its length.
    #[serde(with = "crate::text_forms::duration")]
    pub packet: Duration,
    /// Time for each byte of the frame, link header included, in picoseconds.
    pub byte_ps: u64,
}

impl FrameCost {
    const NONE: Self = Self {
        packet: Duration::ZERO,
        byte_ps: 0,
    };

    /// Processor time for a frame of `len` bytes.
    pub const fn of(&self, len: usize) -> Duration {
        let bytes_ns = (len as u64).saturating_mul(self.byte_ps).div_ceil(1_000);
        Duration::from_nanos(self.packet.as_nanos().saturating_add(bytes_ns))
    }
}

/// The cost of a host's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuModel {
    /// Cost of taking a frame from the receive ring, in the driver and the stack.
    pub receive: FrameCost,
    /// Cost of making a frame and putting it into the transmit ring.
    pub send: FrameCost,
    /// Cost of each run of an application: the context switch and the calls of the application.
    #[serde(with = "crate::text_forms::duration")]
    pub call: Duration,
    /// Applications run before the driver and the stack instead of after them.
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

    /// Returns true if no work costs anything.
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
    /// The timer of this end's application has expired.
    End(EndId),
    /// This side of a flow has datagrams to send or to read.
    Datagrams(DatagramFlowId, Side),
}

/// A processor in operation.
#[derive(Debug)]
pub(crate) struct Cpu {
    pub model: CpuModel,
    busy_until: Instant,
    /// Processor time of all work that was started.
    spent: Duration,
    /// Start and end of each piece of work since the last [`take_work`](Self::take_work); `None` if
    /// work is not recorded.
    work: Option<Vec<(Instant, Instant)>>,
    /// Applications whose timers have expired and that wait for the processor. Applications that
    /// the stack's events wake are not in this list.
    waiting: VecDeque<AppTask>,
}

impl Cpu {
    /// A processor that has done nothing yet.
    pub fn new(model: CpuModel) -> Self {
        Self {
            model,
            busy_until: Instant::ZERO,
            spent: Duration::ZERO,
            work: None,
            waiting: VecDeque::new(),
        }
    }

    /// Records every piece of work from now on.
    pub fn record_work(&mut self) {
        self.work.get_or_insert_default();
    }

    /// Returns the start and end of each piece of work recorded since the last call.
    pub fn take_work(&mut self) -> Vec<(Instant, Instant)> {
        self.work.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Adds `task` at the end of the waiting tasks, if `task` is not waiting already.
    pub fn wait(&mut self, task: AppTask) {
        if !self.waiting.contains(&task) {
            self.waiting.push_back(task);
        }
    }

    /// Removes and returns the task that has waited longest.
    pub fn next_task(&mut self) -> Option<AppTask> {
        self.waiting.pop_front()
    }

    /// Returns true if applications run before the driver and the stack.
    pub fn applications_first(&self) -> bool {
        self.model.applications_first
    }

    /// Returns true if the processor is working at `now`.
    pub fn is_busy(&self, now: Instant) -> bool {
        self.busy_until > now
    }

    /// Starts work of this cost. Returns the time at which the processor is free
    /// again.
    pub fn begin(&mut self, now: Instant, cost: Duration) -> Instant {
        debug_assert!(!self.is_busy(now), "the processor is already working");
        self.busy_until = now + cost;
        self.spent += cost;
        if let Some(work) = &mut self.work {
            work.push((now, self.busy_until));
        }
        self.busy_until
    }

    /// Processor time spent until `now`.
    pub fn busy(&self, now: Instant) -> Duration {
        self.spent - self.busy_until.since(now)
    }
}
