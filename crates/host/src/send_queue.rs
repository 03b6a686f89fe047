//! The frames to be sent by one device, in two batches.
//!
//! Rule: the stack fills the first batch under the driver's lock. A thread that sends takes the
//! second batch out, sends it without the lock and puts it back.

use fullpipe::{
    Instant, InterfaceId, Stack,
    device::{Capabilities, TxMeta},
};

use crate::{
    device::HostDevice,
    frames::{FrameBatch, Outlet},
};

/// The frames of one device that wait to be sent.
pub(crate) struct SendQueue {
    interface: InterfaceId,
    /// Frames that the stack has written and that wait to be sent.
    outgoing: FrameBatch<TxMeta>,
    /// The batch to send; `None` while a thread is sending it. While no thread sends, the batch is
    /// empty unless the device was full.
    sending: Option<FrameBatch<TxMeta>>,
    capabilities: Capabilities,
    frame_max: usize,
    /// True if the device refused a frame; the driver's thread then tries again.
    pub(crate) is_full: bool,
    /// True if the stack could not send because the device was full.
    stack_is_refused: bool,
    sent_bytes: u64,
}

impl SendQueue {
    /// Returns an empty queue for `device`, which serves `interface`.
    pub(crate) fn new(interface: InterfaceId, device: &impl HostDevice) -> Self {
        let frame_max = device.frame_max();
        Self {
            interface,
            outgoing: FrameBatch::new(frame_max),
            sending: Some(FrameBatch::new(frame_max)),
            capabilities: device.capabilities(),
            frame_max,
            is_full: false,
            stack_is_refused: false,
            sent_bytes: 0,
        }
    }

    /// Returns the interface of the device.
    pub(crate) const fn interface(&self) -> InterfaceId {
        self.interface
    }

    /// Lets the stack write frames until none is due, the frames of one turn
    /// (`stack.turn_budget`) are written, or the batch has no room. If `must` is true, polls
    /// the stack once even if nothing is due.
    pub(crate) fn fill(&mut self, stack: &mut Stack, now: Instant, mut must: bool) {
        let has_leftovers = self.sending.as_ref().is_some_and(|batch| !batch.is_empty());
        let is_full = self.is_full || has_leftovers;
        must |= self.stack_is_refused && !is_full;
        let mut budget = stack.turn_budget();
        while budget > 0 && (must || stack.next_timeout().is_some_and(|at| at <= now)) {
            // Poll for no more frames than are certain to fit. If the batch refused a frame, the
            // stack would assume that the device is full, and would count the connections as
            // limited by the device.
            let fitting = self.outgoing.room() / self.frame_max;
            if fitting == 0 && !is_full {
                return;
            }
            must = false;
            let most = budget.min(fitting.max(1));
            let mut outlet = Outlet {
                interface: self.interface,
                capabilities: self.capabilities,
                batch: &mut self.outgoing,
                is_full,
                has_refused: false,
                sent_bytes: self.sent_bytes,
            };
            let sent = stack.transmit(&mut outlet, now, most);
            self.stack_is_refused = outlet.has_refused;
            if sent == 0 {
                return;
            }
            budget -= most;
        }
    }

    /// Takes the batch to send, unless another thread has it, there is nothing to
    /// send, or the device is full.
    pub(crate) fn begin_sending(&mut self) -> Option<FrameBatch<TxMeta>> {
        let sending = self.sending.as_ref()?;
        if self.is_full || (sending.is_empty() && self.outgoing.is_empty()) {
            return None;
        }
        let mut sending = self.sending.take()?;
        if sending.is_empty() {
            std::mem::swap(&mut sending, &mut self.outgoing);
        }
        Some(sending)
    }

    /// Puts back the batch that was sent. `is_full` is true if the device refused a frame of it,
    /// and `sent_bytes` is the device's total of completed bytes.
    pub(crate) fn end_sending(
        &mut self,
        batch: FrameBatch<TxMeta>,
        is_full: bool,
        sent_bytes: u64,
    ) {
        self.sending = Some(batch);
        self.is_full = is_full;
        self.note_sent(sent_bytes);
    }

    /// Notes the device's total of completed bytes.
    pub(crate) fn note_sent(&mut self, sent_bytes: u64) {
        self.sent_bytes = self.sent_bytes.max(sent_bytes);
    }

    /// Returns true if a thread is sending the batch.
    pub(crate) const fn is_sending(&self) -> bool {
        self.sending.is_none()
    }

    /// Returns true if the stack has written frames that no thread has begun to send.
    pub(crate) fn has_frames(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Returns the batch to fill.
    pub(crate) const fn outgoing(&mut self) -> &mut FrameBatch<TxMeta> {
        &mut self.outgoing
    }
}
